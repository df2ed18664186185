import Flux
import FluxTesting
import Synchronization
import Testing

/// What middleware makes of actions is seen, whatever it does to them.
@Suite struct MiddlewareTests {
    @Test func droppedActionChangesNothing() async throws {
        let test = TestStore<Shelf>(state: Shelf(), middleware: [Middleware { _, _, _ in }])
        try await test.dispatch(.add("tea"))
        test.store.dispatch(.add("milk"))
        try await test.receive(.add("milk"))
        try await test.finish()
    }

    @Test func replacedAndRepeatedActionsAreOneChange() async throws {
        let twice = Middleware<Shelf> { action, _, next in
            guard case .add(let item) = action else { return next(action) }
            next(.add(item.uppercased()))
            next(.add(item.uppercased()))
        }
        let test = TestStore<Shelf>(state: Shelf(), middleware: [twice])
        try await test.dispatch(.add("tea")) {
            $0.items = ["TEA", "TEA"]
            $0.count = 2
        }
        try await test.dispatch(atomically: [.touch, .add("milk")]) {
            $0.items += ["MILK", "MILK"]
            $0.count += 2
        }
        try await test.finish()
    }

    @Test func actionsOfMiddlewareAreReceived() async throws {
        let labels = Middleware<Shelf> { action, context, next in
            next(action)
            if case .add(let item) = action { context.actions.dispatch(.label(item, .init(text: item))) }
        }
        let test = TestStore<Shelf>(state: Shelf(), middleware: [labels])
        try await test.dispatch(.add("tea")) {
            $0.items = ["tea"]
            $0.count = 1
        }
        let message = try await failure { try await test.finish() }
        #expect(
            message == """
                The test ends, but not everything was expected:
                    label("tea", Label(text: "tea", size: 1)) was not received
                """)
    }

    @Test func delayedActionIsReceivedWhenItComes() async throws {
        let delayed = Mutex<(@Sendable () -> Void)?>(nil)
        let test = TestStore<Shelf>(
            state: Shelf(),
            middleware: [
                Middleware { action, _, next in
                    delayed.withLock { $0 = { next(action) } }
                }
            ])
        try await test.dispatch(.add("tea"))
        let run = delayed.withLock { $0 }
        let carryOn = try #require(run)
        carryOn()
        try await test.receive(.add("tea")) {
            $0.items = ["tea"]
            $0.count = 1
        }
        try await test.finish()
    }

    @Test func failedCommitOfOthersLeavesNothingToReceive() async throws {
        let drops = Middleware<Shelf> { action, _, next in
            if case .touch = action { return }
            next(action)
        }
        let test = TestStore<Shelf>(state: Shelf(), middleware: [drops])
        // A caller that waits for the outcome has the error for itself.
        _ = try? await test.store.state(afterAtomically: [.add("tea"), .touch, .refuse])
        test.store.dispatch(.touch)
        try await test.receive(.touch)
        _ = try? await test.store.state(afterAtomically: [.add("tea"), .refuse])
        test.store.dispatch(.add("milk"))
        try await test.receive(.add("milk")) {
            $0.items = ["milk"]
            $0.count = 1
        }
        try await test.finish()
    }

    @Test func middlewareThatIsAddedLaterIsSeenThrough() async throws {
        let test = TestStore<Shelf>(state: Shelf())
        let twice = test.store.add(
            Middleware { action, _, next in
                next(action)
                next(action)
            })
        try await test.dispatch(.add("tea")) {
            $0.items = ["tea", "tea"]
            $0.count = 2
        }
        twice.dispose()
        let none = test.store.add(Middleware { _, _, _ in })
        try await test.dispatch(.add("milk"))
        none.dispose()
        try await test.dispatch(.add("salt")) {
            $0.items.append("salt")
            $0.count = 3
        }
        try await test.finish()
    }
}
