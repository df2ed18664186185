import CLinux
import Glibc

/// The process's memory: resident memory as the kernel counts it, beyond what it was at the start.
///
/// Values take several times their encoded size, the allocator keeps what was freed, and a log's snapshots and reads of
/// the past take memory of their own. None of that can be counted from inside, so it is measured. What the allocator
/// keeps without need is returned to the kernel.
final class MemoryMeter {
    /// How old a figure may be, in milliseconds: within it a client can't make the process
    /// take more than a few megabytes.
    private static let interval = 4

    private let descriptor: Int32
    private let pageSize = sysconf(Int32(_SC_PAGESIZE))
    private let baseline: Int
    private var nextMeasure = 0
    private var schedule = TrimSchedule()
    private(set) var bytes = 0

    /// Nil where the kernel does not report it.
    init?() {
        linux_heap_settle()
        // What the start so far has touched of the program does not count: it is let go of once more when the start is over.
        linux_code_release()
        let descriptor = Glibc.open("/proc/self/statm", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        self.descriptor = descriptor
        baseline = Self.resident(descriptor, pageSize) ?? 0
    }

    deinit { SystemCall.close(descriptor) }

    /// Gives back what only the start has needed: nearly half of an idle daemon's memory would be code that ran once.
    static func releaseStart() {
        linux_heap_trim()
        linux_code_release()
    }

    /// Measures if it is time; true if there is a new figure. `limit`: what the process should take at most.
    func measure(now: Int, limit: Int) -> Bool {
        guard now >= nextMeasure else { return false }
        nextMeasure = now + Self.interval
        read()
        if bytes > limit / 8 * 7, schedule.isAllowed(now: now) { trim(now: now) }
        return true
    }

    /// When to look for free memory, in monotonic milliseconds; nil while there is no reason to.
    var due: Int? { schedule.due }

    /// No work is left for now. `work`: all the work that was ever done, in nanoseconds or so.
    func rest(now: Int, work: Int) { schedule.rest(now: now, bytes: bytes, work: work) }

    /// Returns what the allocator keeps to the kernel, if that is much.
    func trim(now: Int) {
        if linux_heap_free() > TrimSchedule.worthTrimming { linux_heap_trim() }
        read()
        schedule.trimmed(now: now, bytes: bytes)
    }

    private func read() { bytes = max(0, (Self.resident(descriptor, pageSize) ?? 0) - baseline) }

    /// The process's resident memory, in bytes; nil where the kernel does not report it.
    static func resident() -> Int? {
        let descriptor = Glibc.open("/proc/self/statm", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { SystemCall.close(descriptor) }
        return resident(descriptor, sysconf(Int32(_SC_PAGESIZE)))
    }

    /// The second number of the file is pages.
    private static func resident(_ descriptor: Int32, _ pageSize: Int) -> Int? {
        withUnsafeTemporaryAllocation(byteCount: 128, alignment: 1) { buffer in
            let count = pread(descriptor, buffer.baseAddress, buffer.count, 0)
            guard count > 0 else { return nil }
            let fields = buffer[..<count].split(separator: UInt8(ascii: " "))
            guard fields.count > 1, let pages = Int(String(decoding: fields[1], as: UTF8.self)) else {
                return nil
            }
            return pages * pageSize
        }
    }
}

/// When memory that the allocator keeps is looked for and returned to the kernel: soon after it became quiet, and never
/// so often that it costs anything. Times are monotonic milliseconds.
package struct TrimSchedule {
    /// How often free memory is looked for at most: that visits every free block, and returning it takes tens of
    /// milliseconds for a hundred megabytes…
    package static let interval = 1000
    /// …so it waits until nothing has come for this long…
    package static let quiet = 250
    /// …but not for longer than this.
    package static let patience = 30_000
    /// The work, in nanoseconds or so, that may have left something worth looking for.
    package static let notableWork = 20_000_000
    /// Less than this is not worth it: the next requests take it again.
    package static let worthTrimming = 8 << 20

    private var next = 0
    private var bytesAtTrim = 0
    private var workAtTrim = 0
    private var workAtRest = 0
    /// When there first was something that may be worth returning.
    private var wantedSince: Int?
    /// When to look for free memory; nil while there is no reason to.
    package private(set) var due: Int?

    package init() {}

    /// Whether free memory may be looked for at all, while memory is short.
    package func isAllowed(now: Int) -> Bool { now >= next }

    /// No work is left for now. `bytes`: what the process takes; `work`: all the work that was ever done.
    package mutating func rest(now: Int, bytes: Int, work: Int) {
        guard bytes > Self.worthTrimming,
            abs(bytes - bytesAtTrim) > Self.worthTrimming / 4 || work - workAtTrim > Self.notableWork
        else { return }
        let since = wantedSince ?? now
        wantedSince = since
        due = max(next, min(now + Self.quiet, since + Self.patience))
        workAtRest = work
    }

    /// Free memory was looked for, and the process takes this much now.
    package mutating func trimmed(now: Int, bytes: Int) {
        next = now + Self.interval
        (due, wantedSince, workAtTrim, bytesAtTrim) = (nil, nil, workAtRest, bytes)
    }
}
