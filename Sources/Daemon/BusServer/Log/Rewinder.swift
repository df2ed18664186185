import BusHistory
import BusMachine
import Dispatch

/// Makes the bus of the last durable revision beside the bus, for which a large history takes seconds: meanwhile the bus queue
/// serves sockets and the watchdog, and what it answers leaves when the bus is rewound.
final class Rewinder: Sendable {
    /// What came of it.
    ///
    /// `@unchecked Sendable`: whoever has a machine hands it on and does not touch it again.
    enum Made: @unchecked Sendable {
        case machine(StateMachine)
        case failure(PastFailure)
    }

    private let queue = DispatchQueue(label: "fluxbus.rewind", qos: .userInitiated)
    private let path: String
    private let replayer: UncheckedReplayer
    private let mailbox: LogMailbox

    /// `@unchecked Sendable`: it is used on the queue only.
    private struct UncheckedReplayer: @unchecked Sendable { let replayer: Replayer }

    init(_ path: String, _ replayer: Replayer, _ mailbox: LogMailbox) {
        self.path = path
        self.replayer = UncheckedReplayer(replayer: replayer)
        self.mailbox = mailbox
    }

    /// Makes the bus of a revision; the mailbox tells when it is done.
    func make(at revision: Int) {
        queue.async { [self] in
            do throws(PastFailure) {
                let past = try LogPast(path: path)
                mailbox.put(.made(.machine(try replayer.replayer.machine(at: revision, from: past))))
            } catch {
                mailbox.put(.made(.failure(error)))
            }
        }
    }

    /// Frees what the bus held before, which takes as long as it is large.
    func release(_ machine: StateMachine) {
        let used = Made.machine(machine)
        queue.async { _ = used }
    }

    /// Waits until nothing is under way.
    func drain() { queue.sync {} }
}
