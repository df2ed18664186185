import BusJSON

/// What waits to be sent on one connection: pieces of shared and own bytes, in order.
///
/// Events for many subscribers are written once, and outboxes hold references to them; replies and events
/// for one are written into the connection's own bytes. Own bytes are released when everything is sent, so
/// an idle connection holds none.
package struct Outbox {
    private struct Segment {
        var bytes: ByteWriter
        var start: Int
        var end: Int
        /// Other outboxes hold them, too.
        var isShared = false
    }

    /// Own bytes are continued up to this size; then a new run begins, so that sent ones can be released.
    static let runSize = 64 << 10

    package init() {}

    private var segments: ContiguousArray<Segment> = []
    private var head = 0
    private var own: ByteWriter?
    /// From here on own bytes follow all segments: as long as nothing else is added, they need none.
    private var ownStart = 0

    /// The bytes not sent yet.
    package private(set) var count = 0

    /// How many of them other outboxes hold, too.
    private(set) var sharedCount = 0

    package var isEmpty: Bool { count == 0 }

    /// All bytes that were ever added, and how many of them may be sent.
    private(set) var total = 0
    private(set) var released = Int.max

    /// How many bytes may be sent now.
    var ready: Int { released >= total ? count : count - (total - released) }

    /// Only this many of all bytes that were ever added may be sent.
    @inline(__always)
    mutating func release(through end: Int) { released = end }

    /// Adds bytes that other outboxes hold too. They must not change any more.
    @inline(__always)
    mutating func append(shared bytes: ByteWriter, from start: Int, to end: Int) {
        segmentOwn()
        count &+= end &- start
        total &+= end &- start
        sharedCount &+= end &- start
        appendSegment(bytes, from: start, to: end, isShared: true)
    }

    /// The connection's own bytes, to append to; `finish` makes what was written count. The
    /// outbox holds them meanwhile.
    @inline(__always)
    package mutating func begin(_ pool: BufferPool) -> Unmanaged<ByteWriter> {
        if let own, own.count < Self.runSize { return .passUnretained(own) }
        return beginRun(pool)
    }

    private mutating func beginRun(_ pool: BufferPool) -> Unmanaged<ByteWriter> {
        segmentOwn()
        // A full run is followed by one of fixed size, because its reader is slow: growing ones would waste half.
        own = own == nil ? pool.take() : pool.takeLong()
        ownStart = 0
        return .passUnretained(own!)
    }

    /// This many bytes were appended to the own ones.
    @inline(__always)
    package mutating func finish(_ written: Int) {
        count &+= written
        total &+= written
    }

    /// Own bytes that are in no segment get one, because something else follows them.
    private mutating func segmentOwn() {
        guard let own, own.count > ownStart else { return }
        appendSegment(own, from: ownStart, to: own.count)
        ownStart = own.count
    }

    private mutating func appendSegment(
        _ bytes: ByteWriter, from start: Int, to end: Int, isShared: Bool = false
    ) {
        let last = segments.count &- 1
        if last >= head, segments[last].bytes === bytes, segments[last].end == start {
            segments[last].end = end
        } else {
            segments.append(Segment(bytes: bytes, start: start, end: end, isShared: isShared))
        }
    }

    /// Fills in the next pieces and returns their number; they are valid until the next change.
    func output(into pieces: UnsafeMutableBufferPointer<OutputPiece>) -> Int {
        var filled = 0
        var left = ready
        for index in head..<segments.count where filled < pieces.count && left > 0 {
            let length = min(segments[index].end - segments[index].start, left)
            left -= length
            pieces[filled] = OutputPiece(
                base: segments[index].bytes.bytes.baseAddress! + segments[index].start, count: length)
            filled += 1
        }
        if let own, left > 0, filled < pieces.count {
            pieces[filled] = OutputPiece(base: own.bytes.baseAddress! + ownStart, count: left)
            filled += 1
        }
        return filled
    }

    /// Visits all that is not sent yet, in order.
    func forEachPiece(_ body: (UnsafeRawBufferPointer) -> Void) {
        for segment in segments[head...] {
            body(UnsafeRawBufferPointer(rebasing: segment.bytes.bytes[segment.start..<segment.end]))
        }
        if let own, own.count > ownStart {
            body(UnsafeRawBufferPointer(rebasing: own.bytes[ownStart...]))
        }
    }

    /// Removes what may not be sent, and returns it.
    mutating func takeBackHeld() -> [UInt8] {
        segmentOwn()
        var surplus = count - ready
        var held: [UInt8] = []
        forEachPiece { held.append(contentsOf: $0) }
        held.removeFirst(ready)
        count -= surplus
        total -= surplus
        while surplus > 0, let last = segments.last {
            let length = last.end - last.start
            if last.isShared { sharedCount -= min(length, surplus) }
            if length > surplus {
                segments[segments.count - 1].end -= surplus
                break
            }
            surplus -= length
            segments.removeLast()
        }
        // What comes next must not be written behind what was removed.
        own = nil
        return held
    }

    /// Removes what was sent.
    package mutating func sent(_ bytes: Int, _ pool: BufferPool) {
        precondition(bytes <= count, "More was sent than there was to send.")
        count -= bytes
        if count == 0 {
            if segments.count == 1 {
                release(0, pool)
                segments.removeLast()
            } else if !segments.isEmpty {
                for index in head..<segments.count { release(index, pool) }
                segments.removeAll(keepingCapacity: segments.count <= 64)
            }
            head = 0
            sharedCount = 0
            return releaseOwn(pool)
        }
        segmentOwn()
        var rest = bytes
        while rest > 0 {
            let length = segments[head].end - segments[head].start
            if segments[head].isShared { sharedCount -= min(length, rest) }
            if rest < length {
                segments[head].start += rest
                break
            }
            rest -= length
            release(head, pool)
            head += 1
        }
        if head > 64 && head * 2 > segments.count {
            segments.removeFirst(head)
            head = 0
        }
    }

    /// A segment has been sent: its run is recycled if nothing else holds it.
    @inline(__always)
    private mutating func release(_ index: Int, _ pool: BufferPool) {
        // Sent bytes are released at once and not with the last segment, which a slow reader may never reach.
        var bytes = pool.nothing
        swap(&bytes, &segments[index].bytes)
        if isKnownUniquelyReferenced(&bytes) { pool.recycle(bytes) }
    }

    /// All own bytes have been sent: their run is recycled, too.
    private mutating func releaseOwn(_ pool: BufferPool) {
        var run: ByteWriter?
        swap(&run, &own)
        ownStart = 0
        if run != nil, isKnownUniquelyReferenced(&run) { pool.recycle(run!) }
    }
}

/// What is kept for a connection and will become output: it counts as that while it is kept.
protocol CountedOutput: AnyObject {
    /// What it counts as; set by `Connections` alone.
    var countedBytes: Int { get set }
}
