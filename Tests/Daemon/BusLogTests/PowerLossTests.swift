import BusLog
import TestStorage
import TestSupport
import Testing

/// What is promised for the time after a crash, tried at random moments on a disk that keeps only what was synced, and of
/// the rest any sectors. A failure names its seed.
@Suite struct PowerLossTests {
    @Test(arguments: [false, true], 0..<60)
    func syncedAppendsSurviveEveryPowerLoss(_ usesTail: Bool, _ seed: Int) throws {
        var history = History(seed: seed, mode: .always, usesTail: usesTail)
        for _ in 0..<5 { try history.runUntilPowerLoss() }
    }

    @Test(arguments: 0..<60)
    func everythingUpToTheLastSyncSurvives(_ seed: Int) throws {
        var history = History(seed: 1000 + seed, mode: .interval)
        for _ in 0..<5 { try history.runUntilPowerLoss() }
    }

    @Test(arguments: 0..<40)
    func whatWasNeverSyncedIsStillABeginning(_ seed: Int) throws {
        var history = History(seed: 2000 + seed, mode: .never)
        for _ in 0..<5 { try history.runUntilPowerLoss() }
    }

    /// The machine goes on, so all that was written is there, synced or not.
    @Test(arguments: [SyncMode.always, .interval, .never], 0..<20)
    func killedDaemonLosesNothing(_ mode: SyncMode, _ seed: Int) throws {
        var history = History(seed: 3000 + seed, mode: mode, usesTail: seed % 2 == 0)
        for _ in 0..<5 { try history.runUntilKilled() }
    }

    /// What a killed run had not synced is with the kernel only. The next one answers for it from its beginning on, also
    /// when what it notes of itself is what stood there already.
    @Test(arguments: 0..<10)
    func beginMakesEarlierRunsDurable(_ seed: Int) throws {
        var generator = SeededGenerator(seed: UInt64(seed))
        let first = SimulatedDisk()
        let run = try LogFile(path: "log", sync: .interval, bootID: "boot", vfs: first.name)
        try run.begin(epoch: "e")
        for revision in 1...5 { try run.append("{}", first: revision, last: revision, time: 1) }
        let second = first.killed()
        let next = try LogFile(path: "log", sync: .interval, bootID: "boot", vfs: second.name)
        try next.begin(epoch: "e")
        let third = second.restarted(using: &generator)
        let last = try LogFile(path: "log", sync: .interval, bootID: "boot", vfs: third.name)
        #expect(last.lastRevision == 5)
    }
}

/// One log through many crashes, with a model of what has to be in it.
struct History {
    private let seed: Int
    private let mode: SyncMode
    private let usesTail: Bool
    private var generator: SeededGenerator
    private var disk = SimulatedDisk()
    /// All groups whose append returned and that may still be there, and perhaps one whose append did not return.
    private var groups: [Copy] = []
    /// How many of them are sure.
    private var sure = 0
    private var boot = 0
    private var hasBegun = false
    private var retention = Retention(age: .max, bytes: .max)

    init(seed: Int, mode: SyncMode, usesTail: Bool = false) {
        self.seed = seed
        self.mode = mode
        self.usesTail = usesTail
        generator = SeededGenerator(seed: UInt64(seed))
    }

    mutating func runUntilPowerLoss() throws {
        disk.losePower(after: Int.random(in: 1...400, using: &generator))
        let outcome = Result { try work(steps: .max) }
        #expect(throws: LogFailure.self) { try outcome.get() }
        #expect(!disk.hasPower, "seed \(seed): \(outcome)")
        disk = disk.restarted(using: &generator)
        boot += 1
        // Where `begin` did not return, it may have been done all the same.
        try check(lost: mode == .always ? false : hasBegun ? true : nil)
    }

    mutating func runUntilKilled() throws {
        let file = try work(steps: Int.random(in: 1...60, using: &generator))
        sure = groups.count
        let next = disk.killed()
        withExtendedLifetime(file) {}
        disk = next
        try check(lost: false)
    }

    /// Opens the log and uses it, until it fails or the steps are done.
    @discardableResult
    private mutating func work(steps: Int) throws -> LogFile {
        let file = try LogFile(path: "log", sync: mode, bootID: "boot \(boot)", vfs: disk.name)
        file.checkpointPages = Int.random(in: 10...200, using: &generator)
        try file.begin(epoch: "e")
        hasBegun = true
        sure = groups.count
        if usesTail { try file.useTail() }
        var step = 0
        while step < steps {
            step += 1
            switch Int.random(in: 0..<20, using: &generator) {
            case 0: try snapshot(file)
            case 1:
                try file.sync()
                sure = groups.count
            case 2:
                let newest = file.lastRevision
                retention.bytes = Int.random(in: 0...max(1, 5000 * newest), using: &generator)
                while try file.trim(retention, now: 0, budget: 5) {}
                if generator.oneIn(3) { while try file.compact() {} }
            case 3:
                try file.probe()
                sure = groups.count
            case 4:
                try file.settle()
            default: try append(file)
            }
        }
        return file
    }

    private mutating func append(_ file: LogFile) throws {
        let count = Int.random(in: 0...3, using: &generator)
        let size = generator.oneIn(10) ? 100_000 : Int.random(in: 0...9000, using: &generator)
        let first = file.lastRevision + 1
        let text = "{\"first\":\(first)}" + Self.padding(size)
        groups.append(Copy(first..<first + count, size, text))
        try file.append(text, first: first, last: first + count - 1, time: size)
        if mode == .always { sure = groups.count }
    }

    private mutating func snapshot(_ file: LogFile) throws {
        let revision = file.lastRevision
        try file.beginSnapshot(revision: revision, time: 0)
        for part in 0..<3 {
            try file.addPart(Self.part(part, of: revision))
            if part == 1 { try append(file) }
        }
        try file.endSnapshot()
        try file.sync()
        sure = groups.count
    }

    private static func padding(_ count: Int) -> String {
        String(decoding: [UInt8](repeating: 0x78, count: count), as: UTF8.self)
    }

    private static func part(_ number: Int, of revision: Int) -> String {
        "{\"snapshot\":\(revision),\"part\":\(number)}\n" + padding(revision * 37 % 9000)
    }

    /// Compares what is there with what has to be, and goes on from what is there.
    private mutating func check(lost: Bool?) throws {
        let file = try LogFile(path: "log", sync: mode, bootID: "boot \(boot)", vfs: disk.name)
        if let lost { #expect(file.mayHaveLost == lost, "seed \(seed)") }
        let reader = try LogReader(path: "log", vfs: disk.name)
        let oldest = file.oldestRevision
        let there = try reader.groups(after: oldest)
        let expected = groups.filter { $0.last > oldest || $0.first > oldest }
        let before = groups.count - expected.count
        #expect(there.count >= sure - before, "seed \(seed): \(there.count) of \(sure - before) groups")
        #expect(there.count <= expected.count, "seed \(seed)")
        #expect(there == Array(expected.prefix(there.count)), "seed \(seed)")
        groups = Array(groups.prefix(before + there.count))
        sure = min(sure, groups.count)
        #expect(file.lastRevision == (there.last?.last ?? oldest), "seed \(seed)")
        for snapshot in try reader.snapshots() {
            let text = (0..<3).map { Self.part($0, of: snapshot.revision) }.joined()
            #expect(try reader.snapshot(snapshot.revision) == Array(text.utf8), "seed \(seed)")
        }
    }
}
