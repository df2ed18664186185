import BusJSON
import Glibc

/// Counts the commits that one subscriber has been notified of, where an event may come in several lines: those of its
/// parts, all but the last with `more`. An event that the bus merged counts as the commits it stands for.
package struct EventCounter {
    /// The current line: its beginning, which holds `coalesced` if it is there, and its last bytes.
    private var head: [UInt8] = []
    private var tail: [UInt8] = []

    package init() {}

    private static let headLength = 256
    private static let more = Array(#""more":true}"#.utf8)
    private static let coalesced = Array(#","coalesced":"#.utf8)

    /// How many commits end in these bytes.
    package mutating func count(_ bytes: UnsafeRawBufferPointer) -> Int {
        var commits = 0
        var rest = bytes
        while let base = rest.baseAddress, let newline = memchr(base, 0x0a, rest.count) {
            let length = UnsafeRawPointer(newline) - base
            note(UnsafeRawBufferPointer(rebasing: rest[..<length]))
            commits += commitsOfLine
            head.removeAll(keepingCapacity: true)
            tail.removeAll(keepingCapacity: true)
            rest = UnsafeRawBufferPointer(rebasing: rest[(length + 1)...])
        }
        note(rest)
        return commits
    }

    private mutating func note(_ piece: UnsafeRawBufferPointer) {
        head.append(contentsOf: piece.prefix(Self.headLength - head.count))
        tail.append(contentsOf: piece.suffix(Self.more.count))
        if tail.count > Self.more.count { tail.removeFirst(tail.count - Self.more.count) }
    }

    private var commitsOfLine: Int {
        if tail == Self.more { return 0 }
        let places = head.indices.dropLast(Self.coalesced.count)
        guard let place = places.first(where: { head[$0...].starts(with: Self.coalesced) }) else { return 1 }
        return head[(place + Self.coalesced.count)...].prefix { 48...57 ~= $0 }.reduce(0) {
            $0 * 10 + Int($1 - 48)
        }
    }
}
