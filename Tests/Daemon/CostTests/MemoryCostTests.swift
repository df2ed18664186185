import BusWork
import CMallocCount
import Testing

/// What a commit takes of the system's memory, counted and not timed: a change that makes every dispatch allocate is
/// seen here on any machine, however busy.
@Suite("The memory a commit takes") struct MemoryCostTests {
    private static let requestsPerTurn = 64
    private static let turns = 32

    /// How often memory is taken per dispatch, once all that is kept for reuse has been made.
    private func allocations(_ setting: MemoryLoad.Setting) throws -> Double {
        let load = try MemoryLoad(setting)
        let requests = load.requests(Self.requestsPerTurn)
        for _ in 0..<Self.turns { load.turn(requests) }
        let before = malloc_count()
        for _ in 0..<Self.turns { load.turn(requests) }
        return Double(malloc_count() - before) / Double(Self.turns * Self.requestsPerTurn)
    }

    /// Another one of this program's own, so that a count of nothing can't pass for thrift.
    @Test func countingSeesAnAllocation() {
        let before = malloc_count()
        let array = [UInt8](repeating: 1, count: 100_000 + Int(before & 1))
        #expect(array.count >= 100_000)
        #expect(malloc_count() > before)
    }

    @Test func dispatchTakesNoMemory() throws {
        let taken = try allocations(MemoryLoad.Setting())
        #expect(taken < Cost.perDispatch)
    }

    @Test func dispatchToASubscriberTakesNoMemory() throws {
        var setting = MemoryLoad.Setting()
        setting.subscribers = 1
        let taken = try allocations(setting)
        #expect(taken < Cost.perDispatch)
    }

    @Test func dispatchToOneStoreOfManyTakesNoMemory() throws {
        var setting = MemoryLoad.Setting()
        setting.stores = 1000
        setting.isInstance = true
        setting.subscribers = 1
        let taken = try allocations(setting)
        #expect(taken < Cost.perDispatch)
    }

    /// Requests as real clients mix them take no more than those that are all alike, once each store has what its state needs
    /// when it is written to first.
    @Test(arguments: RequestKind.allCases)
    func requestOfAnyKindTakesNoMemory(kind: RequestKind) throws {
        var setting = MemoryLoad.Setting()
        setting.request = .kind(kind)
        setting.stores = 100
        setting.subscribers = 1
        let load = try MemoryLoad(setting)
        // Other keys in each turn.
        let requests = (0..<3 * Self.turns).map { load.requests(Self.requestsPerTurn, round: $0) }
        for request in requests.prefix(2 * Self.turns) { load.turn(request) }
        let before = malloc_count()
        for request in requests.suffix(Self.turns) { load.turn(request) }
        let taken = Double(malloc_count() - before) / Double(Self.turns * Self.requestsPerTurn)
        #expect(taken < Cost.perDispatch)
    }

    /// What a turn of rules takes is for the turn, not for its dispatches: long turns take what those of one dispatch take, but
    /// for buffers that grow a few times. The containers of a state are taken before, when a store is first written to: until
    /// then it shares them with the type's initial state.
    @Test func rulesTakeNoMoreInLongTurnsThanInShortOnes() throws {
        func taken(_ requestsPerTurn: Int) throws -> Double {
            var setting = MemoryLoad.Setting()
            setting.request = .kind(.rules)
            setting.stores = 100
            setting.subscribers = 1
            let load = try MemoryLoad(setting)
            for round in 0..<2 * Self.turns { load.turn(load.requests(Self.requestsPerTurn, round: round)) }
            let requests = (0..<2 * Self.turns).map { load.requests(requestsPerTurn, round: $0) }
            for request in requests.prefix(Self.turns) { load.turn(request) }
            let before = malloc_count()
            for request in requests.suffix(Self.turns) { load.turn(request) }
            return Double(malloc_count() - before)
        }
        let further = Double(Self.turns * (Self.requestsPerTurn - 1))
        #expect((try taken(Self.requestsPerTurn) - taken(1)) / further < Cost.perFurtherDispatch)
    }

    /// What 100 subscribers take belongs to the turn, not to each of its 64 commits.
    @Test func subscribersTakeMemoryPerTurnOnly() throws {
        var setting = MemoryLoad.Setting()
        setting.subscribers = 100
        let taken = try allocations(setting)
        #expect(taken < 2 * Cost.perDispatch)
    }

    @Test func storesOfOneActionTakeNoMemory() throws {
        var setting = MemoryLoad.Setting()
        setting.stores = 100
        setting.subscribers = 1
        let taken = try allocations(setting)
        #expect(taken < Cost.perDispatch + 100 * Cost.perStore)
    }

    /// A subscriber that has nothing to say costs little, or few could watch.
    @Test func idleSubscriberTakesLessThanAKilobyte() throws {
        func kept(_ subscribers: Int) throws -> Int {
            var setting = MemoryLoad.Setting()
            setting.subscribers = subscribers
            let before = malloc_kept()
            let load = try MemoryLoad(setting)
            return withExtendedLifetime(load) { malloc_kept() - before }
        }
        // Tables grow by doubling: the same number of times more.
        let taken = Double(try kept(4096) - kept(2048)) / 2048
        #expect(taken < Cost.perSubscriber)
    }

    /// What a commit over many stores needs is kept for the next one, and given back when none comes for a second.
    @Test func storageOfLargeCommitsIsKeptForASecond() throws {
        var setting = MemoryLoad.Setting()
        setting.stores = 10_000
        setting.subscribers = 1
        let load = try MemoryLoad(setting)
        let requests = load.requests(1)
        func allocations() -> UInt {
            let before = malloc_count()
            load.turn(requests)
            return malloc_count() - before
        }
        for _ in 0..<4 { load.turn(requests) }
        let kept = allocations()
        load.pause(milliseconds: 990)
        #expect(allocations() == kept)
        load.pause(milliseconds: 1000)
        let anew = allocations()
        #expect(anew > kept + 15)
        #expect(allocations() == kept)
        #expect(Double(kept) < Cost.perLargeCommit)
    }
}

/// How often memory may be taken. What a turn takes as a whole is spread over its 64 requests.
enum Cost {
    // Without the optimiser many values are put into memory that would never be there.
    #if DEBUG
        static let perDispatch = 250.0
        static let perStore = 100.0
        static let perLargeCommit = 10_000 * perStore
        static let perFurtherDispatch = perDispatch
    #else
        static let perDispatch = 0.25
        static let perStore = 0.0
        static let perLargeCommit = 16.0
        // One in 250 dispatches, which is twice what buffers take that grow; a rule that allocates takes 1 or more.
        static let perFurtherDispatch = 0.004
    #endif
    /// Bytes.
    static let perSubscriber = 700.0
}
