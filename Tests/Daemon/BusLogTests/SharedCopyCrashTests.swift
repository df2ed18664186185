import BusLog
import CSQLite
import TestStorage
import TestSupport
import Testing

/// A member's copy on a disk that keeps only what was synced, or fails: a group and its batch are both there or both
/// not. A failure names its seed.
@Suite struct SharedCopyCrashTests {
    @Test(arguments: [SyncMode.always, .interval, .never], 0..<30)
    func groupAndBatchSurviveEveryPowerLossTogether(_ mode: SyncMode, _ seed: Int) throws {
        var history = CopyHistory(seed: seed, mode: mode)
        for _ in 0..<5 { try history.runUntilPowerLoss() }
    }

    @Test(arguments: [SyncMode.always, .interval, .never], 0..<10)
    func killedMemberLosesNothing(_ mode: SyncMode, _ seed: Int) throws {
        var history = CopyHistory(seed: 1000 + seed, mode: mode)
        for _ in 0..<5 { try history.runUntilKilled() }
    }

    private static func open(_ disk: SimulatedDisk, _ mode: SyncMode = .always) throws(LogFailure) -> LogFile
    {
        let file = try LogFile(path: "log", sync: mode, bootID: "boot", vfs: disk.name)
        try file.becomeCopy(ofBus: "home", member: "kitchen")
        try file.begin(epoch: "e")
        return file
    }

    /// Wherever within the transaction it happens, and that it is over afterwards.
    @Test(arguments: [SQLITE_FULL, SQLITE_IOERR], 0..<12)
    func failedAppendLeavesNeitherBehind(_ code: Int32, _ operation: Int) throws {
        let disk = SimulatedDisk()
        let file = try Self.open(disk)
        try file.append(Batch(1, "1"), with: "{\"place\":1}")
        let countdown = DiskFailureTests.Countdown(operation)
        disk.fail { _, _ in countdown.next() ? nil : code }
        var reached = 1
        var failure: LogFailure?
        for _ in 0..<12 {
            do throws(LogFailure) {
                let place = reached + 1
                try file.append(Batch(place, "\(place)"), with: "{\"place\":\(place)}")
                reached = place
            } catch {
                failure = error
            }
        }
        #expect(failure?.kind == (code == SQLITE_FULL ? .full : .io))
        #expect(file.sharedPlace() == reached)
        #expect(file.lastRevision == reached)
        disk.fail(nil)
        try file.probe()
        try file.append(Batch(reached + 1, "later"), with: "{\"later\":true}")
        let killed = disk.killed()
        let next = try Self.open(killed)
        #expect(next.sharedPlace() == reached + 1)
        #expect(next.lastRevision == reached + 1)
        let reader = try LogReader(path: "log", vfs: killed.name)
        #expect(try reader.batches().last == Batch(reached + 1, "later"))
        #expect(try reader.batches().map(\.place) == Array(1...reached + 1))
        #expect(try reader.groups().count == reached + 1)
    }

    /// When only the sync failed, the whole transaction stands behind the last good one. It must not come back.
    @Test func appendWhoseSyncFailedDoesNotComeBackAfterAKill() throws {
        let disk = SimulatedDisk()
        let file = try Self.open(disk)
        try file.append(Batch(1, "1"), with: "{}")
        disk.fail { operation, _ in operation == .sync ? SQLITE_IOERR | 4 << 8 : nil }
        #expect(throws: LogFailure.self) { try file.append(Batch(2, "2"), with: "{}") }
        #expect(throws: LogFailure.self) { try file.append(Batch(2, "2")) }
        #expect(file.sharedPlace() == 1)
        disk.fail(nil)
        let killed = disk.killed()
        let next = try LogFile(path: "log", sync: .always, bootID: "boot", vfs: killed.name)
        #expect(next.sharedPlace() == 1)
        #expect(next.lastRevision == 1)
    }

    /// What others may trim by is on disk.
    @Test func sharedPlaceIsThatOfWhatIsOnDisk() throws {
        var generator = SeededGenerator(seed: 1)
        let disk = SimulatedDisk()
        let file = try Self.open(disk, .interval)
        let steps: [() throws -> Void] = [
            { try file.sync() }, { try file.remember(.discard, nil) }, { try file.remember(.proof, "00") },
            { try file.probe() }, { try file.replica(5) }, { try file.replica(5) },
        ]
        for (index, step) in steps.enumerated() {
            try file.append(Batch(index + 1, "x"), with: "{}")
            #expect(file.sharedPlace() == index, "step \(index)")
            try step()
            #expect(file.sharedPlace() == index + 1, "step \(index)")
            let later = disk.restarted(using: &generator)
            let next = try LogFile(path: "log", sync: .interval, bootID: "boot", vfs: later.name)
            #expect(next.sharedPlace() == index + 1, "step \(index)")
        }
    }

    /// Whatever the mode, and however often it was another.
    @Test(arguments: [SyncMode.always, .interval, .never], 0..<20)
    func rememberedFactsSurvivePowerLoss(_ mode: SyncMode, _ seed: Int) throws {
        var generator = SeededGenerator(seed: UInt64(seed))
        var disk = SimulatedDisk()
        var sure: [CopyFact: String] = [:]
        var place = 0
        for round in 0..<4 {
            disk.losePower(after: Int.random(in: 30...200, using: &generator))
            var attempt: (CopyFact, String?)?
            do throws(LogFailure) {
                let file = try Self.open(disk, mode)
                for number in 0... {
                    let fact = CopyFact.allCases.randomElement(using: &generator)!
                    let value = generator.oneIn(3) ? nil : "\(round) \(number)"
                    attempt = (fact, value)
                    try file.remember(fact, value)
                    sure[fact] = value
                    attempt = nil
                    place += 1
                    try file.append(Batch(place, "x"))
                }
            } catch {
                #expect(!disk.hasPower, "seed \(seed): \(error)")
            }
            disk = disk.restarted(using: &generator)
            let file = try LogFile(path: "log", sync: mode, bootID: "boot", vfs: disk.name)
            for fact in CopyFact.allCases {
                let found = try file.recall(fact)
                if let attempt, attempt.0 == fact, found == attempt.1 { sure[fact] = found }
                #expect(found == sure[fact], "seed \(seed), \(fact)")
            }
        }
    }

    @Test func alwaysSyncsOncePerAppend() throws {
        let disk = SimulatedDisk()
        let file = try Self.open(disk)
        try file.append(Batch(1, "x"), with: "{}")
        let before = disk.counts.syncs
        for place in 2...50 { try file.append(Batch(place, "x"), with: place % 2 == 0 ? "{}" : "") }
        #expect(disk.counts.syncs == before + 49)
    }
}
