import BusJSON
import BusLogic
import BusProtocol
import BusState

/// The bus without its sockets: a state machine from bytes and times to bytes.
///
/// It hosts the stores, carries out requests one after the other, and writes replies and events into the
/// outboxes of connections. It never reads a clock, a random source, a file or a socket: the same calls give
/// the same bytes, so a whole bus with many clients runs in a test. It belongs to one serial owner.
///
/// The way of a request: `receive` cuts lines (`Connections`), reads one (`BusProtocol`), plans it
/// (`Requests`), carries it out on the states and publishes what changed (`Commits`), to subscriptions
/// (`Subscriptions`), into outboxes.
package final class Engine {
    @exclusivity(unchecked) var configuration: EngineConfiguration
    @exclusivity(unchecked) package private(set) var limits: Limits

    /// The turn's time, in milliseconds since 1970.
    @exclusivity(unchecked) var now = 0
    @exclusivity(unchecked) package internal(set) var revision = 0
    /// The revision and the one before, as digits: each is written several times per commit.
    @exclusivity(unchecked) var revisionDigits = KeptDecimal(0)
    @exclusivity(unchecked) var previousDigits = KeptDecimal(0)
    /// Counts changes to stores; see `StoreRecord.sequence`.
    @exclusivity(unchecked) var sequence = 0
    /// What it was before the commit being published.
    @exclusivity(unchecked) var sequenceBefore = 0

    // Stores and types.
    @exclusivity(unchecked) var stores: StoreTable
    /// By index; never shrinks.
    @exclusivity(unchecked) var types: [TypeEntry] = []
    @exclusivity(unchecked) var typesByName: [String: TypeEntry] = [:] {
        didSet { nameChanges += 1 }
    }
    /// Counts what makes names of types and stores mean something else: types that come or go, and stores that go.
    @exclusivity(unchecked) var nameChanges = 0
    @exclusivity(unchecked) var lastType: TypeEntry?
    /// Types in the order in which one action reaches them.
    @exclusivity(unchecked) var commitOrder: [TypeEntry] = []
    @exclusivity(unchecked) var dropLog = DropLog()
    /// The sum of all states' sizes.
    @exclusivity(unchecked) var stateBytes = 0

    // Connections.
    @exclusivity(unchecked) var connections: [Connection?] = []
    @exclusivity(unchecked) var freeConnections: [ConnectionID] = []
    @exclusivity(unchecked) package internal(set) var connectionCount = 0
    /// Those with new output or a new status, and the storage of the list before.
    @exclusivity(unchecked) var readyConnections: [ConnectionID] = []
    @exclusivity(unchecked) var spareReadyList: [ConnectionID] = []
    /// How long the line is that is being carried out; only long ones make long events.
    @exclusivity(unchecked) var lineLength = 0
    /// That line; valid while it is carried out.
    @exclusivity(unchecked) var currentLine = UnsafeRawBufferPointer(start: nil, count: 0)
    /// The sum of all outboxes, and how much of it stands in runs that several share.
    @exclusivity(unchecked) var outboxBytes = 0
    @exclusivity(unchecked) var sharedOutboxBytes = 0
    /// Those runs, as long as somebody has not sent them, and what they take.
    @exclusivity(unchecked) var lentRuns: [ByteWriter] = []
    @exclusivity(unchecked) var lentBytes = 0
    @exclusivity(unchecked) var lentRunsSeenAt = 0
    /// What the process really takes, as its owner has measured it; 0 where nobody has.
    @exclusivity(unchecked) var measuredMemory = 0
    @exclusivity(unchecked) var relievedAt = 0
    /// Subscribers to actions for whom more waits than usual.
    @exclusivity(unchecked) var watchedReaders: [Connection] = []

    // Subscriptions.
    @exclusivity(unchecked) var shapes: [Shape.Key: Shape] = [:]
    /// How many there ever were.
    @exclusivity(unchecked) var shapeCount = 0
    /// Shapes whose pattern names one store, by its address.
    @exclusivity(unchecked) var exactShapes: [String: [Shape]] = [:]
    /// Shapes whose pattern has wildcards and wants some stores of a type only.
    @exclusivity(unchecked) var globShapes = GlobIndex()
    @exclusivity(unchecked) var subscriptionCount = 0
    @exclusivity(unchecked) var quietShapes = QuietShapes()
    /// Shapes that formed a cohort in this turn, and the bytes that cohorts wrote.
    @exclusivity(unchecked) var formedCohorts: [Shape] = []
    @exclusivity(unchecked) var usedRuns: [ByteWriter] = []
    @exclusivity(unchecked) var spareCohorts: [Cohort] = []
    let spareWriters = SpareWriters()
    /// How many stores are noted for shapes with a selection.
    @exclusivity(unchecked) var selectedChangeCount = 0
    /// Counts the actions that were published, so that each shape is told once.
    @exclusivity(unchecked) var publishedActions = 0
    /// What shapes, the stores in them, wills and unfinished lines count as.
    @exclusivity(unchecked) var shapeBytes = 0
    @exclusivity(unchecked) var membershipCount = 0
    @exclusivity(unchecked) var willBytes = 0
    @exclusivity(unchecked) var heldBytes = 0
    /// How many shapes want actions; mostly none.
    @exclusivity(unchecked) var actionShapeCount = 0
    /// Shapes that want actions of some stores of a type only, and those of them that have not found all their stores.
    @exclusivity(unchecked) var partialActionShapes: [Shape] = []
    @exclusivity(unchecked) var searchingActionShapes: [Shape] = []
    /// What is gathered for those who catch up, and not written yet.
    @exclusivity(unchecked) var catchUpBytes = 0
    /// When shapes have to be looked at because of the time, in milliseconds since 1970.
    @exclusivity(unchecked) var bookmarkDeadline: Int?
    /// When storage that large commits needed is given back, in milliseconds since 1970; nil where there is none.
    @exclusivity(unchecked) var relaxDeadline: Int?

    // Identities and keys.
    @exclusivity(unchecked) var identities: [Identity: Int32] = [:]
    @exclusivity(unchecked) var keys: KeyMemory
    /// Where a keyed request is written down, to be told from others.
    let keyScratch = ByteWriter(capacity: 1024)

    // Turns: who waits for one, and what was done in this one.
    @exclusivity(unchecked) var queue = FairQueue<Errand>()
    /// The work done in this turn.
    @exclusivity(unchecked) var work = 0
    /// Where on that clock the slice that is under way ends; 0 outside of one.
    @exclusivity(unchecked) var sliceEnd = 0
    /// What of it went into telling others: nobody waits longer because many want to hear of what it dispatches.
    @exclusivity(unchecked) var deliveredWork = 0
    /// Reads that go on in a later slice.
    @exclusivity(unchecked) var activeScans: [StoreScan] = []
    /// What they hold counts as.
    @exclusivity(unchecked) var scanBytes = 0
    /// Subscriber groups without subscribers that are still members of stores.
    @exclusivity(unchecked) var deserted: [Shape] = []
    @exclusivity(unchecked) var isSweeping = false
    @exclusivity(unchecked) var sweepShare = Share(expecting: 0)
    /// The bytes that this turn has made for clients.
    @exclusivity(unchecked) var turnOutput = 0
    /// Subscriptions that fell behind lately because there were too many to tell, those of long ago counting less.
    @exclusivity(unchecked) var falls = 0
    @exclusivity(unchecked) var fallsDecayedAt = 0
    /// Connections whose subscriptions wait until they may take live changes again, and when the first of them may.
    @exclusivity(unchecked) var resting: [Connection] = []
    @exclusivity(unchecked) var restDeadline: Int?
    /// Connections whose peers are gone, that wait for their turn, and how far they have come together.
    @exclusivity(unchecked) var lostConnections = WaitingLine()
    @exclusivity(unchecked) var isLostQueued = false
    @exclusivity(unchecked) var lostShare = Share(expecting: 0)
    /// Before this time, in milliseconds since 1970, no long commit is begun, and who waits for it.
    @exclusivity(unchecked) var gateOpensAt = 0
    @exclusivity(unchecked) var waitingAtGate: [Errand] = []
    /// The two connections that were at work last, and when.
    @exclusivity(unchecked) var latestActive = -1
    @exclusivity(unchecked) var latestActiveAt = Int.min / 2
    @exclusivity(unchecked) var otherActive = -1
    @exclusivity(unchecked) var otherActiveAt = Int.min / 2

    // The commit being made, kept to reuse its storage.
    let request: RequestReader
    let journal = Journal()
    /// Made right after the engine, whose answers it needs.
    @exclusivity(unchecked) private(set) var context: CommitContext!
    let plan = DispatchPlan()
    let touches = Stack<Touch>()
    let furtherRecords = Stack<FurtherRecords>()
    let memberChanges = MemberChanges()
    let entries = Stack<DeltaEntry>()
    let restricted = Stack<DeltaEntry>()
    let publication = Publication()
    /// Where an answer is put together that may prove too long.
    let scratch = ByteWriter(capacity: 4096)

    @exclusivity(unchecked) var statistics = Statistics()

    // The action log: what waits for the disk.
    /// Whether there is a log, and nothing leaves before it is written.
    @exclusivity(unchecked) package private(set) var isLogged = false
    @exclusivity(unchecked) var gathering = LogGroup()
    @exclusivity(unchecked) var inFlight: LogGroup?
    /// What was written last, for whoever is about to catch up with it.
    @exclusivity(unchecked) var writtenGroups: [LogGroup] = []
    /// The last revision that stands on disk.
    @exclusivity(unchecked) package internal(set) var durableRevision = 0
    /// Connections that are not read because too much waits for the disk.
    @exclusivity(unchecked) var waitingForLog: [Connection] = []
    @exclusivity(unchecked) var loggedTime = (milliseconds: 0, text: ByteWriter(capacity: 64))
    /// Why nothing can be committed now; nil while everything can.
    @exclusivity(unchecked) package internal(set) var trouble: String?
    /// Connections that ended while nothing could be committed.
    @exclusivity(unchecked) var endsToCome: [Connection] = []
    /// Counts what was asked of the log.
    @exclusivity(unchecked) var questionCount = 0
    /// By number, connections of a daemon before, as far as they left a will or stores behind. Only while a log is
    /// carried out.
    @exclusivity(unchecked) var pastConnections: [ConnectionID: Connection] = [:]
    @exclusivity(unchecked) var entryReader = EntryReader()
    /// Who acts in the log, by `by`.
    @exclusivity(unchecked) var actors: [String: Connection] = [:]

    package init(_ configuration: EngineConfiguration, types: [any StateType]) {
        self.configuration = configuration
        limits = configuration.limits
        stores = StoreTable(seed: configuration.hashSeed)
        keys = KeyMemory(seed: configuration.hashSeed)
        request = RequestReader(depth: configuration.limits.depth)
        for type in types { addType(type) }
        orderTypes()
        context = CommitContext(
            reader: self,
            budget: Budget(operations: configuration.limits.commit, bytes: Limits.commitBytes),
            storeBudget: Budget(operations: Limits.storeOperations, bytes: Limits.storeBytes))
    }

    /// From now on commits are gathered for a log, and what tells of them waits until they are written.
    package func beginLogging() {
        isLogged = true
        durableRevision = revision
        gathering.begin(after: revision)
        for case let connection? in connections {
            connection.outbox.release(through: connection.outbox.total)
        }
    }

    /// Puts other limits in force, for what comes from now on; what is there already stays.
    package func adopt(_ limits: Limits) {
        endCohorts()
        self.limits = limits
        request.limit(depth: limits.depth)
        for connection in connections { connection?.lines.limit(longest: limits.line, deepest: limits.depth) }
    }

    /// The name of this history.
    package var epoch: String {
        get { configuration.epoch }
        set { configuration.epoch = newValue }
    }

    /// The time of the last turn or commit, in milliseconds since 1970.
    package var lastTime: Int { now }

    package var storeCount: Int { stores.count }
    /// How often a store has been changed since this engine was made.
    package var changeCount: Int { sequence }
    package var subscriberCount: Int { subscriptionCount }

    /// Lets time go back: where a new history begins, and nobody is there yet, since within one it never does.
    package func turnBack(to milliseconds: Int) { now = milliseconds }

    /// When `tick` has to be called even if nothing else happens, in milliseconds since 1970; nil: never.
    package var nextDeadline: Int? {
        let due = min(
            relaxDeadline ?? .max, bookmarkDeadline ?? .max, gateDeadline ?? .max, watchDeadline ?? .max,
            restDeadline ?? .max)
        return due == .max ? nil : due
    }

    /// Does what the time asks for.
    package func tick() {
        bookmarkAfterTime()
        relaxIfDue()
        openGateIfDue()
        endStuckReaders()
        endRests()
    }

    // MARK: Types

    func addType(_ type: any StateType) {
        let entry = TypeEntry(index: Int32(types.count), type: type, stores: stores)
        types.append(entry)
        typesByName[type.name] = entry
        restartScans()
        for shape in shapesInOrder where shape.wantsWholeTypes && shape.key.pattern.type.matches(type.name) {
            entry.shapes.append(shape)
        }
    }

    /// Orders types by name, but behind those they wait for.
    func orderTypes() {
        commitOrder = []
        var placed: Set<String> = []
        func place(_ entry: TypeEntry) {
            guard placed.insert(entry.name).inserted else { return }
            for name in entry.type.waitFor.sorted(by: UTF8Order.precedes) {
                if let awaited = typesByName[name] { place(awaited) }
            }
            commitOrder.append(entry)
        }
        for entry in liveTypes.sorted(by: { UTF8Order.precedes($0.name, $1.name) }) { place(entry) }
    }

    /// The types that are defined now; a reload may have taken some away.
    var liveTypes: [TypeEntry] { types.filter { typesByName[$0.name] === $0 } }

    @inline(__always)
    func type(named name: UnsafeRawBufferPointer) -> TypeEntry? {
        if let lastType,
            Unmanaged.passUnretained(lastType)._withUnsafeGuaranteedRef({ $0.name.hasBytes(name) })
        {
            return lastType
        }
        // A dictionary finds text that only looks the same, too.
        guard let entry = typesByName[String(decoding: name, as: UTF8.self)], entry.name.hasBytes(name)
        else { return nil }
        lastType = entry
        return entry
    }
}

extension Engine: StoreReader {
    package func address(of store: Int) -> String {
        let record = stores.pointer(Int32(store))
        return "\(types[Int(record.pointee.type)].name)/\(record.pointee.name)"
    }

    package func state(at address: String) -> JSONObject? {
        var address = address
        return address.withUTF8 { bytes in
            guard let parts = AddressParts(UnsafeRawBufferPointer(bytes)),
                let entry = type(named: parts.type),
                let index = stores.find(type: entry.index, name: parts.name)
            else { return nil }
            return stores.pointer(index).pointee.state
        }
    }

    package func addresses(ofType type: String) -> [String] {
        guard let entry = typesByName[type] else { return [] }
        return entry.inOrder.map { address(of: Int($0)) }
    }
}
