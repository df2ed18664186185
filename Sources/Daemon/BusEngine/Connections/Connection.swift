import BusJSON
import BusMachine
import BusProtocol

/// One client: its bytes in both directions, and what it waits for.
final class Connection {
    let id: ConnectionID
    let peer: Peer
    /// Who it is; nil before a TCP client's hello.
    @exclusivity(unchecked) var principal: Principal? {
        didSet { lentPrincipal = principal.map { .passUnretained($0) } }
    }
    /// The same, lent for a request, during which it does not change: so no reference is counted.
    @exclusivity(unchecked) private(set) var lentPrincipal: Unmanaged<Principal>?
    /// What it leaves behind; nil as long as that is nothing.
    @exclusivity(unchecked) var session: Session?

    @exclusivity(unchecked) var lines: LineBuffer
    /// What its last dispatch looked like.
    @exclusivity(unchecked) var memory = SenderMemory()
    @exclusivity(unchecked) var outbox = Outbox()
    /// A reply that must wait until the changes before it are written.
    @exclusivity(unchecked) var heldReply: [UInt8]?
    /// Where its only subscription is told together with others, and how far it has been given what was written there.
    @exclusivity(unchecked) var sharedRun: Unmanaged<SharedRun>?
    @exclusivity(unchecked) var sharedStart = 0

    /// In ascending order of their numbers.
    @exclusivity(unchecked) var subscriptions: ContiguousArray<Subscription> = []
    @exclusivity(unchecked) var nextSubscription = 1
    /// How many of the subscriptions lag behind.
    @exclusivity(unchecked) var lagging = 0
    /// How many of its subscriptions are told past actions.
    @exclusivity(unchecked) var behind = 0
    /// Until when they take no live changes, in milliseconds since 1970: there are too many like them to tell each at once.
    @exclusivity(unchecked) var restsUntil = 0
    /// Stands in the list of those that wait for that.
    @exclusivity(unchecked) var isResting = false
    /// Subscriber groups of its subscriptions that have not found all their stores; it is not read meanwhile.
    @exclusivity(unchecked) var searches: [SubscriberGroup] = []

    /// What the will and the unfinished lines are counted as in the memory of the daemon.
    @exclusivity(unchecked) var willBytes = 0
    @exclusivity(unchecked) var heldBytes = 0

    /// Waits for its outbox to drain before it is read again.
    @exclusivity(unchecked) var isBlocked = false
    /// The client has finished sending.
    @exclusivity(unchecked) var inputEnded = false
    /// Nothing more is read or added; what is there is sent, then the socket closed.
    @exclusivity(unchecked) var isClosing = false
    /// Nobody reads what is written for it.
    @exclusivity(unchecked) var isLost = false
    /// What waits for it is to be thrown away.
    @exclusivity(unchecked) var isDiscarding = false
    /// Its socket is closed.
    @exclusivity(unchecked) var isGone = false
    /// Since when its socket takes nothing, in milliseconds since 1970; nil while it takes what there is.
    @exclusivity(unchecked) var stuckSince: Int?
    /// Stands in the list of connections with something to do.
    @exclusivity(unchecked) var isReady = false
    /// Stands in the list of those who may not be reading.
    @exclusivity(unchecked) var isWatched = false

    /// Its output waits for the open batch of commits.
    @exclusivity(unchecked) var isHeld = false
    /// It waits for room in the open batch.
    @exclusivity(unchecked) var waitsForLog = false
    /// How much of its output waits for the batch that is being written, counted from its beginning.
    @exclusivity(unchecked) var sealed = 0
    /// What was asked for it, of the log or of the daemon, and is not answered yet; it is not read meanwhile.
    @exclusivity(unchecked) var query: PendingQuery?
    /// Dispatches that wanted no answer, as far as their commits may not stand on disk yet.
    @exclusivity(unchecked) var unacknowledged: [UnacknowledgedDispatch] = []
    /// How many of them there may be before those that do are let go.
    @exclusivity(unchecked) var unacknowledgedRoom = 64

    /// It has used up its slice, and goes on when it is its turn again.
    @exclusivity(unchecked) var isPaused = false
    /// It waits for its turn.
    @exclusivity(unchecked) var isQueued = false
    /// Its socket has input for it, to be read when it is its turn.
    @exclusivity(unchecked) var awaitsInput = false
    @exclusivity(unchecked) var share: Share
    /// It is served because it was its turn.
    @exclusivity(unchecked) var isInTurn = false
    /// A read of many stores that takes more than one slice; it is not read meanwhile.
    @exclusivity(unchecked) var read: PendingRead?
    /// A request whose commit is so long that it has to wait until others have had their time; it is not read meanwhile.
    @exclusivity(unchecked) var deferredLine: [UInt8]?
    @exclusivity(unchecked) var waitsAtGate = false
    /// That request is being carried out.
    @exclusivity(unchecked) var isDeferredLineDue = false

    init(id: ConnectionID, peer: Peer, limits: DaemonLimits) {
        self.id = id
        self.peer = peer
        lines = LineBuffer(longest: limits.line, deepest: limits.depth)
        // Who is new comes after those who were there and have asked for little: else many who come and go were always first.
        share = Share(expecting: limits.sliceWork)
    }
}

/// A dispatch that wants an answer only if its commit can't be written.
struct UnacknowledgedDispatch {
    /// How much output there had been for its connection.
    let place: Int
    /// Its commit.
    let revision: Int
    /// The request's `id`, as it stood there.
    let id: [UInt8]
}
