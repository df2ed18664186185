import FluxBus
import Foundation
import TestServer
import Testing

/// What optimistic stores carry, over a socket. It needs a quiet machine:
/// `FLUXBUS_MEASURE=1 swift test -c release --filter OptimisticMeasurement`.
@Suite(
    .serialized,
    .enabled(
        if: ProcessInfo.processInfo.environment["FLUXBUS_MEASURE"] != nil,
        "FLUXBUS_MEASURE is not set: this measures."))
struct OptimisticMeasurement {
    @Test func sixtyFourTasksDispatchTwentyThousandASecond() async throws {
        let live = try LiveBus()
        let bus = try await live.connect()
        let store = try await bus.store("main", of: SharedCounter.self, isOptimistic: true)
        let each = 2000
        let time = try await ContinuousClock().measure {
            try await withThrowingTaskGroup { group in
                for _ in 0..<64 {
                    group.addTask { for _ in 0..<each { try await store.dispatch(.increment()) } }
                }
                try await group.waitForAll()
            }
        }
        #expect(store.state.count == 64 * each)
        let rate = Double(64 * each) / (time / .seconds(1))
        print("64 tasks: \(Int(rate)) dispatches a second")
        #expect(rate >= 20_000)
    }

    /// Ten times as many actions under way take ten times as long, and not a hundred times.
    @Test func manyActionsUnderWayCostTheSameEach() async throws {
        var costs: [Duration] = []
        for many in [5000, 50_000] {
            let live = try LiveBus()
            let bus = try await live.connect()
            let store = try await bus.store("main", of: SharedCounter.self, isOptimistic: true)
            let time = try await ContinuousClock().measure {
                for _ in 0..<many { store.actions.increment() }
                #expect(store.state.count == many)
                while store.pendingCount > 0 { try await bus.sync() }
            }
            #expect(store.state.count == many)
            print("\(many) under way: \(time / many) each")
            costs.append(time / many)
        }
        #expect(costs[1] < costs[0] * 3)
    }
}
