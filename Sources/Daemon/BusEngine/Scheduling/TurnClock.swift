/// The time of a turn, and the work done in it: everything that has a cost is counted here.
///
/// Work is nanoseconds or so, as `Work` estimates them. The same requests cost the same everywhere, so the order of
/// waiting can be tested without a clock.
final class TurnClock {
    /// The turn's time, in milliseconds since 1970.
    @exclusivity(unchecked) var now = 0
    /// The work done in this turn.
    @exclusivity(unchecked) var work = 0
    /// Where on that clock the current slice ends; 0 outside of one.
    @exclusivity(unchecked) var sliceEnd = 0
    /// The slice's work that went into delivery: a client does not wait longer because many
    /// subscribers want what it dispatches.
    @exclusivity(unchecked) var deliveredWork = 0
    /// The bytes written for clients in this turn.
    @exclusivity(unchecked) var output = 0
    /// The work of all turns before.
    @exclusivity(unchecked) private(set) var earlierWork = 0
    @exclusivity(unchecked) var limits: DaemonLimits

    init(_ limits: DaemonLimits) { self.limits = limits }

    /// Begins a turn. Time never goes back.
    func begin(at milliseconds: Int) {
        now = max(now, milliseconds)
        reopen()
        earlierWork &+= work
        work = 0
        output = 0
    }

    /// All the work that was ever done.
    var totalWork: Int { earlierWork &+ work }

    /// What was added to the turn's work so that it seems to be full.
    @exclusivity(unchecked) private var missing = 0

    /// The turn has taken as long as it may, whatever was counted: nothing new is begun before `reopen`.
    func close() {
        let lacking = max(0, limits.turnWork &- work)
        work &+= lacking
        missing &+= lacking
    }

    /// It has room again as far as work was counted.
    func reopen() {
        work &-= missing
        missing = 0
    }

    /// The end of the turn that stays free: a commit that is made just before must not be too long for the turn.
    @exclusivity(unchecked) private var reserved = 0

    /// Whether this turn has room for more.
    var hasRoom: Bool { work < limits.turnWork &- reserved && output < DaemonLimits.turnOutput }

    /// What follows on a commit can take this much work, and can't be interrupted: what exceeds that of a long request
    /// stays free in this turn, up to three quarters of it.
    func makeRoom(for work: Int) {
        reserved = min(max(0, work &- DaemonLimits.longRequest), limits.turnWork / 4 &* 3)
    }

    /// Whether the slice is used up.
    @inline(__always)
    var isSliceUsedUp: Bool { work >= sliceEnd }

    /// The work done in the present slice; outside of one, as much as a turn may take.
    var workOfSlice: Int { sliceEnd == 0 ? limits.turnWork : work &- sliceEnd &+ limits.sliceWork }
}
