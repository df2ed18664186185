import BusJSON

/// What a client is sent: its outbox, and what will come there.
struct Output {
    private(set) var outbox = Outbox()
    /// A reply that must wait until the changes before it are written.
    private(set) var heldReply: [UInt8]?
    /// Where the last reply ends, in all output that there ever was.
    private(set) var replyEnd = 0
    /// The run that the connection's only subscription shares with others of a multicast group, and how far the outbox
    /// has the bytes written there.
    private(set) var sharedRun: Unmanaged<SharedRun>?
    private(set) var sharedStart = 0
    /// What is collected for subscriptions that catch up, and not written yet.
    private(set) var partBytes = 0
    /// Since when the socket accepts nothing, in milliseconds since 1970; nil while it accepts what there is.
    private(set) var stuckSince: Int?
    /// The connection is in the list of those with something to do, or of those that may not be reading.
    private(set) var isReady = false
    private(set) var isWatched = false
    /// It is to be discarded.
    private(set) var isDiscarding = false

    // MARK: Writing

    /// The connection's own bytes, to append to; `finish` makes what was written count.
    @inline(__always)
    mutating func begin(_ pool: BufferPool) -> Unmanaged<ByteWriter> { outbox.begin(pool) }

    @inline(__always)
    mutating func finish(_ written: Int) { outbox.finish(written) }

    /// A reply was written.
    @inline(__always)
    mutating func noteReply() { replyEnd = outbox.total }

    /// A reply waits, or (nil) no longer does; returns by how many bytes that is more.
    mutating func hold(_ reply: [UInt8]?) -> Int {
        defer { heldReply = reply }
        return (reply?.count ?? 0) - (heldReply?.count ?? 0)
    }

    mutating func count(part growth: Int) { partBytes += growth }

    // MARK: Shared runs

    mutating func join(_ run: SharedRun) { (sharedRun, sharedStart) = (.passUnretained(run), 0) }
    @inline(__always)
    mutating func leaveRun() { sharedRun = nil }
    /// The shared run has other bytes.
    mutating func beginRun() { sharedStart = 0 }

    /// Takes what is new in a run; false if nothing is.
    @inline(__always)
    mutating func take(_ run: ByteWriter) -> Bool {
        let (start, end) = (sharedStart, run.count)
        if start == end { return false }
        outbox.append(shared: run, from: start, to: end)
        sharedStart = end
        return true
    }

    // MARK: Sending

    /// True if it was not ready before.
    @inline(__always)
    mutating func makeReady() -> Bool {
        if isReady { return false }
        isReady = true
        return true
    }

    mutating func takeReady() -> Bool {
        defer { isReady = false }
        return isReady
    }

    /// Only this many of all bytes that were ever added may be sent; or all.
    mutating func release(through end: Int) { outbox.release(through: end) }
    @inline(__always)
    mutating func releaseAll() { outbox.release(through: outbox.total) }

    /// Removes what was sent; returns how much of it others share.
    @inline(__always)
    mutating func sent(_ bytes: Int, _ pool: BufferPool) -> Int {
        let shared = outbox.sharedCount
        outbox.sent(bytes, pool)
        if bytes > 0 { stuckSince = nil }
        return shared &- outbox.sharedCount
    }

    /// Removes what may not be sent, and returns it, and how much of it others share.
    mutating func retract() -> (bytes: [UInt8], shared: Int) {
        let shared = outbox.sharedCount
        let held = outbox.takeBackHeld()
        return (held, shared - outbox.sharedCount)
    }

    mutating func clear() { outbox = Outbox() }

    // MARK: Readers

    /// The socket accepts nothing more, or does again.
    mutating func noteFull(at now: Int) { if stuckSince == nil { stuckSince = now } }
    mutating func noteRoom() { stuckSince = nil }

    /// True if it was not watched before.
    mutating func watch() -> Bool {
        defer { isWatched = true }
        return !isWatched
    }

    mutating func endWatch() { isWatched = false }
    mutating func discard() { isDiscarding = true }
}
