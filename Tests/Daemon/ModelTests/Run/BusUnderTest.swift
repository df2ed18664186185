import BusJSON
import TestSupport

/// A bus that the model is compared with.
protocol BusUnderTest: AnyObject {
    var epoch: String { get }
    /// Whether time is set by hand, so that what is due can be foretold.
    var hasManualTime: Bool { get }
    /// Whether all of it can be killed and started again, with a foreseeable outcome.
    var canCrash: Bool { get }
    /// The daemon's user.
    var ownUID: Int { get }
    /// When it begins; 0 where time is the machine's.
    var now: Int { get }
    var isShared: Bool { get }
    /// When the commit was made that the bus begins with; nil: it begins with none.
    var begun: Int? { get }
    func connect(_ client: Int, uid: Int) throws
    /// The revision behind which everything is kept where a client is connected.
    func oldest(_ client: Int) -> Int
    func close(_ client: Int) throws
    /// Sends a line, and gives all that came up to the reply, or until there is nothing to wait for.
    func exchange(_ client: Int, _ line: String) throws -> [JSON]
    /// Returns once the bus is at a revision that something other than a request leads to, such as the end of a connection.
    func settle(through revision: Int) throws
    /// All else that has come for a client when the bus is at a revision.
    func received(_ client: Int, through revision: Int) throws -> [JSON]
    func setReading(_ client: Int, _ isReading: Bool) throws
    func advance(milliseconds: Int) throws
    /// Another process takes over, and clients keep their connections.
    func handOver(_ definitions: [JSON]) throws
    /// The process is killed, and another starts on the log; clients see the end of their connections.
    func crash(now: Int) throws
    /// What the next `reload` finds.
    func setDefinitions(_ definitions: [JSON]) throws
}

/// An engine in memory, with a log in memory; or a member of a shared bus, whose log is in memory, too.
final class MemoryBusUnderTest: BusUnderTest {
    private var bus: MemoryBus
    private var clients: [Int: MemoryClient] = [:]
    let epoch: String
    let hasManualTime = true
    let isShared: Bool
    /// A member in memory begins with what a bus of one machine begins with.
    var begun: Int? { nil }
    /// What a crash leaves of a request to the shared log, its client can't foretell.
    var canCrash: Bool { !isShared }
    let ownUID = MemoryBus.ownUID
    /// No whole second, so that every time has a fraction.
    static let start = 1_795_000_000_001
    var now: Int { Self.start }

    init(types: [JSON], stores: [String], outbox: Int, line: Int? = nil, isShared: Bool = false) throws {
        var setup = MemoryBus.Setup()
        setup.definitions = types.map(\.encoded)
        setup.log = MemoryLog()
        setup.isShared = isShared
        setup.limits.daemon.outbox = outbox
        if let line { setup.limits.daemon.line = line }
        bus = try MemoryBus(setup)
        self.isShared = isShared
        bus.advance(milliseconds: Self.start - bus.now)
        for store in stores {
            if isShared {
                bus.engine.shared.submitConfigured(store)
            } else {
                try bus.engine.createConfigured(store)
            }
        }
        bus.settle()
        epoch = bus.epoch
    }

    func oldest(_ client: Int) -> Int { 0 }
    func connect(_ client: Int, uid: Int) { clients[client] = bus.connect(uid: uid) }
    func close(_ client: Int) { clients.removeValue(forKey: client)?.close() }
    func exchange(_ client: Int, _ line: String) throws -> [JSON] { try clients[client]?.ask(line) ?? [] }
    func received(_ client: Int, through revision: Int) throws -> [JSON] { try clients[client]?.all() ?? [] }
    func settle(through revision: Int) {}
    func setReading(_ client: Int, _ isReading: Bool) { clients[client]?.isReading = isReading }
    func advance(milliseconds: Int) { bus.advance(milliseconds: milliseconds) }
    func handOver(_ definitions: [JSON]) throws {
        if canCrash { try bus.restart(definitions: definitions.map(\.encoded)) }
    }

    func crash(now: Int) throws {
        bus = try bus.crash()
        clients = [:]
        bus.advance(milliseconds: now - bus.now)
    }

    func setDefinitions(_ definitions: [JSON]) { bus.definitions = definitions.map(\.encoded) }
}
