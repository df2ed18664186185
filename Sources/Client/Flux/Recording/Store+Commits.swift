extension Store {
    /// Calls `body` with every commit of actions, within the store's turn: the state before it, and the actions that reached
    /// the mutations. It must neither wait nor dispatch. Replays are no commits.
    package func observeCommits(
        _ body: @escaping @Sendable (_ before: State, _ actions: [State.Action]) -> Void
    ) -> Disposable {
        core.recorders.add(body)
    }
}
