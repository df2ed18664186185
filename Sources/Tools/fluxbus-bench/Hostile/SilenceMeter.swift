/// Measures how long nothing came while something was due.
package struct SilenceMeter {
    private var last: UInt64 = 0
    package private(set) var longest: UInt64 = 0

    package init() {}

    /// Something came; the oldest that was awaited had been due since then.
    package mutating func arrived(at now: UInt64, oldestDue: UInt64) {
        let since = max(last, oldestDue)
        if now > since { longest = max(longest, now - since) }
        last = now
    }
}
