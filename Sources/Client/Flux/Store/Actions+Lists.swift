extension Actions {
    /// Dispatches one action after another; each state between can be observed. Others may dispatch between two of them;
    /// see ``Store/dispatch(_:)-([State.Action])`` and ``Store/dispatch(atomically:)`` for lists that stay together.
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
