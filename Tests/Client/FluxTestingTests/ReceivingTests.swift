import Flux
import FluxTesting
import Testing

/// What comes by itself.
@Suite struct ReceivingTests {
    let test = TestStore<Shelf>(state: Shelf())
    private let addTwo = Thunk<Shelf> { store in
        store.dispatch(.add("tea"))
        await Task.yield()
        store.dispatch(.add("milk"))
    }

    /// Time passes when all that was dispatched sleeps: none misses it, however late its task begins.
    @Test(arguments: 0..<30) func dispatchedWorkDoesNotMissItsTime(round: Int) async throws {
        let test = TestStore<Shelf>(state: Shelf())
        let clock = test.clock.clock
        for number in 1...3 {
            test.dispatch(
                Thunk { store in
                    for _ in 0..<round { await Task.yield() }
                    try await clock.sleep(for: .seconds(number))
                    async let other: Void = clock.sleep(for: .seconds(1))
                    try await other
                    store.dispatch(.touch)
                })
        }
        test.dispatch(Thunk { try await $0.run(Thunk { _ in try await clock.sleep(for: .seconds(2)) }) })
        await test.clock.advance(by: .seconds(2))
        try await test.receive(.touch)
        #expect(test.clock.nextAlarm == .seconds(3))
        await test.advance(by: .seconds(2))
        try await test.receive(.touch)
        try await test.receive(.touch)
        #expect(test.clock.nextAlarm == nil)
        try await test.finish()
    }

    /// Work that waits for something else does not hold up the time for good.
    @Test func workThatWaitsForSomethingElseIsLeftAlone() async throws {
        let test = TestStore<Shelf>(state: Shelf())
        let (gate, opener) = AsyncStream.makeStream(of: Void.self)
        test.dispatch(
            Thunk { store in
                for await _ in gate {}
                store.dispatch(.touch)
            })
        await test.advance(by: .seconds(1))
        #expect(test.clock.now == .seconds(1))
        opener.finish()
        try await test.receive(.touch)
        try await test.finish()
    }

    @Test func actionsOfThunksAreReceivedInTheirOrder() async throws {
        test.dispatch(addTwo)
        try await test.receive(.add("tea")) {
            $0.items = ["tea"]
            $0.count = 1
        }
        try await test.receive(where: { if case .add = $0 { true } else { false } }) {
            $0.items = ["tea", "milk"]
            $0.count = 2
        }
        try await test.finish()
    }

    /// An expectation is the test's own code, which may do what it likes.
    @Test(arguments: [true, false]) func expectationMayUseTheStore(isExhaustive: Bool) async throws {
        let test = TestStore<Shelf>(state: Shelf(), isExhaustive: isExhaustive)
        test.store.dispatch(.add("tea"))
        let isAdded = { (action: Shelf.Action) in
            test.store.dispatch(.touch)
            return if case .add = action { true } else { false }
        }
        try await test.receive(where: isAdded) {
            $0.items = ["tea"]
            $0.count = 1
        }
        try await test.receive(.touch)
        try await test.finish()
    }

    @Test func wrongExpectationOfAReceivedActionFails() async throws {
        test.dispatch(addTwo)
        let message = try await failure { try await test.receive(.add("tea")) { $0.items = ["tea"] } }
        #expect(message == "add(\"tea\") did not change the state as expected:\n    count: expected 0, got 1")
    }

