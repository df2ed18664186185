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
    /// Starts the work and returns its task, which can be awaited or cancelled. An error that the work throws fails the
    /// task, and ``failures`` reports it, with no actions; a `CancellationError` fails the task only.
    ///
    /// Inside a mutation nothing starts: the mutation and the task fail with ``FluxError/dispatchInMutation(action:)``. Nor
    /// does it from an observer to which a ``Recorder`` replays this store: ``FluxError/dispatchInReplay(action:)``.
    @discardableResult
    public func dispatch(_ thunk: Thunk<State>) -> Task<Void, any Error> {
        guard !ThreadContext.refusesDispatch() else {
            return Task { throw FluxError.dispatchInMutation(action: "a thunk") }
        }
        guard ThreadContext.replayed != ObjectIdentifier(core.emitter) else {
            return Task { throw FluxError.dispatchInReplay(action: "a thunk") }
        }
        return Task {
            do { try await thunk.body(self) } catch {
                if !(error is CancellationError) {
                    core.failures.send(ActionFailure(actions: [], error: error))
                }
                throw error
            }
        }
    }

    /// Does the work and returns when it has ended, or throws what it throws.
    public func run(_ thunk: Thunk<State>) async throws { try await thunk.body(self) }
}
