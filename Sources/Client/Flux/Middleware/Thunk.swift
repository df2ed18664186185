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
    /// Starts the work in a task and returns that, which can be awaited or cancelled. No part of the work is done before
    /// this returns on the calling thread: it runs beside it, or later.
    ///
    /// An error that the work throws fails the task and is reported by ``failures``, without actions; not so the end of a
    /// cancelled one. Inside a mutation nothing starts: the mutation and the task fail with
    /// ``FluxError/dispatchInMutation(action:)``. While an observer is notified of a replay nothing starts either (see
    /// ``Recorder``), and the task is a cancelled one.
    @discardableResult
    public func dispatch(_ thunk: Thunk<State>) -> Task<Void, any Error> {
        guard !ThreadContext.refusesDispatch() else {
            return Task { throw FluxError.dispatchInMutation(action: "a thunk") }
        }
        guard !ThreadContext.isReplaying else { return Task { throw CancellationError() } }
        return Task {
            do {
                try await thunk.body(self)
            } catch {
                if !(error is CancellationError && Task.isCancelled) {
                    core.failures.send(ActionFailure(actions: [], error: error))
                }
                throw error
            }
        }
    }

    /// Does the work and returns when it has ended, or throws what it throws.
    public func run(_ thunk: Thunk<State>) async throws { try await thunk.body(self) }
}
