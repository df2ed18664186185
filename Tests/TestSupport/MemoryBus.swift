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
    package let engine: Engine
    /// Milliseconds since 1970.
    package private(set) var now = 1_795_000_000_000
    private var endpoints: [MemoryEndpoint] = []
    private var nextProcess = 4711

    package init(_ setup: Setup = Setup(), epoch: String = "7c1f6a52-9a43-4a7e-8c55-2f0d8e5b1a90") throws {
        self.epoch = epoch
        let log = NoteLog()
        var configuration = EngineConfiguration(epoch: epoch, ownUID: Self.ownUID, version: "test")
        configuration.limits = setup.limits
        configuration.tokenName = { setup.tokens[$0] }
        let (definitions, natives) = (setup.definitions, setup.natives)
        configuration.loadTypes = { () throws(ReloadFailure) in
            do { return try Self.types(natives, definitions) } catch {
                throw ReloadFailure(message: "\(error)")
            }
        }
        configuration.report = { log.notes.append($0.message) }
        engine = Engine(configuration, types: try Self.types(natives, definitions))
        self.log = log
        engine.beginTurn(at: now)
        for store in setup.stores { try engine.createConfigured(store) }
    }

    /// All types by name, as a daemon has them.
    private static func types(
        _ natives: [any StateType], _ definitions: [String]
    ) throws -> [any StateType] {
        try (natives + SampleTypes.load(and: definitions)).sorted { UTF8Order.precedes($0.name, $1.name) }
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
