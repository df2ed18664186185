import BusEngine
import BusHistory
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
        /// A log, which is empty or one that a bus before has written.
        package var log: MemoryLog?
        package init() {}
    }

    /// The daemon's own uid.
    package static let ownUID = 990
    package let epoch: String
    package private(set) var engine: Engine
    private let setup: Setup
    private let configuration: EngineConfiguration
    private let types: [any StateType]
    /// Milliseconds since 1970.
    package private(set) var now = 1_795_000_000_000
    private var endpoints: [MemoryEndpoint] = []
    private var nextProcess = 4711

    package init(_ setup: Setup = Setup(), epoch: String = "7c1f6a52-9a43-4a7e-8c55-2f0d8e5b1a90") throws {
        self.epoch = epoch
        self.setup = setup
        log = NoteLog()
        loadable = Loadable(setup.definitions)
        types = try Self.types(setup.natives, setup.definitions)
        configuration = Self.configuration(setup, epoch, log, loadable, questions)
        if let written = setup.log, !written.snapshotBytes.isEmpty {
            engine = try Replayer(configuration).engine(from: written)
            engine.adopt(setup.limits)
        } else {
            engine = Engine(configuration, types: types)
            setup.log?.takeSnapshot(engine)
        }
        now = max(now, engine.lastTime)
        engine.beginTurn(at: now)
        if setup.log != nil {
            engine.beginLogging()
            engine.endPastConnections()
            engine.begin(with: types)
            replayer = Replayer(configuration)
        }
        for store in setup.stores { try engine.createConfigured(store) }
        settle()
    }

    /// What the disk does with the next groups.
    package enum Disk {
        /// Writes them at once.
        case works
        /// Takes its time: they are written once it works again.
        case isBusy
        /// Writes nothing.
        case fails
    }
    package var disk = Disk.works {
        didSet { settle() }
    }
    /// Whether questions about the past find somebody who answers; otherwise they wait.
    package var answersPast = true {
        didSet { settle() }
    }
    private var replayer: Replayer?
    private let questions = Questions()
    private var inFlight: SealedGroup?

    private final class Questions { var open: [LogQuestion] = [] }

    /// What a reload finds.
    private final class Loadable {
        var definitions: [String]
        /// What was compiled before: a test carries the log out many times, always with the same few types.
        var compiled: [any StateType] = []
        init(_ definitions: [String]) { self.definitions = definitions }
    }
    private let loadable: Loadable

    /// YAML of types beside the samples, as the next reload finds it.
    package var definitions: [String] {
        get { loadable.definitions }
        set { loadable.definitions = newValue }
    }

    /// A busy disk is done with one group, and goes on with the next.
    package func finishWrite() {
        guard let group = inFlight else { return }
        inFlight = nil
        setup.log?.append(group)
        engine.groupWritten()
        settle()
    }

    /// Brings groups to the log and answers to the engine; true if something happened.
    private func workWithLog() throws -> Bool {
        guard let written = setup.log, let replayer else { return false }
        var isBusy = false
        if inFlight == nil, let group = engine.sealGroup() {
            inFlight = group
            isBusy = true
        }
        if let group = inFlight, disk != .isBusy {
            inFlight = nil
            isBusy = true
            if disk == .works {
                written.append(group)
                engine.groupWritten()
            } else {
                let past = try replayer.engine(at: engine.durableRevision, from: written)
                engine.rewind(to: past, trouble: "The bus can't commit; try again later.")
            }
        }
        if disk == .works, engine.trouble != nil {
            engine.resumeCommits()
            isBusy = true
        }
        for question in questions.open where answersPast && question.needed <= engine.durableRevision {
            questions.open.removeAll { $0.number == question.number }
            let answers = PastAnswers(written, replayer, limits: setup.limits)
            engine.answer(question, with: answers.answer(question))
            isBusy = true
        }
        return isBusy
    }

    /// The bus is gone without a word; another one begins with what stands in the log, in a copy of it, so that a test can
    /// try several. Clients see the end of their connections. `finishingWrite`: the group that was being written stands on disk, though nobody heard of it.
    package func crash(
        finishingWrite: Bool = false, _ change: (inout Setup) -> Void = { _ in }
    ) throws -> MemoryBus {
        var next = setup
        next.log = setup.log?.copy()
        if finishingWrite, let group = inFlight { next.log?.append(group) }
        next.stores = []
        next.definitions = definitions
        change(&next)
        return try MemoryBus(next, epoch: epoch)
    }

    /// What stands on disk.
    package var written: MemoryLog? { setup.log }

    /// The bus at a revision, made from the log alone.
    package func past(at revision: Int) throws -> Engine {
        guard let written = setup.log else {
            throw PastFailure(.gone, "This bus has no log; give its setup one.")
        }
        return try replay().engine(at: revision, from: written)
    }

    /// What carries the log out.
    package func replay() throws -> Replayer {
        guard let replayer else { throw PastFailure(.gone, "This bus has no log; give its setup one.") }
        return replayer
    }

    /// One that gives up as soon as nobody wants it to go on.
    package func replay(while isWanted: @escaping () -> Bool) -> Replayer {
        Replayer(configuration, isWanted: isWanted)
    }

    private static func configuration(
        _ setup: Setup, _ epoch: String, _ log: NoteLog, _ loadable: Loadable,
        _ questions: Questions = Questions()
    ) -> EngineConfiguration {
        var configuration = EngineConfiguration(epoch: epoch, ownUID: ownUID, version: "test")
        configuration.limits = setup.limits
        configuration.tokenName = { setup.tokens[$0] }
        configuration.loadTypes = { () throws(ReloadFailure) in
            do { return try types(setup.natives, loadable.definitions) } catch {
                throw ReloadFailure(message: "\(error)")
            }
        }
        configuration.ask = { questions.open.append($0) }
        configuration.compile = { (definition) throws(ReloadFailure) in
            if let native = setup.natives.first(where: { $0.definition == definition }) { return native }
            if let known = loadable.compiled.first(where: { $0.definition == definition }) { return known }
            do {
                let type = try DeclaredType(definition: definition)
                loadable.compiled.append(type)
                return type
            } catch {
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
        if setup.log == nil {
            engine = try follower(of: handedOver(), types: types)
        } else {
            engine = try loggingFollower(types: types)
        }
        for endpoint in endpoints { endpoint.engine = engine }
        engine.goOnAfterTakeOver()
        settle()
    }

    /// The same with a log, on a disk that works.
    private func loggingFollower(types: [any StateType]) throws -> Engine {
        repeat { settle() } while engine.refuseQuestions()
        settle()
        let bytes = handedOver()
        let configuration = Self.configuration(setup, epoch, log, loadable, questions)
        let follower = Engine(configuration, types: [])
        follower.beginTurn(at: now)
        try bytes.withUnsafeBytes { try follower.takeOver($0, isLogToCome: true) }
        // Neither the old daemon's questions nor any before there is a log reach anybody.
        questions.open = []
        follower.adopt(setup.limits)
        follower.beginLogging()
        follower.endPastConnections()
        follower.begin(with: types)
        return follower
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
        let configuration = Self.configuration(setup, "00000000-0000-4000-8000-000000000000", log, loadable)
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
        engine.relieveMemory()
        var isBusy = true
        while isBusy {
            isBusy = false
            engine.serveAll()
            engine.takeReady { _ in }
            // What a log in memory says can be trusted; a test that damages one reads it by itself.
            if (try? workWithLog()) == true { isBusy = true }
            for endpoint in endpoints where !endpoint.isEnded {
                if endpoint.takeOutput() { isBusy = true }
                if endpoint.offerInput() { isBusy = true }
                if endpoint.endIfClosing() { isBusy = true }
                endpoint.noteIfFull()
            }
        }
        endpoints.removeAll(where: \.isEnded)
    }
}
