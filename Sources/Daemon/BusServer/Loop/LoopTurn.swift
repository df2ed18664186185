import BusEngine
import BusSystem

/// One turn of the loop: when it began, and how much it has done.
struct LoopTurn {
    /// Counts turns, to know which connections have used up their allowance of this one.
    private(set) var number = 0
    /// When it began, and when the clock was last read, in nanoseconds, and how much work had been done by then.
    private(set) var began = 0
    private(set) var lookedAt = 0
    private(set) var workAtLook = 0
    /// What its writing has cost so far, in bytes.
    private(set) var flushed = 0
    /// Other work waits for the queue.
    var givesBack = false
    /// Until when it writes to connections that come after others, in nanoseconds.
    private var flushEnd = 0

    mutating func begin() { number &+= 1 }

    /// Its events are gone through.
    mutating func begin(at now: Int) { (began, lookedAt, workAtLook) = (now, now, 0) }

    mutating func look(at now: Int, work: Int) { (lookedAt, workAtLook) = (now, work) }

    mutating func beginFlush(all: Bool) {
        flushed = all ? .min / 2 : 0
        flushEnd = all ? .max : MonotonicClock.nanoseconds + LoopLimits.flushNanoseconds
    }

    mutating func count(flushed cost: Int) { flushed += cost }

    /// Something was written to a connection that comes after others.
    mutating func noteLater() {
        if MonotonicClock.nanoseconds > flushEnd { flushed = max(flushed, LoopLimits.flushedPerTurn) }
    }
}

/// What is read into, and what is written from, between two calls of the system.
final class LoopBuffers {
    let input = UnsafeMutableRawBufferPointer.allocate(byteCount: LoopLimits.readBuffer, alignment: 4096)
    let pieces = UnsafeMutableBufferPointer<OutputPiece>.allocate(capacity: LoopLimits.pieces)
    /// Batches the sends of several connections into one system call; nil: each connection is sent to by itself.
    let ring: SendRing?

    init(usesRing: Bool) { ring = usesRing ? SendRing() : nil }

    deinit {
        input.deallocate()
        pieces.deallocate()
    }
}
