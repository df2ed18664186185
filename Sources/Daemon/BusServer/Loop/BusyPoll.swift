/// Decides whether the loop looks for more events before it gives its turn back.
///
/// Most of a lone request's cost is waking a sleeping core. While requests keep arriving, looking for the next one
/// for some microseconds is cheaper than being woken for it. When that was in vain a few times in a row, the
/// loop sleeps at once, until it is woken so soon that looking would have paid.
struct BusyPoll {
    /// Until when to look; 0 while there is nothing to look for.
    private var until = 0
    private var timesInVain = 0
    private var fellAsleep = 0

    /// Something was ready. Times are monotonic nanoseconds.
    mutating func somethingCame(now: Int) {
        if until != 0 || now - fellAsleep < LoopLimits.soonAgain { timesInVain = 0 }
        until = now + LoopLimits.busyPoll
    }

    /// Nothing is ready: true to look again, false to sleep.
    mutating func looksAgain(now: Int) -> Bool {
        if timesInVain < LoopLimits.timesInVain, now < until { return true }
        timesInVain = min(timesInVain + 1, LoopLimits.timesInVain)
        until = 0
        fellAsleep = now
        return false
    }
}
