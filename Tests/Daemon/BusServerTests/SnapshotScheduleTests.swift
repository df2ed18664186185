import BusLog
import BusServer
import BusSource
import Glibc
import TestServer
import TestSupport
import Testing

/// The past is cut at snapshots: where little is written there is one now and then, and never many.
struct SnapshotScheduleTests {
    private static let hour = 3_600_000
    private static let day = 24 * hour

    private static let settings = LogSettings(path: Located("bus.sqlite", at: Place(name: "test")))
    private static let age = settings.retain.age

    private func schedule(
        age: Int = Self.age, bytes: Int = 0, taken: Int = 0
    ) -> SnapshotSchedule {
        SnapshotSchedule(
            Self.settings, last: TakenSnapshot(revision: 0, bytes: bytes, time: taken), revision: 0,
            changes: 0, age: age, now: 0, time: 0)
    }

    @Test(arguments: [
        (age, 0, 45 * hour), (8 * day, 0, 12 * hour), (0, 0, hour), (0, 64 << 20, 5 * hour),
    ])
    func thereIsOneAfterASixteenthOfTheAge(age: Int, bytes: Int, interval: Int) {
        var schedule = schedule(age: age, bytes: bytes)
        var now = 0
        func isDue(at time: Int) -> Bool {
            now += 1
            return schedule.look(now: now, time: time, age: age)
        }
        #expect(schedule.nextLook == min(Self.day, interval))
        schedule.noteWriting(100, commits: 1)
        #expect(isDue(at: interval - 1) == false)
        #expect(schedule.nextLook == now + 1)
        #expect(isDue(at: interval))
        schedule.noteTaking(changes: 1, commits: 0)
        #expect(isDue(at: interval + 1) == false)
        _ = schedule.noteTaken(TakenSnapshot(revision: 1, bytes: bytes, time: interval))
        // Nothing was committed since.
        #expect(isDue(at: 2 * interval) == false)
        #expect(schedule.nextLook == now + min(Self.day, interval))
    }

    /// Of a type of which nothing is kept, nothing has to go, so it makes none necessary.
    @Test(arguments: [
        ("keep: none", age), ("keep: latest", 0), ("for: 2h", 2 * hour), ("for: 90d", age),
        ("commits: 9", age),
    ])
    func theShortestPastIsThatOfATypeThatIsKept(log: String, shortest: Int) throws {
        var setup = MemoryBus.Setup()
        setup.definitions = [
            "type: beat\nlog: { \(log) }\ninitial: { n: 0 }\nactions: { reset: { set: { n: 0 } } }\n"
        ]
        setup.log = MemoryLog()
        #expect(try MemoryBus(setup).engine.shortestPast(Self.age) == shortest)
    }

    /// What the last one should have had counts, though nothing is committed any more: where it failed, and what was being written.
    @Test(arguments: [true, false])
    func whatIsInNoneIsNotForgotten(hasFailed: Bool) {
        var schedule = schedule()
        let interval = 45 * Self.hour
        schedule.noteWriting(100, commits: 2)
        var isDue = schedule.look(now: 0, time: interval, age: Self.age)
        #expect(isDue)
        schedule.noteTaking(changes: 1, commits: hasFailed ? 0 : 1)
        if hasFailed {
            schedule.noteFailed()
            #expect(schedule.last.revision == 0)
        } else {
            _ = schedule.noteTaken(TakenSnapshot(revision: 1, bytes: 0, time: interval))
        }
        isDue = schedule.look(now: schedule.nextLook, time: 2 * interval, age: Self.age)
        #expect(isDue)
    }

    /// An end abandons the one that is being taken.
    @Test func whatIsAbandonedIsTakenAtTheEnd() {
        var schedule = schedule()
        schedule.noteWriting(100, commits: 20_000)
        schedule.noteTaking(changes: 1, commits: 0)
        #expect(schedule.isSnapshotDueAtEnd(changes: 1, hasCode: false))
        _ = schedule.noteTaken(TakenSnapshot(revision: 20_000, bytes: 0, time: 0))
        #expect(!schedule.isSnapshotDueAtEnd(changes: 1, hasCode: true))
    }

    /// Nothing is left of what can't be written, also where a snapshot was taken meanwhile.
    @Test(arguments: [false, true]) func whatIsRolledBackDoesNotCount(isTaken: Bool) {
        var schedule = schedule()
        schedule.noteWriting(100, commits: 2)
        if isTaken { schedule.noteTaking(changes: 0, commits: 2) }
        schedule.noteNotWritten(commits: 2)
        if isTaken { _ = schedule.noteTaken(TakenSnapshot(revision: 1, bytes: 0, time: 0)) }
        #expect(!schedule.isSnapshotDueAtEnd(changes: 0, hasCode: true))
    }

    /// The past goes by the times of snapshots, so one with a right time follows.
    @Test func aClockThatWasAheadIsNotWaitedFor() {
        var schedule = schedule(taken: 1000 * Self.day)
        #expect(schedule.nextLook == Self.day)
        schedule.noteWriting(100, commits: 1)
        func isDue(after hours: Int) -> Bool { schedule.look(now: 0, time: hours * Self.hour, age: Self.age) }
        #expect(!isDue(after: 44))
        #expect(isDue(after: 46))
        _ = schedule.noteTaken(TakenSnapshot(revision: 1, bytes: 0, time: 2000 * Self.day))
        schedule.noteWriting(100, commits: 1)
        #expect(!isDue(after: 47))
        #expect(isDue(after: 92))
    }

    /// A daemon that is started often looks at how old the last one is.
    @Test func aStartLooksAtOnceWhereItIsOld() {
        #expect(schedule(taken: -100 * Self.hour).nextLook == 0)
        #expect(schedule(taken: -40 * Self.hour).nextLook == 5 * Self.hour)
        // The clock was set back.
        #expect(schedule(taken: 1000 * Self.hour).nextLook == Self.day)
    }

    /// Of a type whose past is not kept, nothing is left in the log although few commits follow.
    @Test func whatIsNotKeptGoesOnAQuietBus() throws {
        var setup = LiveBus.Setup()
        (setup.hasLog, setup.logLook) = (true, 20)
        setup.types["visit"] = """
            type: visit
            log: { keep: latest }
            initial: { who: nobody }
            actions: { enter: { payload: { who: string }, set: { who: = payload.who } } }
            """
        setup.stores.append("visit/door")
        let bus = try LiveBus(setup)
        let client = try bus.client()
        func enter(_ who: String) throws {
            let payload = #""payload":{"who":"\#(who)"}"#
            _ = try client.ask(#"{"op":"dispatch","store":"visit/door","action":"enter",\#(payload)}"#)
        }
        func isInLog(_ text: String) throws -> Bool {
            var isFound = false
            try LogReader(path: bus.path(LiveBus.Setup.logName)).forEachGroup(after: 0) { group in
                isFound = isFound || String(decoding: group.entries, as: UTF8.self).contains(text)
                return true
            }
            return isFound
        }
        try enter("somebody")
        _ = try client.ask(#"{"op":"history","limit":1}"#)
        #expect(try isInLog("somebody"))
        var rounds = 0
        while try isInLog("somebody"), rounds < 1000 {
            rounds += 1
            try enter("\(rounds)")
            poll(nil, 0, 10)
        }
        #expect(rounds < 1000)
    }
}
