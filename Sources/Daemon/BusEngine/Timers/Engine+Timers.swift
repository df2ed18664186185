import BusCommands
import BusJSON
import BusLogic
import BusMachine
import BusProtocol

/// Timers are listed; how they are set and cancelled is told by `Commands`.
extension Engine {
    /// Whether a timer is listed for a client.
    private func shows(_ timer: BusTimer, to grants: Grants?, _ principal: Principal) -> Bool {
        guard let grants, !grants.knowsEverything, !timer.isAsked(by: principal) else { return true }
        switch timer.owner {
        case .store(let index):
            let record = machine.stores.pointer(index)
            return grants.knowsHistory(
                of: record.pointee.name, ofType: machine.types[Int(record.pointee.type)].name)
        case .type(let name): return name != "*" && grants.knowsHistory(ofAll: name)
        }
    }

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
                where: { [unowned self] in shows($0, to: grants, principal) })
        else {
            throw .invalid("after", "`after` must be the `next` of a reply to timers.")
        }
        try read(list, connection)
    }
}
