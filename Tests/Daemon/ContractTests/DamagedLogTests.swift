import BusEngine
import BusHistory
import BusJSON
import BusMachine
import TestModes
import TestSupport
import Testing

/// Whatever stands in a log, carrying it out ends in an engine or in a sentence, never in a trap.
@Suite(.aloneOnly(because: "The log of one machine is damaged.")) struct DamagedLogTests {
    /// A log with an entry of every kind, in few groups.
    private func log() throws -> (MemoryBus, MemoryLog) {
        let bus = try MemoryBus.withEveryEntry()
        return (bus, try #require(bus.written))
    }

    /// True if the entries could be carried out; then what came of them works to its end.
    private func isCarriedOut(_ entries: [UInt8], from snapshot: Int, of log: MemoryLog, by bus: MemoryBus)
        throws -> Bool
    {
        let machine = try bus.replay().restored(snapshot, from: log)
        do {
            try entries.withUnsafeBytes { try machine.replay($0) }
        } catch is ReplayFailure {
            return false
        }
        let again = machine.snapshot()
        let copy = StateMachine(replayingWith: [], epoch: "e", hashSeed: 1)
        // A definition that was altered may not be one any more; everything else must come back.
        _ = try? withExtendedLifetime(again) { try copy.restore(again.bytes) }
        let engine = Engine(EngineConfiguration(epoch: "e", ownUID: 0, version: "test"), machine)
        engine.beginLogging()
        engine.sessions.endOrphaned()
        _ = engine.stateDigest
        return true
    }

    private func altered(_ bytes: [UInt8], _ random: inout SeededGenerator) -> [UInt8] {
        var bytes = bytes
        for _ in 0...Int.random(in: 0..<3, using: &random) {
            let place = bytes.indices.randomElement(using: &random) ?? 0
            let isDigit = (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(bytes[place])
            switch Int.random(in: 0..<6, using: &random) {
            case 0 where isDigit: bytes.insert(contentsOf: Array("99999999999999999".utf8), at: place)
            case 1 where isDigit: bytes.insert(UInt8(ascii: "-"), at: place)
            case 2: bytes.remove(at: place)
            case 3:
                // A piece of it once more, somewhere else: mostly still JSON when it is whole lines.
                let lines = bytes.split(separator: 10)
                if let line = lines.randomElement(using: &random) { bytes += [10] + Array(line) }
            default:
                bytes[place] =
                    isDigit
                    ? UInt8(ascii: "0") + UInt8.random(in: 0..<10, using: &random)
                    : bytes[place] ^ (1 << UInt8.random(in: 0..<8, using: &random))
            }
        }
        return bytes
    }

    @Test(arguments: Seeds.some(6)) func alteredEntriesAreRefusedOrHarmless(seed: Int) throws {
        var random = SeededGenerator(seed: UInt64(seed))
        let (bus, log) = try log()
        let entries = Array(log.groups.map(\.entries).joined(separator: [10]))
        #expect(try isCarriedOut(entries, from: 0, of: log, by: bus))
        var carriedOut = 0
        for _ in 0..<150 {
            if try isCarriedOut(altered(entries, &random), from: 0, of: log, by: bus) { carriedOut += 1 }
        }
        #expect(carriedOut < 150)
    }

    /// What becomes of entries: the bus that they make, or why they don't, and how many were read in place.
    private func outcome(_ entries: [UInt8], of log: MemoryLog, by bus: MemoryBus) throws -> (String, Int) {
        let machine = try bus.replay().restored(0, from: log)
        var end = ""
        do {
            try entries.withUnsafeBytes { try machine.replay($0) }
        } catch let failure as ReplayFailure {
            end = "\(failure.revision) \(failure.message)"
        }
        let snapshot = machine.snapshot()
        return withExtendedLifetime(snapshot) {
            (end + String(decoding: snapshot.bytes, as: UTF8.self), machine.entriesReadInPlace)
        }
    }

    /// An entry that is read in place does what the same one does that is read as a value, for which a space before it is enough.
    @Test(arguments: Seeds.some(5)) func entriesInPlaceDoWhatValuesDo(seed: Int) throws {
        var random = SeededGenerator(seed: UInt64(seed))
        let (bus, log) = try log()
        let entries = Array(log.groups.map(\.entries).joined(separator: [10]))
        var inPlace = 0
        for round in 0..<60 {
            let entries = round == 0 ? entries : altered(entries, &random)
            let lines = entries.split(separator: 10, omittingEmptySubsequences: false)
            let spaced = Array(lines.map { [32] + $0 }.joined(separator: [10]))
            let (one, read) = try outcome(entries, of: log, by: bus)
            let (other, none) = try outcome(spaced, of: log, by: bus)
            #expect(one == other, "\(String(decoding: entries, as: UTF8.self))")
            #expect(none == 0)
            inPlace += read
        }
        #expect(inPlace > 100)
    }

    private static let head = #""time":1795000000.0,"by":{"uid":1},"actions":["#

    /// What no daemon writes, and an altered one might hold.
    @Test(arguments: [
        "", "5", "[]", "{", #"{"revision":3}"#, #"{"revision":4,\#(head)]}"#, #"{"revision":-3,\#(head)]}"#,
        #"{"revision":3,"times":0,\#(head)]}"#, #"{"revision":3,"times":-1,\#(head)]}"#,
        #"{"revision":3,"times":9223372036854775807,\#(head)]}"#,
        #"{"revision":9223372036854775807,\#(head)]}"#,
        #"{"revision":"3",\#(head)]}"#, #"{"revision":3,"time":1e300,"by":{"uid":1},"actions":[]}"#,
        #"{"revision":3,"time":-5,"by":{"uid":1},"actions":[]}"#,
        #"{"revision":3,"time":1,"by":{},"actions":[]}"#,
        #"{"revision":3,\#(head)5]}"#, #"{"revision":3,\#(head){"type":"none","action":"x","payload":{}}]}"#,
        #"{"revision":3,\#(head){"store":"counter/a","action":"increment","payload":{"by":"x"}}]}"#,
        #"{"revision":3,\#(head)],"created":{"counter/a":{}}}"#,
        #"{"revision":3,\#(head)],"created":{"none/a":{}}}"#,
        #"{"revision":3,\#(head)],"created":{"counter/n":{}},"connection":9223372036854775807}"#,
        #"{"revision":3,\#(head)],"created":{"counter/n":{}},"connection":-7}"#,
        #"{"revision":3,\#(head)],"created":{"counter/n":5}}"#,
        #"{"revision":3,\#(head)],"dropped":["counter/x"]}"#,
        #"{"revision":3,\#(head)],"dropped":["counter/a","counter/a"]}"#,
        #"{"revision":3,\#(head)],"dropped":[5]}"#,
        #"{"revision":3,\#(head)],"states":{"counter/x":{}}}"#,
        #"{"revision":3,\#(head){"store":"counter/a","action":"increment","payload":{"by":1}}],"states":{"counter/a":{}}}"#,
        #"{"revision":3,\#(head)],"undefined":["counter"]}"#, #"{"revision":3,\#(head)],"definitions":[{}]}"#,
        #"{"revision":3,\#(head)],"key":"k","digest":"x"}"#, #"{"revision":3,\#(head)],"key":"k"}"#,
        #"{"revision":3,"times":2,\#(head)],"ended":4}"#, #"{"will":[]}"#, #"{"will":[],"connection":0}"#,
        #"{"will":[],"connection":-1,"by":{"uid":1}}"#,
        #"{"will":[],"connection":99999999999999999,"by":{"uid":1}}"#, "{}",
    ])
    func entryThatNoDaemonWritesIsRefused(_ entry: String) throws {
        let bus = try MemoryBus.logging("counter/a", "counter/b")
        let engine = try bus.past(at: 2)
        #expect(throws: ReplayFailure.self) {
            try Array((entry + "\n" + entry).utf8).withUnsafeBytes { try engine.replay($0) }
        }
    }

    /// Deep as a state or a line may be, and as long.
    @Test func deepAndLongPayloadsComeBack() throws {
        let bus = try MemoryBus.logging("value/v") { $0.limits.daemon.depth = 512 }
        let client = bus.connect()
        let deep = String(repeating: "[", count: 200) + String(repeating: "]", count: 200)
        let long = #""\#(String(repeating: "x\\u0000", count: 60_000))""#
        for value in [deep, long] {
            let line = #"{"op":"dispatch","store":"value/v","action":"set","payload":{"value":\#(value)}}"#
            _ = try client.reply(to: line)
            #expect(try bus.crash().engine.stateDigest == bus.engine.stateDigest)
        }
        #expect(bus.engine.revision >= 2)
    }

    @Test(arguments: Seeds.some(4)) func alteredSnapshotsAreRefusedOrHarmless(seed: Int) throws {
        var random = SeededGenerator(seed: UInt64(seed))
        let (bus, log) = try log()
        log.takeSnapshot(try bus.past(at: 9))
        let bytes = try log.snapshot(9)
        let end = try #require(bytes.dropLast().lastIndex(of: 10)) + 1
        let records = try #require(try JSON(parsing: Array(bytes[end...]))["records"]?.int)
        for _ in 0..<150 {
            let changed = altered(Array(bytes[..<end]), &random)
            log.snapshotBytes[9] = changed.withUnsafeBytes { StateTransfer.sealed($0, records: records) }
            guard let machine = try? bus.replay().restored(9, from: log) else { continue }
            let engine = Engine(EngineConfiguration(epoch: "e", ownUID: 0, version: "test"), machine)
            engine.beginLogging()
            engine.sessions.endOrphaned()
            _ = engine.snapshot()
        }
        // Unsealed, every alteration is seen, and an older snapshot serves.
        log.snapshotBytes[9] = Array(bytes.dropLast(3))
        #expect(throws: PastFailure.self) { try bus.replay().restored(9, from: log) }
        #expect(try bus.past(at: 10).revision == 10)
    }

    /// Random members and values for the ops that ask the log: one reply each, and the bus lives.
    @Test(arguments: Seeds.some(8)) func anyQuestionGetsOneReply(seed: Int) throws {
        var random = SeededGenerator(seed: UInt64(seed))
        let (bus, _) = try log()
        let client = bus.connect(uid: 0)
        let members = [
            "since", "until", "limit", "type", "store", "revision", "ifRevision", "match", "select", "after",
        ]
        let values: [JSON] = [
            0, 1, 7, -1, 12, 1000, 1001, .int(.max), .int(.min), 1.5, .null, "", "counter", "counter/a",
            "counter/*", "*",
            "*/*", "/", [], ["/count"], [5], [:],
        ]
        for index in 0..<200 {
            var request: JSONObject = ["id": .int(index)]
            request["op"] = ["history", "get", "types", "revert"].randomElement(using: &random) ?? "get"
            for _ in 0..<Int.random(in: 0..<4, using: &random) {
                let member = members.randomElement(using: &random) ?? "since"
                request[member] = values.randomElement(using: &random) ?? 0
            }
            let replies = try client.ask(request.encoded)
            #expect(replies.count == 1 && replies[0]["id"] == .int(index), "\(request.encoded): \(replies)")
        }
        #expect(try bus.isWhatTheLogSays())
    }
}
