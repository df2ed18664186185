import Flux
import Testing

@Suite(.timeLimit(.minutes(10))) struct MiddlewareTests {
    @Test func middlewareRunsInTheOrderListedAndSeesTheStateBeforeAndAfter() {
        let seen = Journal<String>()
        let store = Store<Counter>(
            state: Counter(),
            middleware: ["a", "b"].map { name in
                Middleware { action, context, next in
                    seen.write("\(name) before \(context.state.count)")
                    next(action)
                    seen.write("\(name) after \(context.state.count)")
                }
            })
        store.actions.increment(by: 3)
        #expect(seen.entries == ["a before 0", "b before 0", "b after 3", "a after 3"])
    }

    @Test func middlewareMayChangeDropAndMultiply() {
        let store = Store<Counter>(
            state: Counter(),
            middleware: [
                Middleware { action, _, next in
                    switch action {
                    case .reset: break
                    case .increment(let amount): next(.increment(by: amount * 10))
                    case .touch:
                        next(.increment())
                        next(.increment())
                    default: next(action)
                    }
                }
            ])
        store.dispatch([.increment(by: 2), .reset, .touch])
        #expect(store.state.count == 22)
    }

    @Test func delayedActionTakesANewPlaceBehindItsMiddleware() {
        let held = Journal<@Sendable () -> Void>()
        let passed = Journal<String>()
        let store = Store<Counter>(
            state: Counter(),
            middleware: [
                Middleware { action, _, next in
                    if case .increment = action { held.write { next(action) } } else { next(action) }
                },
                Middleware { action, _, next in
                    passed.write("\(action)")
                    next(action)
                },
            ])
        store.dispatch([.increment(by: 1), .write("between")])
        #expect(store.state.count == 0)
        #expect(store.state.note == "between")
        held.entries[0]()
        #expect(store.state.count == 1)
        #expect(passed.entries.count == 2)
        #expect(held.entries.count == 1)
    }

    @Test func dispatchFromMiddlewareComesAfterTheActionAndPassesAll() {
        let order = Journal<String>()
        let store = Store<Counter>(
            state: Counter(),
            middleware: [
                Middleware { action, context, next in
                    if case .write(let note) = action { order.write(note ?? "nil") }
                    if case .increment = action { context.actions.dispatch(.write("dispatched")) }
                    next(action)
                }
            ])
        let seen = Journal<String>()
        store.observe { seen.write("\($0.count) \($0.note ?? "-")") }
        store.dispatch([.increment(), .write("listed")])
        #expect(order.entries == ["listed", "dispatched"])
        #expect(seen.entries == ["0 -", "1 -", "1 listed", "1 dispatched"])
    }

    @Test func failureBehindMiddlewareRollsTheWholeCommitBack() async {
        let store = Store<Counter>(
            state: Counter(),
            middleware: [
                Middleware { action, _, next in
                    next(.increment())
                    next(action)
                }
            ])
        await #expect(throws: Counter.Failure.self) { try await store.state(after: .fail) }
        #expect(store.state.count == 0)
    }

    @Test func thunkDispatchesAndReadsTheState() async throws {
        let store = Store<Counter>(state: Counter(), executor: .queue(.global()))
        let double = Thunk<Counter> { store in
            let count = try await store.state(after: .increment(by: 2)).count
            try await store.state(after: .increment(by: count))
        }
        try await store.run(double)
        #expect(store.state.count == 4)
        try await store.dispatch(double).value
        #expect(store.state.count == 12)
        await #expect(throws: Counter.Failure.self) {
            try await store.run(Thunk { _ in throw Counter.Failure() })
        }
    }
}
