import BusLog
import TestStorage
import TestSupport
import Testing

/// One member's copy through many crashes, with a model of what has to be in it.
struct CopyHistory {
    private struct Written {
        let batch: Batch
        /// The text of the group that was appended with it; empty for none.
        let text: String
    }

    private let seed: Int
    private let mode: SyncMode
    private var generator: SeededGenerator
    private var disk = SimulatedDisk()
    /// All batches whose append returned and that may still be there, and perhaps one whose append did not return.
    private var written: [Written] = []
    /// How many of them are sure.
    private var sure = 0
    /// The place of the newest replica that is sure; -1 before the first.
    private var replica = -1
    private var boot = 0

    init(seed: Int, mode: SyncMode) {
        self.seed = seed
        self.mode = mode
        generator = SeededGenerator(seed: UInt64(seed))
    }

    mutating func runUntilPowerLoss() throws {
        disk.losePower(after: Int.random(in: 1...400, using: &generator))
        let outcome = Result { try work(steps: .max) }
        #expect(throws: LogFailure.self) { try outcome.get() }
        #expect(!disk.hasPower, "seed \(seed): \(outcome)")
        disk = disk.restarted(using: &generator)
        boot += 1
        try check()
    }

    mutating func runUntilKilled() throws {
        let file = try work(steps: Int.random(in: 1...60, using: &generator))
        sure = written.count
        let next = disk.killed()
        withExtendedLifetime(file) {}
        disk = next
        try check()
    }

    /// Opens the log and uses it, until it fails or the steps are done.
    @discardableResult
    private mutating func work(steps: Int) throws -> LogFile {
        let file = try LogFile(path: "log", sync: mode, bootID: "boot \(boot)", vfs: disk.name)
        file.checkpointPages = Int.random(in: 10...200, using: &generator)
        try file.becomeCopy(ofBus: "home", member: "kitchen")
        try file.begin(epoch: "e")
        sure = written.count
        var step = 0
        while step < steps {
            step += 1
            switch Int.random(in: 0..<20, using: &generator) {
            case 0, 1: try takeReplica(file)
            case 2:
                try file.sync()
                sure = written.count
            case 3: while try file.trimCopy(budget: 3) {}
            case 4:
                try file.remember(.proof, "\(step)")
                sure = written.count
            default: try append(file)
            }
            if mode == .always { #expect(file.sharedPlace() == reached, "seed \(seed)") }
        }
        return file
    }

    private var reached: Int { max(written.last?.batch.place ?? 0, replica) }

    private mutating func append(_ file: LogFile) throws {
        let place = (written.last?.batch.place ?? 0) + Int.random(in: 1...5, using: &generator)
        let size = generator.oneIn(10) ? 100_000 : Int.random(in: 0...9000, using: &generator)
        let batch = Batch(place, [UInt8](repeating: UInt8(truncatingIfNeeded: place), count: size))
        let text = generator.oneIn(3) ? "" : "{\"place\":\(place)}"
        written.append(Written(batch: batch, text: text))
        try file.append(batch, with: text)
        if mode == .always { sure = written.count }
    }

    private mutating func takeReplica(_ file: LogFile) throws {
        let newest = try LogReader(path: "log", vfs: disk.name).replicas().first ?? 0
        let place = Int.random(in: newest...max(newest, reached), using: &generator)
        try file.beginReplica(place: place)
        for part in 0..<3 {
            try file.addReplicaPart(LogFile.part(part, of: place))
            if part == 1 { try append(file) }
        }
        if generator.oneIn(4) { return file.cancelReplica() }
        try file.endReplica()
        (sure, replica) = (written.count, place)
    }

    /// Compares what is there with what has to be, and goes on from what is there.
    private mutating func check() throws {
        let file = try LogFile(path: "log", sync: mode, bootID: "boot \(boot)", vfs: disk.name)
        let reader = try LogReader(path: "log", vfs: disk.name)
        let replicas = try reader.replicas()
        #expect(replicas.first ?? -1 >= replica, "seed \(seed)")
        #expect(replicas.count <= 2, "seed \(seed)")
        for place in replicas {
            let wanted = (0..<3).flatMap { LogFile.part($0, of: place) }
            #expect(try reader.replica(place) == wanted, "seed \(seed)")
        }
        let begin = replicas.count == 2 ? replicas[1] : 0
        let there = try reader.batches(behind: begin)
        let expected = written.map(\.batch).filter { $0.place > begin }
        let before = written.count - expected.count
        #expect(there.count >= sure - before, "seed \(seed): \(there.count) of \(sure - before) batches")
        #expect(there == Array(expected.prefix(there.count)), "seed \(seed)")
        written = Array(written.prefix(before + there.count))
        sure = min(sure, written.count)
        replica = replicas.first ?? -1
        #expect(file.sharedPlace() == reached, "seed \(seed)")
        // Each batch with its group, and no group without its batch.
        let texts = written.map(\.text).filter { !$0.isEmpty }
        #expect(try reader.groups().map(\.entries) == texts, "seed \(seed)")
        #expect(file.lastRevision == texts.count, "seed \(seed)")
    }
}
