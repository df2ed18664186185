/// A standing request for changes.
final class Subscription {
    /// Its number on its connection, `sub` on the wire.
    let number: Int
    // A subscription lives in its connection and ends with it.
    unowned(unsafe) let connection: Connection
    let group: SubscriberGroup
    /// What its client asked for. The access rules may leave less of it, and other rules more.
    let wanted: SubscriptionFilter
    /// Its place among the group's subscribers.
    @exclusivity(unchecked) var place = 0

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

    /// Whether there is something of that.
    var isLagging: Bool { lag != nil }

    /// Most subscriptions are up to date, and need no room for it.
    private final class Lag {
        @exclusivity(unchecked) var catchUp: CatchUp

        init(_ catchUp: CatchUp) { self.catchUp = catchUp }
    }

    @exclusivity(unchecked) private var lag: Lag?

    /// Of actions: those up to this revision have been delivered, later ones come from the
    /// log; nil once they come live.
    @exclusivity(unchecked) var deliveredThrough: Int?

    init(
        number: Int, connection: Connection, group: SubscriberGroup, wanted: SubscriptionFilter, from: Int
    ) {
        self.wanted = wanted
        self.number = number
        self.connection = connection
        self.group = group
        self.from = from
    }
}

/// The progress of a subscription that lags behind: a first state, a resumption, or a slow reader's merged changes, all
/// the same way. Stores are delivered in rounds, in the order in which they changed; what changes meanwhile comes in
/// the next round, and the event ends when a round finds nothing new.
struct CatchUp {
    /// The event starts from nothing.
    var reset: Bool
    /// Must be delivered even when it holds nothing.
    var evenIfEmpty: Bool
    /// It began with this commit, and for it alone; nil: with what came before, or with several.
    var commit: Int?
    /// A part of the event has been written.
    var isOpen = false
    /// Drops after this revision have to be delivered.
    var dropsAfter: Int

    /// What changed up to here, in the order of changes to stores, had been delivered before; -1 where that is not known.
    let start: Int
    /// The round: changes after `floor` up to `ceiling`, in the order of all changes to stores.
    var floor: Int
    var ceiling: Int
    /// How far the round has got: types before `type` are done, and in it changes up to `cursor`.
    var type = 0
    var cursor: Int
    /// The store at which the cursor stands, as long as it has not changed since.
    var hint: Int32 = -1
    /// The next drop to look at, counted from the first there ever was; nil before the first.
    var nextDrop: Int?
    /// Of one that chooses stores and goes on where it was: what has changed or was dropped since. What of it is not wanted now
    /// may have been then.
    var changed: [String] = []
    /// How many stores had been dropped when the next part was begun or continued.
    var dropsSeen = 0
    /// Everything has been delivered, and it waits until it may take live changes again.
    var isResting = false
    /// What was collected of the next part when a slice was used up.
    var part: ItemList?

    // Where parts of states are all that is seen, the order of changes would tell of changes to the rest. Then rounds are
    // by the revisions that are seen, and in the order of addresses.
    /// What was seen to change up to this revision is delivered; nil in the first round.
    var told: Int?
    /// The bus's revision when the round began; nil before that.
    var through: Int?
    /// Whether there were too many members in that round to look at all of them at once.
    var isLong = false
    /// The last address looked at; in a long round the last name.
    var address: String?

    /// Starts from nothing.
    mutating func restart(dropsAfter revision: Int, ceiling: Int) {
        (reset, isOpen, dropsAfter, nextDrop) = (true, false, revision, nil)
        (floor, self.ceiling, type, cursor, hint) = (0, ceiling, 0, 0, -1)
        (told, through, address) = (nil, nil, nil)
        changed = []
        part?.clear()
    }

    /// What changed since the round began is delivered in another one.
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
