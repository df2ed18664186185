import BusEngine
import BusHistory
import BusJSON
import BusLog
import BusLogic
import BusServer
import TestStorage
import TestSupport
import Testing

/// One bus through many ends, and a client that sends each of its dispatches until it is answered.
struct BusLife {
    enum End { case powerLoss, kill }

    private let seed: UInt64
    private let mode: SyncMode
    private var random: SeededGenerator
    private var disk = SimulatedDisk()
    private var boot = 0
    private var now = 1_795_000_000_000
    private(set) var epochs = 0

    /// The version of the type `age` that the daemon is started with; some starts bring the next one.
    private var version = 1
    private static let aging = (0..<5).map { "age/\($0)" }

    /// What the client knows: the epoch, the last revision it was told, its dispatches that were answered.
    private var epoch: String?
    private var seen = 0
    private var acknowledged = 0
    /// The number of the dispatch that is not answered, with what the client had seen when it first sent it.
    private var open: (number: Int, after: Int)?
    private var next = 0

    init(seed: UInt64, mode: SyncMode) {
        self.seed = seed
        self.mode = mode
        random = SeededGenerator(seed: seed)
    }

    /// Works until the disk has no power any more, or the daemon is gone.
    mutating func run(until end: End) throws {
        if end == .powerLoss { disk.losePower(after: Int.random(in: 20...300, using: &random)) }
        do {
            let bus = try start()
            let steps = end == .kill ? Int.random(in: 1...60, using: &random) : .max
            for step in 0..<steps { try work(bus, step) }
        } catch is LogFailure {
            #expect(!disk.hasPower, "seed \(seed)")
        }
        if end == .powerLoss {
            disk = disk.restarted(using: &random)
            boot += 1
        } else {
            disk = disk.killed()
        }
    }

