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
///
/// One with an identity can be cancelled by it:
///
/// ```swift
/// store.dispatch(search("flux").cancellable(id: "search", cancelInFlight: true))   // ends the search before
/// store.cancel(id: "search")
/// ```
public struct Thunk<State: Flux.State>: Sendable {
    let body: @Sendable (Store<State>) async throws -> Void
    /// What it is cancelled by, if anything.
    private(set) var id: ThunkID?
    /// Whether those of the same identity end when it begins.
    private(set) var cancelsInFlight = false

    /// Work with a store, which lives at least as long as the work.
    public init(_ body: @escaping @Sendable (_ store: Store<State>) async throws -> Void) { self.body = body }
}

extension Thunk {
    /// The same work, which ``Store/cancel(id:)`` ends. With `cancelInFlight`, work of that identity that is under way in the
    /// same store is cancelled when this begins.
    public func cancellable(id: some Hashable & Sendable, cancelInFlight: Bool = false) -> Thunk {
        var thunk = self
        thunk.id = ThunkID(base: id)
        thunk.cancelsInFlight = cancelInFlight
        return thunk
    }
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
        guard !ThreadContext.current.refusesDispatch() else {
            return Task { throw FluxError.dispatchInMutation(action: "a thunk") }
        }
        guard !ThreadContext.current.isReplaying else { return Task { throw CancellationError() } }
        return start(thunk) { [core] error in
            if !(error is CancellationError && Task.isCancelled) {
                core.failures.send(ActionFailure(actions: [], error: error))
            }
        }
    }

    /// Does the work and returns when it has ended, or throws what it throws.
    public func run(_ thunk: Thunk<State>) async throws {
        guard thunk.id != nil else { return try await thunk.body(self) }
        let task = start(thunk) { _ in }
        try await withTaskCancellationHandler {
            try await task.value
        } onCancel: {
            task.cancel()
        }
    }

    /// Cancels the work of that identity that is under way in this store; see ``Thunk/cancellable(id:cancelInFlight:)``.
    /// Nothing happens if there is none. As with any task, it is up to the work how soon it ends.
    public func cancel(id: some Hashable & Sendable) { core.thunks.cancel(ThunkID(base: id)) }

    private func start(
        _ thunk: Thunk<State>, onError: @escaping @Sendable (any Error) -> Void
    ) -> Task<Void, any Error> {
        let work: @Sendable () async throws -> Void = {
            do {
                try await thunk.body(self)
            } catch {
                onError(error)
                throw error
            }
        }
        guard let id = thunk.id else { return Task(operation: work) }
        return core.thunks.start(id, cancelInFlight: thunk.cancelsInFlight, work)
    }
}
