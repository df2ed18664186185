/// Every limit that decides what a commit may do, each with its reason. Sizes are in bytes.
///
/// They belong to the bus and not to one daemon: every daemon that applies the same entries under the same limits comes
/// to the same states and the same refusals.
package struct BusLimits: Sendable, Equatable {
    /// The largest state, encoded: a state must fit into one line with room for what surrounds it.
    package var state = 1 << 20
    /// Stores on the bus: bounds memory and the longest commit.
    package var stores = 1_000_000
    /// Actions in one dispatch: bounds how long one commit keeps all other clients waiting.
    package var batch = 1024
    /// Operations of one dispatch: a commit can't be interrupted, so this bounds how long all other clients wait for
    /// it. Each store reached takes 2, each write to it 8, expressions one for each step: so 200,000 stores can be
    /// changed at once in a simple way, which takes some 50 ms.
    package var commit = 2_000_000
    /// What the expressions of one dispatch may read of long texts and keys, in bytes, where an operation does not say how
    /// long they are: each byte takes about a nanosecond.
    package var reading = BusLimits.commitReading
    /// What the states may take in all; beyond it, whatever would grow is refused.
    package var memory = 2 << 30

    /// How many expressions views may evaluate for a commit free of charge; each takes a millisecond at most. If there are
    /// more, the commit pays for all of them with its operations before it is made.
    package var evaluations = 64

    /// The payloads of an action that goes to all types and stands in the log for each of them: as long together as four
    /// of the longest lines.
    package var payloads = 4 << 20

    /// Timers on the bus: each takes some 300 bytes, and a bus that was down has all of them to fire.
    package var timers = 1_000_000
    /// Timers of one store, which are looked for by name one after the other.
    package var timersOfStore = 64
    /// Timers of one type, for dispatches to all of its stores: each is a long commit where there are many.
    package var timersOfType = 1024

    package init() {}

    /// How much of a limit one user may have, where all users have taken `all` of it, and this one `own` of that.
    package static func share(of limit: Int, taken all: Int, own: Int, fixed: Int? = nil) -> Int {
        let left = limit - (all - own)
        // The last one is not divided.
        return min(max(left / 2, min(left, 1)), fixed ?? .max)
    }

    /// For replayed entries, which were committed before: they are not checked again.
    package static var none: BusLimits {
        var limits = BusLimits()
        limits.state = Int(Int32.max)
        limits.stores = Int(Int32.max)
        limits.batch = Int(Int32.max)
        limits.commit = Int(Int32.max)
        limits.reading = .max
        limits.memory = Int(Int32.max) << 20
        limits.evaluations = .max
        limits.payloads = Int(Int32.max) << 20
        limits.timers = Int(Int32.max)
        limits.timersOfStore = Int(Int32.max)
        limits.timersOfType = Int(Int32.max)
        return limits
    }

    // MARK: - Views

    /// What a store that a view reads takes in memory, and what each of the view's values adds, in bytes.
    package static let viewRow = 48
    package static let viewValue = 48
    /// What an index takes for each store and for each value that it tells apart.
    package static let indexedStore = 64
    package static let indexedValue = 256
    /// A commit takes these operations in advance for each view that reads a store which it writes or creates, and for each value
    /// of the view: what the view does about it can't be refused later.
    package static let operationsPerView = 10
    package static let operationsPerViewValue = 4

    // MARK: - Rules

    /// The number of the rules by which entries are applied. It grows where they come to other states or refusals than the
    /// rules before, and an entry is applied by the rules that it was made by. Rules 4 add words of definitions, views
    /// and conditions of requests; no entry of rules 3 comes out differently by them.
    package static let rules = 8

    /// From these rules on, the bytes that expressions read are counted, and what the states of new stores spend.
    package static let rulesOfReading = 2
    /// From these rules on, a shared bus checks a request as one machine does: `cancel` asks the access rules before it looks
    /// for the store, and `create` reads `state` and `version` first. No more than `lingering` sessions wait for their
    /// clients.
    package static let rulesOfOneMeaning = 3
    /// From these rules on, a batch may say what its stores must be like, the conditions of access rules see the hour, the
    /// minute and the day of the week, and the operations of a proposal are bounded.
    package static let rulesOfConditions = 4
    /// From these rules on, what is due before the entries of a proposal, and what the end of a member leaves, is bounded by its
    /// operations, too; and what a client leaves is left with the roles that it had last.
    package static let rulesOfSlices = 5
    /// From these rules on, a commit pays for what many changed stores make views evaluate, for the migration of states that it
    /// creates, and for members that are moved; and a proposal also for what its entries have evaluated besides applying. The
    /// digest of a `create` has its `version`.
    package static let rulesOfPrices = 6
    /// From these rules on, a proposal also pays for the computed values of views that follow its entries, an action whose `when`
    /// fails leaves the store alone, and a revert keeps to `limits.state` and `limits.memory`.
    package static let rulesOfViewStates = 7
    /// From these rules on, sessions end in the same way on members that were restored from a copy, where types are numbered anew
    /// and empty sessions are missing. A dispatch is refused if its drops by value would look at more stores than a commit may
    /// reach, or take one that a later element leaves as it is. A client can cancel only those of its timers that it is shown.
    package static let rulesOfCopies = 8

    // MARK: - One commit

    /// What one store may spend on expressions in one action: far above any honest mutation, and over in milliseconds.
    package static let storeOperations = 100_000
    package static let storeBytes = 4 << 20
    /// What the expressions of one commit may produce in all, and what they may read, in bytes.
    package static let commitBytes = 64 << 20
    package static let commitReading = 16 << 20
    /// The bytes whose reading takes as long as an operation.
    package static let bytesPerOperation = 16
    /// What one store costs of the commit's operations beside its expressions: the look-up, and each recorded write.
    /// Bounds the time of a batch over many stores, and the memory to roll it back.
    package static let operationsPerStore = 2
    package static let operationsPerWrite = 8
    /// What it costs when a batch reaches the store again: the changes have to be merged.
    package static let operationsPerReturn = 40
    /// Operations of a will: no client is there to wait for its turn, so it must not take long.
    package static let willOperations = 100_000
    /// Commits that write more stores than this are large: the storage they needed is released some time later.
    package static let usualWrites = 4096

    // MARK: - Requests

    /// The length of one condition, and of all conditions of a batch, in bytes: longer than people write, and compiled in
    /// milliseconds.
    package static let condition = 4096
    package static let conditions = 16 << 10
    /// How deep JsonLogic may nest in a condition: as deep as text may.
    package static let depthOfCondition = 64
    /// The stores that one `where` may drop: as many as end with a session.
    package static let chosenDrops = 10_000
    /// The operations that each byte of a condition costs its commit, as it has to be compiled.
    package static let operationsPerConditionByte = 10
    /// What the reply to an entry of a shared log may tell of its changes, in bytes: as much as most lines may have.
    package static let told = 1 << 20
    /// How long ago the time of a dispatch that comes later may be, in milliseconds: clocks of clients go wrong by seconds,
    /// and a request to a shared bus may be on its way as long.
    package static let lateness = 60_000

    // MARK: - Keys and drops

    /// The longest key, in bytes: it is kept for every keyed commit.
    package static let key = 128
    /// The keyed commits that are remembered, so that a retry after a lost connection is recognised.
    package static let rememberedKeys = 100_000
    /// The bytes of what these commits returned that are remembered.
    package static let rememberedResults = 16 << 20
    /// The drops that are remembered for subscriptions that resume or lag behind.
    package static let rememberedDrops = 100_000

    // MARK: - Sessions

    /// Ephemeral stores of one session: they are dropped in one commit, when it ends.
    package static let ephemeralStores = 10_000
    /// The longest name of a session, in bytes, and the longest time that it waits for its client, in milliseconds: a
    /// day. What it holds, no other client can have meanwhile.
    package static let sessionName = 128
    package static let longestLinger = 86_400_000
    /// The sessions of a shared bus that wait for their clients: as many as one machine may have connections, where its
    /// configuration says nothing else.
    package static let lingering = 4096

    // MARK: - Memory

    /// What a store takes of the memory beside its state.
    package static let storeOverhead = 128
    /// What the last change of a part of a store takes, which access rules show by itself.
    package static let partRevision = 64
    /// What a timer takes beside its payload.
    package static let timerOverhead = 256
}
