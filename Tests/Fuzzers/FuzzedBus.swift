import BusEngine
import BusLogic
import BusMachine
import TestSupport

/// An engine with one client, and all that fuzz targets need to know of engines.
struct FuzzedBus {
    let engine: Engine
    private let client: ConnectionID
    private let maps = MemoryMaps()
    private var now = Self.start
    private static let start = 1_795_000_000_000

    init(_ types: [any StateType] = SampleTypes.compiled) {
        engine = Engine(Self.configuration, types: types)
        engine.beginTurn(at: now)
        client = engine.connect(.unix(uid: 1000, pid: 1))
    }

    /// Small limits, so that short samples reach them.
    private static var configuration: EngineConfiguration {
        var configuration = EngineConfiguration(epoch: "e", ownUID: 990, version: "test")
        configuration.limits.daemon.line = lineLimit
        configuration.limits.bus.stores = 20
        configuration.limits.daemon.subscriptions = 8
        configuration.limits.daemon.outbox = 4096
        configuration.knownTypes = SampleTypes.compiled
        return configuration
    }
    static let lineLimit = 4096

    // MARK: A client

    /// Sends bytes as they come, and gives what came back; the rest is not taken once the engine has closed the connection.
    mutating func send(_ parts: [[UInt8]]) -> [UInt8] {
        var received: [UInt8] = []
        for part in parts {
            received += settle()
            guard case .reading = engine.status(of: client) else { break }
            part.withUnsafeBytes { engine.receive(client, $0) }
        }
        return received + settle()
    }

    /// Lets the engine work, and time pass where it waits for that.
    private mutating func settle() -> [UInt8] {
        var received: [UInt8] = []
        repeat {
            var isBusy = true
            while isBusy {
                engine.beginTurn(at: now)
                engine.tick()
                engine.serveAll()
                engine.takeReady { _ in }
                for case .map(let output) in engine.takeOutputs() { maps.perform(output, engine) }
                let output = engine.takeOutput(of: client)
                received += output
                isBusy = !output.isEmpty
            }
            guard case .blocked = engine.status(of: client), let due = engine.nextDeadline else { break }
            now = max(now + 1, due)
        } while true
        return received
    }

    /// The client goes, and nothing of it stays.
    func end() {
        engine.disconnect(client)
        engine.sessions.finishEnds()
        demand(
            engine.connectionCount == 0 && engine.subscriberCount == 0,
            "Something stays of a client that went.")
    }

    // MARK: Bytes of another daemon

    /// Engines that took over these bytes, as a restart does and as the start on a log does.
    static func takeOver(_ bytes: UnsafeRawBufferPointer) -> Bool {
        var isTaken = false
        for types in [SampleTypes.compiled, []] {
            let engine = Engine(configuration, types: types)
            engine.beginTurn(at: start)
            guard let connections = try? StateTransfer.summary(of: bytes).connections,
                (try? engine.takeOver(bytes)) != nil
            else { continue }
            isTaken = true
            demand(
                (try? engine.exercise(connections)) == connections, "What was taken over can't be handed on.")
        }
        let machine = newMachine()
        guard (try? machine.restore(bytes)) != nil else { return isTaken }
        check(machine)
        return true
    }

    /// One to apply a log.
    private static func newMachine() -> StateMachine {
        StateMachine(replayingWith: SampleTypes.compiled, epoch: "e", hashSeed: 1)
    }

    /// The bytes with the end that belongs to them.
    static func sealed(_ bytes: UnsafeRawBufferPointer, records: Int) -> [UInt8] {
        StateTransfer.sealed(bytes, records: records)
    }

    // MARK: A log

    /// The snapshot with which the log of `MemoryBus.withEveryEntry` begins.
    private static let snapshot: [UInt8] = {
        guard let log = try? MemoryBus.withEveryEntry().written, let bytes = log.snapshotBytes[0] else {
            fatalError("A log begins with a snapshot.")
        }
        return bytes
    }()

    /// Applies the entries of a log.
    static func replay(_ entries: UnsafeRawBufferPointer) -> Bool {
        let machine = newMachine()
        guard snapshot.withUnsafeBytes({ (try? machine.restore($0)) != nil }) else {
            fatalError("The snapshot is as a bus has made it.")
        }
        // One entry may say that it stands for very many, which takes its time and breaks nothing.
        guard (try? machine.replay(entries, through: 1000)) != nil else { return false }
        check(machine)
        return true
    }

    /// What a log has made comes back from its snapshot, and goes on.
    private static func check(_ machine: StateMachine) {
        let bytes = machine.snapshot()
        let copy = newMachine()
        let isWhole = withExtendedLifetime(bytes) { (try? copy.restore(bytes.bytes)) != nil }
        if isWhole {
            demand(copy.stateDigest == machine.stateDigest, "A snapshot holds other states.")
        }
        let engine = Engine(configuration, machine)
        engine.beginLogging()
        engine.sessions.endOrphaned()
        _ = engine.stateDigest
    }
}
