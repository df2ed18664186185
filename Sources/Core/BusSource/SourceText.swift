import BusJSON
import BusProtocol

/// The text of one file: knows the line and column of every byte, and refuses bytes that are no UTF-8.
package struct SourceText {
    package let file: String
    package let bytes: [UInt8]
    /// Where each line starts.
    private let lineStarts: [Int]

    package init(_ bytes: [UInt8], file: String) throws(SourceError) {
        self.bytes = bytes
        self.file = file
        var starts = [0]
        for (offset, byte) in bytes.enumerated() where byte == UInt8(ascii: "\n") {
            starts.append(offset + 1)
        }
        lineStarts = starts
        if String(validating: bytes, as: UTF8.self) == nil {
            throw SourceError("This is not UTF-8; save the file as UTF-8.", at: place(of: firstBadByte()))
        }
    }

    /// The place of a byte; columns count Unicode scalars.
    package func place(of offset: Int) -> Place {
        let offset = min(max(offset, 0), bytes.count)
        var low = 0
        var high = lineStarts.count
        while high - low > 1 {
            let middle = (low + high) / 2
            if lineStarts[middle] <= offset { low = middle } else { high = middle }
        }
        var column = 1
        for byte in bytes[lineStarts[low]..<offset] where byte & 0xc0 != 0x80 { column += 1 }
        return Place(file: file, line: low + 1, column: column)
    }

    /// Where the bytes stop being UTF-8. They are gone through scalar by scalar, which only a bad file costs.
    private func firstBadByte() -> Int {
        var offset = 0
        while offset < bytes.count {
            let lead = bytes[offset]
            let length = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4
            let scalar = bytes[offset..<min(offset + length, bytes.count)]
            guard String(validating: scalar, as: UTF8.self) != nil else { return offset }
            offset += length
        }
        return offset
    }
}

/// Where something stands in a file, so that an error can lead its reader there.
package struct Place: Sendable, Equatable {
    /// The file's name as it should be shown.
    package let file: String
    /// Counted from 1; 0 where a value did not come from text.
    package let line: Int
    /// Counted from 1, in Unicode scalars.
    package let column: Int

    package init(file: String, line: Int, column: Int) {
        self.file = file
        self.line = line
        self.column = column
    }
}

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

extension [SourceError] {
    /// The value, or nil after recording the error.
    @discardableResult
    package mutating func collect<Value>(_ body: () throws(SourceError) -> Value) -> Value? {
        do throws(SourceError) {
            return try body()
        } catch {
            append(error)
            return nil
        }
    }

    /// So many are shown; whoever has more mends these first.
    package static let shown = 50

    /// In the order of files, lines and columns.
    package var inOrder: [SourceError] {
        sorted { left, right in
            if !UTF8Order.equal(left.file, right.file) { return UTF8Order.precedes(left.file, right.file) }
            return (left.line, left.column) < (right.line, right.column)
        }
    }

    /// A line for each, as far as they are shown, and one that counts the others.
    package var lines: [String] {
        let lines = prefix(Self.shown).map(\.description)
        return count > Self.shown ? lines + ["and \(count - Self.shown) more."] : lines
    }
}

extension SourceError: CustomStringConvertible {
    /// `FILE:LINE:COLUMN: message`, the form that editors jump to; only the file where there is no text.
    package var description: String {
        place.line > 0 ? "\(file):\(line):\(column): \(message)" : "\(file): \(message)"
    }
}
