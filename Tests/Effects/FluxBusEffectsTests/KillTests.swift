import BusJSON
import FluxBus
import Foundation
import TestFiles
import TestServer
import Testing

/// What holds while the service is killed, and while a target hangs.
@Suite struct KillTests {
    @Test func dispatchesAreCommittedOnceOverKills() async throws {
        let storm = EffectStorm()
        let fixture = try EffectsFixture(storm.effects)
        try fixture.start()
        let last = try storm.blow(
            LineClient(fixture.address), kill: { try #require(fixture.service).kill() },
            awaitBack: { try fixture.start() })
        let bus = try await fixture.bus()
        try await fixture.waits(for: "log/main", bus, within: 300) {
            ($0["notes"]?.array?.count ?? 0) >= storm.actions
        }
        try await fixture.waits(for: "effect/write", bus, within: 300) {
            $0["waiting"] == 0 && $0["running"] == 0 && $0["done"]?.int ?? 0 >= last
        }
        let notes = try await bus.state(of: "log/main").state["notes"]?.array ?? []
        #expect(storm.problems(notes: notes.compactMap(\.int)) { fixture.lines($0) } == [])
        #expect(try fixture.stop() == 0)
    }

    private func residentMegabytes(_ program: RunningProgram) throws -> Int {
        let status = try String(contentsOfFile: "/proc/\(program.process)/status", encoding: .utf8)
        let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") })
        return try #require(Int(line.split(separator: " ")[1])) / 1024
    }

    /// Ten thousand actions a second with a condition that is false took 7 % of a core, 7 µs for each, singly or in bursts; this
    /// fails at four times as much.
    @Test func whatAConditionRefusesCostsLittle() async throws {
        let fixture = try EffectsFixture([
            "quiet":
                "on: { action: echo, of: log/* }\nif: payload.number < 0\ndo: { dispatch: { store: log/main, action: note, payload: { number: = payload.number } } }"
        ])
        try fixture.start()
        let bus = try await fixture.bus()
        let service = try #require(fixture.service)
        func processorSeconds() throws -> Double {
            let text = try String(contentsOfFile: "/proc/\(service.process)/stat", encoding: .utf8)
            let fields = text[text.index(after: try #require(text.lastIndex(of: ")")))...].split(
                separator: " ")
            return try Double(#require(Int(fields[11])) + #require(Int(fields[12])))
                / Double(sysconf(Int32(_SC_CLK_TCK)))
        }
        let before = try processorSeconds()
        for _ in 0..<100 {
            var replies: [PendingReply] = []
            for number in 1...100 {
                replies.append(
                    await bus.startDispatch("echo", to: .store("log/a"), payload: ["number": .int(number)]))
            }
            for reply in replies { _ = try await reply.value }
        }
        try await bus.dispatch("echo", to: .store("log/b"), payload: ["number": -7])
        try await fixture.waits(for: "log/main", bus) { $0["notes"] == [-7] }
        let seconds = try processorSeconds() - before
        #expect(seconds < 0.3, "\(seconds) s for 10,000 actions")
        #expect(try fixture.stop() == 0)
    }

    /// A program that never ends holds up its effect alone, and takes no more memory the more happens.
    @Test func aTargetThatHangsTakesBoundedMemory() async throws {
        let fixture = try EffectsFixture([
            "hang":
                "on: { action: echo, of: log/* }\ndo: { run: [/bin/sleep, 1000] }\ntimeout: 3s\nretry: { times: 100 }",
            "count":
                "on: { action: echo, of: log/* }\nif: payload.number > 0\ndo: { dispatch: { store: log/main, action: note, payload: { number: = payload.number } } }",
        ])
        try fixture.start()
        let bus = try await fixture.bus()
        let service = try #require(fixture.service)
        // 64 MB in all, of which four fit into the window.
        let text = JSON.string(String(repeating: "x", count: 32 << 10))
        func send(_ count: Int) async throws {
            var replies: [PendingReply] = []
            for _ in 0..<count {
                replies.append(await bus.startDispatch("echo", to: .store("log/a"), payload: ["text": text]))
            }
            for reply in replies { _ = try await reply.value }
        }
        try await send(400)
        try await fixture.waits(for: "effect/hang", bus) { $0["waiting"]?.int ?? 0 > 50 }
        let before = try residentMegabytes(service)
        try await send(1600)
        try await bus.dispatch("echo", to: .store("log/b"), payload: ["number": 7])
        try await fixture.waits(for: "log/main", bus) { $0["notes"] == [7] }
        let after = try residentMegabytes(service)
        #expect(after - before < 40, "\(before) MB, then \(after) MB")
        let state = try await bus.state(of: "effect/hang").state
        #expect(state["waiting"]?.int ?? 0 < 200 && state["failed"] == [:], "\(state)")
        // What hangs is ended with the service.
        #expect(try fixture.stop() == 0)
        #expect(try await bus.state(of: "effect/hang").state["running"] == 0)
    }
}
