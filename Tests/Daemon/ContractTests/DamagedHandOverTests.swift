import BusEngine
import BusJSON
import BusMachine
import TestModes
import TestSupport
import Testing

/// What was handed over may be torn or altered; a daemon that begins must see it, and live on without it.
@Suite(.aloneOnly(because: "A hand-over of one machine is damaged.")) struct DamagedHandOverTests {
    /// A bus with something of every kind, and its bytes.
    private func richBus() throws -> (MemoryBus, [UInt8]) {
        let bus = try MemoryBus.withEveryRecord()
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
            let connections = try sealed.withUnsafeBytes { try StateTransfer.summary(of: $0).connections }
            #expect(try engine.exercise(connections) == connections)
        }
        #expect(taken > 20)
    }

    /// Numbers that no bus writes and that its arithmetic could not bear, or that mean a store of a view.
    @Test(arguments: [
        (#""every":3600000"#, #""every":0"#), (#""every":3600000"#, #""every":-1"#),
        (#""kind":"bus""#, #""kind":"bus","forgottenThrough":9223372036854775807"#),
        (#""creator":"#, #""creator":-3,"former":"#),
    ]) func impossibleNumbersAreRefused(number: String, instead: String) throws {
        var setup = MemoryBus.Setup()
        setup.definitions = [
            """
            type: clock
            initial: { strokes: 0 }
            actions:
              start: { timers: { hour: { every: 1h, action: strike } } }
              strike: { increment: { strokes: 1 } }
            """
        ]
        let bus = try MemoryBus(setup)
        let client = bus.connect(uid: 0)
        _ = try client.ask(#"{"op":"create","store":"clock/a"}"#)
        _ = try client.ask(#"{"op":"dispatch","store":"clock/a","action":"start"}"#)
        let bytes = bus.handedOver()
        let (end, records) = try end(of: bytes)
        func sealed(_ text: String) -> [UInt8] {
            Array(text.utf8).withUnsafeBytes { StateTransfer.sealed($0, records: records) }
        }
        let text = String(decoding: bytes[..<end], as: UTF8.self)
        #expect(text.contains(number), "\(text)")
        #expect(try !isRefused(sealed(text), by: bus))
        #expect(try isRefused(sealed(text.replacing(number, with: instead)), by: bus))
    }
}
