/// A member's clock, and the time by which the member measures how long something takes. In milliseconds.
struct MemberTime {
    /// What the clock shows, since 1970.
    private(set) var clock: Int
    /// Goes on with the clock, and not back with it: what waits would wait until the clock shows the same time again. Where the clock
    /// is set forward, what waits is late, as after a stop of the process.
    private(set) var elapsed: Int

    init(clock: Int) { (self.clock, elapsed) = (clock, clock) }

    mutating func note(clock: Int) {
        elapsed += max(0, clock - self.clock)
        self.clock = clock
    }

    /// The elapsed time at which the clock shows or has shown this time, as it goes now.
    func elapsed(at clock: Int) -> Int { elapsed + clock - self.clock }
}
