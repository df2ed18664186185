import BusJSON
import FluxBus
import Foundation
import TestFiles
import TestServer
import Testing

/// Effects of conditions that become true, on a real bus.
@Suite struct WhenTests {
    static let lamp = """
        type: lamp
        initial: { isOn: false, times: 0 }
        actions:
          turn: { payload: { isOn: boolean }, set: { isOn: = payload.isOn } }
          flash: { increment: { times: 1 } }
        """

    private func fixture(_ when: String, _ more: String = "", hasLog: Bool = true) throws -> EffectsFixture {
        try EffectsFixture(
            [
                "lit":
                    "when: { of: lamp/*, becomes: isOn\(when) }\ndo: { dispatch: { store: log/main, action: note, payload: { number: = revision } } }\n\(more)"
            ], hasLog: hasLog, more: ["lamp": Self.lamp])
    }

    private func turn(_ bus: Bus, _ name: String, _ isOn: Bool) async throws -> Int {
        try await bus.dispatch("turn", to: .store("lamp/\(name)"), payload: ["isOn": .bool(isOn)]).revision
    }

    private func notes(_ bus: Bus) async throws -> [Int] {
        try await bus.state(of: "log/main").state["notes"]?.array?.compactMap(\.int) ?? []
    }

    @Test func whatBecomesTrueIsHandledOnce() async throws {
        let fixture = try fixture("")
        let bus = try await fixture.bus()
        // One that is on before the effect is there is none that becomes so.
        try await bus.create("lamp/a", state: ["isOn": true])
        try await bus.create("lamp/b")
        try fixture.start()
        try await fixture.waits(for: "effect/lit", bus) { $0["epoch"] != "" }
        try await bus.dispatch("flash", to: .type("lamp"))
        var wanted = [try await turn(bus, "b", true)]
        _ = try await turn(bus, "a", false)
        wanted.append(try await turn(bus, "a", true))
        wanted.append(try await bus.create("lamp/c", state: ["isOn": true]).revision)
        try await fixture.waits(for: "log/main", bus) { [wanted] in
            $0["notes"]?.array?.compactMap(\.int) == wanted
        }
        try await fixture.waits(for: "effect/lit", bus) { $0["held"] == [:] && $0["succeeded"] == 3 }
        #expect(try fixture.stop() == 0)
    }

    /// It follows from no action, so its store alone is named.
    @Test func whatIsSetAsideIsNamedByItsStore() async throws {
        let fixture = try EffectsFixture(
            [
                "lit":
                    "when: { of: lamp/*, becomes: isOn }\ndo: { dispatch: { store: nothing/main, action: note } }"
            ], more: ["lamp": Self.lamp])
        let bus = try await fixture.bus()
        try await bus.create("lamp/a")
        try fixture.start()
        let revision = try await turn(bus, "a", true)
        #expect(try #require(fixture.service).waitFor("lit: lamp/a (\(revision):0"))
        #expect(try fixture.stop() == 0)
    }

    /// While the service is down a lamp goes on, off and on again: that is found in the history, each with its revision.
    @Test(arguments: [("all", 3), ("newest", 2), ("none", 0)])
    func whatBecameTrueMeanwhileIsFoundInTheHistory(_ word: String, _ count: Int) async throws {
        let fixture = try fixture("", "after-downtime: \(word)")
        let bus = try await fixture.bus()
        for name in ["a", "b"] { try await bus.create("lamp/\(name)") }
        try fixture.start()
        try fixture.stop()
        var wanted = [try await turn(bus, "a", true)]
        _ = try await turn(bus, "a", false)
        wanted.append(try await turn(bus, "b", true))
        wanted.append(try await turn(bus, "a", true))
        try fixture.start()
        let expected = Array(wanted.suffix(count))
        _ = try await turn(bus, "a", false)
        let last = try await turn(bus, "a", true)
        try await fixture.waits(for: "log/main", bus) { $0["notes"]?.array?.contains(.int(last)) == true }
        #expect(try await notes(bus).sorted() == expected + [last])
    }

    /// The service is killed before it can note anything: what came before its end is not of the downtime.
    @Test func whatBecameTrueBeforeAKillCounts() async throws {
        let fixture = try fixture("", "after-downtime: none")
        let bus = try await fixture.bus()
        for name in ["a", "b"] { try await bus.create("lamp/\(name)") }
        try fixture.start()
        let first = try await turn(bus, "a", true)
        try #require(fixture.service).kill()
        try await fixture.waits(for: "effect/lit", bus) { $0["owner"] == "" }
        _ = try await turn(bus, "b", true)
        try fixture.start()
        try await fixture.waits(for: "log/main", bus) { $0["notes"] == [.int(first)] }
        try await fixture.waits(for: "effect/lit", bus) { $0["held"] == [:] && $0["running"] == 0 }
        _ = try await turn(bus, "a", false)
        let last = try await turn(bus, "a", true)
        try await fixture.waits(for: "log/main", bus) { $0["notes"]?.array?.contains(.int(last)) == true }
        #expect(try await notes(bus) == [first, last])
    }

