import BusMachine

/// All bounds that configuration can set; past one, a request is answered `limit` (a number of things) or `too_large`
/// (a size).
package struct Limits: Sendable, Equatable {
    package var bus = BusLimits()
    package var daemon = DaemonLimits()

    package init() {}

    /// Those of the bus, with states that fit into the daemon's lines and its memory.
    package var effective: BusLimits {
        var limits = bus
        limits.state = min(limits.state, daemon.line - DaemonLimits.eventOverhead)
        // Configuration names one limit of memory.
        limits.memory = daemon.memory
        return limits
    }
}

/// Every bound of one daemon, each with its reason. Sizes are in bytes. They decide about requests, connections and what is
/// told, before there is a commit or after; what a commit does never depends on them.
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
    /// What states, outboxes and remembered keys may take in all; past it, what would grow is refused.
    package var memory = 2 << 30

    /// The work, in nanoseconds or so, that is done in one turn, before sockets, timers and the watchdog have theirs…
    package var turnWork = 2_000_000
    /// …and in one go for one connection, before it is another's turn. Shorter ones would cost more for going from one
    /// to the other, longer ones let fifty busy connections keep one that is not waiting for longer.
    package var sliceWork = 100_000

    package init() {}

    /// What is written for clients in one turn, about: as much as is sent in one, or they would be told ever later.
    static let turnOutput = 1 << 20
    /// The work of telling subscribers of a commit live, beside as much as the commit itself took: whoever has not been told of it
    /// by then is told in its own turn. So a dispatch does not wait for all who want to hear of it.
    static let liveWork = 500_000
    /// Who falls behind because there were too many to tell takes no live changes for a while: a millisecond for each so many
    /// that did lately…
    static let fallsPerMillisecond = 100
    /// …where each so many milliseconds a sixteenth of them is forgotten.
    static let fallDecayInterval = 100
    /// What is encoded of one commit at once for all who are told of it live: larger ones are told piece by piece.
    static let liveBytes = 8 << 20
    /// Who has sent all of a run of shared bytes is looked for at this distance, in milliseconds: it costs a look at each.
    static let lentRunsInterval = 100
    /// Connections that do not read are looked for at this distance, in milliseconds, while memory is short.
    static let reliefInterval = 100
    /// Who takes nothing of what there is for it for so many milliseconds does not read.
    static let stuckMilliseconds = 1000
    /// The commits that one reply to `history` tells at most.
    package static let history = 1000
    /// Subscriptions to actions of one connection: their events can't be merged.
    package static let actionSubscriptions = 64
    /// Patterns with wildcards that begin with the same characters, of all subscriptions: each is looked at for every store that
    /// is made and whose name begins so.
    package static let alikePatterns = 1024
    /// Pointers in one `select`: bounds the work that one commit causes per subscriber group.
    package static let pointers = 64
    /// Stores that are noted because what a slow reader selects of them has changed; beyond it is told all that changed.
    static let selectedChanges = 65_536
    /// A bookmark follows after this many commits without a change for a subscription…
    package static let bookmarkCommits = 1000
    /// …but not sooner than so many milliseconds after it was told something…
    package static let bookmarkPause = 100
    /// …or after this many milliseconds.
    package static let bookmarkMilliseconds = 30_000
    /// Shared bytes are held in whole runs, which may be far longer than one reader's part of them: with more
    /// than this waiting, a connection gets a copy of its own.
    package static let sharedWhileWaiting = 16 << 10
    /// Commits that tell a subscriber group more bytes than this are large: the storage they needed, and that of commits to
    /// many stores, is kept for so many milliseconds.
    static let usualContent = 64 << 10
    static let largeStorageKept = 1000
    /// Multicast groups kept for the next turns, each with room for as many subscribers as it once had.
    static let spareMulticasts = 16
    /// What surrounds a state on its line at most: address, revisions, cause-free members.
    package static let eventOverhead = 1024

    /// A request that takes so much work, in nanoseconds or so, is long: nobody would notice a shorter one.
    static let longRequest = 3_000_000
    /// So many times as long as it took, no other long request is begun while others are at work: then fewer than
    /// one in a hundred of theirs come upon one.
    static let pauseAfterLongRequest = 150
    /// Lines up to this length are not looked at for how much is in them: it can't be much.
    static let lightLine = 128
    /// Arrays and objects in one line: each takes some sixty bytes of memory for two on the line, and a third of a microsecond.
    package static let containers = 100_000
    /// Who has sent something within so many milliseconds is at work.
    static let activeMilliseconds = 1000
    /// What a commit costs is remembered with its action from here on.
    static let notableCommit = 50_000

    /// While all is held that may be, a connection that has more than this unfinished is ended.
    package static let heldUnderPressure = 64 << 10

    /// What a message to a client and one detail of it may take: they may quote what the client sent.
    package static let message = 2048
    package static let detail = 512

    /// What is counted for a subscriber group beside its pointers, for a store in it,
    /// and for each byte of a will, whose values take more room in memory than on the line.
    package static let groupBytes = 1024
    package static let membershipBytes = 64
    package static let willFactor = 8
}
