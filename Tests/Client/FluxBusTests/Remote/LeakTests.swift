import FluxBus
import Foundation
import TestServer
import Testing

/// When the last handle goes, so does all that was behind it.
@Suite(.serialized, .timeLimit(.minutes(10))) struct LeakTests {
    /// What must not outlive its handles.
    private struct Remains {
        weak var bus: Bus?
        weak var plain: RemoteStore<SharedCounter>?
        weak var optimistic: RemoteStore<SharedCounter>?
        weak var all: RemoteStores<SharedCounter>?
        var ended: [Values<Int>] = []
        var notices: AsyncStream<BusNotice>?
    }

    /// Uses everything once, and keeps only streams.
    private func use(_ live: LiveBus) async throws -> Remains {
        var remains = Remains()
        let bus = try await live.connect()
        let plain = try await bus.store("main", of: SharedCounter.self)
        let optimistic = try await bus.store("main", of: SharedCounter.self, isOptimistic: true)
        let all = try await bus.stores(of: SharedCounter.self)
        try await plain.dispatch(.increment())
        try await optimistic.dispatch(.increment())
        optimistic.actions.increment()
        all.actions.increment()
        let binding = optimistic.binding(\.count) { .increment(by: $0) }
        binding.value = 1
        let observation = plain.signal.observe { [weak plain] _ in _ = plain?.state }
        remains.ended = [plain.values(\.count), optimistic.values(\.count)]
        remains.notices = bus.notices
        (remains.bus, remains.plain, remains.optimistic, remains.all) = (bus, plain, optimistic, all)
        _ = observation
        return remains
    }

    @Test func nothingOutlivesItsHandles() async throws {
        let live = try LiveBus()
        let remains = try await use(live)
        // The streams end when what fed them has gone, and that of the notices when the bus's thread has.
        for values in remains.ended { for await _ in values {} }
        for await _ in try #require(remains.notices) {}
        #expect(remains.bus == nil)
        #expect(remains.plain == nil && remains.optimistic == nil)
        #expect(remains.all == nil)
    }

    /// What is left of two stores that nobody holds any more.
    private func parts(
        _ bus: Bus
    ) async throws -> (
        actions: Actions<SharedCounter>, constant: Constant<SharedCounter>, counts: [Values<Int>]
    ) {
        let acted = try await bus.store("main", of: SharedCounter.self)
        let read = try await bus.store("main", of: SharedCounter.self, isOptimistic: true)
        return (acted.actions, read.constant, [acted.values(\.count), read.values(\.count)])
    }

    @Test func actionsKeepTheirStoreAndWhatReadsItDoesNot() async throws {
        let live = try LiveBus()
        let bus = try await live.connect()
        let left = try await parts(bus)
        left.actions.increment()
        for await count in left.counts[0] where count == 1 { break }
        for await _ in left.counts[1] {}
        #expect(left.constant.value.count == 0)
        left.actions.increment()
        for await count in left.counts[0] where count == 2 { break }
    }

    /// How many threads of this process serve a bus.
    private static var busThreads: Int {
        let tasks = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")) ?? []
        return tasks.count { task in
            let name = try? String(contentsOfFile: "/proc/self/task/\(task)/comm", encoding: .utf8)
            return name?.hasPrefix("fluxbus leak") == true
        }
    }

    @Test func noThreadIsLeftBehind() async throws {
        let live = try LiveBus()
        var buses: [Bus] = []
        for _ in 0..<20 { buses.append(try await live.connect { $0.client = "leak" }) }
        #expect(Self.busThreads == 20)
        let streams = buses.map(\.notices)
        buses = []
        for stream in streams { for await _ in stream {} }
        // A thread says that it has ended just before it does.
        while Self.busThreads > 0 { await Task.yield() }
    }
}
