/// Decides whether the loop polls for more events before it releases the queue.
///
/// Most of a lone request's cost is waking a sleeping core. While requests keep arriving, polling for the next one for
/// some microseconds is cheaper than being woken for it. When that was in vain a few times in a row, the loop sleeps at
/// once, until it is woken so soon that polling would have paid.
struct BusyPoll {
    /// Until when to poll; 0 while there is nothing to poll for.
    private var until = 0
    private var timesInVain = 0
    private var fellAsleep = 0

    /// Something was ready. Times are monotonic nanoseconds.
    mutating func somethingCame(now: Int) {
        if until != 0 || now - fellAsleep < LoopLimits.soonAgain { timesInVain = 0 }
        until = now + LoopLimits.busyPoll
    }

    /// Nothing is ready: true to poll again, false to sleep.
    mutating func looksAgain(now: Int) -> Bool {
        if timesInVain < LoopLimits.timesInVain, now < until { return true }
        timesInVain = min(timesInVain + 1, LoopLimits.timesInVain)
        until = 0
        fellAsleep = now
        return false
    }
}
