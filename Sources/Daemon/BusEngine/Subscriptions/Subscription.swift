/// A standing request for changes.
final class Subscription {
    /// Its number on its connection, `sub` on the wire.
    let number: Int
    // A subscription lives in its connection and ends with it.
    unowned(unsafe) let connection: Connection
    let group: SubscriberGroup
    /// Its place among the group's subscribers.
    @exclusivity(unchecked) var place = 0

    /// The revision of its event before; the next one's `from`.
    @exclusivity(unchecked) var from: Int

    /// What it still has to be told before live changes go on; nil when it is up to date.
    @exclusivity(unchecked) var catchUp: CatchUp?

    /// Of actions: those up to this revision have been told, later ones come from the log; nil once they come live.
    @exclusivity(unchecked) var deliveredThrough: Int?

    init(number: Int, connection: Connection, group: SubscriberGroup, from: Int) {
        self.number = number
        self.connection = connection
        self.group = group
        self.from = from
    }
}

/// How far a subscription that lags behind has got: a first state, a resumption, or a slow reader's merged
/// changes, all the same way. Stores are told in rounds, in the order in which they changed; what changes
/// meanwhile comes in the next round, and the event ends when a round finds nothing new.
struct CatchUp {
    /// The event starts from nothing.
    var reset: Bool
    /// Must be told even when it holds nothing.
    var evenIfEmpty: Bool
    /// A part of the event has been written.
    var isOpen = false
    /// Drops after this revision have to be told.
    var dropsAfter: Int

    /// What changed up to here, in the order of changes to stores, had been told before; -1 where that is not known.
    let start: Int
    /// The round: changes after `floor` up to `ceiling`, in the order of all changes to stores.
    var floor: Int
    var ceiling: Int
    /// How far the round has got: types before `type` are done, and in it changes up to `cursor`.
    var type = 0
    var cursor: Int
    /// The store at which the cursor stands, as long as it has not changed since.
    var hint: Int32 = -1
    /// The next drop to be looked at, counted from the first there ever was; nil before the first.
    var nextDrop: Int?
    /// How many stores had gone when the next part was begun or gone on with.
    var dropsSeen = 0
    /// All has been told, and it waits until it may take live changes again.
    var isResting = false
    /// What was gathered of the next part when a slice was used up.
    var part: ItemList?

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
