import BusJSON
import BusTypes
import Flux

/// A store on the bus, seen from here: its state followed, its actions dispatched.
///
/// ```swift
/// let kitchen = try await bus.store("kitchen", of: Counter.self)
/// kitchen.state.count                                     // what is known now
/// try await kitchen.dispatch(.increment(by: 2))           // returns when `state` has it
/// for await count in kitchen.values(\.count) { … }        // the current one first, then each change
/// ```
///
/// It reads like a ``Flux/Store``: ``computed``, ``actions``, ``signal``, bindings. What differs is time. A dispatch travels
/// to the bus and comes back as a commit, in the one order that all processes see.
///
/// **Optimistic.** With `isOptimistic`, an action dispatched here is applied here at once and shown; the commit then
/// replaces it. If the bus refuses it, the shown state is rolled back and computed again without it. The shown state is
/// always the bus's state with exactly the pending actions on top. Commits of other clients are shown a round trip
/// later at most, because only the answers show which of the own actions a state holds; until then ``revision`` may be
/// behind that of a reply, though its action is shown.
///
/// Observers are called on a queue of the store's own, one value after another; use `observe(on:)` for another place.
/// The store is followed as long as this object or its ``actions`` are held; then its signals end.
public final class RemoteStore<State: SharedState>: StateStore {
    public typealias Dispatched = DispatchReply

    /// Its address on the bus: `counter/kitchen`.
    public let address: String
    /// The bus it lives on.
    public let bus: Bus
    public let effects: Effects
    public let subscriptions = Subscriptions()
    let core: RemoteStoreCore<State>
    private let subscription: SubscriptionHandle

    init(bus: Bus, core: RemoteStoreCore<State>, subscription: SubscriptionHandle) {
        self.bus = bus
        self.core = core
        self.subscription = subscription
        address = core.address
        effects = Effects { [core] error in core.report(ActionFailure(actions: [], error: error)) }
    }

    deinit {
        subscription.cancel()
        core.finish()
    }

    // MARK: - Reading

    /// The state as known now.
    public var state: State { core.shown }

    /// The state now and after each change.
    public var signal: Signal<State> { core.state.signal }

    /// The state as a value to read and observe, whole or in part.
    public var constant: Constant<State> { core.constant }

    /// Whether it follows the bus, and if not, why.
    public var status: Constant<RemoteStoreStatus> { core.status.constant }

    /// The revision up to which the bus's state is known here.
    public var revision: Int { core.position.revision }

    /// Asks the bus for the state, and for the store's own revision, which ``dispatch(_:ifRevision:if:timeout:)`` takes as
    /// `ifRevision`: that of the last commit that changed the store. The state has every commit that any client was told of
    /// before the call. Throws `unavailable` if the store changes so often that its revision can't be known.
    ///
    /// The revision is valid until the bus begins a new history, as one without a log does when it is restarted.
    public func confirmed() async throws(BusError) -> (state: State, revision: Int) {
        var epoch = core.epoch
        var barrier = try await bus.sync()
        // What came before the answer may still wait for those of own actions; what comes later is not waited for.
        while !core.hasTaken(through: barrier) {
            let next = try await bus.sync()
            if core.epoch != epoch { (epoch, barrier) = (core.epoch, next) }
        }
        let (state, revision, _) = try await lastConfirmed()
        return (state, revision)
    }

    /// The state that the bus has confirmed last, as far as is known here, with the epoch in which its revision is valid.
    func lastConfirmed() async throws(BusError) -> (state: State, revision: Int, epoch: String) {
        var questions = 0
        while true {
            if case .unfit(let error) = core.status.value { throw error }
            let known = core.confirmed
            if let state = known.state, let revision = known.revision {
                return (state, revision, known.epoch)
            }
            guard questions < Self.mostQuestions else {
                throw BusError(
                    .unavailable, "\(address) changes so often that its revision can't be known; try again.")
            }
            questions += 1
            let question = bus.submission(
                BusRequest("stores", ["match": .string(address)]), timeout: .standard
            ) { [core] outcome in
                if let revision = Self.ownRevision(in: outcome) { core.recordOwnRevision(revision) }
            }
            // What the answer names may be newer than the state known here, and would let a change of what is not known pass: once
            // this is answered, all that led to it has come.
            let barrier = bus.submission(BusRequest("sync"), timeout: .standard) {
                [core, adoptions = known.adoptions] outcome in
                guard case .success = outcome.object,
                    let revision = question.outcome.flatMap(Self.ownRevision(in:))
                else { return }
                core.recordOwnRevision(revision, after: adoptions)
            }
            await bus.core.submit(question)
            await bus.core.submit(barrier)
            let answer = await PendingReply(submission: question, core: bus.core).outcome()
            _ = try answer.object.get()
            guard Self.ownRevision(in: answer) != nil else {
                throw BusError(.unknownStore, "There is no store \(address) any more; create it.")
            }
            _ = try await PendingReply(submission: barrier, core: bus.core).value
        }
    }

