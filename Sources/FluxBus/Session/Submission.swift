import BusJSON
import Synchronization

/// One request on its way through the client: what it says, how it may be repeated, and who waits for its answer.
///
/// It is settled once: by its reply, its time-out, its cancellation or the end of the bus, whichever comes first.
/// What comes later is ignored. No lock is held while a callback or a waiting task runs.
package final class Submission: Sendable {
    /// What the session does beside handing on the answer.
    package enum Role: Sendable {
        case plain
        case dropStore(String)
        case createEphemeral(String, state: JSON?)
        case will([JSON])
        case subscribe(SubscriptionRequest)
        // The session's own, which nobody waits for.
        case hello
        case restoreStore(Int)
        case restoreWill
        case resubscribe(Int)
        case probe
        case own

        var isOwn: Bool {
            switch self {
            case .plain, .dropStore, .createEphemeral, .will, .subscribe: false
            case .hello, .restoreStore, .restoreWill, .resubscribe, .probe, .own: true
            }
        }
    }

    private enum State {
        case open
        case awaited([UnsafeContinuation<ReplyOutcome, Never>])
        case callback(@Sendable (ReplyOutcome) -> Void)
        case settled(ReplyOutcome)
    }

    let body: RequestBody
    let role: Role
    let repetition: Repetition
    let isAcknowledged: Bool
    /// The moment of its time-out on the monotonic clock, in nanoseconds.
    let deadline: Int
    package let size: Int
    private let state: Mutex<State>

    package init(
        _ body: RequestBody, role: Role = .plain, repetition: Repetition = .free, isAcknowledged: Bool = true,
        deadline: Int = .max, onOutcome: (@Sendable (ReplyOutcome) -> Void)? = nil
    ) {
        self.body = body
        self.role = role
        self.repetition = repetition
        self.isAcknowledged = isAcknowledged
        self.deadline = deadline
        size = body.encodedSize
        state = Mutex(onOutcome.map(State.callback) ?? .open)
    }

    /// The outcome, if there is one.
    package var outcome: ReplyOutcome? {
        state.withLock { if case .settled(let outcome) = $0 { outcome } else { nil } }
    }

    var isSettled: Bool { state.withLock { if case .settled = $0 { true } else { false } } }

    /// Settles it, unless it is.
    package func settle(_ outcome: ReplyOutcome) {
        let before = state.withLock { state -> State in
            let before = state
            if case .settled = before { return before }
            state = .settled(outcome)
            return before
        }
        switch before {
        case .open, .settled: break
        case .awaited(let waiting): for continuation in waiting { continuation.resume(returning: outcome) }
        case .callback(let callback): callback(outcome)
        }
    }

    /// The outcome, waiting for it.
    nonisolated(nonsending) func wait() async -> ReplyOutcome {
        await withUnsafeContinuation { continuation in
            let settled = state.withLock { state -> ReplyOutcome? in
                switch state {
                case .open:
                    state = .awaited([continuation])
                    return nil
                case .awaited(let others):
                    state = .awaited(others + [continuation])
                    return nil
                case .settled(let outcome): return outcome
                case .callback: preconditionFailure("Nobody waits for what a callback takes.")
                }
            }
            if let settled { continuation.resume(returning: settled) }
        }
    }
}