    /// At the end everything that was dispatched in the last epoch is there, once.
    mutating func finish() throws {
        let bus = try start()
        for step in 0..<20 { try work(bus, step) }
        while open != nil { try work(bus, 1) }
        let count = bus.engine.state(at: "counter/main")?["count"]?.int
        if mode == .always { #expect(count == acknowledged, "seed \(seed)") }
        let replayer = Replayer(knowing: [], hashSeed: 1)
        let past = LogPast(try LogReader(path: "log", vfs: disk.name))
        #expect(try Verification.verify(past, replayer) { _ in }, "seed \(seed)")
        #expect(try replayer.machine(from: past).stateDigest == bus.engine.stateDigest, "seed \(seed)")
    }

    // MARK: - The daemon

    private struct Bus {
        let engine: Engine
        let file: LogFile
        let client: ConnectionID
    }

    /// What a start does, with the parts it does it with.
    private mutating func start() throws -> Bus {
        let file = try LogFile(path: "log", sync: mode, bootID: "boot \(boot)", vfs: disk.name)
        #expect(file.notices.isEmpty, "seed \(seed): \(file.notices)")
        let configuration = EngineConfiguration(epoch: file.epoch ?? "epoch 0", ownUID: 0, version: "test")
        let reader = try LogReader(path: "log", vfs: disk.name)
        let isNew = try reader.snapshots().isEmpty
        if Bool.random(using: &random) { version += 1 }
        let types = try SampleTypes.load(and: [Self.definition(version)])
        let engine =
            isNew
            ? Engine(configuration, types: types)
            : Engine(configuration, try Replayer(knowing: [], hashSeed: 1).machine(from: LogPast(reader)))
        engine.epoch = file.epoch ?? "epoch 0"
        if file.mayHaveLost, !isNew {
            engine.epoch = "epoch \(boot).\(Int.random(in: 0...Int.max, using: &random))"
        }
        try file.begin(epoch: engine.epoch)
        if isNew { try snapshot(engine.snapshot(), at: engine.revision, file) }
        now = max(now, engine.lastTime) + 1
        engine.beginTurn(at: now)
        engine.beginLogging()
        engine.sessions.endOrphaned()
        try engine.begin(with: types)
        try engine.createConfigured("counter/main")
        for store in Self.aging { try engine.createConfigured(store) }
        checkVersions(engine)
        let client = engine.connect(.unix(uid: 1000, pid: 7))
        let bus = Bus(engine: engine, file: file, client: client)
        try write(bus)
        meet(engine)
        return bus
    }

    /// A type whose states say which steps led to them.
    private static func definition(_ version: Int) -> String {
        let steps = (1..<max(1, version)).map {
            "  \($0): { increment: { version: 1 }, append: { steps: \($0) } }"
        }
        let migrate = steps.isEmpty ? "" : "\nmigrate:\n" + steps.joined(separator: "\n")
        return "type: age\nversion: \(version)\ninitial: { version: \(version), steps: [] }" + migrate
    }

    /// Every store has the version that the daemon was started with, and each step between was taken once.
    private func checkVersions(_ engine: Engine) {
        for store in Self.aging {
            let state = engine.state(at: store)
            let steps = state?["steps"]?.array?.compactMap(\.int) ?? []
            #expect(state?["version"]?.int == version, "seed \(seed)")
            #expect(steps == Array((version - steps.count)..<version), "seed \(seed)")
        }
    }

    /// The client connects: it knows the epoch from before, or begins anew.
    private mutating func meet(_ engine: Engine) {
        if engine.epoch != epoch {
            if mode == .always { #expect(epoch == nil, "seed \(seed): the epoch changed") }
            epoch = engine.epoch
            epochs += 1
            (open, seen) = (nil, 0)
        }
        // Whatever it was told is in the log.
        #expect(engine.revision >= seen, "seed \(seed)")
    }

    private func write(_ bus: Bus) throws {
        bus.engine.takeReady { _ in }
        while let group = bus.engine.sealBatch() {
            try bus.file.append(
                group.entries.bytes, first: group.first, last: group.last, time: group.time)
            bus.engine.confirmBatch()
            bus.engine.takeReady { _ in }
        }
    }

    private func snapshot(_ bytes: ByteWriter, at revision: Int, _ file: LogFile) throws {
        try file.beginSnapshot(revision: revision, time: now)
        try file.addPart(bytes.bytes)
        try file.endSnapshot()
        try file.sync()
        withExtendedLifetime(bytes) {}
    }

    // MARK: - The client

    /// One request, perhaps a step of what a daemon does beside, and what the client hears.
    private mutating func work(_ bus: Bus, _ step: Int) throws {
        now += Int.random(in: 0...3, using: &random)
        bus.engine.beginTurn(at: now)
        if open == nil {
            open = (next, seen)
            next += 1
        }
        let (number, after) = open!
        let line =
            #"{"op":"dispatch","id":\#(number),"store":"counter/main","action":"increment","key":"k\#(number)","#
            + #""after":\#(after),"epoch":"\#(epoch!)"}"# + "\n"
        line.utf8.withContiguousStorageIfAvailable {
            bus.engine.receive(bus.client, UnsafeRawBufferPointer($0))
        }
        // Nothing may have left before it is written.
        #expect(!bus.engine.hasOutput(bus.client), "seed \(seed)")
        try write(bus)
        hear(bus)
        switch step % 16 {
        case 7 where mode == .interval: try bus.file.sync()
        case 11: try takeSnapshot(bus)
        default: break
        }
    }

    private mutating func hear(_ bus: Bus) {
        var text: [UInt8] = []
        withUnsafeTemporaryAllocation(of: OutputPiece.self, capacity: 16) { pieces in
            let count = bus.engine.output(of: bus.client, into: pieces)
            for piece in pieces[..<count] {
                text += UnsafeRawBufferPointer(start: piece.base, count: piece.count)
            }
            bus.engine.sent(bus.client, text.count)
        }
        guard let reply = try? JSON(parsing: text) else { return }
        #expect(reply["ok"] == true, "seed \(seed): \(reply)")
        #expect(reply["id"]?.int == open?.number, "seed \(seed)")
        if let revision = reply["revision"]?.int { seen = max(seen, revision) }
        acknowledged += 1
        open = nil
    }

    /// As the daemon takes one: by a state machine of its own that applies the log.
    private func takeSnapshot(_ bus: Bus) throws {
        do {
            let past = LogPast(try LogReader(path: "log", vfs: disk.name))
            let machine = try Replayer(knowing: [], hashSeed: 1).machine(from: past)
            #expect(machine.stateDigest == bus.engine.stateDigest, "seed \(seed)")
            try snapshot(machine.snapshot(), at: machine.revision, bus.file)
        } catch let failure as PastFailure {
            #expect(!disk.hasPower, "seed \(seed): \(failure)")
            throw LogFailure(.io, path: "log", failure.message)
        }
        let retention = Retention(age: .max, bytes: 4096)
        while try bus.file.trim(retention, now: now, budget: 8) {}
    }
}
