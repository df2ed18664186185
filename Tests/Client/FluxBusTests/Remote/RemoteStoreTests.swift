import Dispatch
import FluxBus
import Synchronization
import TestServer
import TestSupport
import Testing

/// Stores of Swift types on a real bus.
@Suite(.timeLimit(.minutes(10))) struct RemoteStoreTests {
    /// The type `counter` with an action that the bus refuses above 5, and this side does not.
    struct Limited: SharedState, Equatable {
        private(set) var count = 0

        enum Action: Codable, Sendable { case increment(by: Int = 1), limit(by: Int) }

        static let typeName = "counter"
        static let actions = ActionList<Limited>(.increment()).requiring { .limit(by: $0) }

        struct Mutations: Flux.Mutations {
            func commit(_ action: Action, to state: inout Limited) {
                switch action {
                case .increment(let amount), .limit(let amount): state.count += amount
                }
            }
        }
    }

    @Test func dispatchReturnsWhenItsOwnChangeIsSeen() async throws {
        let live = try LiveBus()
        let bus = try await live.connect()
        let main = try await bus.store("main", of: SharedCounter.self)
        #expect(main.state.count == 0)
        for count in 1...50 {
            let reply = try await main.dispatch(.increment())
            #expect(main.state.count == count)
            #expect(reply.changed == 1)
            #expect(main.revision >= reply.revision)
        }
        #expect(try await main.state(after: .increment(by: -50)).count == 0)
        #expect(main.status.value == .live)
    }

    @Test func valuesBeginWithTheCurrentOneAndSkipEqualOnes() async throws {
        let live = try LiveBus()
        let bus = try await live.connect()
        let main = try await bus.store("main", of: SharedCounter.self)
        try await main.dispatch(.increment(by: 7))
        var counts = main.values(\.count).makeAsyncIterator()
        #expect(await counts.next() == 7)
        try await bus.dispatch("write", to: .store("counter/main"), payload: ["text": "same count"])
        try await main.dispatch(.increment(by: 0))
        try await main.dispatch(.increment(by: 1))
        #expect(await counts.next() == 8)
    }

    /// While others commit elsewhere, the bus tells how far a store has not changed; its next change begins there.
    @Test func changesFollowBookmarks() async throws {
        let live = try LiveBus(types: [
            "tick": "type: tick\ninitial: { n: 0 }\nactions: { next: { increment: { n: 1 } } }"
        ])
        let bus = try await live.connect()
        let main = try await bus.store("main", of: SharedCounter.self)
        let optimistic = try await bus.store("main", of: SharedCounter.self, isOptimistic: true)
        let all = try await bus.stores(of: SharedCounter.self)
        // They hear what the stores hear.
        let marks = Atomic<Int>(0)
        var handles: [SubscriptionHandle] = []
        for (bit, pattern) in [StorePattern.store("counter/main"), .type("counter")].enumerated() {
            handles.append(
                try await bus.subscribe(to: pattern) { event in
                    if case .bookmark = event { marks.bitwiseOr(1 << bit, ordering: .relaxed) }
                })
        }
        // The bus sends them when a thousand commits have passed, and a while.
        try await bus.create("tick/a")
        while marks.load(ordering: .relaxed) != 3 { try await bus.dispatch("next", to: .store("tick/a")) }
        try await bus.sync()
        for count in 1...3 {
            try await optimistic.dispatch(.increment())
            for store in [main, optimistic] {
                #expect(store.status.value == .live)
                #expect(store.state.count == count)
            }
            #expect(all.states["main"]?.count == count)
        }
        #expect(try await main.confirmed().state.count == 3)
        for handle in handles { handle.cancel() }
    }

    /// So it is where nothing concerned a store while the connection was lost.
    @Test func changesFollowAnEmptyResumption() async throws {
        let bus = try HandmadeBus { bus in
            for revision in [5, 9] {
                guard let peer = bus.accept() else { return }
                peer.greet(revision: revision)
                guard let subscription = peer.request(for: "subscribe") else { return }
                peer.send(#"{"id":\#(subscription),"ok":true,"sub":1,"revision":\#(revision),"epoch":"e1"}"#)
                if revision == 5 {
                    peer.send(
                        #"{"event":"change","sub":1,"from":0,"revision":5,"reset":true,"states":{"counter/main":{"count":1}}}"#
                    )
                    _ = peer.request(for: "ping")
                    peer.close()
                } else {
                    for change in [
                        #""from":5,"revision":9"#,
                        #""from":9,"revision":10,"changes":{"counter/main":{"count":2}}"#,
                    ] { peer.send(#"{"event":"change","sub":1,\#(change)}"#) }
                    while peer.line() != nil {}
                }
            }
        }
        let client = try await Bus.connect(bus.address)
        let store = try await client.store("main", of: SharedCounter.self)
        client.post(BusRequest("ping")) { _ in }
        for await count in store.values(\.count) where count == 2 { break }
        #expect(store.status.value == .live)
        await client.close()
    }

    @Test func twoProcessesSeeTheSame() async throws {
        let live = try LiveBus()
        let (first, second) = (try await live.connect(), try await live.connect())
        let mine = try await first.store("new", of: SharedCounter.self, creating: SharedCounter(count: 3))
        let theirs = try await second.store("new", of: SharedCounter.self)
        #expect(theirs.state.count == 3)
        mine.actions.increment(by: 2)
        for await count in theirs.values(\.count) where count == 5 { break }
        #expect(theirs.computed.count == 5)
    }

    @Test func absentStoreIsNamed() async throws {
        let live = try LiveBus()
        let bus = try await live.connect()
        let error = await #expect(throws: BusError.self) {
            try await bus.store("none", of: SharedCounter.self)
        }
        #expect(error?.code == .unknownStore)
        #expect(error?.message.contains("counter/none") == true)
    }

    @Test func droppedStoreKeepsItsLastStateAndComesBack() async throws {
        let live = try LiveBus()
        let bus = try await live.connect()
        let store = try await bus.store("short", of: SharedCounter.self, creating: SharedCounter(count: 4))
        var status = store.status.values.makeAsyncIterator()
        #expect(await status.next() == .live)
        try await bus.drop("counter/short")
        #expect(await status.next() == .absent)
        #expect(store.state.count == 4)
        let error = await #expect(throws: BusError.self) { try await store.dispatch(.increment()) }
        #expect(error?.code == .unknownStore)
        try await bus.create("counter/short")
        #expect(await status.next() == .live)
        #expect(store.state.count == 0)
    }

    @Test func stateThatDoesNotFitIsRefusedByName() async throws {
        struct Wrong: SharedState {
            var count = ""
            enum Action: Codable, Sendable { case reset }
            static let typeName = "counter"
            static let actions = ActionList<Wrong>(.reset)
            struct Mutations: Flux.Mutations { func commit(_ action: Action, to state: inout Wrong) {} }
        }
        let live = try LiveBus()
        let bus = try await live.connect()
        let error = await #expect(throws: BusError.self) { try await bus.store("main", of: Wrong.self) }
        #expect(error?.code == .unfitState)
        #expect(error?.message.contains("count") == true)
    }

    @Test func refusedActionIsToldAndRolledBack() async throws {
        let live = try LiveBus()
        let bus = try await live.connect()
        let main = try await bus.store("main", of: Limited.self, isOptimistic: true)
        var failures = main.failures.values.makeAsyncIterator()
        let seen = Mutex<[Int]>([])
        let observation = main.signal.observe { state in seen.withLock { $0.append(state.count) } }
        main.actions.dispatch(.limit(by: 3))
        #expect(main.state.count == 3, "an optimistic store shows an action at once")
        main.actions.dispatch(.limit(by: 100))
        main.actions.dispatch(.increment())
        let failure = await failures.next()
        #expect((failure?.error as? BusError)?.code == .rejected)
        try await bus.sync()
        #expect(main.state.count == 4)
        #expect(main.pendingCount == 0)
        for await count in main.values(\.count) where count == 4 { break }
        observation.dispose()
        // The bus may answer between two dispatches, but not before the first of them was shown.
        #expect(seen.withLock { $0 }.contains(103))
    }

    /// A task that is cancelled already sends nothing, and shows nothing.
    @Test func cancelledTaskDispatchesNothing() async throws {
        let live = try LiveBus()
        let bus = try await live.connect()
        let main = try await bus.store("main", of: SharedCounter.self, isOptimistic: true)
        let seen = Mutex<[Int]>([])
        let observation = main.signal.observe { state in seen.withLock { $0.append(state.count) } }
        let before = try await bus.sync()
        let (gate, opener) = AsyncStream.makeStream(of: Void.self)
        let task = Task {
            for await _ in gate {}
            var codes: [BusError.Code] = []
            func attempt(_ body: () async throws(BusError) -> Void) async {
                do { try await body() } catch { codes.append(error.code) }
            }
            await attempt { () throws(BusError) in try await main.dispatch(.increment()) }
            await attempt { () throws(BusError) in
                try await bus.dispatch("increment", to: .store("counter/main"))
            }
            await attempt { () throws(BusError) in
                try await bus.dispatchUnacknowledged("increment", to: .store("counter/main"))
            }
            await attempt { () throws(BusError) in try await bus.create("counter/other") }
            return codes
        }
        task.cancel()
        opener.finish()
        #expect(await task.value == [.cancelled, .cancelled, .cancelled, .cancelled])
        #expect(try await bus.sync() == before)
        #expect(main.state.count == 0)
        observation.dispose()
        #expect(seen.withLock { $0 } == [0])
    }

    /// Many tasks have many dispatches under way at a time: all are committed, and shown once.
    @Test func manyPendingActionsAreShownOnceEach() async throws {
        let live = try LiveBus()
        let bus = try await live.connect()
        let main = try await bus.store("main", of: SharedCounter.self, isOptimistic: true)
        try await withThrowingTaskGroup { group in
            for _ in 0..<16 {
                group.addTask {
                    for _ in 0..<200 { main.actions.increment() }
                    for _ in 0..<20 { try await main.dispatch(.increment()) }
                }
            }
            try await group.waitForAll()
        }
        try await bus.sync()
        #expect(main.state.count == 16 * 220)
        #expect(main.pendingCount == 0)
    }

    /// What a user sees of an optimistic counter must never go back while everybody only counts up.
    @Test func optimisticCounterNeverGoesBackUnderConcurrentWriters() async throws {
        let live = try LiveBus()
        let buses = [try await live.connect(), try await live.connect(), try await live.connect()]
        let decreases = await withTaskGroup(of: Int.self) { group in
            for bus in buses { group.addTask { await Self.countUp(to: 900, on: bus) } }
            return await group.reduce(0, +)
        }
        #expect(decreases == 0)
    }

    /// Adds a third of the goal and watches until it is reached; gives how often the count went back.
    private static func countUp(to goal: Int, on bus: Bus) async -> Int {
        guard let store = try? await bus.store("main", of: SharedCounter.self, isOptimistic: true) else {
            return -1
        }
        let seen = Seen()
        let observation = store.signal.observe { seen.note($0.count) }
        for _ in 0..<goal / 3 { store.actions.increment() }
        for await count in store.values(\.count) where count == goal { break }
        observation.dispose()
        return seen.decreases
    }

    /// The last count that was seen, and how often one was less than the one before.
    private final class Seen: Sendable {
        private let state = Mutex((last: 0, decreases: 0))
        var decreases: Int { state.withLock { $0.decreases } }
        func note(_ count: Int) {
            state.withLock { state in
                if count < state.last { state.decreases += 1 }
                state.last = count
            }
        }
    }

    @Test func allStoresOfATypeAreFollowedTogether() async throws {
        let live = try LiveBus()
        let bus = try await live.connect()
        let counters = try await bus.stores(of: SharedCounter.self)
        #expect(counters.states == ["main": SharedCounter()])
        try await bus.create("counter/hall", state: ["count": 5])
        try await bus.dispatch(SharedCounter.Action.increment(by: 2), toAll: SharedCounter.self)
        #expect(counters.states == ["main": SharedCounter(count: 2), "hall": SharedCounter(count: 7)])
        try await bus.drop("counter/hall")
        #expect(counters.states.keys.sorted() == ["main"])
        counters.actions.increment(by: 40)
        for await states in counters.values where states["main"]?.count == 42 { break }
    }

    /// What they have not seen costs memory for each store, and not for each commit.
    @Test func observerOfAllStoresThatLagsGetsManyCommitsAsOne() async throws {
        let live = try LiveBus()
        let bus = try await live.connect()
        let counters = try await bus.stores(of: SharedCounter.self)
        let (seen, input) = AsyncStream.makeStream(of: [String: SharedCounter].self)
        let mayReturn = DispatchSemaphore(value: 0)
        let observation = counters.signal.observe { states in
            input.yield(states)
            if states["main"]?.count == 1 { mayReturn.wait() }
        }
        var states = seen.makeAsyncIterator()
        #expect(await states.next() == ["main": SharedCounter()])
        try await bus.dispatch("increment", to: .store("counter/main"))
        #expect(await states.next() == ["main": SharedCounter(count: 1)])
        for name in 0..<20 { try await bus.create("counter/hall\(name)", state: ["count": 5]) }
        for name in 0..<20 { try await bus.drop("counter/hall\(name)") }
        try await bus.create("counter/hall", state: ["count": 5])
        for _ in 0..<20 { try await bus.dispatch("increment", to: .type("counter")) }
        mayReturn.signal()
        let last = ["main": SharedCounter(count: 21), "hall": SharedCounter(count: 25)]
        #expect(await states.next() == last)
        #expect(counters.states == last && counters.constant.value == last)
        observation.dispose()
    }

    @Test func batchOverTwoStoresIsAllOrNothing() async throws {
        let live = try LiveBus()
        let bus = try await live.connect()
        let main = try await bus.store("main", of: Limited.self)
        let other = try await bus.store("other", of: Limited.self, creating: Limited())
        try await bus.dispatch([main.request(.increment()), other.request(.limit(by: 5))])
        #expect((main.state.count, other.state.count) == (1, 5))
        await #expect(throws: BusError.self) {
            try await bus.dispatch([main.request(.increment()), other.request(.limit(by: 6))])
        }
        #expect((main.state.count, other.state.count) == (1, 5))
    }

    @Test func staleRevisionIsAConflict() async throws {
        let live = try LiveBus()
        let bus = try await live.connect()
        let main = try await bus.store("main", of: SharedCounter.self)
        let (_, revision) = try await main.confirmed()
        try await main.dispatch(.increment(), ifRevision: revision)
        let error = await #expect(throws: BusError.self) {
            try await main.dispatch(.increment(), ifRevision: revision)
        }
        #expect(error?.code == .conflict)
        let (state, current) = try await main.confirmed()
        #expect(error?.details["revision"] == .int(current))
        #expect(state.count == 1)
    }

    @Test func bindingReadsTheStateAndDispatchesWhatIsSet() async throws {
        let live = try LiveBus()
        let bus = try await live.connect()
        let main = try await bus.store("main", of: SharedCounter.self, isOptimistic: true)
        let binding = main.binding(\.count) { .increment(by: $0) }
        binding.value = 6
        #expect(binding.value == 6)
        try await bus.sync()
        #expect(main.state.count == 6)
    }

    @Test func closedBusEndsWhatFollowsIt() async throws {
        let live = try LiveBus()
        let bus = try await live.connect()
        let main = try await bus.store("main", of: SharedCounter.self)
        async let rest: [Int] = {
            var all: [Int] = []
            for await count in main.values(\.count) { all.append(count) }
            return all
        }()
        await bus.close()
        #expect(await rest.allSatisfy { $0 == 0 })
        let error = await #expect(throws: BusError.self) { try await main.dispatch(.increment()) }
        #expect(error?.code == .closed)
    }
}
