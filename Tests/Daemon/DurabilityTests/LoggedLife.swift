import BusEngine
import BusHistory
import BusJSON
import BusLog
import BusLogic
import BusServer
import TestStorage
import TestSupport
import Testing

/// A bus with its log on a simulated disk, put together as the daemon does it, and a client.
struct LoggedBus {
    let engine: Engine
    let file: LogFile
    let client: ConnectionID

    /// Brings what was committed to the disk.
    func write(whole: Bool = false) throws {
        engine.takeReady { _ in }
        while let group = engine.sealBatch(whole: whole) {
            try file.append(
                group.entries.bytes, first: group.first, last: group.last, time: group.time,
                reserving: group.reserved)
            engine.confirmBatch()
            engine.takeReady { _ in }
        }
    }

    func send(_ line: String) {
        (line + "\n").utf8.withContiguousStorageIfAvailable {
            engine.receive(client, UnsafeRawBufferPointer($0))
        }
    }

    /// What the client hears.
    func heard() throws -> [JSON] {
        var text: [UInt8] = []
        var count = 0
        repeat {
            count = withUnsafeTemporaryAllocation(of: OutputPiece.self, capacity: 16) { pieces in
                let count = engine.output(of: client, into: pieces)
                let before = text.count
                for piece in pieces[..<count] {
                    text += UnsafeRawBufferPointer(start: piece.base, count: piece.count)
                }
                engine.sent(client, text.count - before)
                return count
            }
        } while count > 0
        return try text.split(separator: 10).map { try JSON(parsing: Array($0)) }
    }
}

/// The many lives of one bus, each until its disk has no power any more, or the daemon is gone.
protocol LoggedLife {
    var seed: UInt64 { get }
    var random: SeededGenerator { get set }
    var disk: SimulatedDisk { get set }
    var boot: Int { get set }
    var now: Int { get set }
}

enum LifeEnd { case powerLoss, kill, stop }

extension LoggedLife {
    mutating func live(until end: LifeEnd, _ body: (inout Self) throws -> Void) throws {
        if end == .powerLoss { disk.losePower(after: Int.random(in: 20...300, using: &random)) }
        do { try body(&self) } catch let failure as LogFailure {
            #expect(!disk.hasPower, "seed \(seed): \(failure)")
        }
        if end == .powerLoss {
            disk = disk.restarted(using: &random)
            boot += 1
        } else {
            disk = disk.killed()
        }
    }

    /// What a start does, with the parts it does it with.
    ///
    /// - Parameter epochAfterLoss: The epoch that a bus begins which may have lost commits.
    mutating func startBus(
        _ types: [any StateType], _ stores: [String], sync: SyncMode,
        epochAfterLoss: (inout Self) -> String?
    ) throws -> LoggedBus {
        let file = try LogFile(path: "log", sync: sync, bootID: "boot \(boot)", vfs: disk.name)
        #expect(file.notices.isEmpty, "seed \(seed): \(file.notices)")
        let configuration = EngineConfiguration(epoch: file.epoch ?? "epoch 0", ownUID: 0, version: "test")
        let reader = try LogReader(path: "log", vfs: disk.name)
        let isNew = try reader.snapshots().isEmpty
        let engine =
            isNew
            ? Engine(configuration, types: types)
            : Engine(configuration, try Replayer(knowing: [], hashSeed: 1).machine(from: LogPast(reader)))
        engine.epoch = file.epoch ?? "epoch 0"
        if file.mayHaveLost, !isNew, let epoch = epochAfterLoss(&self) { engine.epoch = epoch }
        try file.begin(epoch: engine.epoch)
        if isNew {
            try snapshot(engine.snapshot(), at: engine.revision, file)
        } else {
            engine.forgetUnkept(through: file.reservedThrough)
            if engine.revision > file.lastRevision {
                try file.append(
                    UnsafeRawBufferPointer(start: nil, count: 0), first: file.lastRevision + 1,
                    last: engine.revision, time: now)
            }
        }
        if seed % 2 == 0 { try file.useTail() }
        now = max(now, engine.lastTime) + 1
        engine.beginTurn(at: now)
        engine.beginLogging()
        engine.sessions.endOrphaned()
        try engine.begin(with: types)
        for store in stores { try engine.createConfigured(store) }
        let bus = LoggedBus(engine: engine, file: file, client: engine.connect(.unix(uid: 1000, pid: 7)))
        try bus.write()
        return bus
    }

    func snapshot(_ bytes: ByteWriter, at revision: Int, _ file: LogFile) throws {
        try file.beginSnapshot(revision: revision, time: now)
        try file.addPart(bytes.bytes)
        try file.endSnapshot()
        try file.sync()
        withExtendedLifetime(bytes) {}
    }

    /// As the daemon takes one: by a state machine of its own that applies the log.
    func takeSnapshot(of bus: LoggedBus, retaining bytes: Int = 4096) throws {
        do {
            let past = LogPast(try LogReader(path: "log", vfs: disk.name))
            let machine = try Replayer(knowing: [], hashSeed: 1).machine(
                at: bus.engine.writtenRevision, from: past)
            #expect(machine.stateDigest == bus.engine.stateDigest, "seed \(seed)")
            try snapshot(machine.snapshot(), at: machine.revision, bus.file)
        } catch let failure as PastFailure {
            #expect(!disk.hasPower, "seed \(seed): \(failure)")
            throw LogFailure(.io, path: "log", failure.message)
        }
        while try bus.file.trim(Retention(age: .max, bytes: bytes), now: now, budget: 8) {}
    }

    /// The log is whole, and leads to the states that there are.
    func verifyLog(of bus: LoggedBus) throws {
        let replayer = Replayer(knowing: [], hashSeed: 1)
        let past = LogPast(try LogReader(path: "log", vfs: disk.name))
        #expect(try Verification.verify(past, replayer) { _ in }, "seed \(seed)")
        #expect(try replayer.machine(from: past).stateDigest == bus.engine.stateDigest, "seed \(seed)")
    }
}
