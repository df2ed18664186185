import BusJSON

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// A fast path for log entries that are like the previous one but for their revision, time, payload and key: most of
/// them are. What lies between the time and the payload is compared and not parsed again; the type, the action and the
/// principal it names are known.
struct EntryReader {
    /// What the names of an entry stand for.
    struct Meaning {
        unowned(unsafe) let type: TypeEntry
        let action: Int
        /// -1 for all stores of the type.
        let store: Int32
        let principal: Principal
    }

    /// An entry in place.
    struct Entry {
        let first: Int
        let times: Int
        /// Milliseconds since 1970.
        let time: Int
        /// What lies between the time and the payload.
        let head: UnsafeRawBufferPointer
        let payload: JSONObject
        /// As in the log; empty without one.
        let key: UnsafeRawBufferPointer
        let digest: UnsafeRawBufferPointer
    }

    private var head: [UInt8] = []
    private(set) var meaning: Meaning?
    private var payload = JSONObject()

    /// Remembers the meaning of entries that begin so.
    mutating func remember(_ head: UnsafeRawBufferPointer, _ meaning: Meaning) {
        self.head = Array(head)
        self.meaning = meaning
    }

    /// Definitions or stores may have changed.
    mutating func forget() {
        meaning = nil
        head = []
    }

    /// The entry, if it is like the previous one.
    mutating func readAlike(_ line: UnsafeRawBufferPointer) -> Entry? {
        guard meaning != nil, let counts = Self.counts(of: line) else { return nil }
        let start = counts.end
        let end = start + head.count
        guard line.count > end,
            head.withUnsafeBytes({ memcmp(line.baseAddress! + start, $0.baseAddress!, $0.count) }) == 0
        else { return nil }
        return read(line, counts, start..<end)
    }

    /// The entry, if it has the form of those that can be alike: one action with a payload, and perhaps a key.
    mutating func read(_ line: UnsafeRawBufferPointer) -> Entry? {
        guard let counts = Self.counts(of: line),
            let actions = Self.find(",\"actions\":[{", in: line, from: counts.end),
            let payload = Self.find(",\"payload\":", in: line, from: actions)
        else { return nil }
        return read(line, counts, counts.end..<payload)
    }

    private mutating func read(
        _ line: UnsafeRawBufferPointer, _ counts: Counts, _ head: Range<Int>
    ) -> Entry? {
        let rest = UnsafeRawBufferPointer(rebasing: line[head.upperBound...])
        var reader = JSONReader(rest, depthLimit: 1000)
        var (key, digest) = (Self.nothing, Self.nothing)
        do throws(JSONError) {
            guard reader.peek() == UInt8(ascii: "{") else { return nil }
            try reader.object(replacing: &payload)
            guard reader.take(UInt8(ascii: "}")), reader.take(UInt8(ascii: "]")) else { return nil }
            if reader.take(UInt8(ascii: ",")) {
                guard Self.take("\"key\":", &reader, rest) else { return nil }
                let text = try reader.scanString()
                guard Self.take(",\"digest\":", &reader, rest) else { return nil }
                let sum = try reader.scanString()
                guard text.plain, sum.plain else { return nil }
                (key, digest) = (text.bytes, sum.bytes)
            }
            guard reader.take(UInt8(ascii: "}")) else { return nil }
            try reader.expectEnd()
        } catch {
            return nil
        }
        return Entry(
            first: counts.first, times: counts.times, time: counts.time,
            head: UnsafeRawBufferPointer(rebasing: line[head]), payload: payload,
            key: key, digest: digest)
    }

    // MARK: - Places in a line

    private static var nothing: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: nil, count: 0) }

    private struct Counts {
        var first = 0
        var times = 1
        var time = 0
        var end = 0
    }

    /// `{"revision":N,"time":N.NNN`, perhaps with `,"times":N` between them, and where it ends.
    private static func counts(of line: UnsafeRawBufferPointer) -> Counts? {
        var counts = Counts()
        guard let start = find("{\"revision\":", in: line, from: 0, exactly: true),
            let first = number(in: line, from: start)
        else { return nil }
        (counts.first, counts.end) = first
        if let place = find(",\"times\":", in: line, from: counts.end, exactly: true) {
            guard let times = number(in: line, from: place) else { return nil }
            (counts.times, counts.end) = times
        }
        guard let place = find(",\"time\":", in: line, from: counts.end, exactly: true),
            let seconds = number(in: line, from: place), seconds.value < 1 << 40
        else { return nil }
        (counts.time, counts.end) = (seconds.value * 1000, seconds.end)
        guard counts.end < line.count, line[counts.end] == UInt8(ascii: ".") else { return counts }
        guard let fraction = number(in: line, from: counts.end + 1), fraction.end - counts.end <= 4 else {
            return nil
        }
        var milliseconds = fraction.value
        for _ in fraction.end - counts.end..<4 { milliseconds *= 10 }
        counts.time += milliseconds
        counts.end = fraction.end
        return counts
    }

    private static func number(in line: UnsafeRawBufferPointer, from start: Int) -> (value: Int, end: Int)? {
        var value = 0
        var place = start
        while place < line.count, line[place] &- 48 < 10, place - start < 18 {
            value = value * 10 + Int(line[place] &- 48)
            place += 1
        }
        return place > start ? (value, place) : nil
    }

    /// The place after a text that is at `start` (`exactly`), or that is found first from there on.
    private static func find(
        _ text: StaticString, in line: UnsafeRawBufferPointer, from start: Int, exactly: Bool = false
    ) -> Int? {
        let count = text.utf8CodeUnitCount
        guard start + count <= line.count else { return nil }
        let base = line.baseAddress! + start
        if exactly { return memcmp(base, text.utf8Start, count) == 0 ? start + count : nil }
        var place = 0
        let last = line.count - start - count
        while place <= last {
            guard let hit = memchr(base + place, Int32(text.utf8Start.pointee), last - place + 1) else {
                return nil
            }
            place = UnsafeRawPointer(hit) - base
            if memcmp(base + place, text.utf8Start, count) == 0 { return start + place + count }
            place += 1
        }
        return nil
    }

    private static func take(
        _ text: StaticString, _ reader: inout JSONReader, _ bytes: UnsafeRawBufferPointer
    ) -> Bool {
        guard let end = find(text, in: bytes, from: reader.offset, exactly: true) else { return false }
        reader.skip(end - reader.offset)
        return true
    }
}
