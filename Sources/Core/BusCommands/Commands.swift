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
    private(set) var isProposal = false

    package init(_ machine: StateMachine, _ request: RequestReader, remembersKeys: Bool = true) {
        self.machine = machine
        self.request = request
        self.remembersKeys = remembersKeys
    }

    /// Executes the request that was read last. The plan stays until the caller clears it.
    ///
    /// - Returns: nil where the host postpones the command.
    package func execute(
        _ command: Operation.Command, by caller: Caller, _ host: any CommandHost
    ) throws(RequestError) -> CommandReply? {
        switch command {
        case .dispatch: try dispatch(by: caller, host)
        case .create: try create(by: caller, host)
        case .drop: try drop(by: caller, host)
        case .cancel: try cancel(by: caller, host)
        case .will: try setWill(by: caller, host)
        }
    }

    /// Checks what needs no state of the request that was read last: for the member of a shared bus that is asked, before
    /// it proposes the request to all. The host says so by postponing it at the stage of the proposal.
    package func check(
        _ command: Operation.Command, by caller: Caller, _ host: any CommandHost
    ) throws(RequestError) {
        isProposal = true
        defer { isProposal = false }
        let reply = try execute(command, by: caller, host)
        precondition(reply == nil, "A command is proposed before it is executed.")
    }

    /// Entries of a shared log that were proposed by earlier rules keep the order of checks that these had.
    var isEarlier: Bool { machine.rules < BusLimits.rulesOfOneMeaning && !isProposal }

    // MARK: - Keys

    /// The reply to a request with a key that was committed before.
    func earlier(
        _ key: KeyedRequest?, _ contents: CommandReply.Contents = .revision
    ) throws(RequestError) -> CommandReply? {
        guard let key, remembersKeys, let earlier = try machine.duplicate(of: key) else { return nil }
        var reply = CommandReply(contents, revision: earlier.revision)
        (reply.matched, reply.changed, reply.isDuplicate) = (earlier.matched, earlier.changed, true)
        reply.returned = machine.returned(byKeyed: earlier.revision)
        return reply
    }

    /// The reply to what was just committed, which its key is remembered with.
    func remember(
        _ key: KeyedRequest?, _ contents: CommandReply.Contents = .revision, matched: Int, changed: Int
    ) -> CommandReply {
        if let key { machine.remember(key, matched: matched, changed: changed) }
        var reply = CommandReply(contents, revision: machine.revision)
        (reply.matched, reply.changed) = (matched, changed)
        return reply
    }
}
