/// A store of whatever kind, or a part of one: what a thunk works with, and what code gets that should know nothing of the rest.
///
/// ```swift
/// let todos = store.scoped(\.todos) { .todos($0) }    // App.Action.todos(Todos.Action)
/// todos.signal(\.open).observe { badge.show($0) }
/// todos.dispatch(.add("Milk"))                        // commits .todos(.add("Milk")) to `store`
/// ```
///
/// It holds no state: it reads the store's, and its actions are the store's, whose mutations apply them (see
/// ``Mutator/init(_:name:mutations:action:)``). Thunks share their identities with it. The store lives as long as this does.
public struct AnyStore<State: Flux.State>: StateStore {
    public let constant: Constant<State>
    public let actions: Actions<State>
    public let weakActions: Actions<State>
    /// What the store reports. Where this is a part of it, the failures are without actions: those are the store's.
    public let failures: Signal<ActionFailure<State>>
    public let effects: Effects
    public let subscriptions: Subscriptions
    private let postList: @Sendable ([State.Action]) -> Void
    private let post: @Sendable ([State.Action]) -> Void
    private let commitOne: @Sendable (State.Action) async throws -> State
    private let commit: @Sendable ([State.Action]) async throws -> State

    /// The whole of a store.
    public init(_ store: some StateStore<State>) {
        constant = store.constant
        actions = store.actions
        weakActions = store.weakActions
        failures = store.failures
        effects = store.effects
        subscriptions = store.subscriptions
        postList = { store.dispatch($0) }
        post = { store.dispatch(atomically: $0) }
        commitOne = { try await store.state(after: $0) }
        commit = { try await store.state(afterAtomically: $0) }
    }

    init<Whole: StateStore>(
        of store: Whole, _ part: KeyPath<Whole.State, State> & Sendable,
        action: @escaping @Sendable (State.Action) -> Whole.State.Action
    ) {
        constant = store.constant.select(part)
        actions = Actions { [actions = store.actions] in actions.dispatch(action($0)) }
        weakActions = Actions { [actions = store.weakActions] in actions.dispatch(action($0)) }
        failures = store.failures.map { ActionFailure(actions: [], error: $0.error) }
        effects = store.effects
        // An object may follow several parts.
        subscriptions = store.subscriptions.part(part)
        postList = { store.dispatch($0.map(action)) }
        post = { store.dispatch(atomically: $0.map(action)) }
        commitOne = { try await store.state(after: action($0))[keyPath: part] }
        commit = { try await store.state(afterAtomically: $0.map(action))[keyPath: part] }
    }

    /// Dispatches one action, without waiting for its outcome.
    public func dispatch(_ action: State.Action) { actions.dispatch(action) }

    /// Dispatches a list of actions as the store itself does, without waiting for their outcome.
    public func dispatch(_ list: [State.Action]) { postList(list) }

    public func dispatch(atomically actions: [State.Action]) { post(actions) }

    @discardableResult
    public func state(after action: State.Action) async throws -> State { try await commitOne(action) }

    @discardableResult
    public func state(afterAtomically actions: [State.Action]) async throws -> State {
        try await commit(actions)
    }
}

extension StateStore {
    /// A part of the state as a store of its own. `action` makes the action of this store that stands for one of the part.
    ///
    /// It need not be held: what is observed, bound or subscribed through it lasts as it would through the store.
    public func scoped<Part: Flux.State>(
        _ part: KeyPath<State, Part> & Sendable,
        action: @escaping @Sendable (Part.Action) -> State.Action
    ) -> AnyStore<Part> {
        AnyStore(of: self, part, action: action)
    }
}
