import BusJSON
import BusTypes
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
///
/// **Cost.** An action is applied twice, however many are pending: when it is dispatched, and when it is confirmed, to see
/// whether the bus made of it what was shown. If it did, what is shown stays. Only otherwise, after the commit of another
/// client or a refusal, are all pending actions applied again, and not before somebody looks (``refresh()``): once for
/// all that came meanwhile.
package struct Reconciler<State: SharedState>: Sendable {
    private struct Pending {
        let id: Int
        let action: State.Action
        /// The revision of its commit, once the bus has answered.
        var revision: Int?
        /// It has no effect any more, and leaves when those before it have.
        var hasFailed = false
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
    /// How often a state was adopted.
    package private(set) var adoptions = 0
    /// `confirmed` with the pending actions, unless it is stale.
    private var predicted: State? { didSet { changeCount += 1 } }
    /// How often what is shown may have changed, where it is not stale.
    package private(set) var changeCount = 0
    /// The pending actions have to be applied again before anything is shown.
    package private(set) var isStale = false
    /// In the order of dispatch, which is that of the answers.
    private var pending = RingQueue<Pending>()
    private var failedCount = 0
    private var unansweredCount = 0
    /// Ascending by their revisions.
    private var held = RingQueue<Held>()
    /// The revision of the latest answer.
    private var answered = 0

    package init(isOptimistic: Bool) { self.isOptimistic = isOptimistic }

    /// Whether no commit up to this revision is in a state that waits for an answer.
    package func hasTaken(through revision: Int) -> Bool { held.first.map { $0.from >= revision } ?? true }

    /// How many dispatched actions are not part of `confirmed` yet.
    package var pendingCount: Int { pending.count - failedCount }

    /// The state to show: `confirmed` with the pending actions.
    package var shown: State? { isStale ? replayed : predicted }

    /// Applies the pending actions again if need be, so that ``shown`` costs nothing.
    package mutating func refresh() {
        guard isStale else { return }
        predicted = replayed
        isStale = false
    }

    // MARK: - What happens

    /// An action is sent to the bus under a number of the caller's, higher than those before.
    package mutating func dispatched(_ action: State.Action, id: Int) {
        guard isOptimistic else { return }
        pending.append(Pending(id: id, action: action))
        unansweredCount += 1
        if !isStale { predicted = Self.apply(action, to: predicted) }
    }

    /// The bus reports the state as of `revision`, where nothing has changed between `from` and the commit or commits
    /// that led to it; nil when the store is gone.
    package mutating func changed(to state: State?, from: Int, revision: Int, ownRevision: Int? = nil) {
        held.append(Held(from: from, revision: revision, state: state, ownRevision: ownRevision))
        if held.count > Self.mostHeld, let first = held.first {
            _ = held.removeAll()
            held.append(Held(from: first.from, revision: revision, state: state, ownRevision: ownRevision))
        }
        advance()
    }

    /// The subscription was reset: earlier states and revisions are no longer valid.
    package mutating func reset(to state: State?, revision: Int) {
        _ = held.removeAll()
        // It is not that of the state that follows, which may have to wait.
        ownRevision = nil
        // In another epoch the numbers begin again. In this one the state is current, so it holds everything answered.
        answered = min(answered, revision)
        self.revision = min(self.revision, revision)
        for place in 0..<pending.count {
            pending.update(at: place) { if $0.revision != nil { $0.revision = revision } }
        }
        changed(to: state, from: 0, revision: revision)
    }

    /// Records the revision of the store's last change, of which an answer tells that has just come: unless it is that of a state
    /// that waits or has not come yet.
    package mutating func recordOwnRevision(_ ownRevision: Int) {
        guard held.isEmpty, ownRevision <= revision, self.ownRevision == nil else { return }
        self.ownRevision = ownRevision
    }

    /// Records the revision of the store's last change, which the bus was asked for. It has sent all states up to that revision
    /// by now. If one of them was adopted since the question, or waits, the revision may be that state's, and nothing is recorded.
    ///
    /// - Parameter adoptions: How many states had been adopted when the bus was asked.
    package mutating func recordOwnRevision(_ ownRevision: Int, after adoptions: Int) {
        guard held.isEmpty, adoptions == self.adoptions, self.ownRevision == nil else { return }
        self.ownRevision = ownRevision
    }

    /// The bus says that this is not the store's own revision.
    package mutating func forgetOwnRevision(_ ownRevision: Int) {
        if self.ownRevision == ownRevision { self.ownRevision = nil }
    }

    /// The bus has committed the action.
    package mutating func committed(_ id: Int, revision: Int) {
        guard let place = place(of: id) else { return }
        giveUpUnanswered(before: place)
        pending.update(at: place) { $0.revision = revision }
        unansweredCount -= 1
        answered = max(answered, revision)
        advance()
    }

    /// The bus has refused the action, or its outcome is unknown: the next states will show it.
    package mutating func failed(_ id: Int) {
        guard let place = place(of: id) else { return }
        giveUp(at: place)
        advance()
    }

    /// Answers come in order, so an action without one has been cancelled: it may be a part of the states up to the next answer.
    private mutating func giveUpUnanswered(before place: Int) {
        for earlier in (0..<place).reversed() {
            guard let action = pending[earlier], action.revision == nil else { return }
            if !action.hasFailed { giveUp(at: earlier) }
        }
    }

    private mutating func giveUp(at place: Int) {
        pending.update(at: place) { $0.hasFailed = true }
        unansweredCount -= 1
        failedCount += 1
        isStale = true
    }

    /// Where the action stands that has this number and no outcome yet.
    private func place(of id: Int) -> Int? {
        var (low, high) = (0, pending.count)
        while low < high {
            let middle = (low + high) / 2
            if let candidate = pending[middle], candidate.id < id { low = middle + 1 } else { high = middle }
        }
        guard let found = pending[low], found.id == id, found.revision == nil, !found.hasFailed else {
            return nil
        }
        return low
    }

    // MARK: - What follows

    private mutating func advance() {
        var newest: Held?
        while let first = held.first, unansweredCount == 0 || first.revision <= answered {
            newest = held.popFirst()
        }
        // What the bus should have made of the actions that go now.
        var expected = confirmed
        if let newest {
            confirmed = newest.state
            adoptions += 1
            ownRevision = newest.ownRevision
            revision = max(revision, newest.revision)
        }
        // Every event up to the answer has come before it, so `confirmed` is right up to there, or to what is held.
        revision = max(revision, min(answered, held.first?.from ?? .max))
        var isAsBefore = newest == nil
        while let first = pending.first, first.hasFailed || (first.revision ?? .max) <= revision {
            _ = pending.popFirst()
            if first.hasFailed {
                failedCount -= 1
                continue
            }
            isAsBefore = false
            if !isStale { expected = Self.apply(first.action, to: expected) }
        }
        if pendingCount == 0, isStale || !isAsBefore {
            predicted = confirmed
            isStale = false
        } else if !isStale, !isAsBefore, !Self.areSame(expected, confirmed) {
            isStale = true
        }
    }

    private var replayed: State? {
        var state = confirmed
        for place in 0..<pending.count {
            guard let next = pending[place], !next.hasFailed else { continue }
            state = Self.apply(next.action, to: state)
        }
        return state
    }

    /// Whether nobody can tell the states apart: by their `==`, or by how they are encoded.
    private static func areSame(_ one: State?, _ other: State?) -> Bool {
        guard let one, let other else { return one == nil && other == nil }
        if let isEqual = Equality.of(State.self) { return isEqual(one, other) }
        guard let first = try? JSON(encoding: one), let second = try? JSON(encoding: other) else {
            return false
        }
        return first == second
    }

    /// An action that can't be applied here shows nothing; the bus decides about it.
    private static func apply(_ action: State.Action, to state: State?) -> State? {
        guard var next = state else { return nil }
        do {
            try State.Mutations().commitPurely(action, to: &next)
            return next
        } catch {
            return state
        }
    }
}
