/// What a test expected and did not find, as a sentence that begins with the place in the test.
///
/// A ``TestStore`` throws it, so that a test fails with Swift Testing, with XCTest and with anything else that reports
/// thrown errors, and neither has to be linked. One that was made with a failure handler calls that instead:
///
/// ```swift
/// let store = TestStore<Count>(state: Count()) { failure in
///     Issue.record("\(failure.message)", sourceLocation: SourceLocation(
///         fileID: failure.fileID, filePath: failure.file, line: failure.line, column: 1))
/// }
/// ```
public struct TestFailure: Error, Equatable, Sendable, CustomStringConvertible {
    /// What is wrong, without the place.
    public let message: String
    /// The file of the test that expected it, as `#fileID`.
    public let fileID: String
    /// The same file, as `#filePath`.
    public let file: String
    /// The line in it, counted from 1.
    public let line: Int

    init(_ message: String, _ place: TestPlace) {
        self.message = message
        fileID = "\(place.fileID)"
        file = "\(place.file)"
        line = Int(place.line)
    }

    public var description: String {
        let name = fileID.split(separator: "/").last ?? fileID[...]
        return "\(name):\(line): \(message)"
    }
}

/// A place in a test.
struct TestPlace: Sendable {
    let fileID: StaticString
    let file: StaticString
    let line: UInt

    init(_ fileID: StaticString, _ file: StaticString, _ line: UInt) {
        (self.fileID, self.file, self.line) = (fileID, file, line)
    }
}
