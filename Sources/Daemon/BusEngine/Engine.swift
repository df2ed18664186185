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
/// Each job has a part that owns what it needs, and the engine is the way between them. A request passes from folder to
/// folder: `Connections` splits the input into lines, `Requests` parses one and asks `Admission`; what would change the
/// bus is executed by `Commands`, or proposed to the members of a shared bus (`Cluster`). `Commits` has `Subscriptions`
/// deliver what was committed and `Log` write it; `Replies` answers; once it is on disk, the output of the connections is
/// sent.
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
    /// Who gives way where memory is short.
    private let relief: MemoryRelief
    /// Reads of many stores.
    let reads = PendingReads()
    /// The bytes of all lines that were executed, with their ends.
    @exclusivity(unchecked) var bytesExecuted = 0
    /// What requests cost, and which of them wait.
    let long: LongRequests
    /// What becomes of commits.
    let commits: LiveCommits
    /// The requests on their way through the log that several machines share, where they do.
    package let shared: SharedRequests
    let outputs: Outputs
    package let statistics: Statistics

    /// From this length on, a line may bring values that make an event longer than a line.
    @exclusivity(unchecked) private(set) var longLine: Int

    // The request being executed.
    let request: RequestReader
    /// Its line; valid while it is executed.
    @exclusivity(unchecked) var currentLine = UnsafeRawBufferPointer(start: nil, count: 0)
    /// What requests that change the bus mean.
    let commands: Commands
    /// Where they run.
    let local: LocalHost
    let replies: Replies
    /// What clients leave behind.
    package let sessions: Sessions
    /// What happens because it is due.
    let timers: Timers

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
        outputs = Outputs(reportsFrom: configuration.reportsFrom)
        let maps = Maps(machine, clock, connections, outputs)
        log = LogGate(connections, maps)
        queries = LogQueries(machine, connections, outputs)
        hub = SubscriptionHub(machine, connections, scheduler, clock, log, outputs, queries)
        memory = MemoryMeter(machine, connections, hub, reads, maps)
        shares = FairShares(machine, connections, hub, memory)
        hub.limitOutput { [unowned shares] in shares.mayHold($0, for: $1) }
        relief = MemoryRelief(clock, connections, hub, memory, users, shares)
        access = AccessControl(machine, clock, connections, outputs, maps, lookUp: configuration.lookUp)
        admission = Admission(
            machine, connections, hub, log, memory, access, users, shares, ownUID: configuration.ownUID)
        long = LongRequests(machine, clock, scheduler, connections)
        commits = LiveCommits(machine, clock, hub, log, reads, admission, shares, long)
        shared = SharedRequests(admission, connections, users, outputs)
        statistics = Statistics(
            machine, clock, users, connections, hub, memory, access, shared, version: configuration.version)
        longLine = configuration.limits.daemon.longLine
        request = RequestReader(depth: configuration.limits.daemon.depth)
        commands = Commands(machine, request)
        local = LocalHost(
            commands, commits, admission, shares, users, clock, long, log, connections, outputs)
        replies = Replies(machine, request, clock, connections, hub, shares, access, statistics, shared)
        sessions = Sessions(
            machine, clock, scheduler, connections, users, shares, log, access, long, commands, local)
        timers = Timers(machine, clock, scheduler, users, log, access, long, commands, local)
    }

    // MARK: - Outputs

    /// Whether there are outputs for the owner to take.
    package var hasOutputs: Bool { !outputs.isEmpty || log.hasNewsForMaps }

    /// Takes the outputs.
    package func takeOutputs() -> [EngineOutput] {
        log.updateMaps()
        return outputs.isEmpty ? [] : outputs.take()
    }

    // MARK: - Time

    /// When `tick` has to be called even if nothing else happens, in milliseconds since 1970; nil: never.
    package var nextDeadline: Int? {
        let due = min(hub.nextDeadline, scheduler.gateDeadline ?? .max, sessions.nextDeadline ?? .max)
        return due == .max ? nil : due
    }

    /// When timers are due next, in milliseconds since 1970; nil while none is, or while they wait for something else.
    package var nextTimer: Int? { timers.next }

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
        sessions.endLingering(dueBy: min(clock.now, machine.nextDue))
        timers.queueDue()
        sessions.endLingering(dueBy: clock.now)
    }

    // MARK: - Memory

    /// The owner of the process reports how much memory it takes beyond what it took at its start, in bytes.
    package func noteMemory(_ bytes: Int) { memory.measured = bytes }

    /// What the memory limit counts: all that clients can make the daemon hold.
    package var accountedMemory: Int { memory.accounted }

    /// Returns unused memory to the kernel, for moments when nothing else is to be done.
    package func giveBackMemory() { machine.giveBackMemory() }

    /// While memory is short: disconnects clients that do not read until it is enough.
    package func relieveMemory() { relief.relieve() }

    /// What of it was counted wrong; empty while all is right.
    package var miscounts: [String] { memory.miscounts(of: users) }

    // MARK: - Questions and settings for the owner

    /// Applies this daemon's limits from now on; what exists already stays.
    func adopt(_ limits: Limits) {
        hub.endMulticasts()
        self.limits = limits
        clock.limits = limits.daemon
        longLine = limits.daemon.longLine
        connections.adopt(limits.daemon)
        request.limit(depth: limits.daemon.depth)
    }

    /// In what the files of a member of a shared bus differ from what is in force there.
    package func differences(from loaded: LoadedDefinitions) -> [String] { loaded.differences(from: machine) }

    /// One thing took this many nanoseconds, whatever work was counted for it.
    package func noteTime(_ nanoseconds: Int) { long.noteTime(nanoseconds) }

    /// Reading a connection took this many nanoseconds more than was counted: it comes after others by as much.
    package func charge(_ nanoseconds: Int, to id: ConnectionID) {
        scheduler.charge(nanoseconds, to: connections[id])
    }

    /// The UUID of this history.
    package var epoch: String {
        get { machine.epoch }
        set { machine.epoch = newValue }
    }

    package var revision: Int { machine.revision }
    /// The last revision that is on disk.
    package var durableRevision: Int { log.durableRevision }
    /// The last revision of the batches that are written: snapshots are taken there.
    package var writtenRevision: Int { log.writtenRevision }
    /// How far back the log keeps the past of types, where that is less far than its retention.
    package var pastRules: [String: LogReach] { machine.pastRules }
    /// The shortest time for which it keeps any past, in milliseconds, where the bus's is `age`.
    package func shortestPast(_ age: Int) -> Int { machine.shortestPast(age) }
    /// Why nothing can be committed now; nil while everything can.
    package var unavailableReason: String? { log.unavailableReason }
    /// Whether there is a log, and nothing is sent before it is written.
    package var isLogged: Bool { log.isOn }

    /// The time of the last turn or commit, in milliseconds since 1970.
    package var lastTime: Int { machine.time }

    /// The seed of the hashes in use; a client that knows it can choose names that collide.
    package var hashSeed: UInt64 { machine.hashSeed }

    package var storeCount: Int { machine.storeCount }
    /// How often a store has been changed since this history began, as far as the log keeps it: so much a start repeats.
    package var keptChanges: Int { machine.sequence - log.unkeptChanges }
    package var connectionCount: Int { connections.count }
    package var subscriberCount: Int { hub.subscriptionCount }
    /// How many subscriber groups wait for their bookmark; each must have a subscriber.
    package var groupsAwaitingBookmark: Int { hub.groupsAwaitingBookmark }
    /// Whether the last line was a plain dispatch that matched its sender's request template.
    package var lastLineMatchedTemplate: Bool { request.matchesTemplate }
    /// How often an entry of the heap of timers was compared or moved.
    package var timerSteps: Int { machine.timers.steps }
    /// How often it was summed up what one user's connections hold: each time all connections are looked at.
    package var sumsOfHoldings: Int { shares.sums }
    /// How often a multicast group was formed.
    package var multicastsFormed: Int { hub.multicastsFormed }

    /// The state of the store at an address; nil when there is none.
    package func state(at address: String) -> JSONObject? { machine.state(at: address) }
    package func addresses(ofType type: String) -> [String] { machine.addresses(ofType: type) }
    package var stateDigest: String { machine.stateDigest }
    /// The state machine's snapshot, as bytes.
    package func snapshot() -> ByteWriter { machine.snapshot() }

    /// Sets the time back, and timers and leases with it: only where a new history begins and no client is connected, since within a
    /// history time never goes back.
    package func turnBack(to milliseconds: Int) {
        let details = machine.turnBackWithTimers(to: milliseconds)
        clock.now = milliseconds
        if let details { commits.commit(by: .daemon, actions: false, details) }
    }
}
