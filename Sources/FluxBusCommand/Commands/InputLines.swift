/// Lines from a descriptor, as they come. An unterminated last line counts as a line; empty ones are skipped.
struct InputLines {
    private var bytes: [UInt8] = []
    private var start = 0
    /// True when the descriptor has ended and every line was taken.
    var hasEnded: Bool { reachedEnd && start == bytes.count }
    private var reachedEnd = false

    /// A line of more than this is no request: the largest the bus may be configured to take is far below.
    private static let longestLine = 256 << 20

    mutating func read(_ descriptor: Int32) throws {
        guard let piece = try FileReader.readSome(descriptor, name: "standard input") else {
            reachedEnd = true
            return
        }
        if start > 0 {
            bytes.removeSubrange(..<start)
            start = 0
        }
        bytes += piece
        guard bytes.count <= Self.longestLine else {
            throw CommandFailure(
                .refused, "A line on standard input is longer than \(Self.longestLine) bytes.")
        }
    }

    /// The next line that holds anything but white space.
    mutating func next() -> [UInt8]? {
        while start < bytes.count {
            let end = bytes[start...].firstIndex(of: 0x0a)
            guard end != nil || reachedEnd else { return nil }
            let line = bytes[start..<(end ?? bytes.count)]
            start = end.map { $0 + 1 } ?? bytes.count
            if line.contains(where: { $0 > 0x20 }) {
                return Array(line.last == 0x0d ? line.dropLast() : line)
            }
        }
        return nil
    }
}
