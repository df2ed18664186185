import CMallocCount
import FluxWork
import Testing

/// What a dispatch takes of the system's memory, counted and not timed: a change that makes every dispatch allocate is seen
/// here on any machine, however busy. One test at a time, or a dispatch to all stores would reach those of another test.
@Suite("The memory a dispatch to a store of Flux takes", .serialized) struct DispatchCostTests {
    private static let dispatches = 256

    /// How often memory is taken per dispatch, once all that is kept for reuse has been made.
    private func allocations(_ load: FluxLoad, _ way: FluxLoad.Way) -> Double {
        load.dispatch(Self.dispatches, way)
        let before = malloc_count()
        load.dispatch(Self.dispatches, way)
        let taken = malloc_count() - before
        #expect(load.value == 2 * Self.dispatches)
        #expect(load.isComplete)
        return Double(taken) / Double(Self.dispatches)
    }

    @Test(arguments: FluxLoad.Way.allCases)
    func dispatchThatNobodyObservesTakesNoMemory(way: FluxLoad.Way) {
        #expect(allocations(FluxLoad(observers: 0), way) <= DispatchCost.perDispatch(way))
    }

    @Test(arguments: FluxLoad.Way.allCases, FluxLoad.Watching.allCases)
    func dispatchToAnObserverTakesNoMemory(way: FluxLoad.Way, watching: FluxLoad.Watching) {
        #expect(allocations(FluxLoad(watching, observers: 1), way) <= DispatchCost.perDispatch(way))
    }

    @Test(arguments: FluxLoad.Watching.allCases)
    func furtherObserversTakeNoMemory(watching: FluxLoad.Watching) {
        let few = allocations(FluxLoad(watching, observers: 1), .store)
        let many = allocations(FluxLoad(watching, observers: 101), .store)
        #expect((many - few) / 100 <= DispatchCost.perObserver)
    }
}

/// How often memory may be taken. What is left where queues grow for the last time is spread over all dispatches.
private enum DispatchCost {
    /// A dispatch to all stores makes its way to them, and a list of them.
    static func perDispatch(_ way: FluxLoad.Way) -> Double { way == .all ? perDispatchToAll : perDispatch }

    // Without the optimiser values are put into memory that would never be there.
    #if DEBUG
        private static let perDispatch = 2.1
        private static let perDispatchToAll = 9.1
        static let perObserver = 1.0
    #else
        private static let perDispatch = 0.1
        private static let perDispatchToAll = 2.1
        static let perObserver = 0.0
    #endif
}
