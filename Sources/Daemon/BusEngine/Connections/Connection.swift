import BusJSON
import BusLogic
import BusMachine
import BusProtocol

/// One client: its bytes in both directions, and what it waits for.
final class Connection {
    let id: ConnectionID
    /// Counts all connections of this daemon: what clients and operators know it by, never used again.
    let serial: Int
    let peer: Peer
    /// What its client calls itself; nil before it has said so.
    @exclusivity(unchecked) var clientName: String?
    /// When it came, and when the last bytes did, in milliseconds since 1970.
    @exclusivity(unchecked) var since: Int
    @exclusivity(unchecked) var heardAt: Int
    /// Its dispatches that were accepted, and the events written for it.
    @exclusivity(unchecked) var dispatched = 0
    @exclusivity(unchecked) var delivered = 0
    // Users are never forgotten.
    @exclusivity(unchecked) unowned(unsafe) var user: User
    /// Its principal; nil before a TCP client's hello.
    @exclusivity(unchecked) var principal: Principal? {
        didSet { lentPrincipal = principal.map { .passUnretained($0) } }
    }
    /// What it may do under the access rules; nil where there are none.
    @exclusivity(unchecked) var grants: Grants? {
        didSet { isRestricted = grants != nil }
    }
    @exclusivity(unchecked) private(set) var isRestricted = false
    /// What of that needs no further look; nil where `grants` is.
    @exclusivity(unchecked) var permits: Permits?
    /// The same, lent for a request, during which it does not change: so no reference is counted.
    @exclusivity(unchecked) private(set) var lentPrincipal: Unmanaged<Principal>?
    /// Its will and ephemeral stores; nil until there are some.
    @exclusivity(unchecked) var session: Session?
    /// The name by which its client takes the session over, and how long that may take, in milliseconds.
    @exclusivity(unchecked) var sessionName: String?
    @exclusivity(unchecked) var linger = 0

    /// Its requests on their way through the log that several machines share.
    @exclusivity(unchecked) private(set) var entries = PendingEntries()
    /// The number of its session among those of this member; 0 before one is needed.
    @exclusivity(unchecked) var sessionNumber = 0
    /// It has asked for something that ends with it.
    @exclusivity(unchecked) var leavesSession = false
    /// The barrier is passed that a read has waited for.
    @exclusivity(unchecked) var isBarrierPassed = false

    @exclusivity(unchecked) var lines: LineBuffer
    /// The template of its last dispatch.
    @exclusivity(unchecked) var memory = SenderMemory()
    @exclusivity(unchecked) var outbox = Outbox()
    /// A reply that must wait until the changes before it are written.
    @exclusivity(unchecked) var heldReply: [UInt8]?
    /// Where the last reply ends, in all output that there ever was.
    @exclusivity(unchecked) var replyEnd = 0
    /// The run that its only subscription shares with others of a multicast group, and how far its outbox
    /// has the bytes written there.
    @exclusivity(unchecked) var sharedRun: Unmanaged<SharedRun>?
    @exclusivity(unchecked) var sharedStart = 0

    /// In ascending order of their numbers.
    @exclusivity(unchecked) var subscriptions: ContiguousArray<Subscription> = []
    @exclusivity(unchecked) var nextSubscription = 1
    /// How many of the subscriptions lag behind.
    @exclusivity(unchecked) private(set) var lagging = 0
    /// How many of its subscriptions still receive past actions, and the entries at hand.
    @exclusivity(unchecked) private(set) var behind = 0
    @exclusivity(unchecked) var past: PastEntries?
    /// Until when its subscriptions take no live changes, in milliseconds since 1970: there are too many like
    /// them to notify each at once.
    @exclusivity(unchecked) var restsUntil = 0
    /// It is in the list of connections that wait for that time.
    @exclusivity(unchecked) var isResting = false
    /// Subscriber groups of its subscriptions that have not found all their stores.
    @exclusivity(unchecked) private(set) var searches: [SubscriberGroup] = []

    /// What its will and its unfinished lines count as in the memory of the daemon.
    @exclusivity(unchecked) var willBytes = 0
    @exclusivity(unchecked) var heldBytes = 0
    /// What is collected for its subscriptions that catch up, and not written yet.
    @exclusivity(unchecked) var partBytes = 0

    /// Why it is not read.
    @exclusivity(unchecked) private(set) var waits: WaitReasons = []
    /// The client has finished sending.
    @exclusivity(unchecked) var inputEnded = false
    /// Nothing more is read or added; what is there is sent, then the socket closed.
    @exclusivity(unchecked) var isClosing = false
    /// The client no longer reads what is written for it.
    @exclusivity(unchecked) var isLost = false
    /// Its output is to be discarded.
    @exclusivity(unchecked) var isDiscarding = false
    /// Its socket is closed.
    @exclusivity(unchecked) var isGone = false
    /// Since when its socket accepts nothing, in milliseconds since 1970; nil while it accepts what there is.
    @exclusivity(unchecked) var stuckSince: Int?
    /// It is in the list of connections with something to do.
    @exclusivity(unchecked) var isReady = false
    /// It is in the list of connections that may not be reading.
    @exclusivity(unchecked) var isWatched = false

