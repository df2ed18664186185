import FluxBus
import Observation
import TestInterface
import TestServer
import Testing

/// A store of a bus as a user interface reads it.
@MainActor
@Suite(.mainThread, .timeLimit(.minutes(10))) struct RemoteObservableStateTests {
    /// What `read` gives, again and again: after each change that whoever read it is notified of.
    private func readings<Value: Sendable>(_ read: @escaping @MainActor () -> Value) -> AsyncStream<Value> {
        let (stream, continuation) = AsyncStream.makeStream(of: Value.self)
        Self.readAgain(read) { continuation.yield($0) }
        return stream
    }

    private static func readAgain<Value: Sendable>(
        _ read: @escaping @MainActor () -> Value, _ tell: @escaping @MainActor (Value) -> Void
    ) {
        tell(withObservationTracking(read) { Task { @MainActor in readAgain(read, tell) } })
    }

    @Test func viewShowsWhatOtherProgramsDispatch() async throws {
        let live = try LiveBus()
        let (first, second) = (try await live.connect(), try await live.connect())
        let counter = ObservableState(try await first.store("main", of: SharedCounter.self))
        let others = try await second.store("main", of: SharedCounter.self)
        #expect(counter.count == 0)
        var counts = readings { counter.count }.makeAsyncIterator()
        #expect(await counts.next() == 0)
        try await others.dispatch(.increment(by: 3))
        #expect(await counts.next() == 3)
        counter.actions.increment(by: 4)
        #expect(await counts.next() == 7)
        #expect(counter.state == SharedCounter(count: 7))
    }

    /// What is dispatched on the main thread is shown there at once, as the store itself does; also a part of it, and what is derived.
    @Test func viewOfAnOptimisticStoreShowsWhatTheStoreShows() async throws {
        let live = try LiveBus()
        let bus = try await live.connect()
        let store = try await bus.store("main", of: SharedCounter.self, isOptimistic: true)
        let counter = ObservableState(store)
        let isHigh = ObservableValue(store.select { $0.count > 100 })
        var known: [Int] = []
        let (told, tell) = AsyncStream.makeStream(of: Void.self)
        withObservationTracking {
            known.append(counter.count)
        } onChange: {
            tell.finish()
        }
        for round in 1...100 {
            counter.actions.increment(by: 2)
            #expect(store.state.count == 2 * round)
            #expect(counter.count == 2 * round)
            #expect(isHigh.value == (2 * round > 100))
        }
        for await _ in told {}
        #expect(known == [0])
        try await bus.sync()
        #expect(counter.count == 200)
    }

    @Test func viewKeepsItsStoreFollowed() async throws {
        let live = try LiveBus()
        let bus = try await live.connect()
        var counter: ObservableState<SharedCounter>?
        weak var store: RemoteStore<SharedCounter>?
        do {
            let main = try await bus.store("main", of: SharedCounter.self)
            counter = ObservableState(main)
            store = main
        }
        #expect(store != nil)
        let shown = try #require(counter)
        let status = ObservableValue(try #require(store).status)
        #expect(status.value == .live)
        var counts = readings { shown.count }.makeAsyncIterator()
        #expect(await counts.next() == 0)
        try await bus.dispatch("increment", to: .store("counter/main"))
        #expect(await counts.next() == 1)
    }

    @Test func viewLetsGoOfItsStore() async throws {
        let live = try LiveBus()
        let bus = try await live.connect()
        var counter: ObservableState<SharedCounter>? = ObservableState(
            try await bus.store("main", of: SharedCounter.self))
        weak let watched = counter
        #expect(counter?.count == 0)
        counter = nil
        #expect(watched == nil)
    }
}

/// Other tests look at what waits for the main thread, where these have work: they take turns.
private struct MainThreadTrait: TestTrait, SuiteTrait, TestScoping {
    let isRecursive = true

    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        guard testCase != nil else { return try await function() }
        await MainThreadTurn.shared.take()
        let result: Result<Void, any Error>
        do { result = .success(try await function()) } catch { result = .failure(error) }
        await withCheckedContinuation { continuation in
            FluxExecutor.mainThread.execute { continuation.resume() }
        }
        await MainThreadTurn.shared.give()
        try result.get()
    }
}

extension Trait where Self == MainThreadTrait {
    fileprivate static var mainThread: Self { MainThreadTrait() }
}
