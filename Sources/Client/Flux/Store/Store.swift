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
/// **Timers.** What ``State/timers`` says of an action, or ``dispatch(_:after:timer:)``, the store commits later by itself.
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
            Entry<State>(.action(action)) { [initialFailure = core.initialFailure] result in
                guard case .failure(let error) = result else { return }
                initialFailure.value = ActionFailure(actions: [action], error: error)
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
    public var failures: Signal<ActionFailure<State>> {
        core.failures.signal.merged(with: core.initialFailure.signal.present())
    }
}
