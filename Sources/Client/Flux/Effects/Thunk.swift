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
/// It works with any ``StateStore``. Only the actions it dispatches pass the middleware and are recorded; the work itself never
/// runs in a replay.
///
/// One with an identity can be cancelled by it, and can wait until it is time:
///
/// ```swift
/// store.dispatch(search("flux").cancellable(id: "search", cancelInFlight: true))   // ends the search before
/// store.dispatch(search("flux").debounced(id: "search", for: .milliseconds(300)))  // once nobody types any more
/// store.dispatch(save.throttled(id: "save", for: .seconds(1)))                     // once a second at most
/// store.cancel(id: "search")
/// ```
public struct Thunk<State: Flux.State>: Sendable {
    let body: @Sendable (AnyStore<State>) async throws -> Void
    /// What it is cancelled by, if anything, and when it begins.
    private(set) var identity: (id: EffectID, pace: EffectPace)?

    /// Work with a store, which lives at least as long as the work.
    public init(_ body: @escaping @Sendable (_ store: AnyStore<State>) async throws -> Void) {
        self.body = body
    }
}

extension Thunk {
    /// The same work, which ``StateStore/cancel(id:)`` ends. With `cancelInFlight`, work of that identity that is under way in the
    /// same store is cancelled when this begins.
    public func cancellable(id: some Hashable & Sendable, cancelInFlight: Bool = false) -> Thunk {
        identified(EffectID(base: id), .atOnce(cancelsInFlight: cancelInFlight))
    }

    /// The same work, which begins once no other of that identity has been dispatched to the same store for so long, by the store's
    /// clock. Each dispatch cancels the one before, also if that is under way.
    public func debounced(id: some Hashable & Sendable, for pause: Duration) -> Thunk {
        identified(EffectID(base: id), .debounced(pause))
    }

    /// The same work, which begins at most once in `interval` for that identity and store, by the store's clock: at once if none has
    /// begun for so long. Of those that come too early, none begins, and their tasks are cancelled ones; with `latest`, the last
    /// one begins when the interval is over.
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
    /// Starts the work in a task and returns that, which can be awaited or cancelled. No part of the work is done before
    /// this returns on the calling thread: it runs beside it, or later.
    ///
    /// An error that the work throws fails the task and is reported by the store's failures, without actions; not so the end of a
    /// cancelled one. Inside a mutation nothing starts: the mutation and the task fail with
    /// ``FluxError/dispatchInMutation(action:)``. While an observer is notified of a replay nothing starts either (see
    /// ``Recorder``), and the task is a cancelled one.
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

    /// Does the work and returns when it has ended, or throws what it throws.
    public func run(_ thunk: Thunk<State>) async throws {
        guard thunk.identity != nil else { return try await thunk.body(AnyStore(self)) }
        let task = start(thunk) { _ in }
        // Work that waits for other work is asleep while that is.
        let waiting = RosteredWork.current
        waiting?.fallAsleep()
        defer { waiting?.wakeUp() }
        try await withTaskCancellationHandler {
            try await task.value
        } onCancel: {
            task.cancel()
        }
    }

    /// Cancels the work of that identity that is under way for this store or waits for its time. Nothing happens if there is
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
