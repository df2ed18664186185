import BusLog
import BusLogic
import BusServer
import BusSource
import Glibc
import TestServer
import Testing

/// The past is cut at snapshots: where little is written there is one now and then, and never many.
struct SnapshotScheduleTests {
    private static let hour = 3_600_000
    private static let day = 24 * hour

    private func schedule(_ rules: [String: LogReach] = [:], bytes: Int = 0, taken: Int = 0)
        -> SnapshotSchedule
    {
        let settings = LogSettings(path: Located("bus.sqlite", at: Place(name: "test")))
        return SnapshotSchedule(
            settings, last: TakenSnapshot(revision: 0, bytes: bytes, time: taken), revision: 0, changes: 0,
            rules, now: 0, time: 0)
    }

    @Test(arguments: [
        ([:], 0, 45 * hour), (["door": LogReach(age: 8 * day)], 0, 12 * hour),
        (["door": LogReach(age: day), "beat": .nothing], 0, hour),
        (["door": LogReach(commits: 9)], 0, 45 * hour),
        (["beat": LogReach.nothing], 64 << 20, 5 * hour),
    ])
    func thereIsOneAfterASixteenthOfTheAge(rules: [String: LogReach], bytes: Int, interval: Int) {
        var schedule = schedule(rules, bytes: bytes)
        var now = 0
        func isDue(at time: Int) -> Bool {
            now += 1
            return schedule.look(now: now, time: time, by: rules)
        }
        #expect(schedule.nextLook == min(Self.day, interval))
        schedule.noteWriting(100, commits: 1)
        #expect(isDue(at: interval - 1) == false)
        #expect(schedule.nextLook == now + 1)
        #expect(isDue(at: interval))
        schedule.noteTaking(changes: 1)
        #expect(isDue(at: interval + 1) == false)
        _ = schedule.noteTaken(TakenSnapshot(revision: 1, bytes: bytes, time: interval))
        // Nothing was committed since.
        #expect(isDue(at: 2 * interval) == false)
        #expect(schedule.nextLook == now + min(Self.day, interval))
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
