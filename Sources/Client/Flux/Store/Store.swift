import Synchronization

/// Holds a state, commits actions to it one after another, and notifies its observers.
///
/// ```swift
/// let store = Store<Counter>(state: Counter())
/// store.signal(\.count).observe { show($0) }   // the latest first, then each change
/// store.actions.increment()                    // this store
/// Store<Counter>.actions.increment()           // every living Store<Counter>, in the order of their creation
/// ```
///
/// **Order.** All dispatches of one state type in a process, to one store or to all, have one total order; every store
/// commits in it.
///
/// **When.** The executor says where commits happen. With ``FluxExecutor/immediate`` the change is made and
/// can be read when the dispatch returns, whatever other threads do. From a middleware or an observer
/// it is made after that returns.
///
/// **Observers.** They are called after the commit, outside all locks, by the thread that commits or one that
/// is already delivering to them. Equal states are skipped if the state is `Equatable`, unless
/// `skipsEqualStates` is false.
///
/// **Timers.** The store commits later what ``State/timers`` sets for an action, and what ``dispatch(_:after:timer:)`` asks for.
///
/// **Its end.** When the store is released its streams end, and what was queued but not started never happens, nor what
/// its timers would have done. A store for the whole process is `static let shared = Store<Counter>(state: Counter())`.
public final class Store<State: Flux.State>: StateStore {
    @usableFromInline let core: StoreCore<State>
    public let subscriptions = Subscriptions()

    public var effects: Effects { core.effects }

    /// How many thunks with identities are under way.
    package var cancellableCount: Int { core.effects.count }

    /// A store with `state`. `middleware` sees every action first, in the order listed; `initialAction` is
    /// committed before anything else; `clock` says when timers are due.
    public convenience init(
        state: State, mutations: State.Mutations = .init(), executor: FluxExecutor = .immediate,
        skipsEqualStates: Bool = true, middleware: [Middleware<State>] = [],
        initialAction: State.Action? = nil, clock: StoreClock = .continuous
    ) {
        self.init(
            core: StoreCore(
                state: state, mutations: mutations, executor: executor, skipsEqualStates: skipsEqualStates,
                middleware: middleware, clock: clock),
            initialAction: initialAction)
    }

    init(core: StoreCore<State>, initialAction: State.Action?) {
        self.core = core
        let first = initialAction.map { action in
            Entry<State>(.action(action)) { [failures = core.failures] result in
                guard case .failure(let error) = result else { return }
                // It fails before it can be observed.
                failures.keep(ActionFailure(actions: [action], error: error))
            }
        }
        core.lane.join(core, first: first)
    }

    deinit { core.close() }

    @inlinable public var state: State { core.state }

    /// Dispatches to this store, and keeps it alive: in `store.actions.increment()` the store may have been used for
    /// the last time before the action is dispatched, and an optimised program releases it there. What lasts as long as the
    /// store, an observer for example, keeps ``weakActions`` instead.
    @inlinable public var actions: Actions<State> {
        Actions { [self] action in core.lane.place(Entry(.action(action)), in: core) }
    }

    /// Dispatches to this store while it exists, without keeping it alive; afterwards nothing happens.
    ///
    /// ```swift
    /// store.signal(\.count).observe { [actions = store.weakActions] count in
    ///     if count > 9 { actions.dispatch(.reset) }
    /// }
    /// ```
    @inlinable public var weakActions: Actions<State> {
        Actions { [weak core] action in
            guard let core else { return }
            core.lane.place(Entry(.action(action)), in: core)
        }
    }

    /// Dispatches to every living store of the state type in this process, in the order of their creation. While a
    /// relay is attached (see ``attach(_:)``), to the relay only.
    @inlinable public static var actions: Actions<State> {
        let lane = Lane<State>.shared
        return Actions { lane.placeInAll($0) }
    }

    /// Actions that could not be committed and for whose outcome no caller waits, and errors of dispatched thunks. If the initial action failed, every
    /// observer is notified of it, also a later one.
    public var failures: Signal<ActionFailure<State>> { core.failures.signal }
}

extension Store {
    /// Dispatches an action to every living store of the state type and returns the state that it left in each, in the order of
    /// their creation. It throws the first error, after all stores have tried.
    ///
    /// ```swift
    /// let states = try await Store<Counter>.dispatchToAll(.reset)
    /// ```
    ///
    /// While a relay is attached (see ``attach(_:)``) the action only goes to that, which decides when it is committed, and the
    /// list is empty. Dispatches from an observer are ignored while it is being notified of a replay.
    @discardableResult
    public static func dispatchToAll(_ action: State.Action) async throws -> [State] {
        try await withCheckedContinuation { continuation in
            Lane<State>.shared.placeInAll(action, whenAll: { continuation.resume(returning: $0) })
        }.map { try $0.get() }
    }
}

