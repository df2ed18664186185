import BusCluster
import BusEngine
import BusJSON
import TestModes
import TestSupport
import Testing

/// Guarantees 8 and 10: nobody can keep the bus to itself, and what a turn does is bounded. Counted in work, of which a unit is
/// about a nanosecond.
@Suite(.inBothModes) struct FairnessTests {
    /// What a turn may do: its own bound, and one thing that can't be interrupted.
    static let turn = DaemonLimits().turnWork + 3_000_000

    /// What a turn may do for what a shared log brings: a proposal's operations, of 15 ns each, and one more commit.
    static let hearing = ClusterLimits.operations * 15 + 3_000_000
    /// The turns that a dispatch takes through a shared log: it waits for the proposal that is on its way, and for its own.
    static var log: Int { BusMode.current == .shared ? 2 : 0 }

    private static let gate = InModes.aloneOnly(because: "A shared log has no gate for long commits.")

    /// One kind of hostile client.
    struct Attack: Sendable, CustomTestStringConvertible {
        let name: String
        var stores = 0
        var preparing: [String] = []
        var isReading = true
        /// How many turns an innocent dispatch may wait.
        var turns = 2
        let line: String
        var testDescription: String { name }
    }

    private static let subscribing = Array(
        repeating: #"{"op":"subscribe","store":"counter/innocent","initial":false}"#, count: 1024)
    private static let selecting = (0..<400).map {
        #"{"op":"subscribe","type":"item","select":["/list/\#($0)","/count"],"initial":false}"#
    }

    static let attacks: [Attack] = [
        Attack(
            name: "dispatches", line: #"{"op":"dispatch","store":"counter/innocent","action":"increment"}"#),
        Attack(
            name: "dispatches that nobody hears", isReading: false,
            line: #"{"op":"dispatch","store":"counter/innocent","action":"increment"}"#),
        Attack(name: "pings", line: #"{"op":"ping"}"#),
        Attack(name: "errors", line: #"{"op":"dipsatch"}"#),
        Attack(name: "no JSON", line: "xxxxxxxxxxxxxxxxxxxxxxxxxxxx"),
        Attack(name: "nested arrays", line: nested(40, 150)),
        Attack(name: "globs that match nothing", stores: 3000, line: #"{"op":"stores","match":"item/z*"}"#),
        Attack(
            name: "globs that go back", stores: 3000, line: #"{"op":"stores","match":"i*/*s*1*2*x"}"#),
        Attack(name: "pages of states", stores: 3000, line: #"{"op":"get","match":"*/*"}"#),
        Attack(name: "pages of addresses", stores: 3000, line: #"{"op":"stores","match":"*/s*1"}"#),
        Attack(name: "types", line: #"{"op":"types"}"#),
        Attack(
            name: "batches",
            line: #"{"op":"dispatch","actions":["#
                + Array(repeating: #"{"store":"counter/innocent","action":"increment"}"#, count: 1024)
                .joined(separator: ",") + "]}"),
        Attack(
            name: "wide dispatches", stores: 3000, line: #"{"op":"dispatch","type":"item","action":"add"}"#),
        Attack(
            name: "dry runs", stores: 3000,
            line: #"{"op":"dispatch","type":"item","action":"add","dryRun":true}"#),
        Attack(
            name: "first states", stores: 3000,
            line: #"{"op":"subscribe","type":"item"}"# + "\n" + #"{"op":"unsubscribe","sub":1}"#),
        Attack(
            name: "subscriptions that are read", preparing: subscribing, turns: 4, line: #"{"op":"ping"}"#),
        Attack(
            name: "subscriptions that nobody reads", preparing: subscribing, isReading: false, turns: 4,
            line: #"{"op":"ping"}"#),
        Attack(
            name: "selections", stores: 200, preparing: selecting, turns: 4,
            line: #"{"op":"dispatch","type":"item","action":"put","payload":{"value":[1,2,3,4,5,6,7,8]}}"#),
        Attack(
            name: "a store made and dropped",
            line: #"{"op":"create","store":"item/x"}"# + "\n" + #"{"op":"drop","store":"item/x"}"#),
        Attack(
            name: "wills", line: #"{"op":"will","actions":[{"type":"counter","action":"increment"}]}"#),
        Attack(name: "stats", line: #"{"op":"stats"}"#),
        Attack(name: "clients", line: #"{"op":"clients"}"#),
        Attack(name: "kicks", line: #"{"op":"kick","client":999}"#),
    ]

    private static func nested(_ depth: Int, _ count: Int) -> String {
        let one = String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
        let list = Array(repeating: one, count: count).joined(separator: ",")
        return #"{"op":"dispatch","store":"counter/innocent","action":"none","payload":{"value":[\#(list)]}}"#
    }

    @Test(arguments: attacks, [1, 20]) func innocentIsServedInTime(_ attack: Attack, _ count: Int) throws {
        let arena = try Arena()
        try arena.makeStores(attack.stores)
        for _ in 0..<count {
            try arena.attack(attack.line, preparing: attack.preparing, isReading: attack.isReading)
        }
        if BusMode.current == .shared { try arena.run(turns: 20) }  // What entries take is known then.
        try arena.run(turns: 60)
        #expect(arena.longestTurn <= Self.turn)
        #expect(arena.longestHearing <= Self.hearing)
        #expect(arena.longestWait <= attack.turns + Self.log)
        #expect(arena.refusals.isEmpty)
    }

    /// A connection whose reading took long comes after others of its user.
    @Test func whatReadingTookIsCharged() throws {
        let bus = try SlowBus()
        let (slow, other) = (bus.connect(), bus.connect())
        // Their first slices are those of newcomers.
        for client in [slow, other] {
            bus.send(#"{"op":"ping"}"#, from: client)
            bus.take(from: client)
        }
        bus.engine.charge(100_000, to: slow)
        bus.engine.awaitTurn(slow)
        bus.engine.awaitTurn(other)
        #expect(bus.engine.serveNext() == other)
        #expect(bus.engine.serveNext() == slow)
    }

    /// Who asks for little comes before fifty who ask for much, though all of them have come equally far.
    @Test func littleComesBeforeMuch() throws {
        let arena = try Arena()
        let values = Array(repeating: "1", count: 15_000).joined(separator: ",")
        for _ in 0..<50 {
            try arena.attack(
                #"{"op":"dispatch","store":"counter/innocent","action":"none","payload":{"value":[\#(values)]}}"#
            )
        }
        // What a client will ask for is known once it has asked for something.
        try arena.run(turns: 100)
        try arena.run(turns: 200)
        #expect(arena.longestWait <= 2 + Self.log)
    }

    /// One user with many connections has as much time as another with few, whatever it asks for.
    @Test(arguments: attacks.filter { $0.preparing.isEmpty && $0.isReading && $0.name != "wide dispatches" })
    func usersHaveTheSameTime(_ attack: Attack) throws {
        let arena = try Arena()
        try arena.makeStores(attack.stores)
        for _ in 0..<40 { try arena.attack(attack.line, uid: 2000) }
        // As many as it takes to have always more to do.
        for _ in 0..<(BusMode.current == .shared ? 20 : 4) {
            try arena.attack(#"{"op":"dispatch","store":"counter/innocent","action":"increment"}"#, uid: 3000)
        }
        let before = try (arena.work(of: 2000), arena.work(of: 3000))
        try arena.run(turns: 120)
        let work = try (arena.work(of: 2000) - before.0, arena.work(of: 3000) - before.1)
        #expect(work.1 > work.0 / 2, "\(work)")
    }

    /// At the gate, too: long requests of one with many connections do not put off those of another.
    @Test func usersTakeTurnsWithLongRequests() throws {
        let arena = try Arena()
        try arena.makeStores(30_000)
        let line = #"{"op":"dispatch","type":"item","action":"add"}"#
        for _ in 0..<20 { try arena.attack(line, uid: 2000) }
        try arena.attack(line, uid: 3000)
        // A shared log has no gate: it brings one in each turn.
        try arena.run(turns: BusMode.current == .shared ? 200 : 12_000)
        let work = try (arena.work(of: 2000), arena.work(of: 3000))
        #expect(work.0 > 8 * DaemonLimits.longRequest)
        #expect(work.1 > work.0 / 2, "\(work)")
    }

    /// However many of a user's come, send something and go, they are one to those who stay.
    @Test func theGoneShareOneTurn() throws {
        let arena = try Arena()
        for _ in 0..<300 { try arena.attack(#"{"op":"ping"}"#, uid: 2000) }
        arena.leaveUnheard()
        for _ in 0..<200 {
            try arena.run(turns: 1)
            #expect(arena.longestWait <= 2 + Self.log)
            #expect(arena.longestTurn <= Self.turn)
            // One after the other is read, so not all of them hold what they have sent.
            #expect(arena.engine.accountedMemory < 1 << 20)
        }
    }

    /// A client that has just come, as the command line does for each request, waits no longer than one that stays: not for all
    /// others to have had as much as the first request of a newcomer might take.
    @Test(arguments: [2000, 3000]) func newcomerDoesNotWaitForManySmallRequests(_ uid: Int) throws {
        let bus = try SlowBus()
        let standing = (0..<300).map { _ in bus.engine.connect(.unix(uid: 2000, pid: 1)) }
        let ping = #"{"op":"ping"}"#
        for one in standing {
            bus.send(ping, from: one)
            bus.take(from: one)
        }
        func offer() { for one in standing { bus.engine.awaitTurn(one) } }
        func serve() -> ConnectionID? {
            guard let id = bus.engine.serveNext() else { return nil }
            bus.send(ping, from: id)
            bus.take(from: id)
            bus.engine.awaitTurn(id)
            return id
        }
        offer()
        for _ in 0..<3000 { _ = serve() }
        for _ in 0..<20 {
            bus.turn()
            let newcomer = bus.engine.connect(.unix(uid: uid, pid: 2))
            bus.engine.awaitTurn(newcomer)
            var served = 0
            while served < 5000, serve() != newcomer { served += 1 }
            // Each of the others has its turn twice at most.
            #expect(served <= 600, "\(served)")
            bus.engine.disconnect(newcomer)
        }
    }

    /// A stream of short-lived connections is one to those who stay.
    @Test func newcomersShareOneTurn() throws {
        let bus = try SlowBus()
        let standing = bus.engine.connect(.unix(uid: 2000, pid: 1))
        let ping = #"{"op":"ping"}"#
        bus.send(ping, from: standing)
        let newcomers = (0..<300).map { _ in bus.engine.connect(.unix(uid: 2000, pid: 2)) }
        for one in newcomers { bus.engine.awaitTurn(one) }
        bus.engine.awaitTurn(standing)
        var turns: [ConnectionID] = []
        while turns.count < 20, let id = bus.engine.serveNext() {
            bus.send(ping, from: id)
            turns.append(id)
            if id == standing { bus.engine.awaitTurn(standing) }
        }
        #expect((8...12).contains(turns.count { $0 == standing }), "\(turns)")
    }

    /// A thousand that come at once, and go on asking, are no debt to who comes after them.
    @Test func newcomersOfBeforeAreNoDebt() throws {
        let bus = try SlowBus()
        let ping = #"{"op":"ping"}"#
        let many = (0..<1000).map { _ in bus.engine.connect(.unix(uid: 2000, pid: 1)) }
        for one in many { bus.engine.awaitTurn(one) }
        func serve() -> ConnectionID? {
            guard let id = bus.engine.serveNext() else { return nil }
            bus.send(ping, from: id)
            bus.take(from: id)
            bus.engine.awaitTurn(id)
            return id
        }
        var served = 0
        var seen: Set<ConnectionID> = []
        while seen.count < many.count, served < 100_000, let id = serve() {
            seen.insert(id)
            served += 1
        }
        // Those who have been served before take their turns in between.
        #expect(served <= 6 * many.count, "\(served)")
        let newcomer = bus.engine.connect(.unix(uid: 2000, pid: 2))
        bus.engine.awaitTurn(newcomer)
        served = 0
        while served < 100_000, serve() != newcomer { served += 1 }
        #expect(served <= 3 * many.count, "\(served)")
    }

    /// Tens of thousands of subscriptions to one store are told less often, and do not cost every commit that they are there.
    @Test func tooManySubscribersAreToldLessOften() throws {
        let arena = try Arena()
        let subscribe = (0..<500).map {
            #"{"op":"subscribe","store":"counter/innocent","select":["/count","/none\#($0)"]}"#
        }
        for _ in 0..<20 { try arena.attack("", preparing: subscribe) }
        try arena.run(turns: 300)
        let before = try arena.coalesced()
        try arena.run(turns: 300)
        // Told each time all would be late, there would be ten thousand for each commit.
        #expect(try arena.coalesced() - before < 300 * 10_000 / 10)
        #expect(arena.longestWait <= 4 + Self.log)
    }

    /// Who has gone goes on to cost something as long as it is not let go of: also where others are always busy, and what it
    /// leaves is much.
    @Test func theGoneAreLetGoOfBesideOthers() throws {
        let arena = try Arena()
        for _ in 0..<20 {
            try arena.attack(#"{"op":"dispatch","store":"counter/innocent","action":"increment"}"#)
        }
        let creates = (0..<500).map { #"{"op":"create","store":"item/e\#($0)","ephemeral":true}"# }
        let makers = try (0..<20).map { number in
            try arena.attack("", preparing: creates.map { $0.replacing("/e", with: "/\(number)e") })
        }
        #expect(arena.engine.storeCount == 10_001)
        // Each is read, is found at its end, and drops its stores for less than a millisecond: what the first ones left keeps
        // nobody from being found.
        for maker in makers[..<10] { arena.leaveUnheard(maker) }
        try arena.run(turns: 20)
        for maker in makers[10...] { arena.leaveUnheard(maker) }
        try arena.run(turns: 20)
        #expect(arena.engine.storeCount == 1)
        #expect(arena.longestTurn <= Self.turn)
        #expect(arena.longestWait <= 2 + Self.log)
    }

    /// A long commit can't be interrupted, but it is rare while others are at work.
    @Test(Self.gate) func longCommitsAreRareBesideOthers() throws {
        let arena = try Arena()
        try arena.makeStores(40_000)
        try arena.attack(#"{"op":"dispatch","type":"item","action":"add"}"#)
        try arena.run(turns: 2000)
        // Each takes ten milliseconds of work, so in two seconds there is time for two or three.
        let long = try #require(arena.engine.state(at: "item/s0")?["count"]?.int)
        #expect((1...4).contains(long))
        #expect(arena.refusals.isEmpty)
    }

    /// So are batches, whose actions go to a few stores each.
    @Test(Self.gate) func longBatchesAreRareBesideOthers() throws {
        let arena = try Arena()
        try arena.makeStores(12)
        let actions = Array(repeating: #"{"type":"item","action":"add"}"#, count: 1024)
        try arena.attack(#"{"op":"dispatch","actions":[\#(actions.joined(separator: ","))]}"#)
        try arena.run(turns: 2000)
        let count = try #require(arena.engine.state(at: "item/s0")?["count"]?.int)
        #expect((1...4).contains(count / 1024))
        #expect(arena.refusals.isEmpty)
    }

    /// Whoever is alone does not wait.
    @Test func longCommitsDoNotWaitForNobody() throws {
        let bus = try MemoryBus()
        let client = bus.connect()
        for number in 0..<10_000 { client.send(#"{"op":"create","store":"counter/s\#(number)"}"#) }
        _ = try client.all()
        let before = bus.engine.revision
        for _ in 0..<20 { client.send(#"{"op":"dispatch","type":"counter","action":"increment"}"#) }
        #expect(bus.engine.revision == before + 20)
        #expect(try client.all().count == 20)
    }

    /// What clients leave behind when they vanish is done in turns.
    @Test func willsOfManyAreCarriedOutInTurns() throws {
        let arena = try Arena()
        let will =
            #"{"op":"will","actions":["#
            + Array(repeating: #"{"store":"counter/innocent","action":"increment"}"#, count: 500)
            .joined(separator: ",") + "]}"
        for _ in 0..<50 { try arena.attack("", preparing: [will]) }
        let before = arena.engine.revision
        arena.vanish()
        #expect(arena.engine.hasWork || BusMode.current == .shared)
        try arena.run(turns: 200)
        #expect(arena.longestTurn <= Self.turn)
        // What a will takes is known to a shared log once it has been carried out.
        #expect(arena.longestWait <= (BusMode.current == .shared ? 10 : 2))
        #expect(arena.engine.revision >= before + 50)
        #expect(!arena.engine.hasWork)
    }

    /// A dispatch that reaches more stores than one commit may is refused before it does anything.
    @Test func dispatchBeyondTheBudgetIsNotBegun() throws {
        var limits = Limits()
        limits.bus.commit = 1000
        let arena = try Arena(limits: limits)
        try arena.makeStores(600)
        let client = arena.engine.connect(.unix(uid: 1, pid: 1))
        arena.engine.beginTurn(at: 1_795_000_000_500)
        let line = #"{"op":"dispatch","type":"item","action":"add"}"# + "\n"
        Array(line.utf8).withUnsafeBytes { arena.engine.receive(client, $0) }
        // Its budget alone would be 15,000.
        #expect(arena.engine.workOfTurn < 8000)
    }

    /// Nor is such a will.
    @Test func willBeyondTheBudgetIsNotBegun() throws {
        var limits = Limits()
        limits.bus.commit = 1000
        let arena = try Arena(limits: limits)
        try arena.makeStores(600)
        try arena.attack("", preparing: [#"{"op":"will","actions":[{"type":"item","action":"add"}]}"#])
        let before = arena.engine.totalWork
        arena.vanish()
        arena.engine.serveAll()
        #expect(arena.engine.totalWork - before < 8000)
        #expect(!arena.engine.hasWork)
        #expect(arena.engine.state(at: "item/s0")?["count"]?.int == 0)
    }

    /// A create costs what subscribes to it, not how many patterns there are.
    @Test func createLooksAtFewPatterns() throws {
        func work(patterns: Int) throws -> Int {
            let arena = try Arena()
            for number in 0..<patterns {
                try arena.attack(
                    "", preparing: [#"{"op":"subscribe","match":"item/p\#(number)*"}"#])
            }
            try arena.ask(#"{"op":"create","store":"item/other"}"#)
            let client = arena.engine.connect(.unix(uid: 1, pid: 1))
            arena.engine.beginTurn(at: 1_795_000_000_500)
            Array((#"{"op":"create","store":"item/zebra"}"# + "\n").utf8).withUnsafeBytes {
                arena.engine.receive(client, $0)
            }
            return arena.engine.workOfTurn
        }
        #expect(try work(patterns: 500) == work(patterns: 5))
    }
}
