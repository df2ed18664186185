import Foundation

/// What came through a pipe, read only when somebody asks.
final class PipeText {
    let pipe = Pipe()
    private var bytes: [UInt8] = []
    /// How much of it was given out as lines.
    private var taken = 0

    /// All that was read so far.
    var text: String { String(decoding: bytes, as: UTF8.self) }

    /// What comes within a time, in milliseconds: nil if that is nothing, empty at the end.
    func next(within time: Int32) -> String? {
        let reader = pipe.fileHandleForReading
        var news = pollfd(fd: reader.fileDescriptor, events: Int16(POLLIN), revents: 0)
        guard poll(&news, 1, time) == 1 else { return nil }
        let piece = reader.availableData
        bytes += piece
        return String(decoding: piece, as: UTF8.self)
    }

    /// The next line; nil at the end, or when none comes for a minute.
    func nextLine() -> String? {
        while true {
            if let end = bytes[taken...].firstIndex(of: UInt8(ascii: "\n")) {
                defer { taken = end + 1 }
                return String(decoding: bytes[taken..<end], as: UTF8.self)
            }
            guard let news = next(within: 60_000), !news.isEmpty else { return nil }
        }
    }

    /// All that was read, and the rest up to the end.
    func rest() throws -> String {
        bytes += try pipe.fileHandleForReading.readToEnd() ?? Data()
        return text
    }
}
