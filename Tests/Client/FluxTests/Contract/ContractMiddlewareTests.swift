import Flux
import Testing

/// Middleware may change, drop, delay, multiply and dispatch, in the order listed.
@Suite(.timeLimit(.minutes(10))) struct ContractMiddlewareTests {
    private func tagging(_ tag: String, _ journal: Journal<String>) -> Middleware<Counter> {
        Middleware { action, _, next in
            journal.write("\(tag) in")
            next(action)
            journal.write("\(tag) out")
        }
    }

    @Test func orderIsAsListedInAndTheReverseOut() {
        let journal = Journal<String>()
        let store = Store<Counter>(
            state: Counter(), middleware: [tagging("a", journal), tagging("b", journal)])
        store.dispatch(.increment())
        #expect(journal.entries == ["a in", "b in", "b out", "a out"])
    }

    @Test func middlewareChangesDropsAndMultiplies() async throws {
        let store = Store<Counter>(
            state: Counter(),
            middleware: [
                Middleware { action, _, next in
                    switch action {
                    case .increment(let amount) where amount > 100: break
                    case .increment(let amount):
                        next(.increment(by: amount * 10))
                        next(.increment(by: 1))
                    default: next(action)
                    }
                }
            ])
        #expect(try await store.state(after: .increment(by: 2)).count == 21)
        #expect(try await store.state(after: .increment(by: 101)).count == 21)
    }

    @Test func middlewareDelaysAndGoesOnBehindItself() {
        let delayed = Journal<@Sendable () -> Void>()
        let passes = Journal<String>()
        let delay = Middleware<Counter> { action, _, next in
            passes.write("delay")
            if case .increment = action { delayed.write { next(action) } } else { next(action) }
        }
        let store = Store<Counter>(
            state: Counter(),
            middleware: [
                delay,
                Middleware { action, _, next in
                    passes.write("second"); next(action)
                },
            ])
        store.dispatch([.increment(by: 3), .write("before")])
        #expect(store.state.count == 0 && store.state.note == "before")
        onThreads(1) { _ in for next in delayed.entries { next() } }
        #expect(store.state.count == 3)
        #expect(passes.entries == ["delay", "delay", "second", "second"])
    }

    @Test func middlewareThatDispatchesNeitherRecursesNorBlocks() {
        let depth = Variable(0)
        let deepest = Variable(0)
        let store = Store<Counter>(
            state: Counter(),
            middleware: [
                Middleware { action, context, next in
                    depth.modify { $0 += 1 }
                    deepest.modify { [now = depth.value] in $0 = max($0, now) }
                    next(action)
                    if context.state.count < 10_000 { context.actions.increment() }
                    depth.modify { $0 -= 1 }
                }
            ])
        store.dispatch(.increment())
        #expect(store.state.count == 10_000)
        #expect(deepest.value == 1)
    }

    @Test func actionsOfEightThreadsPassOneAtATime() {
        let inside = Variable(0)
        let overlaps = Journal<Int>()
        let store = Store<Counter>(
            state: Counter(),
            middleware: [
                Middleware { action, _, next in
                    inside.modify { $0 += 1 }
                    next(action)
                    if inside.value != 1 { overlaps.write(inside.value) }
                    inside.modify { $0 -= 1 }
                }
            ])
        onThreads(8) { _ in for _ in 0..<200 { store.dispatch(.increment()) } }
        #expect(store.state.count == 1600)
        #expect(overlaps.entries.isEmpty)
    }

    @Test func delayedActionOfAStoreThatHasGoneDoesNothing() {
        let delayed = Journal<@Sendable () -> Void>()
        weak var gone: Store<Counter>?
        do {
            let store = Store<Counter>(
                state: Counter(),
                middleware: [Middleware { action, _, next in delayed.write { next(action) } }])
            store.dispatch(.increment())
            gone = store
        }
        #expect(gone == nil)
        for next in delayed.entries { next() }
    }

    @Test func thunkDispatchesAsItGoesAndItsErrorIsSeen() async {
        struct Broken: Error {}
        let store = Store<Counter>(state: Counter())
        let task = store.dispatch(
            Thunk { store in
                store.dispatch(.increment())
                if store.state.count == 1 { throw Broken() }
            })
        await #expect(throws: Broken.self) { try await task.value }
        #expect(store.state.count == 1)
    }
}
