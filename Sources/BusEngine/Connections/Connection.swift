import BusJSON
import BusProtocol

/// One client, as the engine sees it.
final class Connection {
    let id: ConnectionID
    let peer: Peer
    /// Who it is, for `creator`, keys and permissions; nil before a TCP client's hello.
    @exclusivity(unchecked) var identity: Identity? {
        didSet { if case .uid(let uid)? = identity { self.uid = uid } else { uid = nil } }
    }
    /// The user id, where the kernel told it.
    @exclusivity(unchecked) private(set) var uid: Int?
    /// The number of the identity.
    @exclusivity(unchecked) var identityIndex: Int32 = StoreRecord.nobody
    /// `by`, written once.
    @exclusivity(unchecked) var by: [UInt8] = []

    @exclusivity(unchecked) var lines: LineBuffer
    @exclusivity(unchecked) var outbox = Outbox()
    /// A reply that must wait until the changes before it are written.
    @exclusivity(unchecked) var heldReply: [UInt8]?

    /// In ascending order of their numbers.
    @exclusivity(unchecked) var subscriptions: ContiguousArray<Subscription> = []
    @exclusivity(unchecked) var nextSubscription = 1
    /// How many of the subscriptions lag behind.
    @exclusivity(unchecked) var lagging = 0
    /// Until when they take no live changes, in milliseconds since 1970: there are too many like them to tell each at once.
    @exclusivity(unchecked) var restsUntil = 0
    /// Stands in the list of those that wait for that.
    @exclusivity(unchecked) var isResting = false

    @exclusivity(unchecked) var will: [WillAction] = []
    /// What the will and the unfinished lines are counted as in the engine's sums.
    @exclusivity(unchecked) var willBytes = 0
    @exclusivity(unchecked) var heldBytes = 0
    @exclusivity(unchecked) var ephemeralStores: Set<Int32> = []

    /// Waits for its outbox to drain before it is read again.
    @exclusivity(unchecked) var isBlocked = false
    /// The client has finished sending.
    @exclusivity(unchecked) var inputEnded = false
    /// Nothing more is read or added; what is there is sent, then the socket closed.
    @exclusivity(unchecked) var isClosing = false
    /// Where its only subscription is told together with others, and how far it has been given what was written there.
    @exclusivity(unchecked) unowned(unsafe) var cohort: Cohort?
    @exclusivity(unchecked) var cohortStart = 0
    /// Its output waits for the group of commits that is being gathered.
    @exclusivity(unchecked) var isHeld = false
    /// How much of its output waits for the group that is being written, counted from its beginning.
    @exclusivity(unchecked) var sealed = 0
    /// What was asked of the log for it, and is not answered yet; it is not read meanwhile.
    @exclusivity(unchecked) var question: OpenQuestion?
    /// How many of its subscriptions are told past actions.
    @exclusivity(unchecked) var behind = 0
    /// Dispatches that wanted no answer, as far as their commits may not stand on disk yet.
    @exclusivity(unchecked) var silent: [SilentDispatch] = []
    /// How many of them there may be before those that do are let go.
    @exclusivity(unchecked) var silentRoom = 64
    /// The log has heard of it: a will, or a store that goes with it. So it has to hear of its end, too.
    @exclusivity(unchecked) var isNoted = false
    /// It has used up its slice, and goes on when it is its turn again.
    @exclusivity(unchecked) var isPaused = false
    /// It waits for its turn.
    @exclusivity(unchecked) var isQueued = false
    /// Its socket has input for it, to be read when it is its turn.
    @exclusivity(unchecked) var awaitsInput = false
    /// Nobody reads what is written for it.
    @exclusivity(unchecked) var isLost = false
    /// Stands in the list of those who may not be reading.
    @exclusivity(unchecked) var isWatched = false
    /// What waits for it is to be thrown away.
    @exclusivity(unchecked) var isDiscarding = false
    /// Its socket is closed.
    @exclusivity(unchecked) var isGone = false
    @exclusivity(unchecked) var share: Share
    /// It is served because it was its turn.
    @exclusivity(unchecked) var isInTurn = false
    /// A read of many stores that takes more than one slice; it is not read meanwhile.
    @exclusivity(unchecked) var scan: StoreScan?
    /// A request whose commit is so long that it has to wait until others have had their time; it is not read meanwhile.
    @exclusivity(unchecked) var deferredLine: [UInt8]?
    @exclusivity(unchecked) var waitsAtGate = false
    /// That request is being carried out.
    @exclusivity(unchecked) var isDeferredLineDue = false
    /// Subscriber groups of its subscriptions that have not found all their stores; it is not read meanwhile.
    @exclusivity(unchecked) var searches: [Shape] = []
    /// Since when its socket takes nothing, in milliseconds since 1970; nil while it takes what there is.
    @exclusivity(unchecked) var stuckSince: Int?
    /// Stands in the list of connections with something to do.
    @exclusivity(unchecked) var isReady = false

    init(id: ConnectionID, peer: Peer, limits: Limits) {
        self.id = id
        self.peer = peer
        lines = LineBuffer(longest: limits.line, deepest: limits.depth)
        // Who is new comes after those who were there and have asked for little: else many who come and go were always first.
        share = Share(expecting: limits.sliceWork)
    }
}

/// A dispatch that wants an answer only if its commit can't be written.
struct SilentDispatch {
    /// How much output there had been for its connection.
    let place: Int
    /// Its commit.
    let revision: Int
    /// The request's `id`, as it stood there.
    let id: [UInt8]
}

/// Who a client is, for everything that outlives its connection.
enum Identity: Hashable {
    case uid(Int)
    case token(String)
}

/// One action of a will, checked when it was made; its stores are looked up when it is carried out.
struct WillAction {
    let store: String?
    let type: String?
    let action: String
    let payload: JSONObject
}
