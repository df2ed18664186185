import BusMachine

/// All limits that configuration can set; a request beyond one is answered `limit` (a number of
/// things) or `too_large` (a size).
package struct Limits: Sendable, Equatable {
    package var bus = BusLimits()
    package var daemon = DaemonLimits()

    package init() {}

    /// The limits of the bus, with states that fit into the daemon's lines and memory.
    package var effective: BusLimits {
        var limits = bus
        limits.state = min(limits.state, daemon.line - DaemonLimits.eventOverhead)
        // Configuration names only one limit of memory.
        limits.memory = daemon.memory
        return limits
    }
}

/// Every limit of one daemon, each with its reason. Sizes are in bytes. They decide about requests, connections and
/// deliveries, before a commit or after it; what a commit does never depends on them.
package struct DaemonLimits: Sendable, Equatable {
    /// The longest line, in either direction: what one request can make the daemon hold and parse at once.
    package var line = 1 << 20
    /// The deepest nesting of a line: bounds every recursion over values.
    package var depth = 64
    /// Connections at one time: each holds a descriptor and an outbox.
    package var connections = 4096
    /// Subscriptions of one connection: bounds what one commit can make the daemon write to it.
    package var subscriptions = 1024
    /// What may wait unsent for one connection before its changes are merged and its requests wait.
    package var outbox = 4 << 20
    /// What states, outboxes and deduplication keys may take in all; beyond it, whatever would grow is refused.
    package var memory = 2 << 30

    /// What each user may have of what all share, where that is less than a fair share.
    package var user = UserLimits()

    /// The work, in nanoseconds or so, that is done in one turn, before sockets, timers and the watchdog are served…
    package var turnWork = 2_000_000
    /// …and at a stretch for one connection, before it is another's turn. Shorter slices would cost more for switching,
    /// longer ones let fifty busy connections delay an idle one for longer.
    package var sliceWork = 100_000

    package init() {}

    /// From this length on, a line may bring values that make an event longer than a line.
    var longLine: Int { line / 4 }

    /// The output written for clients in one turn, about: as much as one turn sends, or deliveries
    /// would fall ever further behind.
    static let turnOutput = 1 << 20
    /// The work of live delivery per commit, beside as much as the commit itself took: subscribers not notified by then
    /// are notified in their own turn. So a dispatch does not wait for all its subscribers.
    static let liveWork = 500_000
    /// A group with this many subscribers is a crowd: letting all of them fall behind takes work that a turn keeps room for.
    static let crowd = 1000
    /// Subscribers that fall behind because there are too many take no live changes for a while: one millisecond for
    /// each so many that did lately…
    static let fallsPerMillisecond = 100
    /// …where every so many milliseconds a sixteenth of them is forgotten.
    static let fallDecayInterval = 100
    /// What is encoded of one commit at once for all live subscribers: larger commits are delivered in parts.
    static let liveBytes = 8 << 20
    /// Runs of shared bytes that everyone has sent are looked for at this interval, in milliseconds:
    /// it costs a look at each run.
    static let lentRunsInterval = 100
    /// Connections that do not read are looked for at this interval, in milliseconds, while memory is short.
    static let reliefInterval = 100
    /// A connection whose socket accepts nothing for so many milliseconds does not read.
    static let stuckMilliseconds = 1000
    /// The most commits that one reply to `history` lists.
    package static let history = 1000
    /// The longest text by which `history` looks commits up, in bytes: names are no longer.
    static let historyText = 256
    static let authors = 8
    /// The most timers that one reply lists.
    package static let timersListed = 1000
    /// Action subscriptions of one connection: their events can't be merged.
    package static let actionSubscriptions = 64
    /// Patterns with wildcards that begin with the same characters, of all subscriptions: each is tested for every
    /// new store whose name begins so.
    package static let alikePatterns = 1024
    /// Different subscriptions to one store, or to all stores of a type, of all users: a commit there looks at each, which
    /// takes some tens of nanoseconds though nobody is notified.
    package static let alikeShapes = 8192
    /// All maps together, with their room to grow, take at most the memory limit divided by this. No other one is made while those that
    /// have ended and that programs still keep take as much.
    package static let partOfMaps = 8
    /// The most stores that a type may have when its map is made: all are written in one turn, in some tens of milliseconds.
    package static let mapStores = 65_536
    /// How many maps are made for one user within `mapInterval`, in milliseconds. A user who may also create stores can fill
    /// one map after another, and each new one costs as much as all of its stores.
    package static let mapsMade = 16
    package static let mapInterval = 10_000
    /// The work that evaluating the `where` of subscriptions may add to a commit: a few milliseconds, and a little for each store. The
    /// subscriptions of one user may take half of it. Groups that were not evaluated by then search for their stores again.
    static let testWork = 4_000_000
    static let testWorkOfStore = 2000
    /// Pointers in one `select`: bounds the work that one commit causes per subscriber group.
    package static let pointers = 64
    /// The longest pointer, in bytes, and it has no more segments than a line may nest (`depth`): what is made of a
    /// pointer has a level for each segment. A key that is longer is selected with its parent.
    package static let pointerBytes = 1024
    /// Stores recorded because what a slow reader selects of them has changed; beyond this, it is
    /// notified of all that changed.
    static let selectedChanges = 65_536
    /// A bookmark follows after this many commits without a change for a subscription…
    package static let bookmarkCommits = 1000
    /// …but not sooner than so many milliseconds after its last event…
    package static let bookmarkPause = 100
    /// …or after this many milliseconds.
    package static let bookmarkMilliseconds = 30_000
    /// Shared bytes are held in whole runs, which may be far longer than one reader's part of them: with more
    /// than this waiting, a connection gets a copy of its own.
    package static let sharedWhileWaiting = 16 << 10
    /// Commits that deliver more bytes than this to a subscriber group are large: the storage they needed, and that of
    /// commits to many stores, is kept for so many milliseconds.
    static let usualContent = 64 << 10
    static let largeStorageKept = 1000
    /// Multicast groups kept for the next turns, each with room for as many subscribers as it once had.
    static let spareMulticasts = 16
    /// What surrounds a state on its line at most: address, revisions and other members, without the cause.
    package static let eventOverhead = 1024

    /// A request that takes so much work, in nanoseconds or so, is long: a shorter one goes unnoticed.
    package static let longRequest = 3_000_000
    /// For so many times as long as a long request took, no other is begun while other connections are active: then
    /// fewer than one in a hundred of their requests meets one.
    static let pauseAfterLongRequest = 150
    /// Lines up to this length are not weighed: they can't hold much. A batch of two is shorter.
    static let lightLine = 256
    /// Arrays and objects in one line: each takes some sixty bytes of memory for two on the line,
    /// and a third of a microsecond.
    package static let containers = 100_000
    /// The weight of all connections of a user that only wait for changes, as a multiple of the weight of the user's others. So
    /// a request is answered soon beside thousands of subscribers, and takes at most an eighth of the time from them.
    static let weightBehind = 7
    /// A connection that has sent something within so many milliseconds is active.
    static let activeMilliseconds = 1000
    /// From this cost on, the cost of a commit is remembered with its action.
    static let notableCommit = 50_000

    /// While memory is over its limit, or a user has more than its share of what waits, a connection with more unfinished input
    /// than its part of the memory is closed, and one with as much output takes no more: this much at most, and at least.
    package static let mostUnderPressure = 64 << 10
    package static let leastUnderPressure = 4 << 10

    /// How much of a client's name, of the reason for a kick, and how many patterns of a client's subscriptions are told.
    static let clientName = 128
    static let kickReason = 1024
    static let watches = 8
    /// The most clients that one reply lists, and the most counts of actions.
    package static let clientsListed = 1000
    static let actionsListed = 2000

    /// The length of a message to a client, and of one detail in it: they may quote what the client sent.
    package static let message = 2048
    package static let detail = 512

    /// What is counted for a subscriber group beside its pointers, for a store in it, and for each byte of a will,
    /// whose values take more room in memory than on the line.
    package static let groupBytes = 1024
    package static let membershipBytes = 64
    /// The stores that are remembered to have left what subscriptions with an expression want, for one that lags; and what
    /// each takes. One that has missed more starts over.
    package static let departures = 1024
    package static let departureBytes = 96
    /// A subscription with an expression goes on where it was if no more stores than this have changed since: which of them
    /// were wanted then is not known, so those that are not wanted now are told as dropped.
    package static let resumedChanges = 1024
    package static let willFactor = 8
}
