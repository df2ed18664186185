/// A part of a store's state as a store of its own: what handles the part knows nothing of the rest, and works with a
/// ``Store`` of the part alone just as well.
///
/// ```swift
/// let todos = store.scoped(\.todos) { .todos($0) }    // App.Action.todos(Todos.Action)
/// todos.signal(\.open).observe { badge.show($0) }
/// todos.dispatch(.add("Milk"))                        // commits .todos(.add("Milk")) to `store`
/// ```
///
/// It holds no state: it reads the store's, and its actions are the store's, whose mutations apply them (see
/// ``Mutator/init(_:name:mutations:action:)``). What can't be committed is reported by the failures of that store. Thunks share their
/// identities with it. The store lives as long as this does.
public struct ScopedStore<State: Flux.State>: StateStore {
    public let constant: Constant<State>
    public let actions: Actions<State>
    public let effects: Effects
    public let subscriptions = Subscriptions()
    private let post: @Sendable ([State.Action]) -> Void
    private let commit: @Sendable ([State.Action]) async throws -> State

    init<Whole: StateStore>(
        of store: Whole, _ part: KeyPath<Whole.State, State> & Sendable,
        action: @escaping @Sendable (State.Action) -> Whole.State.Action
    ) {
        constant = store.constant.select(part)
        actions = Actions { [actions = store.actions] in actions.dispatch(action($0)) }
        effects = store.effects
        post = { store.dispatch(atomically: $0.map(action)) }
        commit = { try await store.state(afterAtomically: $0.map(action))[keyPath: part] }
    }

    public func dispatch(atomically actions: [State.Action]) { post(actions) }

    @discardableResult
    public func state(after action: State.Action) async throws -> State { try await commit([action]) }

    @discardableResult
    public func state(afterAtomically actions: [State.Action]) async throws -> State {
        try await commit(actions)
    }
}

extension StateStore {
    /// A part of the state as a store of its own. `action` makes the action of this store that stands for one of the part.
    public func scoped<Part: Flux.State>(
        _ part: KeyPath<State, Part> & Sendable,
        action: @escaping @Sendable (Part.Action) -> State.Action
    ) -> ScopedStore<Part> {
        ScopedStore(of: self, part, action: action)
    }
}