    /// Killed, and started again in the middle, it fires once, at the right time: nothing is counted from the start. On a machine
    /// that does nothing else that is within 0.1 s, to which `FLUXBUS_EFFECT_LATENESS=0.1` holds it.
    @Test func aConditionThatHoldsOverAKillFiresOnceInTime() async throws {
        let fixture = try fixture(", for: 4s")
        let bus = try await fixture.bus()
        try await bus.create("lamp/a")
        try await bus.create("lamp/b")
        try fixture.start()
        try await fixture.waits(for: "effect/lit", bus) { $0["epoch"] != "" }
        let revision = try await turn(bus, "a", true)
        _ = try await turn(bus, "b", true)
        // Where a machine has so much else to do that it is told of only when it is over, nothing is left to kill in the middle of.
        try await fixture.waits(for: "effect/lit", bus) {
            $0["held"]?.object?.count == 2 || $0["succeeded"]?.int ?? 0 > 0
        }
        try #require(fixture.service).kill()
        _ = try await turn(bus, "b", false)
        // It held for less than four seconds, unless the machine had much else to do.
        let turns = try await bus.history(since: revision, of: .store("lamp/b")).commits
        let times = turns.compactMap { $0["time"]?.double }
        try #require(times.count == 2)
        let wanted =
            [revision] + (times[1] - times[0] < 4 ? [] : turns.prefix(1).compactMap { $0["revision"]?.int })
        let began = try #require(
            try await bus.history(since: revision - 1, until: revision).commits.first?["time"]?.double)
        while Date().timeIntervalSince1970 < began + 2 { _ = try await bus.state(of: "lamp/a") }
        let started = Date().timeIntervalSince1970
        try fixture.start()
        try await fixture.waits(for: "log/main", bus) { $0["notes"]?.array?.compactMap(\.int) == wanted }
        let fired = try await bus.history(since: revision, of: .store("log/main")).commits
        let ended = try #require(fired.first?["time"]?.double)
        let lateness = ProcessInfo.processInfo.environment["FLUXBUS_EFFECT_LATENESS"].flatMap(Double.init)
        let limit = lateness.map { began + 4 + $0 } ?? started + 4
        #expect(
            ended >= began + 4 && ended < limit,
            "\(ended - began) s, started again after \(started - began) s")
        try await fixture.waits(for: "effect/lit", bus) { $0["held"] == [:] }
        try fixture.stop()
        try fixture.start()
        try await fixture.waits(for: "effect/lit", bus) { $0["running"] == 0 }
        #expect(try await notes(bus) == wanted)
    }

    /// Where nothing is known of the time in between, a lamp that is off is not taken for one that was on for long enough; one that
    /// is on still counts from when it was turned on.
    @Test(arguments: [(false, "all"), (true, "none")])
    func whatIsNotKnownToHaveHeldDoesNotCount(hasLog: Bool, word: String) async throws {
        let fixture = try fixture(", for: 2s", "after-downtime: \(word)", hasLog: hasLog)
        let bus = try await fixture.bus()
        try await bus.create("lamp/a")
        try await bus.create("lamp/b")
        try fixture.start()
        try await fixture.waits(for: "effect/lit", bus) { $0["epoch"] != "" }
        let revision = try await turn(bus, "a", true)
        _ = try await turn(bus, "b", true)
        try await fixture.waits(for: "effect/lit", bus) {
            $0["held"]?.object?.count == 2 || $0["succeeded"]?.int ?? 0 > 0
        }
        try #require(fixture.service).kill()
        // The machine had so much else to do that both were on for long enough.
        let isOver = try await bus.state(of: "effect/lit").state["succeeded"]?.int ?? 0 > 0
        _ = try await turn(bus, "b", false)
        try fixture.start()
        try await fixture.waits(for: "log/main", bus) { $0["notes"]?.array?.contains(.int(revision)) == true }
        try await fixture.waits(for: "effect/lit", bus) { $0["held"] == [:] && $0["running"] == 0 }
        if !isOver { #expect(try await notes(bus) == [revision]) }
    }

    /// It had held for long enough before it ended, and nobody was there to see it.
    @Test func whatHeldForLongEnoughMeanwhileCounts() async throws {
        let fixture = try fixture(", for: 1s")
        let bus = try await fixture.bus()
        try await bus.create("lamp/a")
        try fixture.start()
        try fixture.stop()
        let first = try await turn(bus, "a", true)
        // Something that takes long enough.
        let begin = ContinuousClock.now
        while ContinuousClock.now - begin < .milliseconds(1050) {
            _ = try await bus.dispatch("flash", to: .store("lamp/a"))
        }
        _ = try await turn(bus, "a", false)
        let second = try await turn(bus, "a", true)
        let last = try await turn(bus, "a", false)
        // The second time it held for much less, unless the machine had much else to do.
        let turns = try await bus.history(since: second - 1, until: last, of: .store("lamp/a")).commits
        let times = turns.compactMap { $0["time"]?.double }
        try #require(times.count == 2)
        let wanted = times[1] - times[0] < 1 ? [first] : [first, second]
        try fixture.start()
        try await fixture.waits(for: "log/main", bus) { $0["notes"]?.array?.compactMap(\.int) == wanted }
        try await fixture.waits(for: "effect/lit", bus) {
            $0["held"] == [:] && $0["succeeded"]?.int == wanted.count
        }
    }
}
