import Flux

extension TestStore {
    /// Replays a recording, and fails unless all its steps together change its first state as `change` does. So a fixture shows
    /// that the mutations still make of old actions what they made of them.
    ///
    /// ```swift
    /// let recording = try Recording<Cart>(fixture: "Fixtures/checkout.json")
    /// try await test.replay(recording) { $0.total = 12 }
    /// ```
    ///
    /// The store has the recording's last state afterwards. As in every replay, no middleware and no thunk runs.
    public func replay(
        _ recording: Recording<State>, isolation: isolated (any Actor)? = #isolation,
        fileID: StaticString = #fileID, file: StaticString = #filePath, line: UInt = #line,
        _ change: (inout State) throws -> Void
    ) async throws {
        let place = TestPlace(fileID, file, line)
        let before = recording.start ?? store.state
        let after: State
        do {
            after = try await Recorder(store).replay(recording)
        } catch {
            return try report("The recording can't be replayed: \(error)", place)
        }
        journal.know(after)
        try compare("The replay", before, after, place, change)
    }

    /// Fails unless what the store has committed so far is what the recording holds: the same actions in the same steps, from
    /// the same state, if it holds one. Their times are not compared.
    ///
    /// ```swift
    /// try test.expect(Recording(fixture: "Fixtures/checkout.json"))
    /// ```
    public func expect(
        _ recording: Recording<State>,
        fileID: StaticString = #fileID, file: StaticString = #filePath, line: UInt = #line
    ) throws {
        let committed = self.recording
        var differences: [Difference] = []
        if let expected = recording.start, let actual = committed.start {
            differences += Comparison.differences(expected: expected, actual: actual).map {
                Difference(
                    path: $0.path.isEmpty ? "start" : "start.\($0.path)", expected: $0.expected,
                    actual: $0.actual)
            }
        }
        differences += Comparison.differences(
            expected: recording.steps.map(\.actions), actual: committed.steps.map(\.actions)
        ).map { Difference(path: "steps\($0.path)", expected: $0.expected, actual: $0.actual) }
        guard !differences.isEmpty else { return }
        try report(
            "What was committed is not what the recording holds:\(differences.text)",
            TestPlace(fileID, file, line))
    }
}
