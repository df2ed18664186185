import BusJSON
import FluxBus
import TestServer
import Testing

/// Dispatches that come later, by the client library and against a real daemon.
@Suite(.timeLimit(.minutes(10))) struct TimerOperationTests {
    private let main = DispatchTarget.store("counter/main")

    @Test func scheduledDispatchIsListedAndCancelled() async throws {
        let live = try LiveBus()
        let bus = try await live.connect()
        let before = try await bus.sync()
        let scheduled = try await bus.dispatch(
            "increment", to: main, payload: ["by": 3], when: .after(.seconds(3600)), timer: "tea")
        #expect(scheduled.revision == before + 1 && scheduled.timer == "tea" && !scheduled.isDuplicate)
        let global = try await bus.dispatch(
            "increment", to: .type("counter"), when: .at(scheduled.due + 1.5))
        #expect(global.due == scheduled.due + 1.5)
        _ = try await bus.dispatch("increment", to: .everything, when: .after(.milliseconds(7_200_500)))
        let listed = try await bus.timers().timers
        #expect(listed.map(\.target) == [main, .type("counter"), .everything])
        #expect(listed[0].name == "tea" && listed[0].action == "increment" && listed[0].payload == ["by": 3])
        #expect(listed[0].due == scheduled.due && listed[0].by["uid"] != nil)
        let page = try await bus.timers(matching: "counter/*", limit: 1)
        #expect(page.timers == [listed[0]])
        #expect(try await bus.timers(matching: "counter/*", after: page.next).timers == [listed[1]])
        try await bus.cancel("tea", of: main)
        try await bus.cancel(global.timer, of: .type("counter"))
        try await bus.cancel(listed[2].name, of: .everything)
        #expect(try await bus.timers().timers.isEmpty)
        let error = await #expect(throws: BusError.self) { try await bus.cancel("tea", of: main) }
        #expect(error?.code == .unknownTimer)
    }

    @Test func scheduledDispatchComes() async throws {
        let live = try LiveBus()
        let bus = try await live.connect()
        let other = try await live.connect()
        try await bus.dispatch("increment", to: main, when: .after(.milliseconds(20)))
        var events = try await other.subscribe(to: .store("counter/main")).makeAsyncIterator()
        var mirror = BusMirror()
        while mirror.states["counter/main"]?["count"] != 1 {
            _ = try mirror.fold(try #require(try await events.next()))
        }
        #expect(try await bus.timers().timers.isEmpty)
    }

    @Test func storeWithATimeToLiveGoes() async throws {
        let live = try LiveBus()
        let bus = try await live.connect()
        var events = try await bus.subscribe(to: .type("counter")).makeAsyncIterator()
        try await bus.create("counter/guest", timeToLive: .milliseconds(30))
        var dropped: [String] = []
        while dropped.isEmpty {
            guard case .change(let change) = try #require(try await events.next()) else { continue }
            dropped = change.dropped
        }
        #expect(dropped == ["counter/guest"])
    }
}
