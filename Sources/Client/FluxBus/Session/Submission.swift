import BusJSON
import Synchronization

/// One request on its way through the client: its contents, its repetition, and the waiters for its answer.
///
/// It is settled once: by its reply, its time-out, its cancellation or the end of the bus, whichever comes first. Later
/// outcomes are ignored. No lock is held while a callback or a waiting task runs.
package final class Submission: Sendable {
    /// What the session does beside passing on the answer.
    package enum Role: Sendable {
        case plain
        /// Drops stores, and those of types for which an expression holds.
        case drop([String], ofTypes: [String] = [])
        case createEphemeral(String, state: JSON?, timeToLive: JSON? = nil)
        case will([JSON])
        case subscribe(SubscriptionRequest)
        // The session's own, without waiters.
        case hello
        case restoreStore(Int)
        /// Creates the store of a subscription again.
        case createAgain(Int)
        case restoreWill
        case resubscribe(Int)
        /// Looks whether an ephemeral store is still there.
        case look(String)
        case probe
        case leave
        case own

        var leavesWill: Bool { if case .will = self { true } else { false } }

        var isOwn: Bool {
            switch self {
            case .plain, .drop, .createEphemeral, .will, .subscribe: false
            case .hello, .restoreStore, .createAgain, .restoreWill, .resubscribe, .look, .probe, .leave, .own:
                true
            }
        }
    }

    private struct State {
        var outcome: ReplyOutcome?
        /// Whether the callback has returned, if there is one: waiters come after it.
        var isTold = false
        /// Whether a notice tells of the failure.
        var failsByNotice = false
        var callback: (@Sendable (ReplyOutcome) -> Void)?
        var waiting: [UnsafeContinuation<ReplyOutcome, Never>] = []
    }

    let body: RequestBody
    let role: Role
    let repetition: Repetition
    let isAcknowledged: Bool
    /// The moment of its time-out on the monotonic clock, in nanoseconds.
    let deadline: Int
    /// The epoch that a revision in it belongs to; in another one it must not be sent. Nil: any.
    let epoch: String?
    package let size: Int
    private let state: Mutex<State>

    package init(
        _ body: RequestBody, role: Role = .plain, repetition: Repetition = .free, isAcknowledged: Bool = true,
        deadline: Int = .max, epoch: String? = nil, onOutcome: (@Sendable (ReplyOutcome) -> Void)? = nil
    ) {
        self.body = body
        self.role = role
        self.repetition = repetition
        self.isAcknowledged = isAcknowledged
        self.deadline = deadline
        self.epoch = epoch
        size = body.encodedSize
        state = Mutex(State(callback: onOutcome))
    }

    /// The outcome, if there is one.
    package var outcome: ReplyOutcome? { state.withLock { $0.outcome } }

    /// Why it never left for the bus, or was given up; nil as long as it goes on, and for failures that a notice tells.
    package var refusal: BusError? {
        state.withLock { state in
            guard !state.failsByNotice, case .failure(let error)? = state.outcome else { return nil }
            return error
        }
    }

    /// From now on a failure is told by a notice.
    func failsByNotice() { state.withLock { $0.failsByNotice = true } }

    var isSettled: Bool { state.withLock { $0.outcome != nil } }

    /// The outcome as waiters see it: once the callback has returned.
    var told: ReplyOutcome? { state.withLock { $0.isTold ? $0.outcome : nil } }

    /// Settles it, unless it is settled. The callback comes before the waiters.
    package func settle(_ outcome: ReplyOutcome) {
        let (isMine, callback) = state.withLock { state in
            if state.outcome != nil { return (false, state.callback) }
            state.outcome = outcome
            return (true, state.callback.take())
        }
        guard isMine else { return }
        callback?(outcome)
        let waiting = state.withLock { state in
            state.isTold = true
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in waiting { continuation.resume(returning: outcome) }
    }

    /// The outcome, awaited.
    nonisolated(nonsending) func wait() async -> ReplyOutcome {
        await withUnsafeContinuation { continuation in
            let told = state.withLock { state -> ReplyOutcome? in
                if state.isTold { return state.outcome }
                state.waiting.append(continuation)
                return nil
            }
            if let told { continuation.resume(returning: told) }
        }
    }
}

/// A request that has been written, and what is needed to write it again.
struct SentRequest {
    let submission: Submission
    /// Its `id` on the present connection.
    var id = 0
    /// The end of its line, counted in bytes from the beginning of the present connection.
    var end = 0
    /// The number in its key; 0 when it has none.
    var key = 0
    /// What the client had seen when it first wrote the request.
    var after = 0
    var epoch = ""
    /// Whether a connection before this one may have brought it to the bus.
    var isRepeated = false
    /// Whether it takes the place of one that was written on a connection before this one.
    private let isAnew: Bool
    /// Whether it makes stores that go with the session, and that session may have ended since.
    private var isTorn = false

    init(submission: Submission, isAnew: Bool = false) {
        self.submission = submission
        self.isAnew = isAnew
    }

    /// Whether the bus may have committed it, though no answer came.
    var mayBeCommitted: Bool { isRepeated || isAnew || id > 0 }

    /// The session has ended over which it may have been committed.
    mutating func tear() { isTorn = isTorn || isRepeated && submission.body.makesEphemeral }

    /// Why the outcome stays unknown despite an answer; nil where it is known.
    func doubt(about outcome: ReplyOutcome) -> BusError? {
        switch outcome {
        case .failure(let error):
            let isOpen =
                switch submission.repetition {
                case .keyed: error.saysNothingOfKey
                // Without a key nobody knows whose store exists.
                case .free: error.code == .exists
                case .never: false
                }
            return isRepeated && isOpen ? error : nil
        case .dispatch(let reply): return reply.isDuplicate ? ifTorn : nil
        case .object(let reply): return reply["duplicate"] == true ? ifTorn : nil
        }
    }

    private var ifTorn: BusError? {
        isTorn
            ? BusError(.closed, "The store may have gone with the connection over which it was made.") : nil
    }
}