/// The outcomes of several stores, of which the last one reports all.
final class Outcomes<State: Flux.State>: Sendable {
    private let contents: Mutex<(results: [Result<State, any Error>?], missing: Int)>
    private let whenAll: @Sendable ([Result<State, any Error>]) -> Void

    /// For `count` stores, at least one.
    init(count: Int, _ whenAll: @escaping @Sendable ([Result<State, any Error>]) -> Void) {
        contents = Mutex((Array(repeating: nil, count: count), count))
        self.whenAll = whenAll
    }

    /// Takes the outcome of the store of that number; nil, or that it is gone, leaves it out.
    func take(_ result: Result<State, any Error>?, of number: Int) {
        var known = result
        if case .failure(FluxError.storeGone) = result { known = nil }
        let all = contents.withLock { contents -> [Result<State, any Error>]? in
            contents.results[number] = known
            contents.missing -= 1
            return contents.missing == 0 ? contents.results.compactMap { $0 } : nil
        }
        if let all { whenAll(all) }
    }
}

extension Store {
    /// Dispatches one action to this store.
    @inlinable
    public func dispatch(_ action: State.Action) {
        // Made a part of the caller, this must not let go of the store before the action has its place.
        withExtendedLifetime(self) { core.lane.place(Entry(.action(action)), in: core) }
    }

    /// Dispatches a list of actions to this store: one commit after another, each state observable, no other commits
    /// between. If one fails, the others are still committed.
    ///
    /// ```swift
    /// store.dispatch([.increment(by: 1), .increment(by: 2)])
    /// ```
    public func dispatch(_ actions: [State.Action]) {
        core.lane.place(actions.map { Entry(.action($0)) }, in: core)
    }

    /// Dispatches a list of actions as one commit: one change for the observers, and if one action fails, none of them
    /// has happened.
    ///
    /// ```swift
    /// store.dispatch(atomically: [.withdraw(5), .deposit(5)])
    /// ```
    public func dispatch(atomically actions: [State.Action]) {
        core.lane.place([Entry(.actions(actions))], in: core)
    }

    /// Dispatches each action of an asynchronous sequence as it comes, until it ends or throws.
    ///
    /// ```swift
    /// try await store.dispatch(sensor.readings.map { .setTemperature($0) })
    /// ```
    public func dispatch<Actions: AsyncSequence>(
        _ actions: Actions
    ) async throws(Actions.Failure) where Actions.Element == State.Action {
        try await self.actions.dispatch(actions)
    }

    /// Dispatches one action and returns the state that its commit left, or throws what the mutation threw.
    ///
    /// ```swift
    /// let count = try await store.state(after: .increment(by: 2)).count
    /// ```
    ///
    /// If a middleware drops or delays the action, that is the state without it.
    @discardableResult
    public func state(after action: State.Action) async throws -> State {
        try await core.outcome(of: .action(action)).get()
    }

    /// Dispatches a list of actions, one commit after another, and returns the state after the last. It throws the
    /// first error, after all have been tried.
    @discardableResult
    public func state(after actions: [State.Action]) async throws -> State {
        guard let last = actions.last else { return state }
        let failure = Variable<(any Error)?>(nil)
        let entries = actions.dropLast().map { action in
            Entry<State>(.action(action)) { result in
                if case .failure(let error) = result { failure.modify { $0 = $0 ?? error } }
            }
        }
        let result = await core.outcome(of: .action(last), after: entries)
        if let error = failure.value { throw error }
        return try result.get()
    }

    /// Dispatches a list of actions as one commit and returns the state it left, or throws what the
    /// first failing mutation threw.
    @discardableResult
    public func state(afterAtomically actions: [State.Action]) async throws -> State {
        try await core.outcome(of: .actions(actions)).get()
    }
}

/// Actions that could not be committed and whose dispatcher does not wait for the outcome, or a thunk that failed.
///
/// ```swift
/// store.failures.observe { log("\($0.actions) failed: \($0.error)") }
/// ```
public struct ActionFailure<State: Flux.State>: Sendable {
    /// The actions of the one commit that failed, most often one; none if a ``Thunk`` failed.
    public let actions: [State.Action]
    /// The reason: the error of the mutation or of the thunk, or a ``FluxError``.
    public let error: any Error

    package init(actions: [State.Action], error: any Error) {
        self.actions = actions
        self.error = error
    }
}

extension Store {
    @inlinable public var constant: Constant<State> {
        Constant(signal: signal) { [emitter = core.emitter] in emitter.latest }
    }

    /// The latest state, then every change.
    @inlinable public var signal: Signal<State> { Signal(core.emitter, isDistinct: core.skipsEqualStates) }
}
