import BusMachine

/// Every limit of a bus over several machines, each with its reason. Those that decide outcomes are part of the rules: a
/// change needs another number of the rules.
package enum ClusterLimits {
    /// The number of the rules by which entries are applied. A member that knows only earlier ones stops at the first
    /// proposal of later ones, because it could only guess.
    package static let rules = BusLimits.rules
    /// What members that do not report which rules they know are taken to know.
    package static let rulesBeforeReports = 4
    /// From these rules on, a client that sees parts of a state is notified of changes to those parts only.
    package static let rulesOfParts = 2

    // MARK: Proposals

    /// Bytes of one proposal: what the shared log takes.
    package static let proposal = OrderedLogLimits.proposal
    /// Entries of one proposal: bounds the turn in which it is applied.
    package static let entries = 4096
    /// The operations of one proposal: some four milliseconds. Once they are spent, the entries that are left are not carried
    /// out, and their member proposes them again. Bounds the turn, together with what one commit may spend.
    package static let operations = 200_000
    /// What every entry counts as, in operations, besides those of its expressions; and what the creation of a store adds, and
    /// a refusal with its message.
    static let operationsOfEntry = 40
    static let operationsOfCreation = 200
    static let operationsOfRefusal = 250
    /// The operations that an entry of a new user is assumed to take, so that users known to ask for less come first.
    static let operationsOfNewcomer = 5000
    /// Bytes of who asks for an entry: a principal's names are each bounded to less.
    package static let by = 4096
    /// Bytes of an epoch: a UUID, or what a test calls it.
    package static let epoch = 64
    package static let sessionName = BusLimits.sessionName
    /// No clock shows a later time; sums of such times don't overflow. Milliseconds since 1970.
    package static let latestClock = 1 << 50

    // MARK: Time

    /// How far one clock may be ahead of those of all other members that are present, in milliseconds; a lead beyond that
    /// does not count. A fifth more than the longest interval at which a member shows its clock.
    package static let clockLead = 60_000
    /// How long each of up to ten members waits before it shows its clock again, in milliseconds: with a proposal without entries if
    /// it has none. The first member moves the time of the bus on this often, however many there are.
    package static let heartbeat = 10_000
    /// The longest such wait, however many members there are, in milliseconds.
    package static let longestHeartbeat = 50_000

    /// How long each of this many members waits before it shows its clock again, in milliseconds. All members read each heartbeat,
    /// so from ten members to fifty the interval grows with their number: they send about one heartbeat a second in all.
    static func heartbeat(of members: Int) -> Int { min(max(heartbeat, members * 1000), longestHeartbeat) }
    /// How long a member counts as busy after a proposal, in milliseconds. This is longer than any spacing, since a bus has fewer
    /// members than `HistoryLimits.overlap`.
    static let busy = 2000

    /// The least time from one proposal of a busy member to its next, in milliseconds. etcd works for each proposal and for each
    /// member that reads it: a hundred busy members of a hundred make 500 proposals a second in all, and up to seven don't wait.
    package static func spacing(of busy: Int, among members: Int) -> Int { busy * members / 50 }
    /// Timers that fire, and sessions that end, before the entries of one proposal: bounds its turn. The rest fires with
    /// the next one.
    package static let due = 1024
    /// The member that joined first points out a timer that is due. Each further member waits this many milliseconds longer
    /// before it does so itself.
    package static let dueDelay = 250

    // MARK: History

    /// The earlier epochs that are remembered: evidence of one of them begins no further epoch.
    package static let epochs = 64

    // MARK: Members

    /// How long a request waits to be proposed, in milliseconds, before it is answered `unavailable`.
    package static let propose = 5000
    /// How long a proposal that the log has refused waits to be sent again, in milliseconds.
    package static let proposeAgain = 500
    /// Between attempts to join under a name that another one has, in milliseconds.
    package static let joinAgain = 1000
    /// How long a proposal that the log has acknowledged may stay undelivered, in milliseconds, before the log is read again.
    package static let delivery = 2000
    /// How long the log may take no proposal, in milliseconds, before it counts as stalled. A server that loses its leader finds
    /// another one sooner.
    package static let stall = 4000
    /// Before a member says how the bus starts over, it waits this many milliseconds for others with more of it.
    package static let gathering = 1000
    /// Bytes of entries that wait to be proposed: several proposals' worth.
    package static let waiting = 16 << 20
    /// Sessions whose use of the bus is remembered; beyond that, those that ask for nothing now are forgotten.
    static let idleSessions = 4096
}

/// How much of the history is kept at hand. Tests have less of it.
package struct HistoryLimits: Sendable {
    /// The links of the chain that are kept, as evidence that comes late is compared with them. Part of the rules.
    package var links = 1024
    /// How many links are read again each time reading starts over. Every member has at most one proposal on its way, and
    /// each proposal carries what its proposer saw last. So two histories that differ before can't agree in more links than
    /// there are members and ended leases among those links.
    package var overlap = 256
    /// The links that trimming leaves behind the slowest member: it has to find there what it reads again, even if the log
    /// goes back by twice as much.
    package var left: Int { 3 * overlap }
    /// How many places have to be free to go before the log is trimmed: each trimming costs it a compaction.
    package var trim = 4096
    /// The bytes from which on the log is trimmed, however slow some members are.
    package var log = 64 << 20

    package init() {}
}
