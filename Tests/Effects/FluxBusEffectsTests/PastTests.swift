import BusJSON
import FluxBus
import Synchronization
import TestServer
import Testing

/// What becomes of events where the bus keeps no past of them, can't tell it for now, or begins a new one.
@Suite struct PastTests {
    private let noted = "{ dispatch: { store: log/main, action: note, payload: { number: = revision } } }"

    private func fixture(
        _ on: String, _ more: String = "", keeping policy: String = "all", hasLog: Bool = true
    ) throws -> EffectsFixture {
        try EffectsFixture(
            ["lit": "\(on)\ndo: \(noted)\n\(more)"], hasLog: hasLog,
            more: ["lamp": WhenTests.lamp + "\nlog: { keep: \(policy) }"])
    }

    private func turn(_ bus: Bus, _ name: String, _ isOn: Bool) async throws -> Int {
        try await bus.dispatch("turn", to: .store("lamp/\(name)"), payload: ["isOn": .bool(isOn)]).revision
    }

    /// What a relay sends instead of the requests of this operation about a revision.
    ///
    /// - Parameters:
    ///   - revision: Only at this revision; nil: the first request only.
    ///   - other: Gives the line for the `id` of the request; nil: what the client has sent.
    private static func replacing(
        _ op: String, at revision: Int? = nil, by other: @escaping @Sendable (String) -> String?
    ) -> @Sendable (String) -> String {
        let isOver = Mutex(false)
        return { line in
            guard let request = try? JSON(parsing: Array(line.utf8)), request["op"]?.string == op,
                let asked = request["revision"] ?? request["since"], let id = request["id"]?.encoded
            else { return line }
            let isMeant =
                revision.map { asked == .int($0) }
                ?? isOver.withLock { isOver in
                    defer { isOver = true }
                    return !isOver
                }
            return isMeant ? other(id) ?? line : line
        }
    }