    private static func ownRevision(in outcome: ReplyOutcome) -> Int? {
        guard case .success(let reply) = outcome.object else { return nil }
        return reply["stores"]?[0]?["revision"]?.int
    }

    /// How often the bus is asked for a store's own revision while every answer is about a state that has not come, or waits.
    private static var mostQuestions: Int { 100 }

    /// How many actions dispatched here are shown and not yet confirmed; 0 unless it is optimistic.
    public var pendingCount: Int { core.position.pending }

    // MARK: - Dispatching

    /// Dispatches an action to this store. Returns when it is committed and ``state`` has seen it.
    @discardableResult
    public nonisolated(nonsending) func dispatch(
        _ action: State.Action
    ) async throws(BusError) -> DispatchReply {
        try await dispatch(action, ifRevision: nil, in: core.epoch)
    }

    /// Dispatches an action to this store. Returns when it is committed and ``state`` has seen it.
    ///
    /// With `ifRevision` it commits only if that is the store's own revision, and with `if` only if that expression (a text, or an
    /// object of JsonLogic) holds for the state on the bus; else `conflict`, whose `details` hold the actual `revision`. Throws
    /// the bus's refusal: `rejected`, `invalid_payload`, `unknown_store`, …; and `cancelled`, without sending anything, where the
    /// task is cancelled already.
    ///
    /// `ifRevision` is taken for a revision of the history that the store follows when this is called. In a new one, which a bus
    /// without a log begins when it is restarted, the action never commits then. A revision that was read before can't be told from
    /// one of the present history: the action commits if the number is the same. ``SharedValue/update(_:)`` is exact also then.
    @discardableResult
    public nonisolated(nonsending) func dispatch(
        _ action: State.Action, ifRevision: Int? = nil, if condition: JSON? = nil,
        timeout: Bus.TimeLimit = .standard
    ) async throws(BusError) -> DispatchReply {
        try await dispatch(action, ifRevision: ifRevision, if: condition, in: core.epoch, timeout)
    }

    /// The same, where the revision is one of an epoch: in a later one it is a conflict, whatever its number.
    nonisolated(nonsending) func dispatch(
        _ action: State.Action, ifRevision: Int?, if condition: JSON? = nil, in epoch: String,
        _ timeout: Bus.TimeLimit = .standard
    ) async throws(BusError) -> DispatchReply {
        // It would be shown for a moment.
        if Task.isCancelled { throw BusCore.cancelled }
        let (name, payload) = try Bus.coded(action, of: State.self)
        let (submission, place) = core.begin(action) { [bus, core] id in
            let submission = bus.dispatchSubmission(
                name, .store(core.address), payload, ifRevision: ifRevision, if: condition, usesKey: nil,
                timeout: timeout, epoch: epoch
            ) { core.end(id, $0.dispatch, ifRevision: ifRevision) }
            return (submission, bus.core.enter(submission))
        }
        await bus.core.settle(submission, place)
        return try await PendingReply(submission: submission, core: bus.core).dispatched
    }

    /// Dispatches an action and returns the state after it, or after commits that directly follow it.
    @discardableResult
    public func state(after action: State.Action) async throws(BusError) -> State {
        try await dispatch(action)
        return state
    }

    /// Dispatches a list of actions as one commit and returns the state after it, or after commits that directly follow it.
    @discardableResult
    public func state(afterAtomically actions: [State.Action]) async throws(BusError) -> State {
        guard !actions.isEmpty else { return state }
        var requests: [ActionRequest] = []
        for action in actions { requests.append(try request(action)) }
        let revision = try await bus.dispatch(requests).revision
        // It may still wait for the answers of own actions, which come before that of a barrier.
        while !core.hasTaken(through: revision) { try await bus.sync() }
        return state
    }

    /// An action to this store as a part of a batch or of a will.
    ///
    /// ```swift
    /// try await bus.dispatch([from.request(.decrement()), to.request(.increment())])   // both or none
    /// try await bus.setWill([room.request(.leave(name: name))])
    /// ```
    public func request(_ action: State.Action) throws(BusError) -> ActionRequest {
        let (name, payload) = try Bus.coded(action, of: State.self)
        return ActionRequest(name, to: .store(address), payload: payload)
    }

