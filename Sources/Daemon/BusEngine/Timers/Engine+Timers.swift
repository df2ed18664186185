import BusCommands
import BusJSON
import BusLogic
import BusMachine
import BusProtocol

/// Timers are listed; how they are set and cancelled is told by `Commands`.
extension Engine {
    /// Lists timers in the order in which they are due.
    func listTimers(_ connection: Connection) throws(RequestError) {
        let pattern = try request.pattern(in: machine) ?? AddressPattern(type: "*")
        let limit = try request.integer(.limit, least: 1) ?? DaemonLimits.timersListed
        guard limit <= DaemonLimits.timersListed else {
            throw .invalid(
                "limit",
                "A reply lists at most \(DaemonLimits.timersListed) timers; ask for more with `after`.")
        }
        let after = try request.string(.after)
        let (principal, grants) = (connection.access.principal!, connection.access.grants)
        guard
            let list = TimerList(
                machine, pattern, after: after, limit: limit,
                where: { [machine] timer in grants.map { machine.shows(timer, to: principal, $0) } ?? true })
        else {
            throw .invalid("after", "`after` must be the `next` of a reply to timers.")
        }
        try read(list, connection)
    }
}
