import Flux
import Testing

/// Actions to all stores of a type: each store has its own timers, but leaves them to a relay that it follows. One test at
/// a time: stores and relay of a type are the process's.
@Suite(.serialized) struct GlobalTimerTests {
    /// A lamp of its own type, whose relay no other test meets.
    struct Beacon: State, Equatable {
        fileprivate(set) var isOn = false
        enum Action: Sendable { case switchOn, switchOff }
        static let timers = TimerRule<Beacon> { action, _ in
            switch action {
            case .switchOn: [.set("off", after: .seconds(5), .switchOff)]
            case .switchOff: [.cancel("off")]
            }
        }
        struct Mutations: Flux.Mutations {
            func commit(_ action: Action, to state: inout Beacon) { state.isOn = action == .switchOn }
        }
    }

    private let time = ManualClock()

    @Test func globalDispatchSetsATimerOfEachStore() {
        let stores = (0..<3).map { _ in Store<Beacon>(state: Beacon(), clock: time.clock) }
        Store<Beacon>.actions.dispatch(.switchOn)
        stores[1].cancelTimer("off")
        time.advance(by: .seconds(5))
        #expect(stores.map(\.state.isOn) == [false, true, false])
    }

    @Test func relayedActionsSetNoTimers() throws {
        let store = Store<Beacon>(state: Beacon(), clock: time.clock)
        let sent = Journal<Beacon.Action>()
        let attachment = try Store<Beacon>.attach { sent.write($0) }
        Store<Beacon>.actions.dispatch(.switchOn)
        for action in sent.entries { attachment.commit(action) }
        #expect(store.state.isOn)
        #expect(store.timers.isEmpty && time.nextAlarm == nil)
        time.advance(by: .seconds(60))
        #expect(store.state.isOn, "the relay says when")
        attachment.commit(.switchOff)
        #expect(!store.state.isOn)
        attachment.detach()
        Store<Beacon>.actions.dispatch(.switchOn)
        #expect(store.timers.map(\.name) == ["off"], "detached, the store has timers of its own again")
    }

    @Test func relayedActionThatPassesAMiddlewareLateSetsNoTimersEither() throws {
        let held = Journal<@Sendable () -> Void>()
        let store = Store<Beacon>(
            state: Beacon(), middleware: [Middleware { action, _, next in held.write { next(action) } }],
            clock: time.clock)
        let attachment = try Store<Beacon>.attach { _ in }
        attachment.commit(.switchOn)
        held.entries[0]()
        #expect(store.state.isOn)
        #expect(store.timers.isEmpty)
        attachment.detach()
    }

    /// A timer that the store had set itself is the relay's from then on.
    @Test func relayedActionReplacesTheStoresOwnTimer() throws {
        let store = Store<Beacon>(state: Beacon(), initialAction: .switchOn, clock: time.clock)
        #expect(store.timers.count == 1)
        let attachment = try Store<Beacon>.attach { _ in }
        attachment.commit(.switchOn)
        #expect(store.timers.isEmpty && time.nextAlarm == nil)
        // What is dispatched to this store alone stays here, and so do its timers: no relay knows of it.
        store.dispatch(.switchOn)
        time.advance(by: .seconds(5))
        #expect(!store.state.isOn)
        attachment.detach()
    }
}
