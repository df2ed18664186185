import BusLog
import TestSupport
import Testing

/// A member's copy in which something is not as it was written: nothing wrong is given out, and what can't be used any
/// more says so.
@Suite struct SharedCopyDamageTests {
    /// Sixty batches, each with a group, and replicas of 20 and 40.
    private static func write(_ directory: Scratch) throws {
        let file = try directory.openCopy()
        for place in 1...60 {
            try file.append(batch(place), with: "{\"revision\":\(place)}")
            if place == 20 || place == 40 { try file.replica(place) }
        }
        while try file.trimCopy(budget: 1000) {}
        try file.remember(.proof, "00")
        try file.close()
    }

    private static func batch(_ place: Int) -> Batch {
        Batch(place, [UInt8](repeating: UInt8(place), count: place * 97 % 3000))
    }

    private static let last = (21...60).map(batch)

    /// What a reader gives is what was written, or it throws; whichever is asked for.
    private static func check(_ directory: Scratch, _ what: String) throws {
        let reader = try directory.reader()
        func value<Value>(_ body: () throws(LogFailure) -> Value) -> Value? {
            do throws(LogFailure) { return try body() } catch {
                #expect([.damaged, .lost].contains(error.kind), "\(what): \(error)")
                return nil
            }
        }
        for place in value(reader.replicas) ?? [] {
            guard let found = value({ () throws(LogFailure) in try reader.replica(place) }) else { continue }
            #expect(found == (0..<3).flatMap { LogFile.part($0, of: place) }, "\(what)")
        }
        var seen: [Batch] = []
        _ = value { () throws(LogFailure) in
            try reader.forEachSharedBatch(behind: 20, through: .max) { place, bytes throws(LogFailure) in
                seen.append(Batch(place, Array(bytes)))
            }
        }
        #expect(seen == Array(last.prefix(seen.count)), "\(what)")
    }

