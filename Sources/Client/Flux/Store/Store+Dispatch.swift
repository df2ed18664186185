extension Store {
    /// Dispatches one action to this store.
    @inlinable
    public func dispatch(_ action: State.Action) {
        // Made a part of the caller, this must not let go of the store before the action has its place.
        withExtendedLifetime(self) { core.lane.place(Entry(.action(action)), in: core) }
    }

    /// Dispatches a list of actions to this store: one commit after another, each state observable, no other commits
    /// between. If one fails, the others are still committed.
    ///
    /// ```swift
    /// store.dispatch([.increment(by: 1), .increment(by: 2)])
    /// ```
    public func dispatch(_ actions: [State.Action]) {
        core.lane.place(actions.map { Entry(.action($0)) }, in: core)
    }

    /// Dispatches a list of actions as one commit: one change for the observers, and if one action fails, none of them
    /// has happened.
    ///
    /// ```swift
    /// store.dispatch(atomically: [.withdraw(5), .deposit(5)])
    /// ```
    public func dispatch(atomically actions: [State.Action]) {
        core.lane.place([Entry(.actions(actions))], in: core)
    }

    /// Dispatches each action of an asynchronous sequence as it comes, until it ends or throws.
    ///
    /// ```swift
    /// try await store.dispatch(sensor.readings.map { .setTemperature($0) })
    /// ```
    public func dispatch<Actions: AsyncSequence>(
        _ actions: Actions
    ) async throws(Actions.Failure) where Actions.Element == State.Action {
        try await self.actions.dispatch(actions)
    }

    /// Dispatches one action and returns the state that its commit left, or throws what the mutation threw.
    ///
    /// ```swift
    /// let count = try await store.state(after: .increment(by: 2)).count
    /// ```
    ///
    /// If a middleware drops or delays the action, that is the state without it.
    @discardableResult
    public func state(after action: State.Action) async throws -> State {
        try await core.outcome(of: .action(action)).get()
    }

    /// Dispatches a list of actions, one commit after another, and returns the state after the last. It throws the
    /// first error, after all have been tried.
    @discardableResult
    public func state(after actions: [State.Action]) async throws -> State {
        guard let last = actions.last else { return state }
        let failure = Variable<(any Error)?>(nil)
        let entries = actions.dropLast().map { action in
            Entry<State>(.action(action)) { result in
                if case .failure(let error) = result { failure.modify { $0 = $0 ?? error } }
            }
        }
        let result = await core.outcome(of: .action(last), after: entries)
        if let error = failure.value { throw error }
        return try result.get()
    }

    /// Dispatches a list of actions as one commit and returns the state it left, or throws what the
    /// first failing mutation threw.
    @discardableResult
    public func state(afterAtomically actions: [State.Action]) async throws -> State {
        try await core.outcome(of: .actions(actions)).get()
    }
}

/// Actions that could not be committed and whose dispatcher does not wait for the outcome, or a thunk that failed.
///
/// ```swift
/// store.failures.observe { log("\($0.actions) failed: \($0.error)") }
/// ```
public struct ActionFailure<State: Flux.State>: Sendable {
    /// The actions of the one commit that failed, most often one; none if a ``Thunk`` failed.
    public let actions: [State.Action]
    /// The reason: the error of the mutation or of the thunk, or a ``FluxError``.
    public let error: any Error

    package init(actions: [State.Action], error: any Error) {
        self.actions = actions
        self.error = error
    }
}
