import BusEngine
import BusJSON
import BusLog
import BusServer
import Foundation
import TestServer
import Testing

/// A clock that was set ahead for a while leaves commits from the future in the log. The time of what comes after the next
/// start is the real one again; and nothing else changes.
@Suite(.timeLimit(.minutes(10))) struct ClockTests {
    private static let epoch = "5bd1a5a6-3c1f-4d0e-9d3c-0123456789ab"
    private let bus: DaemonBus

    init() throws {
        bus = try DaemonBus.logged()
        try bus.directory.write(
            "types/stamp.yaml",
            "type: stamp\ninitial: { at: 0 }\nactions: { now: { set: { at: { var: meta.time } } } }\n")
        // A timer of the type, which is set where the store is made.
        try bus.directory.write(
            "types/alarm.yaml",
            "type: alarm\nstate: { at: { type: number, default: 0 } }\ntimers: { ring: { for: 1h, while: at == 0, action: ring } }\nactions: { ring: { set: { at: = meta.time } } }\n"
        )
    }

    /// A log with one store whose commits are so far from now, in milliseconds.
    private func write(_ distance: Int) throws {
        let setup = try ServerSetup.load(
            flags: ConfigurationOverrides(
                listen: [bus.address], types: "\(bus.directory.path)/types", stores: ["stamp/main"]),
            environment: ConfigurationOverrides(environment: [:]), defaultFile: "/nonexistent/fluxbusd.yaml")
        let engine = Engine(
            EngineConfiguration(epoch: Self.epoch, ownUID: 0, version: "test"), types: setup.types)
        let now = Int(Date().timeIntervalSince1970 * 1000)
        engine.beginTurn(at: now + distance)
        let file = try LogFile(path: bus.log, sync: .always, bootID: "boot")
        try file.begin(epoch: Self.epoch)
        let snapshot = engine.snapshot()
        try file.beginSnapshot(revision: 0, time: now)
        try file.addPart(snapshot.bytes)
        try file.endSnapshot()
        withExtendedLifetime(snapshot) {}
        engine.beginLogging()
        try engine.begin(with: setup.types)
        for store in ["stamp/main", "alarm/main"] { try engine.createConfigured(store) }
        while let group = engine.sealBatch() {
            try file.append(group.entries.bytes, first: group.first, last: group.last, time: group.time)
            engine.confirmBatch()
        }
        try file.close()
    }

    /// Seconds between now and the time that a new commit gets.
    private func distanceOfACommit() throws -> Double {
        let client = try bus.client()
        #expect(
            try client.ask(#"{"op":"dispatch","type":"stamp","action":"now"}"#).contains(#""changed":1"#))
        let reply = try client.ask(#"{"op":"get","store":"stamp/main"}"#)
        let place = try #require(reply.range(of: #""at":"#))
        let time = try #require(Double(reply[place.upperBound...].prefix { $0.isNumber || $0 == "." }))
        return time - Date().timeIntervalSince1970
    }

    @Test func theTimeIsRealAgainAfterTheNextStart() throws {
        try write(40 * 365 * 86_400_000)
        let first = try bus.start()
        #expect(first.waitFor("the clock was ahead"))
        #expect(try abs(distanceOfACommit()) < 60)
        let epoch = try bus.client().epoch()
        #expect(epoch != Self.epoch)
        let told = try bus.client().ask(#"{"op":"get","store":"stamp/main"}"#)
        #expect(try bus.stop(first) == 0)
        // Carried out again, each commit has the time that it had; and the history that has begun goes on.
        let verified = try bus.verify()
        #expect(verified.status == 0, "\(verified.output)")
        let second = try bus.start()
        #expect(try bus.client().epoch() == epoch)
        #expect(try bus.client().ask(#"{"op":"get","store":"stamp/main"}"#) == told)
        #expect(try abs(distanceOfACommit()) < 60)
        #expect(try bus.stop(second) == 0)
    }

    /// What was to come within the hour does not come in forty years.
    @Test func timersKeepTheTimeThatWasLeft() throws {
        func left() throws -> Double {
            let timers = try JSON(parsing: bus.client().ask(#"{"op":"timers"}"#))["timers"]?.array ?? []
            try #require(timers.count == 1 && timers[0]["store"] == "alarm/main", "\(timers)")
            return try #require(timers[0]["due"]?.double) - Date().timeIntervalSince1970
        }
        try write(40 * 365 * 86_400_000)
        let first = try bus.start()
        #expect(try 3500...3600 ~= left())
        let history = try bus.client().ask(#"{"op":"history","since":0,"order":"newest"}"#)
        #expect(history.contains(#""advanced":12614"#), "\(history)")
        #expect(try bus.stop(first) == 0)
        let verified = try bus.verify()
        #expect(verified.status == 0, "\(verified.output)")
        let second = try bus.start()
        #expect(try 3400...3600 ~= left())
        #expect(try bus.stop(second) == 0)
    }

    /// The time of commits never goes back and never stands still, and the clock comes up with it in twice the time that it
    /// was behind.
    @Test func timeGoesOnWhileTheClockIsBehind() {
        var wall = WallClock()
        var (clock, monotonic) = (1_795_000_000_000, 5000)
        #expect(wall.read(clock: clock, monotonic: { monotonic }) == clock)
        #expect(wall.moment(of: clock + 10) == nil)
        let ahead = clock + 60_000
        #expect(wall.read(clock: ahead, monotonic: { monotonic }) == ahead)
        #expect(wall.read(clock: clock, monotonic: { monotonic }) == ahead)
        let moment = wall.moment(of: ahead + 50)
        #expect(moment == monotonic + 100)
        var (before, stands) = (ahead, 0)
        for step in 0..<50_000 where wall.latest > clock || step == 0 {
            let passed = 1 + step % 7
            clock += passed
            monotonic += passed
            let time = wall.read(clock: clock, monotonic: { monotonic })
            #expect(time >= before)
            stands = time == before ? stands + passed : 0
            #expect(stands < 2)
            if monotonic >= moment ?? 0 { #expect(time >= ahead + 50) }
            before = time
        }
        #expect(wall.latest == clock && wall.moment(of: clock) == nil)
        #expect(clock - (ahead - 60_000) <= 120_030)
    }

    /// Also over a start: a log whose commits are ahead stops no timer.
    @Test func timersFireWhileTheClockIsBehind() throws {
        try write(600_000)
        let daemon = try bus.start()
        let client = try bus.client()
        let watcher = try bus.client()
        #expect(
            try watcher.ask(#"{"op":"subscribe","type":"stamp","initial":false}"#).contains(#""ok":true"#))
        let reply = try client.ask(#"{"op":"dispatch","store":"stamp/main","action":"now","in":"40ms"}"#)
        #expect(reply.contains(#""ok":true"#))
        // It gives up in the end, as everything that waits does.
        #expect(try watcher.line()?.contains(#""at":"#) == true)
        #expect(try bus.stop(daemon) == 0)
    }

    /// A little is waited for: within a history time goes slowly rather than back.
    @Test func aClockThatIsALittleBehindIsWaitedFor() throws {
        try write(600_000)
        let daemon = try bus.start()
        #expect(try bus.client().epoch() == Self.epoch)
        #expect(try abs(distanceOfACommit() - 600) < 60)
        #expect(try bus.stop(daemon) == 0)
    }

    /// And no lease: what has a time to live goes when that is over.
    @Test func leasesEndWhileTheClockIsBehind() throws {
        try write(600_000)
        let daemon = try bus.start()
        let client = try bus.client()
        let watcher = try bus.client()
        #expect(
            try watcher.ask(#"{"op":"subscribe","type":"stamp","initial":false}"#).contains(#""ok":true"#))
        #expect(
            try client.ask(#"{"op":"create","store":"stamp/brief","ttl":"40ms"}"#).contains(#""ok":true"#))
        #expect(try watcher.line()?.contains(#""stamp/brief":"#) == true)
        #expect(try watcher.line()?.contains(#""dropped":["stamp/brief"]"#) == true)
        #expect(try bus.stop(daemon) == 0)
    }
}
