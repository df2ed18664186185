import BusHistory
import BusMachine

/// Makes the state machine of the last durable revision beside the bus, which takes seconds for a large history:
/// meanwhile the bus queue serves sockets and the watchdog, and its replies are sent when the bus is rewound.
final class Rewinder: Sendable {
    /// The result.
    ///
    /// `@unchecked Sendable`: a machine is passed on and not accessed by its sender again.
    enum Made: @unchecked Sendable {
        case machine(StateMachine)
        case failure(PastFailure)
    }

    private let worker = Worker(named: "fluxbus-rewind")
    private let path: String
    private let replayer: UncheckedReplayer
    private let mailbox: LogMailbox

    /// `@unchecked Sendable`: it is used on the worker only.
    private struct UncheckedReplayer: @unchecked Sendable { let replayer: Replayer }

    init(_ path: String, _ replayer: Replayer, _ mailbox: LogMailbox) {
        self.path = path
        self.replayer = UncheckedReplayer(replayer: replayer)
        self.mailbox = mailbox
    }

    /// Makes the state machine of a revision; the mailbox gets the result.
    func make(at revision: Int) {
        worker.async { [self] in
            do throws(PastFailure) {
                let past = try LogPast(path: path)
                mailbox.put(.made(.machine(try replayer.replayer.machine(at: revision, from: past))))
            } catch {
                mailbox.put(.made(.failure(error)))
            }
        }
    }

    /// Frees what the bus held before, which takes time in proportion to its size.
    func release(_ machine: StateMachine) {
        let used = Made.machine(machine)
        worker.async { _ = used }
    }

    /// Waits until no machine is being made.
    func drain() { worker.drain() }
}
