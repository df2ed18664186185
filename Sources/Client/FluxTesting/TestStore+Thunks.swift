import Flux

extension TestStore {
    /// Starts a thunk. The actions that it dispatches have to be received, an error that it throws too, and it has to end
    /// before the test does.
    @discardableResult
    public func dispatch(_ thunk: Thunk<State>) -> Task<Void, any Error> {
        let task = store.dispatch(thunk)
        journal.follow(task)
        return task
    }

    /// Does the work of a thunk to its end, and fails unless it dispatches just these actions, which together change the state
    /// as `change` does. It throws what the thunk throws.
    ///
    /// ```swift
    /// try await test.expect(loadPrices, toDispatch: [.loading, .pricesLoaded(3)]) { $0.total = 3 }
    /// ```
    public func expect(
        _ thunk: Thunk<State>, toDispatch actions: [State.Action],
        isolation: isolated (any Actor)? = #isolation,
        fileID: StaticString = #fileID, file: StaticString = #filePath, line: UInt = #line,
        _ change: (inout State) throws -> Void = { _ in }
    ) async throws {
        let place = TestPlace(fileID, file, line)
        let left = journal.entries.count
        let before = store.state
        try await store.run(thunk)
        let came = journal.takeEntries(after: left)
        let dispatched = came.compactMap { entry -> State.Action? in
            if case .action(let action) = entry { action.action } else { nil }
        }
        let differences = Comparison.differences(expected: actions, actual: dispatched)
        guard differences.isEmpty else {
            return try report("The thunk dispatches other actions than expected:\(differences.text)", place)
        }
        try compare("The thunk", before, store.state, place, change)
    }
}
