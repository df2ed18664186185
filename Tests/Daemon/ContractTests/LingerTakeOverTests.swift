import BusEngine
import BusJSON
import TestModes
import TestSupport
import Testing

/// Who has a session when several wait, or several connections name it, and when each of them ends.
@Suite(.aloneOnly(because: "A member of a shared bus hands nothing over.")) struct LingerTakeOverTests {
    private let will = #"{"op":"will","actions":[\#(Self.increment)]}"#
    private let large =
        #"{"op":"will","actions":[\#(Array(repeating: Self.increment, count: 500).joined(separator: ","))]}"#
    private static let increment = #"{"store":"counter/a","action":"increment","payload":{"by":1}}"#

    private func hello(_ session: String, _ linger: Int = 10) -> String {
        #"{"op":"hello","session":"\#(session)","linger":\#(linger)}"#
    }

    private func create(_ name: String) -> String {
        #"{"op":"create","store":"counter/\#(name)","ephemeral":true}"#
    }

    private func client(_ bus: MemoryBus, _ lines: String...) throws -> MemoryClient {
        let client = bus.connect()
        for line in lines { #expect(try client.reply(to: line)["ok"] == true, "\(line)") }
        return client
    }

    /// The names of all counters.
    private func names(_ bus: MemoryBus) throws -> [String] {
        let states = try bus.connect(uid: 7).reply(to: #"{"op":"get","type":"counter"}"#)["states"]
        return states?.object?.keys.map { String($0.dropFirst("counter/".count)) } ?? []
    }

    private func accounted(_ client: MemoryClient) throws -> Int {
        try #require(try client.reply(to: #"{"op":"stats"}"#)["stats"]?["accountedMemory"]?.int)
    }

    // MARK: Several that wait

    @Test func eachSessionEndsAtItsOwnTime() throws {
        let bus = try MemoryBus.logging("counter/a")
        let clients = try [("short", 5), ("long", 20), ("middle", 10)].map { name, linger in
            try client(bus, hello(name, linger), create(name))
        }
        for client in clients { client.close() }
        bus.advance(milliseconds: 5000)
        #expect(try names(bus) == ["a", "long", "middle"])
        bus.advance(milliseconds: 5000)
        #expect(try names(bus) == ["a", "long"])
        bus.advance(milliseconds: 9999)
        #expect(try names(bus) == ["a", "long"])
        bus.advance(milliseconds: 1)
        #expect(try names(bus) == ["a"])
        #expect(bus.engine.nextDeadline == nil)
    }

    @Test func theOthersEndWhenTheFirstIsTakenOver() throws {
        let bus = try MemoryBus.logging("counter/a")
        let clients = try [("short", 5), ("long", 20)].map { name, linger in
            try client(bus, hello(name, linger), create(name))
        }
        for client in clients { client.close() }
        let again = try client(bus, hello("short", 5))
        bus.advance(milliseconds: 20_000)
        #expect(try names(bus) == ["a", "short"])
        again.close()
        bus.advance(milliseconds: 5000)
        #expect(try names(bus) == ["a"])
    }

    /// A daemon that wakes up late ends them in the order in which they should have ended.
    @Test func thoseThatEndTogetherEndInTheOrderOfTheirTimes() throws {
        let bus = try MemoryBus.logging("counter/a")
        let clients = try [("first", 20), ("second", 10), ("third", 20)].map { name, linger in
            try client(bus, hello(name, linger), create(name))
        }
        for client in clients { client.close() }
        bus.advance(milliseconds: 60_000)
        let commits = try bus.connect(uid: 0).reply(to: #"{"op":"history","limit":100}"#)["commits"]?.array
        let dropped = commits?.compactMap { $0["dropped"]?[0]?.string }
        #expect(dropped == ["counter/second", "counter/first", "counter/third"])
    }

    // MARK: Several that name it

    /// What the daemon before knew of a connection's session, the next one knows, also where nothing is left in it any more.
    @Test(arguments: [true, false]) func aNamedConnectionStaysSoAcrossAHandOver(hadAWill: Bool) throws {
        let bus = try MemoryBus.logging("counter/a")
        let client = try client(bus, hello("gate"))
        if hadAWill {
            for line in [will, #"{"op":"will","actions":[]}"#] { _ = try client.reply(to: line) }
        }
        try bus.restart()
        try client.revision(after: create("mine"))
        client.close()
        bus.advance(milliseconds: 9999)
        #expect(try names(bus) == ["a", "mine"])
        bus.advance(milliseconds: 1)
        #expect(try names(bus) == ["a"])
    }

    /// A restart lets nobody wait longer than the client said, also where a crash went before.
    @Test(arguments: [true, false]) func aSessionWaitsNoLongerForAHandOver(isLeftByACrash: Bool) throws {
        var bus = try MemoryBus.logging("counter/a")
        let client = try client(bus, hello("gate"), create("mine"))
        if isLeftByACrash { bus = try bus.crash() } else { client.close() }
        bus.advance(milliseconds: 4000)
        try bus.restart()
        bus.advance(milliseconds: 5999)
        #expect(try names(bus) == ["a", "mine"])
        bus.advance(milliseconds: 1)
        #expect(try names(bus) == ["a"])
    }

    /// Of connections that name one session the last has it, also where an earlier one has ended or came from the daemon
    /// before: what the others leave ends with them.
    @Test(arguments: [true, false]) func onlyTheLastConnectionHasTheName(isHandedOver: Bool) throws {
        let bus = try MemoryBus.logging("counter/a")
        let first = try client(bus, hello("gate"))
        let second = try client(bus, hello("gate"))
        first.close()
        if isHandedOver { try bus.restart() }
        let third = try client(bus, hello("gate"), create("third"))
        try second.revision(after: create("second"))
        second.close()
        #expect(try names(bus) == ["a", "third"])
        third.close()
        bus.advance(milliseconds: 9999)
        #expect(try names(bus) == ["a", "third"])
    }

    @Test func aSessionWithNothingLeftIsNotResumed() throws {
        let bus = try MemoryBus.logging("counter/a")
        let old = try client(bus, hello("gate"), will, #"{"op":"will","actions":[]}"#)
        #expect(try bus.connect().reply(to: hello("gate"))["resumed"] == false)
        old.close()
        #expect(bus.engine.nextDeadline == nil)
        // Nor does it wait.
        try client(bus, hello("door"), will, #"{"op":"will","actions":[]}"#).close()
        #expect(bus.engine.nextDeadline == nil)
    }

    /// A will takes memory once, whoever has it, until it has been carried out.
    @Test(arguments: [true, false]) func aWillIsCountedOnce(isGone: Bool) throws {
        let bus = try MemoryBus.logging("counter/a")
        let observer = bus.connect()
        let before = try accounted(observer)
        let old = try client(bus, hello("gate"), large)
        let size = try accounted(observer) - before
        #expect(size > 20_000)
        if isGone { old.close() }
        let new = try client(bus, hello("gate"))
        if !isGone { old.close() }
        let after = try accounted(observer) - before
        #expect(abs(after - size) < size / 4, "\(after) and not \(size)")
        new.close()
        bus.advance(milliseconds: 10_000)
        #expect(try accounted(observer) - before < size / 4)
    }

    /// So it does while its session waits and a daemon follows another.
    @Test(arguments: [true, false]) func aWillIsCountedAcrossAHandOver(comesBack: Bool) throws {
        let bus = try MemoryBus.logging("counter/a")
        let observer = bus.connect()
        let before = try accounted(observer)
        try client(bus, hello("gate"), large).close()
        let size = try accounted(observer) - before
        #expect(size > 20_000)
        try bus.restart()
        let waiting = try accounted(observer) - before
        #expect(waiting > size * 3 / 4, "\(waiting) and not \(size)")
        if comesBack {
            let new = try client(bus, hello("gate"))
            let after = try accounted(observer) - before
            #expect(abs(after - size) < size / 4, "\(after) and not \(size)")
            new.close()
        }
        bus.advance(milliseconds: 10_000)
        #expect(try accounted(observer) - before < size / 4)
        #expect(bus.engine.miscounts.isEmpty)
    }
}
