/// Work that takes time and dispatches as it goes, as a value that can be passed to a store.
///
/// ```swift
/// let refresh = Thunk<Weather> { store in
///     store.dispatch(.loading)
///     store.dispatch(.loaded(try await service.forecast(for: store.state.city)))
/// }
/// store.dispatch(refresh)      // or: try await store.run(refresh)
/// ```
///
/// It works with any ``StateStore``. Only the actions it dispatches pass the middleware and are recorded; the work itself never
/// runs in a replay.
///
/// A thunk with an identity can be cancelled by that identity, and can begin later:
///
/// ```swift
/// store.dispatch(search("flux").cancellable(id: "search", cancelInFlight: true))   // cancels the previous search
/// store.dispatch(search("flux").debounced(id: "search", for: .milliseconds(300)))  // begins when typing pauses
/// store.dispatch(save.throttled(id: "save", for: .seconds(1)))                     // at most once a second
/// store.cancel(id: "search")
/// ```
public struct Thunk<State: Flux.State>: Sendable {
    let body: @Sendable (AnyStore<State>) async throws -> Void
    /// The identity by which it can be cancelled, and when it begins; nil: it has no identity, and begins at once.
    private(set) var identity: (id: EffectID, pace: EffectPace)?

    /// A thunk that does this work. The store lives at least as long as the work.
    public init(_ body: @escaping @Sendable (_ store: AnyStore<State>) async throws -> Void) {
        self.body = body
    }
}

extension Thunk {
    /// Returns the same work under an `id`, by which ``StateStore/cancel(id:)`` cancels it. With `cancelInFlight`, starting it
    /// cancels work that is already running under that `id` in the same store.
    public func cancellable(id: some Hashable & Sendable, cancelInFlight: Bool = false) -> Thunk {
        identified(EffectID(base: id), .atOnce(cancelsInFlight: cancelInFlight))
    }

    /// Returns the same work, delayed by `pause` on the store's clock. Dispatching other work with the same `id` to the same
    /// store cancels it, whether it is still waiting or already running.
    public func debounced(id: some Hashable & Sendable, for pause: Duration) -> Thunk {
        identified(EffectID(base: id), .debounced(pause))
    }

    /// Returns the same work, started at most once per `interval` for each `id` and store, on the store's clock. It starts at
    /// once if the previous interval is over. Otherwise it never starts, and its task throws `CancellationError`; but with
    /// `latest`, the last work that came too early starts when the interval is over.
    public func throttled(
        id: some Hashable & Sendable, for interval: Duration, latest: Bool = false
    ) -> Thunk {
        identified(EffectID(base: id), .throttled(interval, latest: latest))
    }

    private func identified(_ id: EffectID, _ pace: EffectPace) -> Thunk {
        var thunk = self
        thunk.identity = (id, pace)
        return thunk
    }
}

extension StateStore {
    /// Starts the work in a task and returns the task, which can be awaited or cancelled. The calling thread does none of the
    /// work before this returns.
    ///
    /// An error that the work throws fails the task and is reported by the store's failures, without actions. The
    /// `CancellationError` of a cancelled task is not reported. Inside a mutation nothing starts: the mutation and the task
    /// fail with ``FluxError/dispatchInMutation(action:)``. Nothing starts while an observer is notified of a replay, either
    /// (see ``Recorder``): the task throws `CancellationError`.
    @discardableResult
    public func dispatch(_ thunk: Thunk<State>) -> Task<Void, any Error> {
        guard !ThreadContext.current.refusesDispatch() else {
            return Task { throw FluxError.dispatchInMutation(action: "a thunk") }
        }
        guard !ThreadContext.current.isReplaying else { return Task { throw CancellationError() } }
        return start(thunk) { [effects] error in
            if !(error is CancellationError && Task.isCancelled) { effects.report(error) }
        }
    }

    /// Does the work, and returns when it has ended. Throws what the work throws.
    public func run(_ thunk: Thunk<State>) async throws {
        guard thunk.identity != nil else { return try await thunk.body(AnyStore(self)) }
        let task = start(thunk) { _ in }
        // Work that waits for other work counts as asleep: only the other keeps the roster busy.
        let waiting = RosteredWork.current
        waiting?.fallAsleep()
        defer { waiting?.wakeUp() }
        try await withTaskCancellationHandler {
            try await task.value
        } onCancel: {
            task.cancel()
        }
    }

    /// Cancels all work of that identity in this store, whether it is under way or has yet to begin. Does nothing if there is
    /// none. As with any task, it is up to the work how soon it ends.
    public func cancel(id: some Hashable & Sendable) { effects.cancel(EffectID(base: id)) }

    private func start(
        _ thunk: Thunk<State>, onError: @escaping @Sendable (any Error) -> Void
    ) -> Task<Void, any Error> {
        let work: @Sendable () async throws -> Void = {
            do {
                try await thunk.body(AnyStore(self))
            } catch {
                onError(error)
                throw error
            }
        }
        guard let (id, pace) = thunk.identity else { return effects.start(work) }
        return effects.start(id, pace, work)
    }
}