    /// Actions to this store, for callers that do not wait. ``failures`` reports those that the bus refuses. They keep the store.
    ///
    /// ```swift
    /// kitchen.actions.increment()
    /// ```
    public var actions: Actions<State> {
        Actions { [self] action in post(action) }
    }

    /// Dispatches to this store while somebody holds it, without keeping it followed; afterwards nothing happens.
    public var weakActions: Actions<State> {
        Actions { [weak self] action in self?.post(action) }
    }

    private func post(_ action: State.Action) {
        if let refusal = Mutating.refusal(of: action) {
            return core.report(ActionFailure(actions: [action], error: refusal))
        }
        if Replaying.isUnderWay { return }
        do throws(BusError) {
            let (name, payload) = try Bus.coded(action, of: State.self)
            let (submission, place) = core.begin(action) { id in
                let submission = bus.dispatchSubmission(
                    name, .store(address), payload, ifRevision: nil, usesKey: nil, timeout: .standard
                ) { [core] outcome in
                    let result = outcome.dispatch
                    core.end(id, result)
                    if case .failure(let error) = result {
                        core.report(ActionFailure(actions: [action], error: error))
                    }
                }
                return (submission, bus.core.enterPosted(submission))
            }
            bus.core.settlePosted(submission, place)
        } catch {
            core.report(ActionFailure(actions: [action], error: error))
        }
    }

    /// Dispatches one action after another, for callers that do not wait; others may come between. ``failures`` reports those that
    /// the bus refuses.
    public func dispatch(_ list: [State.Action]) { actions.dispatch(list) }

    /// Dispatches a list of actions as one commit, for callers that do not wait. ``failures`` reports it if the bus refuses it. It
    /// is shown when it is committed, also by an optimistic store.
    public func dispatch(atomically actions: [State.Action]) {
        guard let first = actions.first else { return }
        if let refusal = Mutating.refusal(of: first) {
            return core.report(ActionFailure(actions: actions, error: refusal))
        }
        if Replaying.isUnderWay { return }
        do throws(BusError) {
            var requests: [ActionRequest] = []
            for action in actions { requests.append(try request(action)) }
            bus.postDispatch(requests) { [core] outcome in
                guard case .failure(let error) = outcome else { return }
                core.report(ActionFailure(actions: actions, error: error))
            }
        } catch {
            core.report(ActionFailure(actions: actions, error: error))
        }
    }

    /// Actions of ``actions`` that failed, with the `BusError` that says why, and the errors of dispatched thunks.
    public var failures: Signal<ActionFailure<State>> { core.failures.signal }
}

/// The relation of a remote store to the bus.
public enum RemoteStoreStatus: Sendable, Equatable {
    /// It follows the bus. This stays so while the connection is lost: it continues where it was, as `bus.status` says.
    case live
    /// The bus has no such store now: it was dropped, or an ephemeral one is gone. The last state stays readable; if
    /// the store is created again, it is followed again.
    case absent
    /// The bus sent a state that does not fit the Swift type. The last one that did stays readable.
    case unfit(BusError)
    /// It is no longer followed: the bus was closed, or refuses to continue, for this reason.
    case ended(BusError?)
}

/// Actions that the bus commits to the store later.
extension RemoteStore {
    /// Has the bus dispatch an action to this store later, as the timer of that name, whether or not this process is still
    /// there then. This replaces a timer with that name, including one that the state's rule has set.
    ///
    /// ```swift
    /// try await lamp.dispatch(.switchOff, after: .seconds(300), timer: "off")
    /// try await lamp.cancelTimer("off")
    /// ```
    ///
    /// It is the same call as a local ``Flux/Store`` has. Throws the bus's refusal: `invalid_payload`, `unknown_store`,
    /// `limit`, …
    @discardableResult
    public func dispatch(
        _ action: State.Action, after delay: Duration, timer: String,
        timeout: Bus.TimeLimit = .standard
    ) async throws(BusError) -> ScheduledDispatch {
        let (name, payload) = try Bus.coded(action, of: State.self)
        return try await bus.dispatch(
            name, to: .store(address), payload: payload, when: .after(delay), timer: timer, timeout: timeout)
    }

    /// Takes a timer of this store away; returns the commit's revision. Throws `unknown_timer` where it has fired, or was
    /// never set.
    @discardableResult
    public func cancelTimer(
        _ timer: String, timeout: Bus.TimeLimit = .standard
    ) async throws(BusError) -> Int {
        try await bus.cancel(timer, of: .store(address), timeout: timeout)
    }
}
