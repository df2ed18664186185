import BusJSON

/// What waits to be sent on one connection: pieces of shared and own bytes, in order.
///
/// Events for many subscribers are written once and stand here as references; replies and events for one
/// are written into the connection's own bytes. Own bytes are given up when everything is sent, so an idle
/// connection holds none.
struct Outbox {
    private struct Segment {
        var bytes: ByteWriter
        var start: Int
        var end: Int
    }

    /// Own bytes are continued up to this size; then a new run begins, so that sent ones can be let go.
    static let runSize = 64 << 10

    private var segments: ContiguousArray<Segment> = []
    private var head = 0
    private var own: ByteWriter?

    /// The bytes not sent yet.
    private(set) var count = 0

    var isEmpty: Bool { count == 0 }

    /// All bytes that were ever added, and how many of them may leave.
    private(set) var total = 0
    private(set) var released = Int.max

    /// How many bytes may be sent now.
    var ready: Int { released >= total ? count : count - (total - released) }

    /// Only so many of all bytes that were ever added may leave.
    @inline(__always)
    mutating func release(through end: Int) { released = end }

    /// Adds bytes that others hold too. They must not change any more.
    @inline(__always)
    mutating func append(shared bytes: ByteWriter, from start: Int, to end: Int) {
        count &+= end &- start
        total &+= end &- start
        let last = segments.count &- 1
        if last >= head, segments[last].bytes === bytes, segments[last].end == start {
            segments[last].end = end
        } else {
            segments.append(Segment(bytes: bytes, start: start, end: end))
        }
    }

    /// The connection's own bytes, to write behind what is there; `finish` makes what was written count.
    @inline(__always)
    mutating func begin(_ spares: SpareWriters) -> ByteWriter {
        if let own, own.count < Self.runSize { return own }
        // Behind a full run comes one that fits, because its reader is slow: grown ones would waste half.
        let fresh = own == nil ? spares.take() : spares.takeLong()
        own = fresh
        return fresh
    }

    /// Adds what was written into the own bytes since they held `start` bytes.
    mutating func finish(_ bytes: ByteWriter, from start: Int) {
        if bytes.count > start { append(shared: bytes, from: start, to: bytes.count) }
    }

    /// Fills in the pieces that come next and gives their number; they hold until the next change.
    func output(into pieces: UnsafeMutableBufferPointer<OutputPiece>) -> Int {
        var filled = 0
        var index = head
        var left = ready
        while filled < pieces.count, index < segments.count, left > 0 {
            let segment = segments[index]
            let length = min(segment.end - segment.start, left)
            left -= length
            pieces[filled] = OutputPiece(
                base: segment.bytes.bytes.baseAddress! + segment.start, count: length)
            filled += 1
            index += 1
        }
        return filled
    }

    /// Hands on all that is not sent yet, in order.
    func forEachPiece(_ body: (UnsafeRawBufferPointer) -> Void) {
        for segment in segments[head...] {
            body(UnsafeRawBufferPointer(rebasing: segment.bytes.bytes[segment.start..<segment.end]))
        }
    }

    /// Takes away what may not leave, and gives it.
    mutating func takeBackHeld() -> [UInt8] {
        var surplus = count - ready
        var held: [UInt8] = []
        forEachPiece { held.append(contentsOf: $0) }
        held.removeFirst(ready)
        count -= surplus
        total -= surplus
        while surplus > 0, let last = segments.last {
            let length = last.end - last.start
            if length > surplus {
                segments[segments.count - 1].end -= surplus
                break
            }
            surplus -= length
            segments.removeLast()
        }
        // What comes next must not be written behind what was taken away.
        own = nil
        return held
    }

    /// Takes away what was sent.
    mutating func sent(_ bytes: Int, _ spares: SpareWriters) {
        precondition(bytes <= count, "More was sent than there was to send.")
        count -= bytes
        if count == 0 {
            own = nil
            for index in head..<segments.count { release(index, spares) }
            segments.removeAll(keepingCapacity: segments.count <= 64)
            head = 0
            return
        }
        var rest = bytes
        while rest > 0 {
            let length = segments[head].end - segments[head].start
            if rest < length {
                segments[head].start += rest
                break
            }
            rest -= length
            release(head, spares)
            head += 1
        }
        if head > 64 && head * 2 > segments.count {
            segments.removeFirst(head)
            head = 0
        }
    }

    /// A segment has been sent: its run is used again if nobody else holds it.
    @inline(__always)
    private mutating func release(_ index: Int, _ spares: SpareWriters) {
        if isKnownUniquelyReferenced(&segments[index].bytes) { spares.giveBack(segments[index].bytes) }
    }
}
