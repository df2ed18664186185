import BusEngine
import BusJSON
import BusLogic

/// A whole bus without sockets: one engine, clients that are queues of lines, and a clock that is set by hand.
///
/// What a client sends is carried out at once, and what the engine has for clients is handed to all of them that
/// read, so after every call the bus is at rest.
package final class MemoryBus {
    /// What a bus is made of, where a test wants it otherwise.
    package struct Setup {
        package var limits = Limits()
        /// Configured stores.
        package var stores: [String] = []
        /// YAML of types beside the samples.
        package var definitions: [String] = []
        /// Types without a file, beside the others.
        package var natives: [any StateType] = []
        /// The names that tokens stand for.
        package var tokens: [String: String] = [:]
        package init() {}
    }

    /// The daemon's own uid.
    package static let ownUID = 990
    package let epoch: String
    package private(set) var engine: Engine
    private let setup: Setup
    private let types: [any StateType]
    /// Milliseconds since 1970.
    package private(set) var now = 1_795_000_000_000
    private var endpoints: [MemoryEndpoint] = []
    private var nextProcess = 4711

    package init(_ setup: Setup = Setup(), epoch: String = "7c1f6a52-9a43-4a7e-8c55-2f0d8e5b1a90") throws {
        self.epoch = epoch
        self.setup = setup
        log = NoteLog()
        types = try Self.types(setup.natives, setup.definitions)
        engine = Engine(Self.configuration(setup, epoch, log), types: types)
        engine.beginTurn(at: now)
        for store in setup.stores { try engine.createConfigured(store) }
    }

    private static func configuration(_ setup: Setup, _ epoch: String, _ log: NoteLog) -> EngineConfiguration
    {
        var configuration = EngineConfiguration(epoch: epoch, ownUID: ownUID, version: "test")
        configuration.limits = setup.limits
        configuration.tokenName = { setup.tokens[$0] }
        configuration.loadTypes = { () throws(ReloadFailure) in
            do { return try types(setup.natives, setup.definitions) } catch {
                throw ReloadFailure(message: "\(error)")
            }
        }
        configuration.compile = { (definition) throws(ReloadFailure) in
            do { return try DeclaredType(definition: definition) } catch {
                throw ReloadFailure(message: "\(error)")
            }
        }
        configuration.report = { log.notes.append($0.message) }
        return configuration
    }

    /// All types by name, as a daemon has them.
    private static func types(
        _ natives: [any StateType], _ definitions: [String]
    ) throws -> [any StateType] {
        try (natives + SampleTypes.load(and: definitions)).sorted { UTF8Order.precedes($0.name, $1.name) }
    }

    /// Another engine takes over, as after a restart of the daemon, with these definitions beside the samples, or those
    /// from before. Clients keep their connections.
    package func restart(definitions: [String]? = nil) throws {
        let types = try definitions.map { try Self.types(setup.natives, $0) } ?? types
        engine = try follower(of: handedOver(), types: types)
        for endpoint in endpoints { endpoint.engine = engine }
        settle()
    }

    /// What the engine would hand over now.
    package func handedOver() -> [UInt8] {
        let writer = engine.handOver()
        return withExtendedLifetime(writer) { Array(writer.bytes) }
    }

    /// An engine that takes over what another left; throws what it refuses it for.
    package func follower(of bytes: [UInt8]) throws -> Engine { try follower(of: bytes, types: types) }

    private func follower(of bytes: [UInt8], types: [any StateType]) throws -> Engine {
        // A daemon that begins draws an epoch of its own; what it takes over has another.
        let configuration = Self.configuration(setup, "00000000-0000-4000-8000-000000000000", log)
        let engine = Engine(configuration, types: types)
        try bytes.withUnsafeBytes { try engine.takeOver($0) }
        return engine
    }

    private final class NoteLog { var notes: [String] = [] }
    private let log: NoteLog

    /// What the engine told the operator.
    package var operatorNotes: [String] { log.notes }

    /// A client on a Unix socket. Each is a process of its own.
    package func connect(uid: Int = 1000) -> MemoryClient {
        nextProcess += 1
        return connect(.unix(uid: uid, pid: nextProcess))
    }

    package func connect(_ peer: Peer) -> MemoryClient {
        let endpoint = MemoryEndpoint(engine: engine, connection: engine.connect(peer))
        endpoints.append(endpoint)
        return MemoryClient(bus: self, endpoint: endpoint)
    }

    /// Lets time pass.
    package func advance(milliseconds: Int) {
        now += milliseconds
        settle()
    }

    /// Says goodbye to everybody, as a daemon that shuts down does.
    package func shutDown() {
        for endpoint in endpoints where !endpoint.isEnded {
            engine.goodbye(endpoint.connection, .shutdown, "The bus ends.")
        }
        settle()
    }

    /// Hands on output, closes what is to be closed, until nothing is left to do.
    package func settle() {
        engine.beginTurn(at: now)
        engine.tick()
        var isBusy = true
        while isBusy {
            isBusy = false
            engine.takeReady { _ in }
            for endpoint in endpoints where !endpoint.isEnded {
                if endpoint.takeOutput() { isBusy = true }
                if endpoint.offerInput() { isBusy = true }
                if endpoint.endIfClosing() { isBusy = true }
            }
        }
        endpoints.removeAll(where: \.isEnded)
    }
}
