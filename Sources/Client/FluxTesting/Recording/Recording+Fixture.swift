import Flux
import Foundation

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