    /// What a start meets that reads all it can need.
    private static func failure(_ directory: Scratch) throws -> LogFailure? {
        let reader = try directory.reader()
        return #expect(throws: LogFailure.self) {
            let replicas = try reader.replicas()
            for place in replicas { _ = try reader.replica(place) }
            _ = try reader.batches(behind: replicas.last ?? 0)
        }
    }

    @Test func wholeCopyIsOpenedAsItIs() throws {
        let directory = Scratch()
        try Self.write(directory)
        let whole = directory.bytes
        let file = try directory.open()
        #expect(file.notices.isEmpty)
        #expect(directory.bytes == whole)
        #expect(try directory.reader().batches(behind: 20) == Self.last)
    }

    /// Batches that the newest replica needs: all that was committed stays, and the copy says that it is not to be used.
    @Test(arguments: [
        "UPDATE shared_entries SET entries = zeroblob(length(entries)) WHERE place = 50",
        "UPDATE shared_entries SET before = 48 WHERE place = 50",
        "UPDATE shared_entries SET digest = (SELECT digest FROM shared_entries WHERE place = 49) WHERE place = 50",
        "UPDATE shared_entries SET place = 1000 WHERE place = 50",
        "UPDATE shared_entries SET place = 9223372036854775807, before = 9223372036854775806 WHERE place = 50",
        "DELETE FROM shared_entries WHERE place = 50",
        "DELETE FROM shared_entries WHERE place = 41",
        "UPDATE replicas SET bytes = zeroblob(length(bytes)) WHERE part = 1",
        "DELETE FROM replicas WHERE part = 2",
        "DELETE FROM replica_ends",
        "UPDATE replica_ends SET parts = 9223372036854775807",
        "UPDATE replica_ends SET place = place + 1, parts = 'many', bytes = -1",
        "DROP TABLE shared_entries",
        "ALTER TABLE replicas RENAME COLUMN bytes TO other",
    ])
    func damagedCopyIsToBeDiscarded(_ change: String) throws {
        let directory = Scratch()
        try Self.write(directory)
        try directory.query(change)
        #expect(try Self.failure(directory)?.kind == .damaged)
        try Self.check(directory, change)
        let file = try directory.open()
        #expect(file.copyOf?.bus == "home")
        #expect(try file.recall(.discard)?.contains("another member") == true)
        #expect(try file.recall(.proof) == "00")
        #expect(file.notices.first?.contains("no commit is lost") == true)
        #expect(file.notices.last?.contains("another member") == true)
        #expect(file.lastRevision == 60)
        #expect(!file.mayHaveLost)
        // It stays a log that can be written.
        try file.begin(epoch: "e")
        try file.replica(70)
        try file.append(Batch(71, "next"), with: "{}")
        #expect(try directory.reader().batches(behind: 70) == [Batch(71, "next")])
        #expect(directory.names.contains("bus.sqlite-damaged-1"))
    }

    @Test func olderReplicaStandsInForADamagedOne() throws {
        let directory = Scratch()
        try Self.write(directory)
        try directory.query("UPDATE replicas SET bytes = x'00' WHERE place = 40 AND part = 1")
        let file = try directory.open()
        #expect(file.notices.first?.contains("no commit is lost") == true)
        #expect(try file.recall(.discard) == nil)
        #expect(file.sharedPlace() == 60)
        #expect(try directory.reader().replicas() == [20])
        #expect(try directory.reader().replica(20) == (0..<3).flatMap { LogFile.part($0, of: 20) })
        #expect(try directory.reader().batches(behind: 20) == Self.last)
    }

    /// The next one takes the place of a row that can't be read.
    @Test func replicaReplacesOneThatCannotBeRead() throws {
        let directory = Scratch()
        try Self.write(directory)
        try directory.query("UPDATE replica_ends SET parts = -1 WHERE place = 40")
        let file = try directory.open()
        #expect(try directory.reader().replicas() == [20])
        #expect(file.sharedPlace() == 60)
        try file.begin(epoch: "e")
        try file.replica(40)
        #expect(try directory.reader().replicas() == [40, 20])
        #expect(try directory.reader().replica(40) == (0..<3).flatMap { LogFile.part($0, of: 40) })
    }

    /// What the newest replica stands for is not needed, so a start does not read it; who does is told.
    @Test func damageBeforeTheNewestReplicaCostsOnlyTheOlder() throws {
        let directory = Scratch()
        try Self.write(directory)
        try directory.query("UPDATE shared_entries SET entries = x'00' WHERE place = 30")
        let file = try directory.open()
        #expect(file.notices.isEmpty)
        #expect(try Self.failure(directory)?.kind == .damaged)
        #expect(try directory.reader().batches(behind: 40).map(\.place) == Array(41...60))
        withExtendedLifetime(file) {}
    }

    /// Damage elsewhere in the log: what can be read is copied, and the copy of the shared log with it.
    @Test func copySurvivesDamageElsewhere() throws {
        let directory = Scratch()
        try Self.write(directory)
        try directory.query("UPDATE groups SET entries = '{}' WHERE first = 50")
        let file = try directory.open()
        #expect(file.lastRevision == 49)
        #expect(file.mayHaveLost)
        #expect(file.copyOf?.member == "kitchen")
        #expect(try file.recall(.discard) == nil)
        #expect(file.sharedPlace() == 60)
        let reader = try directory.reader()
        #expect(try reader.replicas() == [40, 20])
        #expect(try reader.batches(behind: 20) == Self.last)
    }

    /// A seeded run over bits of the whole file.
    @Test func flippedBitsAreNeverGivenOut() throws {
        let directory = Scratch()
        try Self.write(directory)
        let whole = directory.bytes
        var generator = SeededGenerator(seed: 8)
        var outcomes = (unharmed: 0, rescued: 0, discarded: 0, refused: 0)
        for _ in 0..<150 {
            directory.removeAll()
            let place = Int.random(in: 0..<whole.count, using: &generator)
            var damaged = whole
            damaged[place] ^= 1 << UInt8.random(in: 0..<8, using: &generator)
            directory.bytes = damaged
            do throws(LogFailure) {
                let file = try directory.open()
                let isDiscarded = try file.recall(.discard) != nil
                if file.notices.isEmpty {
                    outcomes.unharmed += 1
                } else if isDiscarded {
                    outcomes.discarded += 1
                } else {
                    outcomes.rescued += 1
                }
                #expect(
                    file.sharedPlace() == 60 || isDiscarded || file.mayHaveLost,
                    "byte \(place): lost without a word")
                #expect(throws: Never.self) { try Self.check(directory, "byte \(place)") }
            } catch {
                outcomes.refused += 1
                #expect(
                    [.damaged, .notALog, .newerForm, .io].contains(error.kind), "byte \(place): \(error)")
            }
        }
        #expect(outcomes.discarded > 20 && outcomes.unharmed > 20 && outcomes.refused < 25, "\(outcomes)")
    }

    // MARK: - Restoring

    @Test(arguments: [
        "SELECT 1", "UPDATE shared_entries SET entries = x'00'", "DROP TABLE replicas",
        "DELETE FROM meta WHERE name = 'bus'",
    ])
    func restoredLogIsALocalBus(_ change: String) throws {
        let directory = Scratch()
        try Self.write(directory)
        try directory.query(change)
        let place = Scratch()
        let outcome = try LogRestore.restore(directory.path, to: place.path, epoch: "f") {
            _ throws(LogFailure) in
        }
        #expect(outcome.revision == 60)
        let file = try place.open()
        #expect(file.copyOf == nil)
        #expect(file.epoch == "f")
        #expect(file.lastRevision == 60)
        #expect(try file.recall(.proof) == nil)
        let names = "('shared_entries', 'replicas', 'replica_ends')"
        #expect(try place.query("SELECT name FROM sqlite_schema WHERE tbl_name IN \(names)") == "")
        #expect(try place.query("SELECT name FROM meta ORDER BY name") == "begun\nboot\nclean\nepoch\nsync\n")
        #expect(try place.query("PRAGMA integrity_check") == "ok\n")
    }
}
