import BusMachine

/// A standing request for changes.
final class Subscription {
    /// Its number on its connection, `sub` on the wire.
    let number: Int
    // A subscription lives in its connection and ends with it.
    unowned(unsafe) let connection: Connection
    let group: SubscriberGroup
    /// Its index among the group's subscribers.
    var place: Int {
        get { Int(index) }
        set { index = Int32(newValue) }
    }
    @exclusivity(unchecked) private var index: Int32 = 0
    private let wantsCause: Bool

    /// The revision of its previous event; the next one's `from`.
    @exclusivity(unchecked) var from: Int

    /// What it still has to receive before live changes continue; nil when it is up to date.
    var catchUp: CatchUp? {
        get { lag?.catchUp }
        set {
            if let newValue, let lag {
                lag.catchUp = newValue
            } else {
                lag = newValue.map { Lag($0) }
            }
        }
    }

    /// Whether it still has something to receive before live changes continue.
    var isLagging: Bool { lag != nil }

    /// Keeps the catch-up out of the subscription: most subscriptions are up to date, and need no room for one.
    private final class Lag {
        @exclusivity(unchecked) var catchUp: CatchUp

        init(_ catchUp: CatchUp) { self.catchUp = catchUp }
    }

    @exclusivity(unchecked) private var lag: Lag?

    /// For a subscription to actions: where it stands while they come from the log. Nil once they come live.
    @exclusivity(unchecked) var past: Past?

    /// Where a subscription stands that is delivered actions of the past.
    final class Past {
        /// Those up to this revision have been delivered.
        @exclusivity(unchecked) var deliveredThrough: Int
        /// Actions up to this revision may be missing, and no gap has said so yet; 0: none.
        @exclusivity(unchecked) var missingThrough: Int

        init(after revision: Int, missingThrough: Int = 0) {
            (deliveredThrough, self.missingThrough) = (revision, missingThrough)
        }
    }

    /// What its client asked for. The access rules may grant less, which is its group's, and more again when they change.
    var wanted: SubscriptionFilter {
        var wanted = group.key
        (wanted.cause, wanted.view) = (wantsCause, nil)
        return wanted
    }

    init(
        number: Int, connection: Connection, group: SubscriberGroup, wanted: SubscriptionFilter, from: Int
    ) {
        wantsCause = wanted.cause
        self.number = number
        self.connection = connection
        self.group = group
        self.from = from
    }
}

/// The progress of a subscription that lags behind. A first state, a resumption and a slow reader's merged changes all work
/// the same way: stores are delivered in rounds, in the order in which they changed. What changes during a round comes in the
/// next one, and the event ends when nothing has changed since its last round began.
struct CatchUp {
    /// Whether the event is a reset, which starts from nothing.
    var reset: Bool
    /// Whether the event is delivered even if it holds nothing.
    var evenIfEmpty: Bool
    /// The commit at which a live subscription fell behind; nil if it lags for any other reason.
    var commit: Int?
    /// Whether a part of the event has been written.
    var isOpen = false
    /// Drops after this revision have to be delivered.
    var dropsAfter: Int

    /// The place in the order of all changes to stores up to which everything had been delivered before; -1 if unknown.
    let start: Int
    /// The current round: the changes after `floor` up to `ceiling`, in the order of all changes to stores.
    var floor: Int
    var ceiling: Int
    /// How far the round has got: the types before `type` are done, and so are the changes in `type` up to `cursor`.
    var type = 0
    var cursor: Int
    /// The store whose change is at the cursor, unless it has changed again; -1 if there is none.
    var hint: Int32 = -1
    /// The number of the next drop to look at, counted from the first drop ever; nil until the drops are looked at.
    var nextDrop: Int?
    /// For a resumed subscription whose expression selects stores: the addresses of stores that have changed or were dropped
    /// since. Those that it does not select now, it may have selected then.
    var changed: [String] = []
    /// How many stores had been dropped when the next part was last begun or continued.
    var dropsSeen = 0
    /// Whether everything has been delivered, and the subscription waits until it may take live changes again.
    var isResting = false
    /// The unfinished next part, kept when a slice was used up.
    var part: ItemList?

    // For subscribers that see only parts of some states, the order of all changes would reveal changes to the hidden parts.
    // So their rounds go by the revisions that they see, and mostly in the order of addresses.
    /// The revision up to which visible changes have been delivered; nil in the first round.
    var told: Int?
    /// The bus's revision when the round began; nil before that.
    var through: Int?
    /// Whether the round has too many members to look at all of them at once.
    var isLong = false
    /// The address of the last store of the round so far; in a long round its name alone.
    var address: String?

    /// From nothing, with the states that there are.
    static func reset(_ machine: StateMachine) -> CatchUp {
        CatchUp(
            reset: true, evenIfEmpty: true, dropsAfter: machine.revision, floor: 0, ceiling: machine.sequence)
    }

    /// With what changes from now on.
    static func fromNow(_ machine: StateMachine) -> CatchUp {
        CatchUp(
            reset: false, evenIfEmpty: false, dropsAfter: machine.revision, floor: machine.sequence,
            ceiling: machine.sequence)
    }

    /// Starts over, with a reset.
    mutating func restart(dropsAfter revision: Int, ceiling: Int) {
        (reset, isOpen, dropsAfter, nextDrop) = (true, false, revision, nil)
        (floor, self.ceiling, type, cursor, hint) = (0, ceiling, 0, 0, -1)
        (told, through, address) = (nil, nil, nil)
        changed = []
        part?.clear()
    }

    /// Begins another round, for what has changed since the last one began.
    mutating func beginRound(ceiling: Int) {
        floor = self.ceiling
        (self.ceiling, type, cursor, hint) = (ceiling, 0, floor, -1)
        (told, through, address) = (through, nil, nil)
    }

    init(
        reset: Bool, evenIfEmpty: Bool, dropsAfter: Int, floor: Int, ceiling: Int, isStartKnown: Bool = true
    ) {
        self.reset = reset
        self.evenIfEmpty = evenIfEmpty
        self.dropsAfter = dropsAfter
        start = isStartKnown ? floor : -1
        self.floor = floor
        self.ceiling = ceiling
        cursor = floor
    }
}
