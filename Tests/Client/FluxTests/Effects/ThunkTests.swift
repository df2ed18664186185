import Flux
import Foundation
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(10))) struct ThunkTests {
    struct Offline: Error, Equatable {}

    @Test func errorOfADispatchedThunkIsAFailure() async {
        let store = Store<Counter>(state: Counter())
        let failures = Journal<String>()
        store.failures.observe { failures.write("\($0.actions) \($0.error)") }
        let task = store.dispatch(
            Thunk { store in
                store.dispatch(.increment())
                throw Offline()
            })
        await #expect(throws: Offline.self) { try await task.value }
        #expect(store.state.count == 1)
        #expect(failures.entries == ["[] Offline()"])
        // Who runs it gets the error, and nobody else.
        await #expect(throws: Offline.self) { try await store.run(Thunk { _ in throw Offline() }) }
        #expect(failures.entries.count == 1)
    }

    @Test func cancelledThunkIsNoFailure() async {
        let store = Store<Counter>(state: Counter())
        let failures = Journal<String>()
        store.failures.observe { failures.write("\($0.error)") }
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self)
        let task = store.dispatch(
            Thunk { _ in
                for await _ in stream {}
                try Task.checkCancellation()
            })
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        continuation.finish()
        #expect(failures.entries.isEmpty)
    }

    @Test func thunkNeverStartsOnTheThreadThatDispatchesIt() async {
        let store = Store<Counter>(state: Counter())
        let (stream, continuation) = AsyncStream.makeStream(of: Bool.self)
        Thread.detachNewThread {
            let caller = ObjectIdentifier(Thread.current)
            let begun = DispatchSemaphore(value: 0)
            store.dispatch(
                Thunk { _ in
                    continuation.yield(Self.current == caller)
                    begun.signal()
                })
            // The thread goes on to exist until the work has begun, so no other one has its identity.
            begun.wait()
        }
        for await isSynchronous in stream {
            #expect(!isSynchronous)
            break
        }
    }

    private static var current: ObjectIdentifier { ObjectIdentifier(Thread.current) }
}
