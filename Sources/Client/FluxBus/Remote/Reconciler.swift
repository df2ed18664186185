import Flux

/// What a remote store shows while actions are under way: the state the bus has confirmed, with the actions dispatched
/// here and not confirmed yet applied on top of it, in their order.
///
/// The difficulty is to know which of our own actions a confirmed state already holds: counting one twice, or dropping
/// one for a moment, would show a state that never was. Two guarantees of the protocol decide it. Events up to revision
/// R are written before the reply that bears R, and replies come in the order of requests. So while an answer is
/// awaited, confirmed states wait too, until the answer fixes their order; then
/// - a state up to the revision of the last answer is adopted, for what is still unanswered was committed later;
/// - an action is removed when the adopted state has reached its revision;
/// - a refused action is removed at once, and its effect is rolled back.
///
/// A state waits for at most one round trip, and only while this process itself dispatches. Without predictions
/// (`isOptimistic` false) nothing waits and nothing is applied here.
package struct Reconciler<State: SharedState>: Sendable {
    private struct Pending {
        let id: Int
        let action: State.Action
        /// The revision of its commit, once the bus has answered.
        var revision: Int?
    }

    /// A state that waits until it is known which of our actions it holds.
    private struct Held {
        /// The revisions before and at which it was sent: it stands for every commit in between.
        let from: Int
        let revision: Int
        let state: State?
        /// The last commit that changed the store, where the bus reported it.
        let ownRevision: Int?
    }

    /// More states than this don't wait: the older ones are skipped, as if the bus had merged their commits.
    private static var mostHeld: Int { 1024 }

    package let isOptimistic: Bool
    /// The last state adopted from the bus; nil while there is no such store.
    package private(set) var confirmed: State?
    /// The revision up to which `confirmed` is known to be right.
    package private(set) var revision = 0
    /// The last commit that changed `confirmed`, where the bus reported it.
    package private(set) var ownRevision: Int?
    /// The state to show: `confirmed` with the pending actions.
    package private(set) var shown: State?
    private var pending: [Pending] = []
    private var held: [Held] = []
    /// The revision of the latest answer.
    private var answered = 0

    package init(isOptimistic: Bool) { self.isOptimistic = isOptimistic }

    /// Whether no state up to this revision waits for an answer.
    package func hasTaken(through revision: Int) -> Bool { held.allSatisfy { $0.revision > revision } }

    /// How many dispatched actions are not part of `confirmed` yet.
    package var pendingCount: Int { pending.count }

    // MARK: - What happens

    /// An action is sent to the bus under a number of the caller's.
    package mutating func dispatched(_ action: State.Action, id: Int) {
        guard isOptimistic else { return }
        pending.append(Pending(id: id, action: action))
        shown = Self.carryOut(action, on: shown)
    }

    /// The bus reports the state as of `revision`, where nothing has changed between `from` and the commit or commits
    /// that led to it; nil when the store is gone.
    package mutating func changed(to state: State?, from: Int, revision: Int, ownRevision: Int? = nil) {
        held.append(Held(from: from, revision: revision, state: state, ownRevision: ownRevision))
        if held.count > Self.mostHeld {
            held = [Held(from: held[0].from, revision: revision, state: state, ownRevision: ownRevision)]
        }
        advance()
    }

    /// The subscription was reset: earlier states and revisions are no longer valid.
    package mutating func reset(to state: State?, revision: Int) {
        held = []
        // In another epoch the numbers begin again. In this one the state is current, so it holds everything answered.
        answered = min(answered, revision)
        self.revision = min(self.revision, revision)
        for place in pending.indices where pending[place].revision != nil {
            pending[place].revision = revision
        }
        changed(to: state, from: 0, revision: revision)
    }

    /// The store's own revision was queried, and every state up to it has come. It belongs to the newest, so not to `confirmed`
    /// if some wait.
    package mutating func learned(ownRevision: Int) {
        if held.isEmpty, self.ownRevision == nil { self.ownRevision = ownRevision }
    }

    /// The bus has committed the action.
    package mutating func committed(_ id: Int, revision: Int) {
        guard let place = pending.firstIndex(where: { $0.id == id }) else { return }
        pending[place].revision = revision
        answered = max(answered, revision)
        advance()
    }

    /// The bus has refused the action, or its outcome is unknown: the next states will show it.
    package mutating func failed(_ id: Int) {
        guard let place = pending.firstIndex(where: { $0.id == id }) else { return }
        pending.remove(at: place)
        advance(isPendingChanged: true)
    }

    // MARK: - What follows

    private mutating func advance(isPendingChanged: Bool = false) {
        let isAwaiting = pending.contains { $0.revision == nil }
        var taken = 0
        while taken < held.count, !isAwaiting || held[taken].revision <= answered { taken += 1 }
        if taken > 0 {
            confirmed = held[taken - 1].state
            ownRevision = held[taken - 1].ownRevision
            revision = max(revision, held[taken - 1].revision)
            held.removeFirst(taken)
        }
        // Every event up to the answer has come before it, so `confirmed` is right up to there, or to what is held.
        revision = max(revision, min(answered, held.first?.from ?? .max))
        let before = pending.count
        let reached = revision
        pending.removeAll { ($0.revision ?? .max) <= reached }
        if taken > 0 || isPendingChanged || pending.count != before { showAnew() }
    }

    private mutating func showAnew() {
        shown = pending.reduce(confirmed) { state, next in Self.carryOut(next.action, on: state) }
    }

    /// An action that can't be applied here shows nothing; the bus decides about it.
    private static func carryOut(_ action: State.Action, on state: State?) -> State? {
        guard var next = state else { return nil }
        do {
            try State.Mutations().commitPurely(action, to: &next)
            return next
        } catch {
            return state
        }
    }
}
