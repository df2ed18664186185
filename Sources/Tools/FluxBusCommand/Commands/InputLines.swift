import FluxBus

/// Lines from a descriptor, as they come. An unterminated last line counts as a line; blank lines are skipped.
///
/// Each byte is searched for a line's end only once, however small the pieces in which a long line arrives. Endless input is
/// refused: a line longer than `longestLine`, or more than `mostBlank` blank bytes in a row.
package struct InputLines {
    private var bytes: [UInt8] = []
    private var start = 0
    /// Where the next search for a line's end begins.
    private var searched = 0
    /// Blank bytes since the last line.
    private var blank = 0
    private let name: String
    /// How many bytes a line may have. This may be changed between lines.
    package var longestLine: Int
    private let mostBlank: Int?
    /// How many bytes have been searched for line ends in all.
    package private(set) var bytesSearched = 0
    /// Whether the descriptor has ended and every line has been taken.
    package var hasEnded: Bool { reachedEnd && start == bytes.count }
    private var reachedEnd = false

    /// A longer line can't be a request: no bus can be configured to accept it.
    package static let longestRequest = 256 << 20

    /// - Parameters:
    ///   - name: The name of the source, for messages.
    ///   - mostBlank: How many blank bytes may come in a row; nil: any number.
    package init(
        _ name: String = "standard input", longestLine: Int = Self.longestRequest, mostBlank: Int? = nil
    ) {
        self.name = name
        self.longestLine = longestLine
        self.mostBlank = mostBlank
    }

    package mutating func read(_ descriptor: Int32) throws {
        guard let piece = try FileReader.readSome(descriptor, name: name) else {
            reachedEnd = true
            return
        }
        if start > 0 {
            bytes.removeSubrange(..<start)
            searched -= start
            start = 0
        }
        bytes += piece
    }

    /// The next line that is not blank; nil if more has to be read first, or if nothing is left.
    package mutating func next() throws -> [UInt8]? {
        while start < bytes.count {
            let end = nextNewline()
            let length = (end ?? bytes.count) - start
            guard length <= longestLine else {
                throw CommandFailure(
                    .refused, "A line of \(name) is longer than \(longestLine) bytes: shorten it.")
            }
            guard end != nil || reachedEnd else { return nil }
            let line = bytes[start..<start + length]
            start = end.map { $0 + 1 } ?? bytes.count
            searched = start
            if line.contains(where: { $0 > 0x20 }) {
                blank = 0
                return Array(line.last == 0x0d ? line.dropLast() : line)
            }
            blank += length + 1
            if let mostBlank, blank > mostBlank {
                throw CommandFailure(
                    .refused,
                    "\(mostBlank) bytes of \(name) in a row are blank: check that it is the right input.")
            }
        }
        return nil
    }

    private mutating func nextNewline() -> Int? {
        let from = searched
        let found = LineBuffer.newline(in: bytes, from: from)
        searched = found ?? bytes.count
        bytesSearched += searched - from
        return found
    }
}
