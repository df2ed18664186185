import BusEngine
import BusJSON
import TestModes
import TestSupport
import Testing

/// Guarantee 8: what a client does not read takes bounded memory, and its user pays for it before others do. Output counts when
/// it is made.
@Suite(.inBothModes) struct UnreadOutputTests {
    private static let memory = 16 << 20

    /// One kind of client that never reads.
    struct Reader: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let line: String
        /// Its connections, and the users they belong to.
        var connections = 200
        var users = 1
        var uid = 2000
    }

    private static let pages = #"{"op":"get","type":"item"}"#
    private static let firstStates =
        #"{"op":"subscribe","type":"item"}"# + "\n" + #"{"op":"unsubscribe","sub":1}"#
    static let readers: [Reader] = [
        Reader(testDescription: "pages of states", line: pages),
        Reader(testDescription: "one state", line: #"{"op":"get","store":"item/s1"}"#),
        Reader(testDescription: "first states", line: firstStates),
        Reader(testDescription: "subscriptions", line: #"{"op":"subscribe","type":"item"}"#),
        Reader(testDescription: "pages for several users", line: pages, users: 4),
        Reader(testDescription: "pages for root", line: pages, uid: 0),
        Reader(testDescription: "lists", line: #"{"op":"stores","match":"*/*"}"#, connections: 400),
    ]

    @Test(arguments: readers) func whoReadsNothingTakesBoundedMemory(_ reader: Reader) throws {
        var limits = Limits()
        limits.daemon.memory = Self.memory
        let arena = try Arena(limits: limits)
        try arena.makeStores(20)
        let text = String(repeating: "x", count: 44 << 10)
        for number in 0..<20 {
            try arena.ask(
                #"{"op":"dispatch","store":"item/s\#(number)","action":"write","payload":{"text":"\#(text)"}}"#
            )
        }
        for number in 0..<reader.connections {
            try arena.attack(
                reader.line, isReading: false, uid: reader.uid + number % reader.users)
        }
        var most = 0
        for _ in 0..<400 {
            try arena.run(turns: 1)
            most = max(most, arena.engine.accountedMemory)
            if arena.engine.miscounts != [] { break }
        }
        #expect(arena.engine.miscounts == [])
        #expect(most < Self.memory + Self.memory / 4, "\(most)")
        // Others go on, and are answered.
        #expect(arena.refusals.count == 0)
        let other = arena.engine.connect(.unix(uid: 3000, pid: 3))
        try arena.ask(Self.pages, from: other)
        #expect(try arena.refused() > 0 || !reader.line.contains("get"))
        #expect(arena.engine.outputProgress(of: other).written > 800 << 10)
    }

    /// What a user holds is not summed up over all connections for each reply that waits.
    @Test func manyRepliesNeedFewSums() throws {
        var setup = MemoryBus.Setup()
        setup.limits.daemon.memory = 64 << 20
        setup.stores = ["value/a"]
        let bus = try MemoryBus(setup)
        let text = String(repeating: "x", count: 44 << 10)
        try bus.connect().ask(
            #"{"op":"dispatch","store":"value/a","action":"set","payload":{"value":"\#(text)"}}"#)
        let clients = (0..<50).map { _ in bus.connect(uid: 0) }
        for client in clients { client.isReading = false }
        for _ in 0..<10 {
            for client in clients { client.send(#"{"op":"get","store":"value/a"}"#) }
        }
        // A third of the memory waits, so it was looked at.
        #expect(1...10 ~= bus.engine.sumsOfHoldings, "\(bus.engine.sumsOfHoldings)")
        for client in clients {
            client.isReading = true
            #expect(try client.all().count == 10)
        }
    }

    /// One who reads is not refused, however much it asks for.
    @Test func whoReadsGetsAll() throws {
        var limits = Limits()
        limits.daemon.memory = Self.memory
        let arena = try Arena(limits: limits)
        try arena.makeStores(20)
        let text = String(repeating: "x", count: 44 << 10)
        for number in 0..<20 {
            try arena.ask(
                #"{"op":"dispatch","store":"item/s\#(number)","action":"write","payload":{"text":"\#(text)"}}"#
            )
        }
        for _ in 0..<4 { try arena.attack(Self.pages, uid: 2000) }
        try arena.run(turns: 300)
        #expect(try arena.refused() == 0)
        #expect(arena.refusals.isEmpty)
    }

    /// What a commit has to look at is bounded, though nobody is notified.
    @Test func subscriptionsToOneStoreAreLimited() throws {
        let arena = try Arena()
        func subscribe(_ user: Int, _ numbers: Range<Int>) throws {
            for first in stride(from: numbers.lowerBound, to: numbers.upperBound, by: 1000) {
                try arena.attack(
                    "",
                    preparing: (first..<min(first + 1000, numbers.upperBound)).map {
                        #"{"op":"subscribe","store":"counter/innocent","select":["/n\#($0)"],"initial":false}"#
                    }, uid: user)
            }
        }
        try subscribe(2000, 0..<6000)
        #expect(try arena.shapes() == DaemonLimits.alikeShapes / 2)
        try subscribe(0, 6000..<12_000)
        #expect(try arena.shapes() == DaemonLimits.alikeShapes)
        // As others have, anybody may.
        let before = try arena.refused()
        try arena.ask(
            #"{"op":"subscribe","store":"counter/innocent","select":["/n1"],"initial":false}"#)
        #expect(try arena.refused() == before)
    }
}

extension Arena {
    /// How many requests were refused because of a limit.
    func refused() throws -> Int { try statistics()["errors"]?["limit"]?.int ?? 0 }

    fileprivate func shapes() throws -> Int { try #require(statistics()["shapes"]?.int) }
}
