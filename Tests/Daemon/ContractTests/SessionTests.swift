import BusEngine
import BusJSON
import BusMachine
import TestModes
import TestSupport
import Testing

/// What a client leaves behind has a number that is never used again, in the log and from daemon to daemon.
@Suite(.inBothModes) struct SessionTests {
    private static let ephemeral = #"{"op":"create","store":"counter/mine","ephemeral":true}"#
    private static let will = #"{"op":"will","actions":[{"store":"counter/a","action":"increment"}]}"#

    @Test(.aloneOnly(because: "A member of a shared bus hands nothing over."))
    func numbersAreNeverUsedAgain() throws {
        var bus = try MemoryBus.logging("counter/a")
        for round in 0..<6 {
            let client = bus.connect()
            try client.ask(Self.ephemeral)
            client.close()
            if round == 2 { try bus.restart() }
            if round == 4 { bus = try bus.crash() }
        }
        let log = try #require(bus.written)
        let numbers = try log.lines.compactMap { line in
            try JSON(parsing: Array(line.utf8))["connection"]?.int
        }
        #expect(numbers.count == 6)
        #expect(Set(numbers).count == 6, "\(numbers)")
    }

    /// The records of a bus with one client, which has a will and a store of its own.
    private static func records() throws -> (bus: MemoryBus, records: [JSONObject]) {
        let bus = try MemoryBus(
            {
                var setup = MemoryBus.Setup()
                setup.stores = ["counter/a"]
                return setup
            }())
        // Numbers of connections and of sessions are not the same.
        bus.connect().close()
        let first = bus.connect()
        try first.ask(#"{"op":"create","store":"counter/first","ephemeral":true}"#)
        first.close()
        let client = bus.connect()
        try client.ask(Self.ephemeral)
        try client.ask(Self.will)
        let lines = bus.handedOver().split(separator: 10).dropLast()
        return (bus, try lines.map { try #require(try JSON(parsing: Array($0)).object) })
    }

    private static func bytes(of records: [JSONObject]) -> [UInt8] {
        let text = records.map { $0.encoded + "\n" }.joined()
        return Array(text.utf8).withUnsafeBytes { StateTransfer.sealed($0, records: records.count) }
    }

    private func expectEnd(of connection: Int, in engine: Engine) {
        #expect(engine.state(at: "counter/mine") != nil)
        #expect(engine.state(at: "counter/a")?["count"] == 0)
        engine.disconnect(connection)
        engine.sessions.finishEnds()
        #expect(engine.state(at: "counter/mine") == nil)
        #expect(engine.state(at: "counter/a")?["count"] == 1)
    }

    @Test(.aloneOnly(because: "A member of a shared bus hands nothing over."))
    func handOverKeepsWhatClientsLeaveBehind() throws {
        let (bus, records) = try Self.records()
        let connection = try #require(records.first { $0["kind"] == "connection" })
        let engine = try bus.follower(of: Self.bytes(of: records))
        expectEnd(of: try #require(connection["id"]?.int), in: engine)
    }

    /// In form 1 connections were sessions, and had wills: a daemon of then may be followed by one of now.
    @Test(.aloneOnly(because: "A member of a shared bus hands nothing over."))
    func handOverOfFormOneIsUnderstood() throws {
        let (bus, records) = try Self.records()
        let session = try #require(records.first { $0["kind"] == "session" })
        let connection = try #require(records.first { $0["kind"] == "connection" }?["id"])
        #expect(session["connection"] != connection)
        let old = records.filter { $0["kind"] != "session" }.map { record in
            var record = record
            if record["kind"] == "bus" {
                record["form"] = 1
                record["nextSession"] = nil
            }
            if record["kind"] == "connection" {
                record["session"] = nil
                record["will"] = session["will"]
            }
            if record["owner"] != nil { record["owner"] = connection }
            return record
        }
        let engine = try bus.follower(of: Self.bytes(of: old))
        expectEnd(of: try #require(connection.int), in: engine)
    }

    @Test(
        .aloneOnly(because: "A member of a shared bus hands nothing over."),
        arguments: ["nextSession", "session"], [-1, Int.max])
    func numbersThatNoDaemonGivesAreRefused(member: String, number: Int) throws {
        let (bus, records) = try Self.records()
        let altered = records.map { record in
            var record = record
            if record[member] != nil { record[member] = .int(number) }
            return record
        }
        #expect(altered != records)
        #expect(throws: TransferFailure.self) { try bus.follower(of: Self.bytes(of: altered)) }
    }
}
