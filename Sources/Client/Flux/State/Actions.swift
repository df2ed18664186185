/// The way to change a state: dispatches actions to one store, to every store of a type, or over a bus; the code
/// that dispatches can't tell which.
///
/// Give a state its vocabulary in an extension; what takes time belongs there too:
///
/// ```swift
/// extension Actions<Counter> {
///     func increment(by amount: Int = 1) { dispatch(.increment(by: amount)) }
///
///     func refresh() async throws {
///         dispatch(.increment(by: try await fetchAmount()))
///     }
/// }
///
/// store.actions.increment()            // this store
/// Store<Counter>.actions.increment()   // every store of the type
/// ```
public struct Actions<State: Flux.State>: Sendable {
    @usableFromInline let send: @Sendable (State.Action) -> Void

    /// Actions that are passed to `send`.
    @inlinable
    public init(_ send: @escaping @Sendable (State.Action) -> Void) { self.send = send }

    /// Dispatches one action. It returns at once where it may; the store's documentation
    /// says when the change is visible.
    @inlinable
    public func dispatch(_ action: State.Action) { send(action) }
}

extension Actions {
    /// Dispatches one action after another; each state between can be observed. Other callers may dispatch
    /// between two of them; see ``Store/dispatch(_:)-([State.Action])`` and ``Store/dispatch(atomically:)``
    /// for lists that stay together.
    public func dispatch(_ actions: [State.Action]) {
        for action in actions { dispatch(action) }
    }

    /// Dispatches each action of an asynchronous sequence as it comes, until it ends or throws.
    public func dispatch<Sequence: AsyncSequence>(
        _ actions: Sequence
    ) async throws(Sequence.Failure) where Sequence.Element == State.Action {
        var iterator = actions.makeAsyncIterator()
        while let action = try await iterator.next(isolation: #isolation) { dispatch(action) }
    }
}
