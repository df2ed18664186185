import Flux

/// What the test dispatches. The outcome is there when these return; what the actions cause beyond that has to be received.
extension TestStore {
    /// Dispatches an action, and fails unless it changes the state as `change` does.
    ///
    /// ```swift
    /// try await test.dispatch(.increment(by: 2)) { $0.value = 2 }
    /// try await test.dispatch(.touch)                               // changes nothing
    /// try await test.dispatch(.reset) { $0 = Count(value: 0) }      // a member that can't be set from outside
    /// ```
    public func dispatch(
        _ action: State.Action, isolation: isolated (any Actor)? = #isolation,
        fileID: StaticString = #fileID, file: StaticString = #filePath, line: UInt = #line,
        _ change: (inout State) throws -> Void = { _ in }
    ) async throws {
        try await perform([action], TestPlace(fileID, file, line), change) { store in
            try await store.state(after: action)
        }
    }

    /// Dispatches a list of actions, one commit after another; `change` makes the changes of all of them.
    public func dispatch(
        _ actions: [State.Action], isolation: isolated (any Actor)? = #isolation,
        fileID: StaticString = #fileID, file: StaticString = #filePath, line: UInt = #line,
        _ change: (inout State) throws -> Void = { _ in }
    ) async throws {
        try await perform(actions, TestPlace(fileID, file, line), change) { store in
            try await store.state(after: actions)
        }
    }

    /// Dispatches a list of actions as one commit; `change` makes the changes of all of them.
    public func dispatch(
        atomically actions: [State.Action], isolation: isolated (any Actor)? = #isolation,
        fileID: StaticString = #fileID, file: StaticString = #filePath, line: UInt = #line,
        _ change: (inout State) throws -> Void = { _ in }
    ) async throws {
        try await perform(actions, TestPlace(fileID, file, line), change) { store in
            try await store.state(afterAtomically: actions)
        }
    }

    /// Dispatches an action that has to fail with this error, and then has changed nothing.
    ///
    /// ```swift
    /// try await test.dispatch(.withdraw(100), throwing: Overdrawn(by: 20))
    /// ```
    public func dispatch<Failure: Error & Equatable>(
        _ action: State.Action, throwing failure: Failure, isolation: isolated (any Actor)? = #isolation,
        fileID: StaticString = #fileID, file: StaticString = #filePath, line: UInt = #line
    ) async throws {
        try await expectFailure(of: action, "the error \(failure)", TestPlace(fileID, file, line)) {
            $0 as? Failure == failure
        }
    }

    /// Dispatches an action that has to fail with an error of this type.
    public func dispatch<Failure: Error>(
        _ action: State.Action, throwing type: Failure.Type, isolation: isolated (any Actor)? = #isolation,
        fileID: StaticString = #fileID, file: StaticString = #filePath, line: UInt = #line
    ) async throws {
        try await expectFailure(of: action, "an error of type \(type)", TestPlace(fileID, file, line)) {
            $0 is Failure
        }
    }
}

extension TestStore {
    /// Lets time pass for the store, its timers and its thunks; see `ManualClock.advance(by:)`. What is dispatched meanwhile has to
    /// be received.
    ///
    /// ```swift
    /// test.dispatch(Thunk { [clock = test.clock.clock] store in
    ///     try await clock.sleep(for: .seconds(1))
    ///     store.dispatch(.clear)
    /// })
    /// await test.advance(by: .seconds(1))
    /// try await test.receive(.clear)
    /// ```
    public nonisolated(nonsending) func advance(by duration: Duration) async {
        await clock.advance(by: duration)
    }
}

extension TestStore {
    private func perform(
        _ actions: [State.Action], _ place: TestPlace, _ change: (inout State) throws -> Void,
        isolation: isolated (any Actor)? = #isolation, _ dispatch: (Store<State>) async throws -> State
    ) async throws {
        guard let first = actions.first else { return }
        let start = journal.count
        var failure: (any Error)?
        do { _ = try await dispatch(store) } catch { failure = error }
        var done: [JournaledAction<State>] = []
        for action in actions {
            if let found = journal.take(action, after: done.last?.number ?? start) { done.append(found) }
        }
        let name = ValueText.of(actions.count == 1 ? first : actions)
        if let failure { return try report("\(name) failed: \(failure)", place) }
        guard let before = done.first?.before, let after = done.last?.after else {
            return try report("\(name) did not reach the store.", place)
        }
        try compare(name, before, after, place, change)
    }

    private func expectFailure(
        of action: State.Action, _ expected: String, _ place: TestPlace,
        isolation: isolated (any Actor)? = #isolation, _ isRight: (any Error) -> Bool
    ) async throws {
        let start = journal.count
        let name = ValueText.of(action)
        do {
            _ = try await store.state(after: action)
        } catch {
            _ = journal.take(action, after: start)
            if isRight(error) { return }
            return try report("\(name) should fail with \(expected), but failed with: \(error)", place)
        }
        _ = journal.take(action, after: start)
        try report("\(name) should fail with \(expected), but succeeded.", place)
    }

    /// Fails unless `change` makes `after` of `before`; or, if not everything has to be expected, unless it leaves `after` as
    /// it is.
    func compare(
        _ name: String, _ before: State, _ after: State, _ place: TestPlace,
        _ change: (inout State) throws -> Void
    ) throws {
        var expected = isExhaustive ? before : after
        try change(&expected)
        let differences = Comparison.differences(expected: expected, actual: after)
        guard !differences.isEmpty else { return }
        try report("\(name) did not change the state as expected:\(differences.text)", place)
    }
}
