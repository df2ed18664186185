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
    package static let worthTrimming = 16 << 20

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
