import BusJSON
import BusLogic
import BusMachine
import BusProtocol

/// What requests that change the bus mean, on one machine and on a shared bus alike.
///
/// A command checks its request in a fixed order, plans, applies and commits. It owns no connection, clock or log: its
/// host says where it runs, and its caller who asked. A command that throws has changed nothing.
package final class Commands {
    package let machine: StateMachine
    /// Holds the request that is executed.
    package let request: RequestReader
    /// Whether a repeated key is answered as before. Only a test turns it off.
    private let remembersKeys: Bool

    package init(_ machine: StateMachine, _ request: RequestReader, remembersKeys: Bool = true) {
        self.machine = machine
        self.request = request
        self.remembersKeys = remembersKeys
    }

    /// Executes the request that was read last. The plan stays until the caller clears it.
    ///
    /// - Returns: nil where the host postpones the command.
    package func execute(
        _ operation: Operation, by caller: Caller, _ host: any CommandHost
    ) throws(RequestError) -> CommandReply? {
        switch operation {
        case .dispatch: return try dispatch(by: caller, host)
        case .create: return try create(by: caller, host)
        case .drop: return try drop(by: caller, host)
        case .cancel: return try cancel(by: caller, host)
        case .will: return try setWill(by: caller, host)
        // These change nothing, or only their own connection; or, as `revert` and `reload`, they need what is not in
        // the request and are commands of their own.
        case .ping, .get, .hello, .stores, .types, .subscribe, .unsubscribe, .sync, .history, .revert, .stats,
            .reload, .timers, .cluster, .clients, .kick:
            throw RequestError(
                .unknownOp,
                "This request changes nothing on the bus; ask the member that you are connected to.")
        }
    }

    /// Entries of a shared log that were proposed by earlier rules keep the order of checks that these had.
    var isEarlier: Bool { machine.rules < BusLimits.rulesOfOneMeaning }

    // MARK: - Keys

    /// The reply to a request with a key that was committed before.
    func earlier(_ key: KeyedRequest?) throws(RequestError) -> CommandReply? {
        guard let key, remembersKeys, let earlier = try machine.duplicate(of: key) else { return nil }
        var reply = CommandReply(revision: earlier.revision)
        (reply.matched, reply.changed, reply.isDuplicate) = (earlier.matched, earlier.changed, true)
        return reply
    }

    /// The reply to what was just committed, which its key is remembered with.
    func remember(_ key: KeyedRequest?, matched: Int, changed: Int) -> CommandReply {
        if let key { machine.remember(key, matched: matched, changed: changed) }
        var reply = CommandReply(revision: machine.revision)
        (reply.matched, reply.changed) = (matched, changed)
        return reply
    }
}
