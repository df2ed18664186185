/// Work that takes time and dispatches meanwhile, as a value that can be passed to a store.
///
/// ```swift
/// let refresh = Thunk<Weather> { store in
///     store.dispatch(.loading)
///     store.dispatch(.loaded(try await service.forecast(for: store.state.city)))
/// }
/// store.dispatch(refresh)      // or: try await store.run(refresh)
/// ```
///
/// Only the actions it dispatches pass the middleware and are recorded; the work itself never runs in a replay.
public struct Thunk<State: Flux.State>: Sendable {
    let body: @Sendable (Store<State>) async throws -> Void

    /// Work with a store, which lives at least as long as the work.
    public init(_ body: @escaping @Sendable (_ store: Store<State>) async throws -> Void) { self.body = body }
}

extension Store {
    /// Starts the work and returns its task, which can be awaited or cancelled. Inside a mutation nothing starts: the
    /// mutation and the task fail with ``FluxError/dispatchInMutation(action:)``.
    @discardableResult
    public func dispatch(_ thunk: Thunk<State>) -> Task<Void, any Error> {
        guard !ThreadContext.refusesDispatch() else {
            return Task { throw FluxError.dispatchInMutation(action: "a thunk") }
        }
        return Task { try await thunk.body(self) }
    }

    /// Does the work and returns when it has ended.
    public func run(_ thunk: Thunk<State>) async throws { try await thunk.body(self) }
}
