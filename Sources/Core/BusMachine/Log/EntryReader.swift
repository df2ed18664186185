import BusJSON
import BusProtocol

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Reads log entries in place that are actions and nothing more, perhaps with a key: most of them are. Any other is read as a
/// value.
struct EntryReader {
    /// An entry in place; its actions are in the batch.
    struct Entry {
        let first: Int
        let times: Int
        /// Milliseconds since 1970.
        let time: Int
        /// The principal, as an object.
        let by: UnsafeRawBufferPointer
        /// As in the log; empty without one.
        let key: UnsafeRawBufferPointer
        let digest: UnsafeRawBufferPointer
    }

    /// The actions of the entry read last.
    let batch = RequestBatch()

    /// The entry; nil if it is more than actions, or not written as this bus writes it.
    func read(_ line: UnsafeRawBufferPointer) -> Entry? {
        guard let counts = Self.counts(of: line), 1...LogLines.highest ~= counts.first,
            1...LogLines.highest ~= counts.times,
            let by = Self.find(",\"by\":", in: line, from: counts.end, exactly: true),
            // A quote in a string stands behind a backslash, so this is in none.
            let actions = Self.find("},\"actions\":", in: line, from: by)
        else { return nil }
        var (key, digest) = (Self.nothing, Self.nothing)
        let rest = UnsafeRawBufferPointer(rebasing: line[actions...])
        var reader = JSONReader(rest, depthLimit: 1000)
        guard batch.read(&reader) else { return nil }
        do throws(JSONError) {
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
        let end = actions - 11
        return Entry(
            first: counts.first, times: counts.times, time: counts.time,
            by: UnsafeRawBufferPointer(rebasing: line[by..<end]), key: key, digest: digest)
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
            let seconds = number(in: line, from: place), seconds.value < 1_000_000_000_000
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
