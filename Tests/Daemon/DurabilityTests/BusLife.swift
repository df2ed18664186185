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
struct BusLife: LoggedLife {
    let seed: UInt64
    private let mode: SyncMode
    var random: SeededGenerator
    var disk = SimulatedDisk()
    var boot = 0
    var now = 1_795_000_000_000
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
    mutating func run(until end: LifeEnd) throws {
        try live(until: end) { life in
            let bus = try life.start()
            let steps = end == .kill ? Int.random(in: 1...60, using: &life.random) : .max
            for step in 0..<steps { try life.work(bus, step) }
        }
    }

    /// At the end everything that was dispatched in the last epoch is there, once.
    mutating func finish() throws {
        let bus = try start()
        for step in 0..<20 { try work(bus, step) }
        while open != nil { try work(bus, 1) }
        let count = bus.engine.state(at: "counter/main")?["count"]?.int
        if mode == .always { #expect(count == acknowledged, "seed \(seed)") }
        try verifyLog(of: bus)
    }

    // MARK: - The daemon

    private mutating func start() throws -> LoggedBus {
        if Bool.random(using: &random) { version += 1 }
        let bus = try startBus(
            try SampleTypes.load(and: [Self.definition(version)]), ["counter/main"] + Self.aging, sync: mode
        ) { life in "epoch \(life.boot).\(Int.random(in: 0...Int.max, using: &life.random))" }
        checkVersions(bus.engine)
        meet(bus.engine)
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

    /// The client connects: it knows the epoch from before, or starts over.
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

    // MARK: - The client

    /// One request, perhaps a step of what a daemon does beside, and what the client hears.
    private mutating func work(_ bus: LoggedBus, _ step: Int) throws {
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
        try bus.write()
        try hear(bus)
        switch step % 16 {
        case 7 where mode == .interval: try bus.file.sync()
        case 11: try takeSnapshot(of: bus)
        default: break
        }
    }

    private mutating func hear(_ bus: LoggedBus) throws {
        guard let reply = try bus.heard().first else { return }
        #expect(reply["ok"] == true, "seed \(seed): \(reply)")
        #expect(reply["id"]?.int == open?.number, "seed \(seed)")
        if let revision = reply["revision"]?.int { seen = max(seen, revision) }
        acknowledged += 1
        open = nil
    }
}