    @Test func otherActionThanExpectedFails() async throws {
        try await test.dispatch(addTwo).value
        let message = try await failure { try await test.receive(.add("milk")) }
        #expect(
            message == "add(\"milk\") should come, but add(\"tea\") came first. Behind it:\n    add(\"milk\")"
        )
    }

    @Test func actionThatDoesNotComeFails() async throws {
        let message = try await failure {
            try await test.receive(.add("tea"), timeout: .milliseconds(10))
        }
        #expect(message == "add(\"tea\") did not come.")
        let store = test.store
        store.dispatch(.refuse)
        let failed = try await failure { try await test.receive(.refuse, timeout: .milliseconds(10)) }
        #expect(failed == "refuse did not come. There were failures:\n    refuse failed: \(Shelf.Refusal())")
    }

    @Test func failuresAreReceived() async throws {
        test.store.dispatch(.refuse)
        try await test.receiveFailure(Shelf.Refusal())
        _ = await test.dispatch(Thunk { _ in throw Shelf.Refusal(reason: "nobody is there") }).result
        let other = try await failure {
            try await test.receiveFailure(Shelf.Refusal(), timeout: .milliseconds(10))
        }
        #expect(
            other
                == "the error \(Shelf.Refusal()) should come, but did not. There were:\n    a thunk failed: \(Shelf.Refusal(reason: "nobody is there"))"
        )
        try await test.receiveFailure(Shelf.Refusal.self)
        try await test.finish()
    }

    @Test func timersComeWhenTheClockIsAdvanced() async throws {
        try await test.dispatch(.open(30)) { $0.count = 100 }
        await test.clock.advance(by: .seconds(29))
        let early = try await failure { try await test.receive(.close, timeout: .milliseconds(10)) }
        #expect(early == "close did not come.")
        await test.clock.advance(by: .seconds(1))
        try await test.receive(.close) { $0.count = 0 }
        try await test.finish()
    }

    @Test func actionsOfObserversAndOfAllStoresAreReceived() async throws {
        test.store.signal(\.count).observe { [actions = test.store.weakActions] count in
            if count == 1 { actions.dispatch(.label("tea", .init(text: "1"))) }
        }
        try await test.dispatch(.add("tea")) {
            $0.items = ["tea"]
            $0.count = 1
        }
        try await test.receive(.label("tea", .init(text: "1"))) { $0.labels["tea"] = .init(text: "1") }
        let ledger = TestStore<Once>(state: Once())
        Store<Once>.actions.dispatch(.go)
        try await ledger.receive(.go) { $0.value = 1 }
        try await ledger.finish()
        try await test.finish()
    }

    /// A state of which no other test has a store.
    private struct Once: State {
        var value = 0
        enum Action: Sendable { case go }
        struct Mutations: Flux.Mutations {
            func commit(_ action: Action, to state: inout Once) { state.value += 1 }
        }
    }

    @Test func expectTellsWhatAThunkDispatches() async throws {
        try await test.expect(addTwo, toDispatch: [.add("tea"), .add("milk")]) {
            $0.items = ["tea", "milk"]
            $0.count = 2
        }
        let missing = try await failure {
            try await test.expect(addTwo, toDispatch: [.add("tea"), .add("salt"), .touch])
        }
        #expect(
            missing == """
                The thunk dispatches other actions than expected:
                    [1].add: expected "salt", got "milk"
                    [2]: expected touch, got nothing
                """)
        let change = try await failure {
            try await test.expect(addTwo, toDispatch: [.add("tea"), .add("milk")]) { $0.count = 6 }
        }
        #expect(
            change == """
                The thunk did not change the state as expected:
                    items[4]: expected nothing, got "tea"
                    items[5]: expected nothing, got "milk"
                """)
        await #expect(throws: Shelf.Refusal.self) {
            try await test.expect(Thunk { _ in throw Shelf.Refusal() }, toDispatch: [])
        }
        try await test.finish()
    }

    @Test func replayIsReceivedAsAChange() async throws {
        let undo = Recorder(test.store)
        test.store.dispatch([.add("tea"), .add("milk")])
        test.skipReceived()
        try await undo.replay(upTo: 1)
        try await test.receiveChange {
            $0.items = ["tea"]
            $0.count = 1
        }
        try await undo.replay(upTo: 0)
        // What comes after a replay is found behind it.
        test.store.dispatch(.add("salt"))
        let hidden = try await failure { try await test.receive(.add("salt")) }
        #expect(
            hidden
                == "add(\"salt\") should come, but a change without an action came first. Behind it:\n    add(\"salt\")"
        )
        try await test.receiveChange {
            $0.items = []
            $0.count = 0
        }
        try await test.receive(.add("salt")) {
            $0.items = ["salt"]
            $0.count = 1
        }
        try await test.finish()
    }

    @Test func actionsOfManyThreadsAreAllReceived() async throws {
        let writers = 4
        let each = 200
        for writer in 0..<writers {
            test.dispatch(
                Thunk { store in
                    for number in 0..<each {
                        switch number % 4 {
                        case 0: store.dispatch(.add("\(writer)"))
                        case 1: _ = try? await store.state(afterAtomically: [.add("lost"), .refuse])
                        case 2: try await store.state(afterAtomically: [.touch, .add("\(writer)")])
                        default: store.dispatch([.touch, .touch])
                        }
                    }
                })
        }
        for _ in 0..<each {
            try await test.dispatch(.add("own")) {
                $0.items.append("own")
                $0.count += 1
            }
        }
        // A quarter is one action, a quarter two in one commit, a quarter two in two; and a quarter fails.
        for _ in 0..<(writers * each / 4 * 5) {
            var received = Shelf.Action.touch
            let isExpected = { (action: Shelf.Action) in
                received = action
                if case .add("lost") = action { return false }
                return true
            }
            try await test.receive(where: isExpected) { try Shelf.Mutations().commit(received, to: &$0) }
        }
        try await test.finish()
    }
}
