import CLinux
import Glibc

/// What the process takes: resident memory as the kernel counts it, beyond what it took when it began.
///
/// Values take several times their encoded size, the allocator keeps what was freed, and a log's snapshots and looks at the
/// past take memory of their own. None of that can be counted from inside, so it is measured. What the allocator keeps
/// without need is given back.
final class MemoryMeter {
    /// How old a figure may be, in milliseconds: within it a client can't make the process take more than a few megabytes.
    private static let interval = 4
    /// How often free memory is looked for at most, in milliseconds: that takes a look at every free block, and giving it
    /// back tens of milliseconds for a hundred megabytes…
    private static let trimInterval = 1000
    /// …so it waits until nothing has come for so long…
    private static let quiet = 250
    /// …but not for longer than this.
    private static let patience = 30_000
    /// The work, in nanoseconds or so, that may have left something worth looking for.
    private static let notableWork = 20_000_000
    /// With less than this free it is not worth it: the next requests take it again.
    private static let worthTrimming = 16 << 20

    private let descriptor: Int32
    private let pageSize = sysconf(Int32(_SC_PAGESIZE))
    private let baseline: Int
    private var nextMeasure = 0
    private var nextTrim = 0
    private var measuredAtTrim = 0
    private var workAtTrim = 0
    private var workAtRest = 0
    /// When there first was something that may be worth giving back.
    private var wantedSince: Int?
    /// When free memory is to be looked for; nil while there is no reason to.
    private(set) var due: Int?
    private(set) var bytes = 0

    /// Nil where the kernel does not tell.
    init?() {
        linux_heap_settle()
        let descriptor = Glibc.open("/proc/self/statm", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        self.descriptor = descriptor
        baseline = Self.resident(descriptor, pageSize) ?? 0
    }

    deinit { SystemCall.close(descriptor) }

    /// Measures if it is time; true if there is a new figure. `limit`: what the process should take at most.
    func measure(now: Int, limit: Int) -> Bool {
        guard now >= nextMeasure else { return false }
        nextMeasure = now + Self.interval
        read()
        if bytes > limit / 8 * 7, now >= nextTrim { trim(now: now) }
        return true
    }

    /// Nothing is left to do for now. `work`: all the work that was ever done, in nanoseconds or so.
    func rest(now: Int, work: Int) {
        guard bytes > Self.worthTrimming,
            abs(bytes - measuredAtTrim) > Self.worthTrimming / 4 || work - workAtTrim > Self.notableWork
        else { return }
        let since = wantedSince ?? now
        wantedSince = since
        due = max(nextTrim, min(now + Self.quiet, since + Self.patience))
        workAtRest = work
    }

    /// Gives back what the allocator keeps, if that is much.
    func trim(now: Int) {
        nextTrim = now + Self.trimInterval
        (due, wantedSince, workAtTrim) = (nil, nil, workAtRest)
        if linux_heap_free() > Self.worthTrimming { linux_heap_trim() }
        read()
        measuredAtTrim = bytes
    }

    private func read() { bytes = max(0, (Self.resident(descriptor, pageSize) ?? 0) - baseline) }

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
