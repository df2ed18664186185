import BusEngine
import BusJSON
import BusMachine
import TestSupport
import Testing

/// Where the bus is cut: what a commit means does not depend on the daemon that stands in front of it.
struct SeamTests {
    /// The entries of a bus on which everything happened that a log can tell, one for each batch.
    private static func entries() throws -> (start: [UInt8], batches: [[UInt8]]) {
        let bus = try MemoryBus.withEveryEntry()
        let more = bus.connect(uid: 1001)
        try more.ask(#"{"op":"create","store":"counter/late","ephemeral":true}"#)
        try more.ask(#"{"op":"dispatch","type":"counter","action":"increment","key":"m"}"#)
        more.close()
        bus.advance(milliseconds: 5000)
        let log = try #require(bus.written)
        return (try #require(log.snapshotBytes[0]), log.groups.map(\.entries))
    }

    private static func machine(_ snapshot: [UInt8], seed: UInt64) throws -> StateMachine {
        let machine = StateMachine(replayingWith: [], epoch: "e", hashSeed: seed)
        try snapshot.withUnsafeBytes { try machine.restore($0) }
        return machine
    }

    /// A daemon in front of a machine: with little room for clients, a clock of its own, and clients that subscribe.
    private static func daemon(_ machine: StateMachine) -> Engine {
        var configuration = EngineConfiguration(epoch: "another", ownUID: 7, version: "test")
        configuration.limits.daemon.line = 4096
        configuration.limits.daemon.outbox = 4096
        configuration.limits.daemon.subscriptions = 2
        configuration.limits.daemon.memory = 1 << 40
        let engine = Engine(configuration, machine)
        engine.beginTurn(at: 4_000_000_000_000)
        for uid in 2000..<2010 {
            let id = engine.connect(.unix(uid: uid, pid: 1))
            let line = #"{"op":"subscribe","match":"*/*"}"# + "\n"
            Array(line.utf8).withUnsafeBytes { engine.receive(id, $0) }
        }
        return engine
    }

    @Test func theSameEntriesMakeTheSameBusBehindEveryDaemon() throws {
        let (start, batches) = try Self.entries()
        #expect(batches.count > 2)
        let alone = try Self.machine(start, seed: 1)
        let behind = try Self.machine(start, seed: 99)
        let engine = Self.daemon(behind)
        let (connections, subscribers) = (engine.connectionCount, engine.subscriberCount)
        #expect(connections == 10 && subscribers == 10)
        for entries in batches {
            for machine in [alone, behind] { try entries.withUnsafeBytes { try machine.replay($0) } }
            #expect(alone.revision == behind.revision)
            #expect(alone.time == behind.time)
            #expect(alone.stateDigest == behind.stateDigest)
            // Applying again makes no connection.
            #expect(engine.connectionCount == connections && engine.subscriberCount == subscribers)
        }
        #expect(try Self.records(of: alone) == Self.records(of: behind))
        #expect(alone.revision > 10)
    }

    /// States, drops, sessions, keys and their replies. Identities have other numbers where others were met before, so they
    /// stand there as what they are.
    private static func records(of machine: StateMachine) throws -> [JSONObject] {
        let bytes = machine.snapshot()
        let lines = withExtendedLifetime(bytes) { String(decoding: bytes.bytes, as: UTF8.self) }
        let records = try lines.split(separator: "\n").map { line in
            try #require(try JSON(parsing: Array(line.utf8)).object)
        }
        let identities = records.filter { $0["kind"] == "identity" }
        return records.filter { ["type", "session", "store", "drop", "key"].contains($0["kind"]?.string) }.map
        {
            var record = $0
            for member in ["creator", "identity"] {
                guard let number = record[member]?.int, number >= 0 else { continue }
                record[member] = .object(identities[number])
            }
            return record
        }
    }

    /// Whoever knows the seed of the hashes can choose names that collide: also behind a log it is this daemon's own.
    @Test func hashesAreSeededByTheDaemonAlsoBehindALog() throws {
        let bus = try MemoryBus.logging("counter/a")
        let client = bus.connect()
        try client.increment()
        #expect(bus.engine.hashSeed == MemoryBus.hashSeed)
        #expect(try bus.crash().engine.hashSeed == MemoryBus.hashSeed)
        bus.disk = .fails
        client.send(#"{"op":"dispatch","store":"counter/a","action":"increment"}"#)
        bus.settle()
        #expect(bus.engine.unavailableReason != nil)
        #expect(bus.engine.hashSeed == MemoryBus.hashSeed)
    }
}
