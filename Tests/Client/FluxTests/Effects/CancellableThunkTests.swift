import Flux
import Synchronization
import Testing

/// Thunks with identities.
@Suite(.timeLimit(.minutes(10))) struct CancellableThunkTests {
    /// Work that says when it has begun, and ends only when it is cancelled.
    private final class Endless: Sendable {
        let begun = AsyncStream.makeStream(of: Void.self)

        func thunk() -> Thunk<Counter> {
            Thunk { [self] store in
                begun.continuation.yield()
                for await _ in AsyncStream<Void>(unfolding: { await Self.untilCancelled() }) {}
                try Task.checkCancellation()
                store.dispatch(.increment(by: 1000))
            }
        }

        func awaitBeginning() async { for await _ in begun.stream { break } }

        private static func untilCancelled() async -> Void? {
            let (stream, continuation) = AsyncStream.makeStream(of: Void.self)
            await withTaskCancellationHandler {
                for await _ in stream {}
            } onCancel: {
                continuation.finish()
            }
            return nil
        }
    }

    @Test func cancelEndsTheWorkOfThatIdentityAlone() async throws {
        let store = Store<Counter>(state: Counter())
        let failures = Journal<String>()
        store.failures.observe { failures.write("\($0.error)") }
        let (first, second, other) = (Endless(), Endless(), Endless())
        let tasks = [first, second].map { store.dispatch($0.thunk().cancellable(id: 7)) }
        let remaining = store.dispatch(other.thunk().cancellable(id: "7"))
        for work in [first, second, other] { await work.awaitBeginning() }
        #expect(store.cancellableCount == 3)
        store.cancel(id: 7)
        for task in tasks {
            await #expect(throws: CancellationError.self) { try await task.value }
        }
        #expect(!remaining.isCancelled)
        #expect(store.cancellableCount == 1)
        store.cancel(id: "7")
        await #expect(throws: CancellationError.self) { try await remaining.value }
        store.cancel(id: "7")
        #expect(failures.entries.isEmpty)
        #expect(store.cancellableCount == 0)
        #expect(store.state.count == 0)
    }

    @Test func laterOneCancelsTheOneInFlight() async throws {
        let store = Store<Counter>(state: Counter())
        let elsewhere = Store<Counter>(state: Counter())
        let (old, kept) = (Endless(), Endless())
        let first = store.dispatch(old.thunk().cancellable(id: "search", cancelInFlight: true))
        let unrelated = elsewhere.dispatch(kept.thunk().cancellable(id: "search"))
        await old.awaitBeginning()
        let next = Thunk<Counter> { $0.dispatch(.increment()) }.cancellable(
            id: "search", cancelInFlight: true)
        try await store.dispatch(next).value
        await #expect(throws: CancellationError.self) { try await first.value }
        #expect(!unrelated.isCancelled, "an identity is the store's")
        #expect(store.state.count == 1)
        elsewhere.cancel(id: "search")
        await #expect(throws: CancellationError.self) { try await unrelated.value }
    }

    @Test func workThatIsRunCanBeCancelledByItsIdentityAndByItsCaller() async {
        let store = Store<Counter>(state: Counter())
        let work = Endless()
        let byIdentity = Task { try await store.run(work.thunk().cancellable(id: 1)) }
        await work.awaitBeginning()
        store.cancel(id: 1)
        await #expect(throws: CancellationError.self) { try await byIdentity.value }
        let again = Endless()
        let byCaller = Task { try await store.run(again.thunk().cancellable(id: 1)) }
        await again.awaitBeginning()
        byCaller.cancel()
        await #expect(throws: CancellationError.self) { try await byCaller.value }
        #expect(store.cancellableCount == 0)
    }

    @Test func failureOfACancellableThunkIsTold() async {
        let store = Store<Counter>(state: Counter())
        let failures = Journal<String>()
        store.failures.observe { failures.write("\($0.error)") }
        let task = store.dispatch(Thunk { _ in throw Counter.Failure() }.cancellable(id: 1))
        await #expect(throws: Counter.Failure.self) { try await task.value }
        #expect(failures.entries == ["Failure()"])
        #expect(store.cancellableCount == 0)
    }
}
