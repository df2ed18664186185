import BusEngine
import BusHistory
import BusJSON
import BusLogic
import BusMachine

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
        /// YAML of access rules; nil: there are none.
        package var access: String?
        /// The users of the machine by uid, with their groups.
        package var users: [Int: (user: String, groups: [String])] = [:]
        /// A log, which is empty or one that a bus before has written.
        package var log: MemoryLog?
        /// Whether what commits goes through a shared log, as on a bus of several machines, of which this is one.
        package var isShared = BusMode.current == .shared
        package init() {}
    }

    /// The daemon's own uid.
    package static let ownUID = 990
    package let epoch: String
    package private(set) var engine: Engine
    private let setup: Setup
    /// Nil: the bus is this machine's alone.
    private let member: MemoryMember?
    private let configuration: EngineConfiguration
    private let types: [any StateType]
    /// What a reload finds: YAML of types beside the samples.
    package var definitions: [String]
    /// The same: YAML of access rules.
    package var access: String?
    /// The same: settings that only a restart takes.
    package var restart: [String] = []
    /// The same: the names that tokens stand for.
    package let tokens: MemoryTokens
    /// Milliseconds since 1970.
    package private(set) var now = 1_795_000_000_000
    private var endpoints: [MemoryEndpoint] = []
    /// What its maps have.
    package let maps = MemoryMaps()
    private var nextProcess = 4711

    package init(_ setup: Setup = Setup(), epoch: String = "7c1f6a52-9a43-4a7e-8c55-2f0d8e5b1a90") throws {
        self.epoch = epoch
        var setup = setup
        if setup.isShared { setup.log = setup.log ?? MemoryLog() }
        self.setup = setup
        definitions = setup.definitions
        types = try Self.types(setup.natives, setup.definitions)
        access = setup.access
        tokens = MemoryTokens(setup.tokens)
        configuration = try Self.configuration(setup, epoch, types, access: setup.access, tokens)
        if setup.isShared {
            let copy = setup.log!
            let member = try MemoryMember(configuration, types: types, copy, now: now)
            engine = Engine(configuration, member.machine, isShared: true)
            self.member = member
            if copy.snapshotBytes.isEmpty { copy.takeSnapshot(engine.snapshot(), at: engine.revision) }
        } else if let written = setup.log, !written.snapshotBytes.isEmpty {
            engine = Engine(configuration, try Self.replayer(setup.natives).machine(from: written))
            member = nil
        } else {
            member = nil
            engine = Engine(configuration, types: types)
            if setup.log != nil { engine.keepAsDefined() }
            setup.log?.takeSnapshot(engine.snapshot(), at: engine.revision)
        }
        now = max(now, engine.lastTime)
        engine.beginTurn(at: now)
        if let member {
            engine.beginLogging()
            member.serve(with: engine)
            replayer = Self.replayer(setup.natives)
            settle()
            precondition(member.hasBegun, "The member begins: \(member.failure ?? "it does not").")
            for store in setup.stores { engine.shared.submitConfigured(store) }
        } else if setup.log != nil {
            if let written = setup.log, written.lastRevision > 0 {
                engine.forgetUnkept(through: written.reservedThrough)
                written.pass(through: engine.revision)
            }
            engine.beginLogging()
            engine.sessions.endOrphaned()
            try engine.begin(with: types)
            replayer = Self.replayer(setup.natives)
        }
        if member == nil { for store in setup.stores { try engine.createConfigured(store) } }
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
    /// Whether the bus of the last durable revision is made when a group could not be written; otherwise that takes its time.
    package var rewinds = true {
        didSet { settle() }
    }
    /// Whether the files of a reload are read at once; otherwise that takes its time.
    package var readsFiles = true {
        didSet { settle() }
    }
    private var reloads: [ReloadRequest] = []
    private var isRewinding = false
    private var replayer: Replayer?
    private var queries: [LogQuery] = []
    private var inFlight: SealedBatch?

    /// A busy disk is done with one group, and goes on with the next.
    package func finishWrite() {
        guard let group = inFlight else { return }
        inFlight = nil
        setup.log?.append(group)
        confirm(group)
        settle()
    }

    private func confirm(_ group: SealedBatch) {
        engine.confirmBatch()
        if let shared = group.shared { member?.stored(through: shared.place) }
    }

    /// Brings groups to the log and answers to the engine; true if something happened.
    private func workWithLog() throws -> Bool {
        guard let written = setup.log, let replayer else { return false }
        var isBusy = false
        if inFlight == nil, let group = engine.sealBatch() {
            inFlight = group
            isBusy = true
        }
        if let group = inFlight, disk != .isBusy {
            inFlight = nil
            isBusy = true
            if disk == .works {
                written.append(group)
                confirm(group)
            } else {
                engine.suspendCommits(reason: "The bus can't commit; try again later.")
                isRewinding = true
            }
        }
        if isRewinding, rewinds {
            isRewinding = false
            isBusy = true
            engine.rewind(to: try replayer.machine(at: engine.durableRevision, from: written))
        }
        if disk == .works, !isRewinding, engine.unavailableReason != nil {
            engine.resumeCommits()
            for store in setup.stores { try engine.createConfigured(store, unkeptOnly: true) }
            isBusy = true
        }
        for query in queries where answersPast && query.needed <= engine.durableRevision {
            queries.removeAll { $0.number == query.number }
            let answers = PastAnswers(written, replayer, longestLine: setup.limits.daemon.line)
            engine.answer(query, with: written.answer(asFile: query) ?? answers.answer(query))
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
    package func past(at revision: Int) throws -> StateMachine {
        guard let written = setup.log else {
            throw PastFailure(.gone, "This bus has no log; give its setup one.")
        }
        return try replay().machine(at: revision, from: written)
    }

    /// What applies the log.
    package func replay() throws -> Replayer {
        guard let replayer else { throw PastFailure(.gone, "This bus has no log; give its setup one.") }
        return replayer
    }

    /// One that gives up as soon as nobody wants it to go on.
    package func replay(while isWanted: @escaping () -> Bool) -> Replayer {
        Replayer(knowing: setup.natives, hashSeed: configuration.hashSeed, isWanted: isWanted)
    }

    /// The seed of this bus's hashes.
    package static let hashSeed: UInt64 = 0x1d3a_7c15_9e37_79b9

    private static func replayer(_ natives: [any StateType]) -> Replayer {
        Replayer(knowing: natives, hashSeed: hashSeed)
    }

    private static func configuration(
        _ setup: Setup, _ epoch: String, _ types: [any StateType], access: String?, _ tokens: MemoryTokens
    ) throws -> EngineConfiguration {
        var configuration = EngineConfiguration(epoch: epoch, ownUID: ownUID, version: "test")
        configuration.limits = setup.limits
        configuration.tokenName = { tokens.names[$0] }
        configuration.tokenDigest = { tokens.digest(of: $0) }
        configuration.knownTypes = setup.natives
        configuration.hashSeed = hashSeed
        configuration.access = try rules(access, types)
        configuration.lookUp = { uid in setup.users[uid].map { ($0.user, $0.groups) } ?? (nil, []) }
        return configuration
    }

    /// Does what the engine wants of the world; true if there was something.
    private func perform(_ outputs: [EngineOutput]) -> Bool {
        for output in outputs {
            switch output {
            case .diagnostic(let diagnostic): operatorNotes.append(diagnostic.message)
            case .query(let query): queries.append(query)
            case .reload(let request): reloads.append(request)
            case .entry(let entry, let ticket, let user): member!.submit(entry, ticket: ticket, user: user)
            case .barrier(let ticket): member!.sync(ticket: ticket)
            case .cluster(let query): member!.answer(query)
            case .map(let output): maps.perform(output, engine)
            }
        }
        if !readsFiles || reloads.isEmpty { return !outputs.isEmpty }
        for request in reloads {
            let loaded = Result {
                let types = try Self.types(setup.natives, definitions)
                return LoadedDefinitions(
                    types: types, limits: engine.limits, access: try Self.rules(access, types),
                    restart: restart)
            }.mapError { ReloadFailure(message: "\($0)") }
            if engine.finishReload(request, loaded) { engine.endWithoutToken() }
        }
        reloads = []
        return true
    }

    private static func rules(_ yaml: String?, _ types: [any StateType]) throws -> AccessRules? {
        try yaml.map { try AccessRules.load(yaml: $0, types: types) }
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
        if setup.isShared { throw TransferFailure("A member of a shared bus hands nothing over.") }
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
        repeat { settle() } while engine.refuseQueries()
        settle()
        if let group = engine.sealBatch(whole: true) {
            setup.log?.append(group)
            engine.confirmBatch()
        }
        let bytes = handedOver()
        let follower = Engine(
            try Self.configuration(setup, epoch, types, access: access, tokens), types: [])
        follower.beginTurn(at: now)
        try bytes.withUnsafeBytes { try follower.takeOver($0, isLogToCome: true) }
        // Neither the old daemon's queries nor any before there is a log reach anybody.
        queries = []
        _ = follower.takeOutputs()
        follower.beginLogging()
        follower.sessions.endOrphaned()
        try follower.begin(with: types)
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
        let configuration = try Self.configuration(
            setup, "00000000-0000-4000-8000-000000000000", types, access: access, tokens)
        let engine = Engine(configuration, types: types)
        try bytes.withUnsafeBytes { try engine.takeOver($0) }
        return engine
    }

    /// What the engine told the operator.
    package private(set) var operatorNotes: [String] = []

    /// A client on a Unix socket. Each is a process of its own.
    package func connect(uid: Int = 1000) -> MemoryClient {
        nextProcess += 1
        return connect(.unix(uid: uid, pid: nextProcess))
    }

    package func connect(_ peer: Peer, comm: String? = nil) -> MemoryClient {
        let endpoint = MemoryEndpoint(engine: engine, connection: engine.connect(peer, comm: comm))
        endpoints.append(endpoint)
        return MemoryClient(bus: self, endpoint: endpoint)
    }

    /// Lets time pass.
    package func advance(milliseconds: Int) {
        let end = now + milliseconds
        // A member that is silent for longer loses its lease, and the time of a shared bus does not leap.
        while member != nil, end - now > MemoryMember.longestStep {
            now += MemoryMember.longestStep
            settle()
        }
        now = end
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
            if perform(engine.takeOutputs()) { isBusy = true }
            // What a log in memory says can be trusted; a test that damages one reads it by itself.
            if (try? workWithLog()) == true { isBusy = true }
            if member?.work(at: now) == true { isBusy = true }
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