    /// Its output waits for the open batch of commits.
    @exclusivity(unchecked) var isHeld = false
    /// What it has in there.
    @exclusivity(unchecked) var batchShare = BatchShare()
    /// How much of its output waits for the batch that is being written, counted from its beginning.
    @exclusivity(unchecked) var sealed = 0
    /// Its query to the log or the daemon that is not answered yet.
    @exclusivity(unchecked) private(set) var query: PendingQuery?
    /// Dispatches without an acknowledgement whose commits may not be on disk yet.
    @exclusivity(unchecked) var unacknowledged: [UnacknowledgedDispatch] = []
    /// How many of them there may be before the durable ones are removed.
    @exclusivity(unchecked) var unacknowledgedRoom = 64

    /// It waits for its turn.
    @exclusivity(unchecked) var isQueued = false
    /// Its socket has input, to be read when it is its turn.
    @exclusivity(unchecked) var awaitsInput = false
    @exclusivity(unchecked) var share: Share
    /// It has not been served yet.
    @exclusivity(unchecked) var isNew = true
    /// It is being served in its turn.
    @exclusivity(unchecked) var isInTurn = false
    /// A read of many stores that takes more than one slice.
    @exclusivity(unchecked) private(set) var read: PendingRead?
    /// What the expressions of the store that it created last took: the next one may take as long.
    @exclusivity(unchecked) var workOfCreation = 0
    /// A request whose commit is so long that it has to wait until others have had their time, or that has to wait for those
    /// before it.
    @exclusivity(unchecked) private(set) var deferredLine: [UInt8]?
    /// That request is being executed.
    @exclusivity(unchecked) var isDeferredLineDue = false

    init(
        id: ConnectionID, serial: Int, peer: Peer, of user: User, at now: Int, limits: DaemonLimits
    ) {
        self.id = id
        self.serial = serial
        since = now
        heardAt = now
        self.peer = peer
        self.user = user
        lines = LineBuffer(longest: limits.line, deepest: limits.depth)
        share = Share(expecting: 0)
    }

    // MARK: Waiting

    /// Nothing more is read before it has had another turn, and what it waits for has come.
    @inline(__always)
    func wait(for reason: WaitReasons) { waits.formUnion([reason, .turn]) }

    /// It has used up its slice.
    func pause() { waits.insert(.slice) }

    func beginSlice() { waits.remove(.slice) }

    /// Half of its outbox is empty.
    func noteRoom() { waits.remove(.output) }

    /// There is a new batch of commits.
    func noteBatch() { waits.remove(.log) }

    /// Its request may pass the gate.
    func passGate() { waits.remove(.gate) }

    /// It goes on, if nothing is left to wait for.
    func goOn() -> Bool {
        guard waits == .turn else { return false }
        waits = []
        return true
    }

    /// Its subscriptions: one begins to lag, or no longer does.
    @inline(__always)
    func beginLagging() {
        lagging += 1
        wait(for: .states)
    }

    func endLagging() {
        lagging -= 1
        if lagging == 0 { waits.remove(.states) }
    }

    /// One begins to receive past actions, or has received all.
    func beginPast() {
        behind += 1
        wait(for: .past)
    }

    func endPast() {
        behind -= 1
        if behind == 0 { waits.remove(.past) }
    }

    /// The group of one has still to find stores.
    func beginSearch(for group: SubscriberGroup) {
        searches.append(group)
        wait(for: .stores)
        pause()
    }

    func endSearch() {
        searches.removeLast()
        if searches.isEmpty { waits.remove(.stores) }
    }

    /// It has no subscriptions any more.
    func endSearches() {
        searches = []
        waits.remove(.stores)
    }

    func ask(_ query: PendingQuery) {
        self.query = query
        wait(for: .query)
    }

    /// Its query is answered, or it no longer waits for that.
    func endQuery() {
        query = nil
        waits.remove(.query)
    }

    /// A read that goes on in the next slice.
    func begin(_ read: PendingRead) {
        self.read = read
        wait(for: .read)
        pause()
    }

    func endRead() {
        read = nil
        waits.remove(.read)
    }

    /// A request that is executed later.
    func keep(_ line: UnsafeRawBufferPointer) {
        deferredLine = Array(line)
        wait(for: .line)
    }

    func forgetLine() {
        deferredLine = nil
        waits.remove(.line)
    }

    /// A request is on its way through the shared log, or refused behind others that are.
    func add(_ entry: PendingEntry) {
        entries.add(entry)
        if entries.isFull { wait(for: .entries) }
    }

    func resolve(_ ticket: Int, _ outcome: EntryResolution) { entries.resolve(ticket, outcome) }

    func takeAnswered() -> PendingEntry { entries.takeFirst() }

    /// What comes behind its requests in the shared log need not wait for them.
    func passEntries() { waits.remove(.entries) }

    /// The barrier is passed that a read waits for, or will never be.
    func passBarrier() { waits.remove(.barrier) }
}

/// A dispatch that is answered only if its commit can't be written.
struct UnacknowledgedDispatch {
    /// How much output its connection had had before it.
    let place: Int
    /// Its commit.
    let revision: Int
    /// The request's `id`, byte for byte.
    let id: [UInt8]
}
