import BusJSON
import BusMachine
import BusProtocol
import BusState

/// Who is told what: subscriptions, the groups of those that are alike, and how far each of them has come.
///
/// A commit is encoded once per group (`publish`); whoever can't take it now catches up later, in its own turn, with what
/// differs by then. The hub reads the state machine and writes to connections; what it tells never decides anything.
final class SubscriptionHub {
    let machine: StateMachine
    let connections: Connections
    let scheduler: Scheduler
    let clock: TurnClock
    let log: LogGate
    let outputs: Outputs
    let queries: LogQueries

    /// The revision and the one before, as digits: each is written several times per commit.
    @exclusivity(unchecked) private(set) var revisionDigits = KeptDecimal(0)
    @exclusivity(unchecked) private(set) var previousDigits = KeptDecimal(0)

    // Groups.
    @exclusivity(unchecked) var groups: [SubscriptionFilter: SubscriberGroup] = [:]
    /// How many there ever were.
    @exclusivity(unchecked) var groupsMade = 0
    /// Those that want every store of a type, by the type's index.
    @exclusivity(unchecked) var groupsByType: [[SubscriberGroup]] = []
    /// Those that want some stores of a type only, by store, and how they are found: by the one address that their pattern
    /// names, or by what names that match it begin with.
    let groupsByStore = StoreGroups()
    @exclusivity(unchecked) var exactGroups: [String: [SubscriberGroup]] = [:]
    @exclusivity(unchecked) var globGroups = GlobIndex()
    @exclusivity(unchecked) var subscriptionCount = 0
    /// What groups count as in the memory of the daemon, beside the stores in them.
    @exclusivity(unchecked) var groupBytes = 0
    /// How many groups want actions; mostly none.
    @exclusivity(unchecked) var actionGroupCount = 0
    /// Groups that want actions of some stores of a type only, and those of them that have not found all their stores.
    @exclusivity(unchecked) var partialActionGroups: [SubscriberGroup] = []
    @exclusivity(unchecked) var searchingActionGroups: [SubscriberGroup] = []
    /// Groups without subscribers that are still members of stores.
    @exclusivity(unchecked) var deserted: [SubscriberGroup] = []

    // The commit that is told.
    let publication = Publication()
    let restricted = Stack<DeltaEntry>()
    /// Counts the actions that were published, so that each group is told once.
    @exclusivity(unchecked) var publishedActions = 0
    /// Groups that are told together in this turn.
    @exclusivity(unchecked) var formedMulticasts: [SubscriberGroup] = []
    @exclusivity(unchecked) var spareMulticasts: [MulticastGroup] = []
    /// How many were ever formed.
    @exclusivity(unchecked) var multicastsFormed = 0

    // Who is told later.
    @exclusivity(unchecked) var bookmarkQueue = BookmarkQueue()
    /// When groups have to be looked at because of the time, in milliseconds since 1970.
    @exclusivity(unchecked) var bookmarkDeadline: Int?
    /// How many stores are noted for groups with a selection.
    @exclusivity(unchecked) var selectedChangeCount = 0
    /// What is gathered for those who catch up, and not written yet.
    @exclusivity(unchecked) var catchUpBytes = 0
    /// Subscriptions that fell behind lately because there were too many to tell, those of long ago counting less.
    @exclusivity(unchecked) var falls = 0
    @exclusivity(unchecked) var fallsDecayedAt = 0
    /// Connections whose subscriptions wait until they may take live changes again, and when the first of them may.
    @exclusivity(unchecked) var resting: [Connection] = []
    @exclusivity(unchecked) var restDeadline: Int?
    /// Subscribers to actions for whom more waits than usual.
    @exclusivity(unchecked) var watchedReaders: [Connection] = []
    /// When storage that large commits needed is given back, in milliseconds since 1970; nil where there is none.
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
        noteRevision()
        noteTypes()
    }

    // MARK: What others may ask

    var groupCount: Int { groups.count }
    /// How many groups wait for their bookmark.
    var groupsAwaitingBookmark: Int { bookmarkQueue.count }
    func hasGroup(_ filter: SubscriptionFilter) -> Bool { groups[filter] != nil }
    /// How many patterns with wildcards begin like this one.
    func patternsAlike(_ pattern: AddressPattern) -> Int { globGroups.countAlike(pattern) }

    /// All that subscriptions make the daemon hold.
    var memory: Int {
        subscriptionCount * 128 + groupBytes + groupsByStore.count * DaemonLimits.membershipBytes
            + catchUpBytes
    }

    /// When `tick` has to be called even if nothing else happens, in milliseconds since 1970.
    var nextDeadline: Int {
        min(bookmarkDeadline ?? .max, watchDeadline ?? .max, restDeadline ?? .max, trimDeadline ?? .max)
    }

    /// Does what the time asks for.
    func tick() {
        bookmarkAfterTime()
        trimIfDue()
        endStuckReaders()
        endRests()
    }

    /// The machine has come to another revision.
    @inline(__always)
    func noteRevision() {
        previousDigits = revisionDigits
        revisionDigits = KeptDecimal(machine.revision)
    }

    /// The machine has more types: groups that want all stores of some find those among them.
    func noteTypes() {
        while groupsByType.count < machine.types.count {
            let name = machine.types[groupsByType.count].name
            groupsByType.append(
                groupsInOrder.filter { $0.wantsWholeTypes && $0.key.pattern.type.matches(name) })
        }
    }

    /// Says goodbye; what was written before is still sent.
    func close(_ connection: Connection, _ code: GoodbyeCode, _ message: String) {
        guard !connection.isClosing else { return }
        endMulticast(with: connection)
        connections.close(connection, code, message)
    }

    /// Nobody is told of anything any more on a connection.
    func removeAll(of connection: Connection) {
        for subscription in connection.subscriptions.reversed() { detach(subscription) }
        connection.subscriptions = []
        connection.searches = []
    }
}

/// What commits are made in is kept for the next one; what only a large one needed is given back when no such comes any more.
extension SubscriptionHub {
    /// A large commit has been made: the next one may be as large.
    func scheduleTrim() { trimDeadline = clock.now + DaemonLimits.largeStorageKept }

    /// Gives back what large commits took, once the time has come.
    func trimIfDue() {
        guard let deadline = trimDeadline, deadline <= clock.now else { return }
        trimDeadline = nil
        machine.trimStorage()
        restricted.relax()
        for content in publication.contents.elements { content.relax() }
    }
}