    /// The bus refuses the first request of this operation.
    ///
    /// - Parameter other: Another operation, which it refuses in the same way.
    private static func refusing(
        _ op: String, at revision: Int? = nil, by other: String
    ) -> @Sendable (String) -> String {
        replacing(op, at: revision) { id in #"{"id":\#(id),"op":"\#(other)"}"# }
    }

    /// Only a bus of several machines can answer it; others are `unavailable` for it, as they are for much while they restart.
    private static let unavailable = "cluster"

    // MARK: No past

    /// Of such a type an action to all stores is about those of now, and holds up nothing behind it.
    @Test(arguments: ["latest", "none"])
    func anActionToATypeWithoutAPastIsHandled(_ policy: String) async throws {
        let fixture = try fixture("on: { action: flash, of: lamp/* }", keeping: policy)
        let address = fixture.address
        // The bus goes on before it is asked.
        let relay = try LineRelay(
            to: address,
            Self.replacing("get") { _ in
                _ = try? LineClient(address).ask(#"{"op":"dispatch","store":"log/a","action":"echo"}"#)
                return nil
            })
        try fixture.start(through: relay)
        let bus = try await fixture.bus()
        try await bus.create("lamp/a")
        let all = try await bus.dispatch("flash", to: .type("lamp")).revision
        let one = try await bus.dispatch("flash", to: .store("lamp/a")).revision
        try await fixture.waits(for: "log/main", bus, within: 60) { $0["notes"] == [.int(all), .int(one)] }
        #expect(try fixture.stop() == 0)
    }

    /// What happened while the service was down is lost, and what happens then is handled.
    @Test(arguments: ["latest", "none"])
    func aConditionOfATypeWithoutAPastGoesOn(_ policy: String) async throws {
        let fixture = try fixture("when: { of: lamp/*, becomes: isOn }", keeping: policy)
        let bus = try await fixture.bus()
        for name in ["a", "b"] { try await bus.create("lamp/\(name)") }
        try fixture.start()
        try fixture.stop()
        _ = try await turn(bus, "a", true)
        try fixture.start()
        try await fixture.waits(for: "effect/lit", bus, within: 60) { $0["lost"] != .null }
        let revision = try await turn(bus, "b", true)
        try await fixture.waits(for: "log/main", bus, within: 60) { $0["notes"] == [.int(revision)] }
        #expect(try fixture.stop() == 0)
    }

    /// What happens while a condition is taken up for the first time is no loss: nobody has counted on it.
    @Test(arguments: [("latest", true), ("none", true), ("all", false)])
    func aNewConditionHasLostNothing(_ policy: String, hasLog: Bool) async throws {
        let fixture = try fixture(
            "when: { of: lamp/*, becomes: isOn }", keeping: policy, hasLog: hasLog)
        let bus = try await fixture.bus()
        try await bus.create("lamp/a")
        try fixture.start()
        let revision = try await turn(bus, "a", true)
        try await fixture.waits(for: "log/main", bus, within: 60) { $0["notes"] == [.int(revision)] }
        #expect(try await bus.state(of: "effect/lit").state["lost"] == .null)
        #expect(try fixture.stop() == 0)
    }

    /// Of such a type, and on a bus without a log, `state` is the state of now.
    @Test(arguments: [("latest", true), ("none", true), ("all", false)])
    func withoutAPastTheStateIsThatOfNow(_ policy: String, hasLog: Bool) async throws {
        let fixture = try fixture(
            "on: { action: turn, of: lamp/* }", "if: state.times == 1", keeping: policy, hasLog: hasLog)
        let address = fixture.address
        // The bus goes on before it is asked.
        let relay = try LineRelay(
            to: address,
            Self.replacing("get") { _ in
                _ = try? LineClient(address).ask(#"{"op":"dispatch","store":"lamp/a","action":"flash"}"#)
                return nil
            })
        try fixture.start(through: relay)
        let bus = try await fixture.bus()
        try await bus.create("lamp/a")
        let revision = try await turn(bus, "a", true)
        try await fixture.waits(for: "effect/lit", bus, within: 60) { $0["succeeded"] == 1 }
        #expect(try await bus.state(of: "log/main").state["notes"] == [.int(revision)])
        #expect(try await bus.state(of: "effect/lit").state["retried"] == 0)
        #expect(try fixture.stop() == 0)
    }

    /// What the type did not keep at the time is not there later either.
    @Test func aStateFromBeforeThePastIsNotAskedForAgain() async throws {
        let fixture = try fixture("on: { action: turn, of: lamp/* }", "if: state.isOn", keeping: "latest")
        let early = try await fixture.bus().create("lamp/a").revision
        try fixture.directory.write("types/lamp.yaml", WhenTests.lamp + "\nlog: { keep: all }")
        try fixture.restartDaemon()
        let relay = try LineRelay(
            to: fixture.address,
            Self.replacing("get") { #"{"id":\#($0),"op":"get","store":"lamp/a","revision":\#(early)}"# })
        try fixture.start(through: relay)
        let bus = try await fixture.bus()
        _ = try await turn(bus, "a", true)
        try await fixture.waits(for: "effect/lit", bus, within: 60) {
            let failure = $0["failed"]?.object?.members.first?.value
            return failure?["reason"]?.string?.hasSuffix("Ask for a later one") == true
        }
        #expect(try await bus.state(of: "effect/lit").state["retried"] == 0)
        #expect(try fixture.stop() == 0)
    }

    // MARK: Not now

    /// A bus that can't tell the past for now is asked again: nothing is taken for lost.
    @Test(arguments: ["get", "history"])
    func whatTheBusCanNotTellForNowIsNotLost(_ op: String) async throws {
        let fixture = try fixture("when: { of: lamp/*, becomes: isOn }")
        let bus = try await fixture.bus()
        try await bus.create("lamp/a")
        try fixture.start()
        try fixture.stop()
        let revision = try await turn(bus, "a", true)
        _ = try await turn(bus, "a", false)
        let relay = try LineRelay(to: fixture.address, Self.refusing(op, by: Self.unavailable))
        try fixture.start(through: relay)
        try await fixture.waits(for: "log/main", bus, within: 60) { $0["notes"] == [.int(revision)] }
        #expect(try await bus.state(of: "effect/lit").state["lost"] == .null)
        #expect(try fixture.stop() == 0)
    }

    /// An action to a type is not for stores that came later, also where the bus can't tell for now which were there.
    @Test func anActionToATypeWaitsForTheStoresOfItsTime() async throws {
        let fixture = try fixture("on: { action: flash, of: lamp/* }")
        let bus = try await fixture.bus()
        try await bus.create("lamp/a")
        try fixture.start()
        try fixture.stop()
        let all = try await bus.dispatch("flash", to: .type("lamp")).revision
        try await bus.create("lamp/b")
        let one = try await bus.dispatch("flash", to: .store("lamp/a")).revision
        let relay = try LineRelay(to: fixture.address, Self.refusing("get", by: Self.unavailable))
        try fixture.start(through: relay)
        try await fixture.waits(for: "log/main", bus, within: 60) {
            $0["notes"]?.array?.contains(.int(one)) == true
        }
        #expect(try await bus.state(of: "log/main").state["notes"] == [.int(all), .int(one)])
        #expect(try fixture.stop() == 0)
    }

    // MARK: A place of before

    /// The service is killed while it looks up what happened: what it had found by then to have begun began after the place where
    /// the next one starts, so it has not held for long enough.
    @Test func whatBeganBehindThePlaceHasNotHeldBefore() async throws {
        let fixture = try fixture("when: { of: lamp/*, becomes: isOn, for: 1h }")
        let bus = try await fixture.bus()
        for name in ["a", "b"] { try await bus.create("lamp/\(name)") }
        try fixture.start()
        try fixture.stop()
        _ = try await turn(bus, "a", true)
        let second = try await turn(bus, "b", true)
        let relay = try LineRelay(to: fixture.address, Self.refusing("get", at: second, by: "nonsense"))
        try fixture.start(through: relay)
        try await fixture.waits(for: "effect/lit", bus, within: 60) { $0["held"]?.object?.count == 1 }
        try #require(fixture.service).kill()
        try await fixture.waits(for: "effect/lit", bus, within: 60) { $0["owner"] == "" }
        try fixture.start()
        try await fixture.waits(for: "effect/lit", bus, within: 60) { $0["held"]?.object?.count == 2 }
        #expect(try fixture.stop() == 0)
        #expect(try await bus.state(of: "log/main").state["notes"] == [])
        #expect(try await bus.state(of: "effect/lit").state["held"]?.object?.count == 2)
    }

    // MARK: A downtime

    /// The newest event of each store fills more than half of the memory, and there are still more to come.
    @Test func theNewestOfManyStoresAreHandled() async throws {
        let fixture = try EffectsFixture([
            "note":
                "on: { action: echo, of: log/* }\ndo: { dispatch: { store: log/main, action: note, payload: { number: = payload.number } } }\nafter-downtime: newest"
        ])
        let bus = try await fixture.bus()
        for number in 0..<600 { try await bus.create("log/\(number)") }
        try fixture.start()
        try fixture.stop()
        for round in 1...3 {
            try await bus.dispatch(
                (0..<600).map {
                    ActionRequest("echo", to: .store("log/\($0)"), payload: ["number": .int(round)])
                })
        }
        try fixture.start()
        try await fixture.waits(for: "log/main", bus, within: 60) { $0["notes"]?.array?.count == 600 }
        #expect(try await bus.state(of: "log/main").state["notes"]?.array?.allSatisfy { $0 == 3 } == true)
        #expect(try fixture.stop() == 0)
    }

    // MARK: A new history

    /// The bus begins a new one when the effect has read where it stands, and does not follow yet.
    @Test func aNewHistoryWhileAnEffectBeginsIsNoticed() async throws {
        let fixture = try fixture("on: { action: echo, of: log/* }", hasLog: false)
        let isOver = Mutex(false)
        // The test waits meanwhile.
        nonisolated(unsafe) let daemon = fixture
        let relay = try LineRelay(to: fixture.address) { line in
            let isFirst = isOver.withLock { isOver in
                guard !isOver, line.contains(#""subscribe""#), line.contains("log/*") else { return false }
                isOver = true
                return true
            }
            if isFirst { try? daemon.restartDaemon() }
            return line
        }
        try fixture.start(through: relay)
        let bus = try await fixture.bus()
        try await fixture.waits(for: "effect/lit", bus, within: 60) {
            $0["epoch"]?.string == bus.greeting.epoch
        }
        #expect(try fixture.stop() == 0)
    }

    // MARK: More than is looked up

    /// An action to more stores than are handled for it: the others are lost, and it is said.
    @Test func storesBeyondTheLimitAreReported() async throws {
        let fixture = try fixture("on: { action: echo, of: log/* }", "if: name == 'none'")
        let client = try LineClient(fixture.address)
        for part in 0..<20 {
            for number in 0..<500 {
                try client.send(#"{"op":"create","store":"log/\#(part * 500 + number)"}"#)
            }
            for _ in 0..<500 { #expect(try client.line()?.contains(#""ok":true"#) == true) }
        }
        try fixture.start()
        let bus = try await fixture.bus()
        let revision = try await bus.dispatch("echo", to: .type("log")).revision
        try await fixture.waits(for: "effect/lit", bus, within: 60) { $0["lost"]?["to"] == .int(revision) }
        #expect(try #require(fixture.service).waitFor("went to more than 10000 stores"))
        #expect(try fixture.stop() == 0)
    }
}
