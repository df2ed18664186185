import BusEngine
import BusJSON
import BusMachine
import TestSupport
import Testing

/// What was handed over may be torn or altered; a daemon that begins must see it, and live on without it.
@Suite struct DamagedHandOverTests {
    /// A bus with something of every kind, and its bytes.
    private func richBus() throws -> (MemoryBus, [UInt8]) {
        var setup = MemoryBus.Setup()
        setup.limits.daemon.outbox = 4096
        setup.stores = ["counter/a", "counter/b", "door/front"]
        setup.tokens = ["secret": "laptop"]
        let bus = try MemoryBus(setup)
        let (client, slow, remote) = (
            bus.connect(uid: 0), bus.connect(), bus.connect(.tcp(address: "[::1]:9"))
        )
        try remote.ask(#"{"op":"hello","token":"secret"}"#)
        try client.ask(#"{"op":"create","store":"counter/mine","ephemeral":true}"#)
        try client.ask(#"{"op":"will","actions":[{"store":"counter/a","action":"increment"}]}"#)
        try client.ask(#"{"op":"dispatch","type":"counter","action":"increment","key":"k"}"#)
        try client.ask(#"{"op":"create","store":"counter/gone"}"#)
        try client.ask(#"{"op":"drop","store":"counter/gone"}"#)
        try slow.ask(#"{"op":"subscribe","match":"counter/*","select":["/count"],"format":"patch"}"#)
        try remote.ask(#"{"op":"subscribe","store":"door/front","actions":true}"#)
        slow.isReading = false
        for _ in 0..<60 { try client.increment() }
        slow.send(#"{"op":"ping"}"#)
        client.send(bytes: Array(#"{"op":"pi"#.utf8))
        return (bus, bus.handedOver())
    }

    /// Where the last record begins, and how many there are before it.
    private func end(of bytes: [UInt8]) throws -> (place: Int, records: Int) {
        let place = try #require(bytes.dropLast().lastIndex(of: 10)) + 1
        let record = try JSON(parsing: String(decoding: bytes[place...], as: UTF8.self))
        return (place, try #require(record["records"]?.int))
    }

    private func isRefused(_ bytes: [UInt8], by bus: MemoryBus) throws -> Bool {
        do {
            _ = try bus.follower(of: bytes)
            return false
        } catch is TransferFailure {
            return true
        }
    }

    @Test func wholeOneIsTakenOver() throws {
        let (bus, bytes) = try richBus()
        #expect(try !isRefused(bytes, by: bus))
    }

    @Test func tornOneIsRefusedWhereverItIsCut() throws {
        let (bus, bytes) = try richBus()
        // Every cut near the ends of records and one in seven of all others: each costs a new engine.
        for cut in bytes.indices where cut % 7 == 0 || bytes[max(0, cut - 1)] == 10 || bytes[cut] == 10 {
            #expect(try isRefused(Array(bytes[..<cut]), by: bus), "cut at \(cut)")
        }
        #expect(try isRefused(bytes + bytes, by: bus))
    }

    @Test(arguments: [1 as UInt64, 2, 3]) func flippedBitsAreSeen(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let (bus, bytes) = try richBus()
        for _ in 0..<400 {
            var damaged = bytes
            let place = damaged.indices.randomElement(using: &random) ?? 0
            damaged[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
            #expect(try isRefused(damaged, by: bus), "seed \(seed), byte \(place)")
        }
    }

    /// Bytes that are whole but say something else, as a mistake of another version might: refused, or a bus that works.
    @Test(arguments: [11 as UInt64, 12, 13]) func alteredOneIsRefusedOrHarmless(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let (bus, bytes) = try richBus()
        let (end, records) = try end(of: bytes)
        var taken = 0
        for _ in 0..<400 {
            var altered = Array(bytes[..<end])
            for _ in 0...Int.random(in: 0..<3, using: &random) {
                let place = altered.indices.randomElement(using: &random) ?? 0
                // Mostly digits: they stay numbers, and mean something else.
                let isDigit = (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(altered[place])
                altered[place] =
                    isDigit
                    ? UInt8(ascii: "0") + UInt8.random(in: 0..<10, using: &random)
                    : altered[place] ^ (1 << UInt8.random(in: 0..<8, using: &random))
            }
            let sealed = altered.withUnsafeBytes { StateTransfer.sealed($0, records: records) }
            guard let engine = try? bus.follower(of: sealed) else { continue }
            taken += 1
            try exercise(engine, sealed)
        }
        #expect(taken > 20)
    }

    /// Uses everything that was taken over, to its end.
    private func exercise(_ engine: Engine, _ bytes: [UInt8]) throws {
        let connections = try bytes.withUnsafeBytes { try StateTransfer.summary(of: $0).connections }
        let lines =
            #"{"op":"dispatch","type":"counter","action":"increment"}"# + "\n" + #"{"op":"sync"}"# + "\n"
        let pieces = UnsafeMutableBufferPointer<OutputPiece>.allocate(capacity: 16)
        defer { pieces.deallocate() }
        for _ in 0..<3 {
            engine.tick()
            for id in connections {
                if case .reading = engine.status(of: id) {
                    Array(lines.utf8).withUnsafeBytes { engine.receive(id, $0) }
                }
                while engine.hasOutput(id) {
                    let filled = engine.output(of: id, into: pieces)
                    engine.sent(id, pieces.prefix(filled).reduce(0) { $0 + $1.count })
                }
            }
            engine.takeReady { _ in }
        }
        // It can be handed on, and everybody can go.
        let next = engine.handOver()
        let summary = try withExtendedLifetime(next) { try StateTransfer.summary(of: next.bytes) }
        #expect(summary.connections == connections)
        for id in connections { engine.disconnect(id) }
    }
}
