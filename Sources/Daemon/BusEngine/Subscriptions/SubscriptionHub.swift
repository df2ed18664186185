import BusJSON
import BusMachine
import BusProtocol
import BusState

/// Which subscribers receive what: subscriptions, the groups of those that are alike, and
/// how far each of them has come.
///
/// A commit is encoded once per group (`publish`); a subscriber that can't take it now catches up later, in its
/// own turn, with what differs by then. The hub reads the state machine and writes to connections; it never
/// influences what a commit does.
final class SubscriptionHub {
    /// Where it is written what commits come to, for the comparison with other members of a shared bus; nil: nowhere.
    @exclusivity(unchecked) var trace: ByteWriter?

    let machine: StateMachine
    let connections: Connections
    let scheduler: Scheduler
    let clock: TurnClock
    let log: LogGate
    let outputs: Outputs
    let queries: LogQueries
    /// Whether this many more bytes may wait for a connection.
    @exclusivity(unchecked) private(set) var mayHold: (Int, Connection) -> Bool = { _, _ in true }

    /// From now on `mayHold` decides whether more bytes may wait for a connection: it knows the shares of users, which
    /// are made after the hub.
    func limitOutput(by mayHold: @escaping (Int, Connection) -> Bool) { self.mayHold = mayHold }

    /// The revision and the one before, as digits: each is written several times per commit.
    @exclusivity(unchecked) private(set) var revisionDigits = KeptDecimal(0)
    @exclusivity(unchecked) private(set) var previousDigits = KeptDecimal(0)

    let groups: SubscriberGroups
    /// Their subscriptions.
    @exclusivity(unchecked) var subscriptionCount = 0

    // The commit being published.
    let publication = Publication()
    let restricted = Stack<DeltaEntry>()
    /// Counts the actions that were published, so that each group is notified once.
    @exclusivity(unchecked) var publishedActions = 0
    /// Groups with a multicast in this turn.
    @exclusivity(unchecked) var formedMulticasts: [SubscriberGroup] = []
    @exclusivity(unchecked) var spareMulticasts: [MulticastGroup] = []
    /// How many multicasts were ever formed.
    @exclusivity(unchecked) var multicastsFormed = 0

    // Subscribers that are notified later.
    @exclusivity(unchecked) var bookmarkQueue = BookmarkQueue()
    /// When groups have to be checked because of the time, in milliseconds since 1970.
    @exclusivity(unchecked) var bookmarkDeadline: Int?
    /// How many changed stores are recorded for groups with a selection.
    @exclusivity(unchecked) var selectedChangeCount = 0
    let rests: Rests
    /// Subscribers to actions with more waiting output than usual.
    @exclusivity(unchecked) var watchedReaders: [Connection] = []
    /// When storage that large commits needed is released, in milliseconds since 1970; nil where there is none.
    @exclusivity(unchecked) var trimDeadline: Int?

    /// Since the start, for `stats`.
    @exclusivity(unchecked) var totals = Totals()

    struct Totals {
        var events = 0
        var coalesced = 0
        var bookmarks = 0
        var slowConsumers = 0
    }

    init(
        _ machine: StateMachine, _ connections: Connections, _ scheduler: Scheduler, _ clock: TurnClock,
        _ log: LogGate, _ outputs: Outputs, _ queries: LogQueries
    ) {
        self.machine = machine
        self.connections = connections
        self.scheduler = scheduler
        self.clock = clock
        self.log = log
        self.outputs = outputs
        self.queries = queries
        groups = SubscriberGroups(machine, clock, scheduler)
        rests = Rests(clock, scheduler)
        noteRevision()
    }

    // MARK: For other parts

    /// How many groups wait for their bookmark.
    var groupsAwaitingBookmark: Int { bookmarkQueue.count }
    /// All that subscriptions make the daemon hold.
    var memory: Int {
        subscriptionCount * 128 + groups.memory
    }

    /// Figures that are kept as they change, beside what they come to when they are counted from nothing.
    var recount: [MemoryCount] {
        var (subscriptions, parts) = (0, 0)
        for case let connection? in connections.all {
            subscriptions += connection.delivery.subscriptions.count
            for subscription in connection.delivery.subscriptions {
                parts += subscription.catchUp?.part?.countedBytes ?? 0
            }
            parts += connection.delivery.past?.countedBytes ?? 0
        }
        return [
            MemoryCount("subscriptions", subscriptionCount, subscriptions),
            MemoryCount("parts", connections.all.reduce(0) { $0 + ($1?.output.partBytes ?? 0) }, parts),
        ] + groups.recount
    }

    /// When `tick` has to be called even if nothing else happens, in milliseconds since 1970.
    var nextDeadline: Int {
        min(bookmarkDeadline ?? .max, watchDeadline ?? .max, rests.deadline ?? .max, trimDeadline ?? .max)
    }

    /// Does what is due by now.
    func tick() {
        bookmarkAfterTime()
        trimIfDue()
        endStuckReaders()
        rests.end()
    }

    /// The machine has advanced to another revision.
    @inline(__always)
    func noteRevision() {
        previousDigits = revisionDigits
        revisionDigits = KeptDecimal(machine.revision)
    }

    /// Sends a goodbye; what was written before is still sent.
    func close(_ connection: Connection, _ code: GoodbyeCode, _ message: String) {
        guard !connection.isClosing else { return }
        endMulticast(with: connection)
        connections.close(connection, code, message)
    }

    /// Ends all subscriptions of a connection.
    func removeAll(of connection: Connection) {
        connection.endSearches()
        for subscription in connection.delivery.subscriptions.reversed() { detach(subscription) }
        connection.delivery.remove { _ in true }
    }
}

/// Storage is kept for the next commit; what only a large commit needed is released when no more large ones come.
extension SubscriptionHub {
    /// A large commit has been made: the next one may be as large.
    func scheduleTrim() { trimDeadline = clock.now + DaemonLimits.largeStorageKept }

    /// Releases what large commits took, once it is due.
    func trimIfDue() {
        guard let deadline = trimDeadline, deadline <= clock.now else { return }
        trimDeadline = nil
        machine.trimStorage()
        restricted.relax()
        for content in publication.contents.elements { content.relax() }
    }
}
