/// What is wrong in a file that a person wrote, and where. The message is a sentence that says what to do.
package struct SourceError: Error, Equatable, Sendable {
    package let place: Place
    package let message: String

    package init(_ message: String, at place: Place) {
        self.message = message
        self.place = place
    }

    package var file: String { place.file }
    package var line: Int { place.line }
    package var column: Int { place.column }
}

extension SourceError: CustomStringConvertible {
    /// `FILE:LINE:COLUMN: message`, the form that editors jump to; only the file where there is no text.
    package var description: String {
        place.line > 0 ? "\(file):\(line):\(column): \(message)" : "\(file): \(message)"
    }
}
