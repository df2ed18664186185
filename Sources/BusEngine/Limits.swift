/// Every bound of the bus, each with its reason. Sizes are in bytes.
///
/// Those that configuration can set come first; past one, a request is answered `limit` (a number of things)
/// or `too_large` (a size).
package struct Limits: Sendable, Equatable {
    /// The longest line, in either direction: what one request can make the daemon hold and parse at once.
    package var line = 1 << 20
    /// The deepest nesting of a line: bounds every recursion over values.
    package var depth = 64
    /// The largest state, encoded: a state must fit into one line with room for what surrounds it.
    package var state = 1 << 20
    /// Stores on the bus: bounds memory and the longest commit.
    package var stores = 1_000_000
    /// Connections at one time: each holds a descriptor and an outbox.
    package var connections = 4096
    /// Subscriptions of one connection: bounds what one commit can make the daemon write to it.
    package var subscriptions = 1024
    /// What may wait unsent for one connection before its changes are merged and its requests wait.
    package var outbox = 4 << 20
    /// Actions in one dispatch: bounds how long one commit keeps everybody else waiting.
    package var batch = 1024
    /// What states, outboxes and remembered keys may take in all; past it, what would grow is refused.
    package var memory = 2 << 30

    package init() {}

    /// The longest key, in bytes: it is kept for every keyed commit.
    package static let key = 128
    /// The keyed commits that are remembered, so that a retry after a lost connection is recognised.
    package static let rememberedKeys = 100_000
    /// The drops that are remembered for subscriptions that resume or lag behind.
    package static let rememberedDrops = 100_000
    /// The commits that one reply to `history` tells at most.
    package static let history = 1000
    /// Pointers in one `select`: bounds the work that one commit causes per subscription shape.
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
    /// Commits that touch more stores than this, or tell a shape's subscribers more bytes, are large: the storage they
    /// needed is kept for so many milliseconds.
    static let usualTouches = 4096
    static let usualContent = 64 << 10
    static let largeStorageKept = 1000
    /// Cohorts kept for the next turns, each with room for as many subscribers as it once had.
    static let spareCohorts = 16
    /// What surrounds a state on its line at most: address, revisions, cause-free members.
    package static let eventOverhead = 1024

    /// What one store may spend on expressions in one action: far above any honest mutation, and over in
    /// milliseconds.
    package static let storeOperations = 100_000
    package static let storeBytes = 4 << 20
    /// What one commit may spend in all: a simple action over a million stores fits, a bomb ends in a second.
    package static let commitOperations = 40_000_000
    package static let commitBytes = 256 << 20

    /// What one store may cost of the commit's operations beside its expressions: being looked at, and each
    /// write noted. Bounds the time of a batch over many stores, and the memory to take it back.
    package static let operationsPerStore = 2
    package static let operationsPerWrite = 8

    /// While all is held that may be, a connection that has more than this unfinished is ended.
    package static let heldUnderPressure = 64 << 10

    /// What a message to a client and one detail of it may take: they may quote what the client sent.
    package static let message = 2048
    package static let detail = 512

    /// What is counted for a subscription shape beside its pointers, for a store in a shape's list of stores,
    /// and for each byte of a will, whose values take more room in memory than on the line.
    package static let shapeBytes = 1024
    package static let membershipBytes = 64
    package static let willFactor = 8

    /// The largest state that fits both its own limit and a line.
    package var effectiveState: Int { min(state, line - Self.eventOverhead) }
}
