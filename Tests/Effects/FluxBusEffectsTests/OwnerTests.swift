import BusJSON
import FluxBus
import Foundation
import TestServer
import Testing

/// Two services with the same effects on one bus: one of them handles an effect, and the other one takes it over.
@Suite struct OwnerTests {
    private let effects = [
        "write":
            "on: { action: echo, of: log/* }\ndo: { run: [/bin/sh, -c, 'echo $1 >> \"$OUT/$2\"', sh, = payload.number, = name] }"
    ]

    private func send(_ numbers: ClosedRange<Int>, _ bus: Bus) async throws {
        for number in numbers {
            try await bus.dispatch("echo", to: .store("log/a"), payload: ["number": .int(number)])
        }
    }

    private func owner(_ bus: Bus) async throws -> String {
        try await bus.state(of: "effect/write").state["owner"]?.string ?? ""
    }

    @Test func oneServiceHandlesAnEffectAndAnotherTakesItOver() async throws {
        let fixture = try EffectsFixture(effects)
        try fixture.start()
        let bus = try await fixture.bus()
        let first = try await owner(bus)
        #expect(first.contains(":\(try #require(fixture.service).process):"))
        let second = try fixture.another()
        #expect(second.waitFor("write: it can't begin yet: it is handled by \(first)"))
        try await send(1...20, bus)
        try await fixture.waits(for: "effect/write", bus) { $0["succeeded"] == 20 }
        #expect(try await owner(bus) == first)
        // It is killed: the other one goes on at once, and handles what comes.
        try #require(fixture.service).kill()
        try await fixture.waits(for: "effect/write", bus, within: 4) {
            !["", first].contains($0["owner"]?.string)
        }
        try await send(21...40, bus)
        try await fixture.waits(for: "effect/write", bus) { ($0["succeeded"]?.int ?? 0) >= 40 }
        #expect(fixture.lines("a") == (1...40).map(String.init))
        // It ends: nobody does, and the next one may.
        second.signal(SIGTERM)
        #expect(try second.wait().status == 0)
        try await fixture.waits(for: "effect/write", bus) { $0["owner"] == "" }
        try fixture.start()
        try await send(41...42, bus)
        try await fixture.waits(for: "effect/write", bus) { ($0["succeeded"]?.int ?? 0) >= 42 }
        #expect(fixture.lines("a").count == 42)
    }

    /// The daemon was killed, and the services with it or not: the next daemon knows that their sessions have ended.
    @Test func aKilledDaemonLeavesNoEffectWithoutAService() async throws {
        let fixture = try EffectsFixture(effects)
        try fixture.start()
        for killsBoth in [false, true] {
            fixture.daemon.kill()
            if killsBoth { try #require(fixture.service).kill() }
            try fixture.restartDaemon()
            if killsBoth { try fixture.start() }
            let bus = try await fixture.bus()
            let process = try #require(fixture.service).process
            let before = fixture.lines("a").count
            try await send(1...1, bus)
            try await fixture.waits(for: "effect/write", bus) { ($0["succeeded"]?.int ?? 0) == before + 1 }
            #expect(try await owner(bus).contains(":\(process):"))
            await bus.close()
        }
    }

    /// One that a reload takes out of a service is free for others.
    @Test func aReloadGivesBackWhatIsGone() async throws {
        let fixture = try EffectsFixture(effects)
        try fixture.start()
        let bus = try await fixture.bus()
        let second = try fixture.another()
        #expect(second.waitFor("it is handled by"))
        try FileManager.default.removeItem(atPath: "\(fixture.directory.path)/effects/write.yaml")
        try #require(fixture.service).signal(SIGHUP)
        try await fixture.waits(for: "effect/write", bus) {
            $0["owner"]?.string?.contains(":\(second.process):") == true
        }
    }
}
