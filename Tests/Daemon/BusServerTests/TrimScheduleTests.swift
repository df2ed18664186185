import BusServer
import Testing

/// Memory is given back soon after it became quiet, in the end also where it never does, and not for nothing.
struct TrimScheduleTests {
    private static let much = 100 << 20

    @Test func itWaitsForQuiet() {
        var schedule = TrimSchedule()
        #expect(schedule.due == nil)
        for now in stride(from: 5000, through: 6000, by: 100) {
            schedule.rest(now: now, bytes: Self.much, work: 0)
            #expect(schedule.due == now + TrimSchedule.quiet)
        }
        schedule.trimmed(now: 6250, bytes: Self.much)
        #expect(schedule.due == nil)
    }

    @Test func itDoesNotWaitForEver() {
        var schedule = TrimSchedule()
        for now in stride(from: 5000, through: 60_000, by: 100) {
            schedule.rest(now: now, bytes: Self.much, work: 0)
            #expect(schedule.due! <= 5000 + TrimSchedule.patience)
        }
    }

    @Test func nothingNewIsNotLookedForAgain() {
        var schedule = TrimSchedule()
        schedule.rest(now: 5000, bytes: Self.much, work: 10)
        schedule.trimmed(now: 5250, bytes: Self.much)
        schedule.rest(now: 9000, bytes: Self.much, work: 20)
        #expect(schedule.due == nil)
        // Much has been done since, which may have left something…
        schedule.rest(now: 9000, bytes: Self.much, work: 20 + TrimSchedule.notableWork)
        #expect(schedule.due == 9250)
        schedule.trimmed(now: 9250, bytes: Self.much)
        // …or the process takes more than it did.
        schedule.rest(now: 12_000, bytes: Self.much + TrimSchedule.worthTrimming, work: 0)
        #expect(schedule.due == 12_250)
    }

    @Test func littleIsNotWorthIt() {
        var schedule = TrimSchedule()
        schedule.rest(now: 5000, bytes: TrimSchedule.worthTrimming, work: 1 << 40)
        #expect(schedule.due == nil)
    }

    @Test func itIsNotLookedForTooOften() {
        var schedule = TrimSchedule()
        #expect(schedule.isAllowed(now: 5000))
        schedule.trimmed(now: 5000, bytes: Self.much)
        #expect(!schedule.isAllowed(now: 5999))
        #expect(schedule.isAllowed(now: 6000))
        // It has become quiet at once, and still waits.
        schedule.rest(now: 5001, bytes: 2 * Self.much, work: 0)
        #expect(schedule.due == 6000)
    }
}
