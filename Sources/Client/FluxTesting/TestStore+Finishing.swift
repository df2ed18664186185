import Flux

extension TestStore {
    /// Ends the test: waits for the thunks that were dispatched to the store, and fails if anything is left that it has not expected.
    ///
    /// That is an action or a failure that was not received, a change without an action, a timer that is set, or a thunk
    /// that does not end. To let a timer come, advance the ``clock``, or take it away with `store.cancelTimer(_:)`; to let
    /// the rest be, ``skipReceived()``. If not everything has to be expected (``isExhaustive``), only failures are left to
    /// fail it.
    public func finish(
        timeout: Duration? = nil, isolation: isolated (any Actor)? = #isolation,
        fileID: StaticString = #fileID, file: StaticString = #filePath, line: UInt = #line
    ) async throws {
        settle()
        if isExhaustive {
            _ = await first(within: timeout ?? self.timeout) { store.effects.workCount == 0 ? true : nil }
        }
        let running = store.effects.workCount
        journal.cancelThunks()
        journal.note(store.state)
        var left = journal.failures.map(\.text)
        if isExhaustive {
            left += journal.entries.map { entry in
                switch entry {
                case .action(let action): "\(action.name) was not received"
                case .change(let before, let after):
                    "the state changed without an action:"
                        + Comparison.differences(expected: before, actual: after).text
                }
            }
            left += store.timers.map {
                "the timer \($0.name) is set: \(ValueText.of($0.action)) in \($0.remaining)"
            }
            if running > 0 { left.append("\(running) of the thunks did not end") }
        }
        journal.clear()
        guard !left.isEmpty else { return }
        let list = left.map { "\n    \($0)" }.joined()
        try report("The test ends, but not everything was expected:\(list)", TestPlace(fileID, file, line))
    }
}
