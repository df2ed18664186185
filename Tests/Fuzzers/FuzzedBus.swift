import BusEngine
import BusJSON
import BusLogic
import TestSupport

/// An engine with one client, and all that fuzz targets need to know of engines.
struct FuzzedBus {
    let engine: Engine
    private let client: ConnectionID
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
        configuration.limits.line = lineLimit
        configuration.limits.stores = 20
        configuration.limits.subscriptions = 8
        configuration.limits.outbox = 4096
        configuration.compile = { (definition) throws(ReloadFailure) in
            if let known = SampleTypes.compiled.first(where: { $0.definition == definition }) { return known }
            do { return try DeclaredType(definition: definition) } catch {
                throw ReloadFailure(message: "\(error)")
            }
        }
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
        engine.finishEnds()
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
            guard let connections = try? HandOver.summary(of: bytes).connections,
                (try? engine.takeOver(bytes)) != nil
            else { continue }
            isTaken = true
            demand(
                (try? engine.exercise(connections)) == connections, "What was taken over can't be handed on.")
        }
        let engine = Engine(replaying: configuration)
        guard (try? engine.restore(bytes)) != nil else { return isTaken }
        check(engine)
        return true
    }

    /// The bytes with the end that belongs to them.
    static func sealed(_ bytes: UnsafeRawBufferPointer, records: Int) -> [UInt8] {
        HandOver.sealed(bytes, records: records)
    }

    // MARK: A log

    /// The snapshot with which the log of `MemoryBus.withEveryEntry` begins.
    private static let snapshot: [UInt8] = {
        guard let log = try? MemoryBus.withEveryEntry().written, let bytes = log.snapshotBytes[0] else {
            fatalError("A log begins with a snapshot.")
        }
        return bytes
    }()

    /// Carries out the entries of a log.
    static func replay(_ entries: UnsafeRawBufferPointer) -> Bool {
        let engine = Engine(replaying: configuration)
        guard snapshot.withUnsafeBytes({ (try? engine.restore($0)) != nil }) else {
            fatalError("The snapshot is as a bus has made it.")
        }
        // One entry may say that it stands for very many, which takes its time and breaks nothing.
        guard (try? engine.replay(entries, through: 1000)) != nil else { return false }
        check(engine)
        return true
    }

    /// What a log has made comes back from its snapshot, and goes on.
    private static func check(_ engine: Engine) {
        let bytes = engine.snapshot()
        let copy = Engine(replaying: configuration)
        let isWhole = withExtendedLifetime(bytes) { (try? copy.restore(bytes.bytes)) != nil }
        if isWhole {
            demand(copy.stateDigest == engine.stateDigest, "A snapshot holds other states.")
        }
        engine.beginLogging()
        engine.endPastConnections()
        _ = engine.stateDigest
    }
}
