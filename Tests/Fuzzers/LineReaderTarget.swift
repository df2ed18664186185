import BusJSON
import BusProtocol
import TestSupport

/// Lines of a client, in whatever pieces they come. The first byte says how they are cut; pieces mean what the whole means.
enum LineReaderTarget: FuzzTarget {
    static let name = "LineReader"

    static func seeds() -> [[UInt8]] {
        SampleRequests.all.enumerated().map { [UInt8($0)] + Array(($1 + "\n").utf8) }
            + [[0] + Array(SampleRequests.all.joined(separator: "\r\n").utf8)]
    }

    static func run(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard let seed = bytes.first else { return false }
        let stream = Array(bytes.dropFirst())
        var random = SeededGenerator(seed: UInt64(seed))
        let parts = parts(of: stream, using: &random)
        demand(
            lines(in: parts, using: &random) == linesByHand(stream), "A line depends on how it was cut.")
        let (whole, pieces) = (replies(to: [stream]), replies(to: parts))
        demand(whole == pieces, "A reply depends on how the request was cut:\n\(whole)\n\(pieces)")
        return true
    }

    private static func parts(of stream: [UInt8], using random: inout SeededGenerator) -> [[UInt8]] {
        var parts: [[UInt8]] = []
        var rest = stream[...]
        while !rest.isEmpty {
            let part = rest.prefix(Int.random(in: 1...(random.oneIn(2) ? 8 : 256), using: &random))
            // Each is memory of its own, where a read behind its end is seen.
            parts.append(Array(part))
            rest = rest.dropFirst(part.count)
        }
        return parts
    }

    // MARK: Lines

    private static let longest = 64

    /// What a buffer makes of the parts; nil is a line that is too long.
    private static func lines(in parts: [[UInt8]], using random: inout SeededGenerator) -> [[UInt8]?] {
        var buffer = LineBuffer(longest: longest, deepest: .max)
        var lines: [[UInt8]?] = []
        var isStopped = false
        func take(_ piece: LineBuffer.Piece) -> Bool {
            switch piece {
            case .line(let line): lines.append(Array(line))
            case .tooLong: lines.append(nil)
            case .tooDeep: fatalError("Nothing is too deep without a limit.")
            }
            isStopped = random.oneIn(4)
            return !isStopped
        }
        for part in parts {
            isStopped = false
            part.withUnsafeBytes { buffer.feed($0, take) }
            while isStopped {
                isStopped = false
                buffer.resume(take)
            }
        }
        return lines
    }

    /// The same, worked out in the simplest way.
    private static func linesByHand(_ stream: [UInt8]) -> [[UInt8]?] {
        var lines: [[UInt8]?] = []
        let parts = stream.split(separator: 10, omittingEmptySubsequences: false)
        for part in parts.dropLast() {
            let line = part.last == 13 ? part.dropLast() : part
            if !line.isEmpty { lines.append(line.count > longest ? nil : Array(line)) }
        }
        // What has no end yet is too long when no end can save it.
        if let rest = parts.last, rest.count > longest + 1 { lines.append(nil) }
        return lines
    }

    // MARK: Replies

    /// Every line that came back and is no event, behind which a last request is answered.
    private static func replies(to parts: [[UInt8]]) -> [JSON] {
        var bus = FuzzedBus()
        var replies = lines(bus.send(parts))
        let last = lines(bus.send([Array("\n{\"op\":\"ping\",\"id\":\"end\"}\n".utf8)]))
        demand(last.last == ["id": "end", "ok": true], "The connection is of no use any more: \(last)")
        replies += last
        bus.end()
        return replies
    }

    private static func lines(_ bytes: [UInt8]) -> [JSON] {
        demand(bytes.isEmpty || bytes.last == 10, "A line has no end.")
        return bytes.split(separator: 10).compactMap { line in
            guard let value = try? JSON(parsing: Array(line)) else { fatalError("A line is no JSON.") }
            // A line that is both malformed and too deep is refused for what is seen first.
            if let code = value["error"]?["code"]?.string, ["parse_error", "too_large"].contains(code) {
                return "unreadable"
            }
            // Statistics tell of the memory and the work that a request took, and pieces take more.
            if value["stats"] != nil || value["clients"] != nil { return ["id": value["id"] ?? .null] }
            return value["event"] == nil ? value : nil
        }
    }
}
