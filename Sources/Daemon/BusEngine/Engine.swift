import BusCommands
import BusJSON
import BusLogic
import BusMachine
import BusProtocol

/// The bus without its sockets: a state machine, and in front of it the clients and their subscriptions.
///
/// The engine never reads a clock, a random source, a file or a socket, and calls nobody: what it needs from outside
/// it returns as outputs. The same calls give the same bytes, so a whole bus with many clients runs in a test. It
/// belongs to one serial owner.
///
/// A request passes from folder to folder: `Connections` splits the input into lines, `Requests` parses one and asks
/// `Admission` and the state machine, which applies it; `commit` has `Subscriptions` deliver it and `Log` write it;
/// once it is on disk, the output of the connections is sent.
package final class Engine {
    let configuration: EngineConfiguration
    @exclusivity(unchecked) package private(set) var limits: Limits

    /// What commits mean.
    let machine: StateMachine
    /// The turn's time and work, and who waits for a turn.
    let clock: TurnClock
    let scheduler: Scheduler
    let users: Users
    let shares: FairShares
    /// The clients and their output.
    let connections: Connections
    /// What waits for the disk, and the queries to the log.
    let log: LogGate
    let access: AccessControl
    let queries: LogQueries
    /// The subscriptions, and what is delivered to each.
    let hub: SubscriptionHub
    /// What is refused before it is a commit.
    let memory: MemoryMeter
    let admission: Admission
    /// Reads of many stores.
    let reads = PendingReads()
    /// The bytes of all lines that were executed, with their ends.
    @exclusivity(unchecked) var bytesExecuted = 0
    /// Which actions of single stores were expensive lately, and whether any was.
    let expensive = ExpensiveActions()
    @exclusivity(unchecked) var knowsExpensive = false
    /// The requests on their way through the log that several machines share, where they do.
    let shared = SharedRequests()
    let outputs: Outputs
    /// How long things take, as the owner measures it.
    package let timings = Timings()
    /// What only the owner knows of the process and its files, for `stats`.
    package var ownersStatistics: () -> JSONObject = { [:] }

    // The request being executed.
    let request: RequestReader
    /// What requests that change the bus mean.
    let commands: Commands
    /// Where they run.
    private(set) lazy var local = LocalHost(self)
    /// Its line; valid while it is executed.
    @exclusivity(unchecked) var currentLine = UnsafeRawBufferPointer(start: nil, count: 0)
    /// From this length on, a line may bring values that make an event longer than a line.
    @exclusivity(unchecked) private(set) var longLine: Int
    /// Scratch space for a reply that may prove too long.
    let scratch = ByteWriter(capacity: 4096)

    /// Sessions that ended while nothing could be committed.
    @exclusivity(unchecked) var unendedSessions: [Session] = []
    /// Sessions that wait for their clients to come back.
    @exclusivity(unchecked) var lingering = LingeringSessions()
    /// The connections that have named a session.
    @exclusivity(unchecked) var sessionHolders: [SessionHolder: ConnectionID] = [:]
    /// When readers were last disconnected because memory was short.
    @exclusivity(unchecked) var relievedAt = 0
    @exclusivity(unchecked) var largeWriteSetsSeen = 0
    @exclusivity(unchecked) var totals = Totals()
    /// Whether the operator's log reports every commit.
    let reportsCommits: Bool

    /// What has been done since the start, for `stats`.
    struct Totals {
        var requests = 0
        var commits = 0
        var dispatches = 0
        var duplicates = 0
        var errors: [String: Int] = [:]
    }

    /// An engine for a new bus.
    package convenience init(_ configuration: EngineConfiguration, types: [any StateType]) {
        let machine = StateMachine(types: types, epoch: configuration.epoch, hashSeed: configuration.hashSeed)
        machine.beginAccess(configuration.access)
        self.init(configuration, machine)
    }

    /// An engine in front of an existing state machine.
    ///
    /// - Parameter isShared: Limits that decide outcomes are those that the machine has, as other members have them.
    package init(_ configuration: EngineConfiguration, _ machine: StateMachine, isShared: Bool = false) {
        self.configuration = configuration
        self.machine = machine
        limits = configuration.limits
        if !isShared { machine.limits = configuration.limits.effective }
        machine.knownTypes = configuration.knownTypes
        clock = TurnClock(configuration.limits.daemon)
        clock.now = machine.time
        users = Users(ownUID: configuration.ownUID)
        scheduler = Scheduler(clock, users)
        connections = Connections(clock, users, configuration.limits.daemon)
        log = LogGate(connections)
        reportsCommits = configuration.reportsFrom == .debug
        outputs = Outputs(reportsFrom: configuration.reportsFrom)
        queries = LogQueries(machine, connections, outputs)
        hub = SubscriptionHub(machine, connections, scheduler, clock, log, outputs, queries)
        memory = MemoryMeter(machine, connections, hub, reads)
        shares = FairShares(machine, connections, hub, memory)
        hub.limitOutput { [unowned shares] in shares.mayHold($0, for: $1) }
        access = AccessControl(machine, clock, connections, lookUp: configuration.lookUp)
        admission = Admission(
            machine, connections, hub, log, memory, access, users, shares, ownUID: configuration.ownUID)
        longLine = configuration.limits.daemon.line / 4
        request = RequestReader(depth: configuration.limits.daemon.depth)
        commands = Commands(machine, request)
    }

    // MARK: - Commits

    /// Applies the plan; if that takes more memory than there is, or leaves the user of `connection` with more timers than
    /// its share, it is rolled back and refused. Returns how many stores matched.
    @inline(__always)
    func apply(
        by principal: Principal, for connection: Connection? = nil, spending most: Int = .max
    ) throws(RequestError) -> Int {
        let (before, timersSet) = (machine.stateBytes, machine.timersSet)
        do throws(RequestError) {
            let matched = try machine.apply(by: principal, spending: most)
            if machine.stateBytes > before { try admission.requireMemory() }
            // What fires sets itself anew, whatever others have taken meanwhile.
            if machine.timersSet != timersSet, let connection { try shares.requireTimers(connection.user) }
            noteOperations(machine.operationsSpent)
            return matched
        } catch {
            noteOperations(machine.operationsSpent)
            machine.rollback()
            noteStorage()
            throw error
        }
    }

    /// Commits what was applied, together with `details`; subscribers are notified, and the log gets its entry.
    @inline(__always)
    func commit(
        by principal: Principal, actions: Bool, key: KeyedRequest? = nil, _ details: CommitDetails? = nil
    ) {
        if machine.commit(by: principal, actions: actions, key: key, details, to: self) { hub.scheduleTrim() }
    }

    /// What was rolled back may have been large: the storage it needed is released some time later.
    func noteStorage() {
        if machine.largeWriteSets == largeWriteSetsSeen { return }
        largeWriteSetsSeen = machine.largeWriteSets
        hub.scheduleTrim()
    }

    // MARK: - Outputs

    /// Whether there are outputs for the owner to take.
    package var hasOutputs: Bool { !outputs.isEmpty }

    /// Takes the outputs.
    package func takeOutputs() -> [EngineOutput] { outputs.isEmpty ? [] : outputs.take() }

    // MARK: - Time

    /// When `tick` has to be called even if nothing else happens, in milliseconds since 1970; nil: never.
    package var nextDeadline: Int? {
        let due = min(hub.nextDeadline, scheduler.gateDeadline ?? .max, lingering.nextDeadline ?? .max)
        return due == .max ? nil : due
    }

    /// Does what is due by now, if anything is.
    @inline(__always)
    package func tickIfDue() {
        if min(nextDeadline ?? .max, nextTimer ?? .max) <= clock.now { tick() }
    }

    /// Does what is due by now.
    package func tick() {
        hub.tick()
        scheduler.openGateIfDue()
        // As on a shared bus, what a session leaves is done before timers fire that are due at the same time.
        endLingeringSessions(dueBy: min(clock.now, machine.nextDue))
        queueDueTimers()
        endLingeringSessions(dueBy: clock.now)
    }

    // MARK: - Questions and settings for the owner

    /// Applies other limits from now on; what exists already stays.
    package func adopt(_ limits: Limits) {
        hub.endMulticasts()
        self.limits = limits
        // Those of a shared bus stand in its log.
        if !shared.isOn { machine.limits = limits.effective }
        clock.limits = limits.daemon
        longLine = limits.daemon.line / 4
        connections.adopt(limits.daemon)
        request.limit(depth: limits.daemon.depth)
    }

    /// The UUID of this history.
    package var epoch: String {
        get { machine.epoch }
        set { machine.epoch = newValue }
    }

    package var revision: Int { machine.revision }
    /// The last revision that is on disk.
    package var durableRevision: Int { log.durableRevision }
    /// Why nothing can be committed now; nil while everything can.
    package var unavailableReason: String? { log.unavailableReason }
    /// Whether there is a log, and nothing is sent before it is written.
    package var isLogged: Bool { log.isOn }

    /// The time of the last turn or commit, in milliseconds since 1970.
    package var lastTime: Int { machine.time }

    /// The seed of the hashes in use; a client that knows it can choose names that collide.
    package var hashSeed: UInt64 { machine.hashSeed }

    package var storeCount: Int { machine.storeCount }
    /// How often a store has been changed since this history began.
    package var changeCount: Int { machine.sequence }
    package var connectionCount: Int { connections.count }
    package var subscriberCount: Int { hub.subscriptionCount }
    /// How many subscriber groups wait for their bookmark; each must have a subscriber.
    package var groupsAwaitingBookmark: Int { hub.groupsAwaitingBookmark }
    /// Whether the last line was a plain dispatch that matched its sender's request template.
    package var lastLineMatchedTemplate: Bool { request.matchesTemplate }
    /// How often an entry of the heap of timers was compared or moved.
    package var timerSteps: Int { machine.timers.steps }
    /// How often a multicast group was formed.
    package var multicastsFormed: Int { hub.multicastsFormed }

    /// The state of the store at an address; nil when there is none.
    package func state(at address: String) -> JSONObject? { machine.state(at: address) }
    package func addresses(ofType type: String) -> [String] { machine.addresses(ofType: type) }
    package var stateDigest: String { machine.stateDigest }
    /// The state machine's snapshot, as bytes.
    package func snapshot() -> ByteWriter { machine.snapshot() }

    /// Sets the time back: only where a new history begins and no client is connected, since within a
    /// history time never goes back.
    package func turnBack(to milliseconds: Int) {
        machine.turnBack(to: milliseconds)
        clock.now = milliseconds
    }
}
