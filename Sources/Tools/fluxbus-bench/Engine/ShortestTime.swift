/// How long a piece of work takes at best: of several series, since any disturbance makes one longer.
struct ShortestTime {
    /// In seconds: each of the five series takes a tenth of it at least.
    let duration: Double

    /// The CPU time of one call in nanoseconds.
    func measure<Failure: Error>(_ body: () throws(Failure) -> Void) throws(Failure) -> Double {
        var calls = 1
        var best = Double.infinity
        var series = 0
        while series < 5 {
            let start = ProcessUsage.ownSeconds()
            for _ in 0..<calls { try body() }
            let seconds = ProcessUsage.ownSeconds() - start
            if seconds < duration / 10, calls < 1 << 30 {
                calls *= 2
                continue
            }
            best = min(best, seconds * 1e9 / Double(calls))
            series += 1
        }
        return best
    }
}
