import FluxBus
import TestServer
import Testing

/// A state with timers that lives on a bus: its timers are the bus's, and nobody who looks at it fires them a second time.
@Suite(.serialized, .timeLimit(.minutes(10))) struct RemoteTimerTests {
    struct Lamp: SharedState, Equatable {
        private(set) var isOn = false
        private(set) var times = 0
        enum Action: Codable, Sendable { case switchOn(seconds: Double), switchOff }
        static let actions = ActionList<Lamp>(.switchOff).requiring { .switchOn(seconds: $0) }
        static let timers = TimerRule<Lamp> { action, _ in
            switch action {
            case .switchOn(let seconds): [.set("off", after: .seconds(seconds), .switchOff)]
            case .switchOff: [.cancel("off")]
            }
        }
        struct Mutations: Flux.Mutations {
            func commit(_ action: Action, to state: inout Lamp) {
                switch action {
                case .switchOn: state.isOn = true
                case .switchOff: (state.isOn, state.times) = (false, state.times + 1)
                }
            }
        }
    }

    private static let types = [
        "lamp": """
        type: lamp
        initial: { isOn: false, times: 0 }
        actions:
          switchOn:
            payload: { seconds: number }
            set: { isOn: true }
            timers: { off: { in: { var: payload.seconds }, action: switchOff } }
          switchOff:
            set: { isOn: false }
            increment: { times: 1 }
            timers: { off: null }
        """
    ]

    @Test(arguments: [false, true]) func busFiresTheTimersOfARemoteStoreAndNobodyElse(isOptimistic: Bool)
        async throws
    {
        let live = try LiveBus(types: Self.types)
        let (bus, other) = (try await live.connect(), try await live.connect())
        let here = try await bus.store(
            "desk", of: Lamp.self, creating: Lamp(), isOptimistic: isOptimistic)
        let there = try await other.store("desk", of: Lamp.self, isOptimistic: isOptimistic)
        try await here.dispatch(.switchOn(seconds: 3600))
        #expect(try await bus.timers().timers.map(\.name) == ["off"])
        let revision = try await there.dispatch(.switchOn(seconds: 0.02)).revision
        for await times in here.values(\.times) where times == 1 { break }
        for await times in there.values(\.times) where times == 1 { break }
        #expect(try await bus.sync() == revision + 1, "one commit has switched it off")
        #expect(try await bus.timers().timers.isEmpty)
        #expect(!here.state.isOn && here.state.times == 1)
    }

    @Test func localStoresThatFollowTheBusSetNoTimers() async throws {
        let live = try LiveBus(types: Self.types)
        let bus = try await live.connect()
        try await bus.create("lamp/desk")
        let time = ManualClock()
        let local = Store<Lamp>(state: Lamp(), clock: time.clock)
        let attachment = try await bus.attach(Lamp.self)
        Store<Lamp>.actions.dispatch(.switchOn(seconds: 3600))
        for await isOn in local.values(\.isOn) where isOn { break }
        #expect(local.timers.isEmpty && time.nextAlarm == nil)
        #expect(try await bus.timers().timers.map(\.target) == [.store("lamp/desk")])
        // The same state without a bus.
        attachment.detach()
        Store<Lamp>.actions.dispatch(.switchOn(seconds: 3600))
        #expect(local.timers.map(\.name) == ["off"])
        await time.advance(by: .seconds(3600))
        #expect(local.state.times == 1)
    }

    @Test func actionIsDispatchedLaterToARemoteStore() async throws {
        let live = try LiveBus(types: Self.types)
        let bus = try await live.connect()
        let lamp = try await bus.store("desk", of: Lamp.self, creating: Lamp())
        try await lamp.dispatch(.switchOff, after: .seconds(3600), timer: "off")
        try await lamp.cancelTimer("off")
        let error = await #expect(throws: BusError.self) { try await lamp.cancelTimer("off") }
        #expect(error?.code == .unknownTimer)
        let scheduled = try await lamp.dispatch(
            .switchOn(seconds: 3600), after: .milliseconds(20), timer: "on")
        #expect(scheduled.timer == "on")
        for await isOn in lamp.values(\.isOn) where isOn { break }
        #expect(try await bus.timers().timers.map(\.name) == ["off"])
    }
}
