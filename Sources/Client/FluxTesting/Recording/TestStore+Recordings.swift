import Flux
import Foundation

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

/// Recordings in files beside the tests, as JSON.
extension Recording where State.Action: Decodable {
    /// Reads a recording from a JSON file, by default at a path from the folder of the test's file.
    ///
    /// ```swift
    /// let recording = try Recording<Cart>(fixture: "Fixtures/checkout.json")
    /// ```
    ///
    /// Throws a ``TestFailure`` if the file can't be read or is not such a recording.
    public init(
        fixture path: String,
        fileID: StaticString = #fileID, file: StaticString = #filePath, line: UInt = #line
    ) throws {
        let place = TestPlace(fileID, file, line)
        let url = Fixture.url(path, beside: file)
        guard let data = try? Data(contentsOf: url) else {
            throw TestFailure("The fixture \(url.path) can't be read.", place)
        }
        do {
            self = try JSONDecoder().decode(Self.self, from: data)
        } catch {
            throw TestFailure("The fixture \(url.path) is not a recording of \(State.self): \(error)", place)
        }
    }
}

extension Recording where State.Action: Encodable {
    /// Writes the recording as a JSON file, where ``init(fixture:fileID:file:line:)`` reads it.
    public func write(fixture path: String, file: StaticString = #filePath) throws {
        let url = Fixture.url(path, beside: file)
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        try FileManager.default.createDirectory(
            at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
        try (encoder.encode(self) + Data("\n".utf8)).write(to: url, options: .atomic)
    }
}

enum Fixture {
    static func url(_ path: String, beside file: StaticString) -> URL {
        let folder = URL(fileURLWithPath: "\(file)").deletingLastPathComponent()
        return URL(fileURLWithPath: path, relativeTo: folder).standardizedFileURL
    }
}
