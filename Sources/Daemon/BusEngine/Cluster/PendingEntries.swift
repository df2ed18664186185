import BusCluster
import BusCommands
import BusJSON
import BusProtocol

/// The requests of one connection that are on their way through the shared log, in the order in which they came: so are
/// they answered.
final class PendingEntries {
    @exclusivity(unchecked) private var all: ContiguousArray<PendingEntry> = []
    /// Those before it have been answered.
    @exclusivity(unchecked) private var first = 0
    /// The bytes of their lines.
    @exclusivity(unchecked) private(set) var bytes = 0
    /// The operations that the next one may take: the most that one took lately.
    @exclusivity(unchecked) private var expected = 0

    /// So many requests of one connection, or lines of so many bytes, are on their way at once; what follows waits.
    private static let most = 512
    private static let mostBytes = 2 << 20
    private static let mostOperations = 1_000_000

    /// What a request counts as besides its line whose answer tells what it has changed: so few of them are on their way.
    static let toldBytes = 128 << 10

    var isEmpty: Bool { first == all.count }
    var isFull: Bool { all.count - first >= most || bytes >= Self.mostBytes }
    /// Whether so many have been answered that more may come.
    var hasRoom: Bool { all.count - first <= most / 2 && bytes <= Self.mostBytes / 2 }
    /// Of those that take much, as is known from the ones that were answered, only few are on their way.
    private var most: Int { min(Self.most, max(1, Self.mostOperations / max(1, expected))) }
    /// The tickets of those that are not answered.
    var tickets: [Int] { all[first...].map(\.ticket) }

    func add(_ entry: PendingEntry) {
        all.append(entry)
        bytes += entry.bytes
    }

    /// What has come of a request. They mostly come in order.
    func resolve(_ ticket: Int, _ outcome: EntryResolution) {
        guard let index = all[first...].firstIndex(where: { $0.ticket == ticket }) else { return }
        all[index].outcome = outcome
        if case .outcome(_, let spent) = outcome { expected = max(spent, expected &- expected &>> 2) }
    }

    /// The revision behind which a subscription is to go on, by the ticket that it waits with; nil: something else waits.
    func resumption(_ ticket: Int) -> Int? {
        let kind = all[first...].first { $0.ticket == ticket }?.kind
        if case .resumption(_, let since) = kind { return since }
        return nil
    }

    /// The first request, if it is known what has come of it.
    var hasAnswer: Bool { !isEmpty && all[first].outcome != nil }

    func takeFirst() -> PendingEntry {
        let entry = all[first]
        bytes -= entry.bytes
        first += 1
        if first == all.count || first >= Self.most {
            all.removeFirst(first)
            first = 0
        }
        return entry
    }
}

/// A request on its way through the shared log.
struct PendingEntry {
    enum Kind {
        /// A change of the bus. Its outcome holds the reply.
        case command
        /// A reload, whose reply also tells what only a restart of this member takes.
        case reload(restart: [String])
        case sync
        /// A read behind a barrier.
        case read(line: [UInt8])
        /// A subscription that goes on from what another member has told.
        case resumption(line: [UInt8], since: Int)
        /// It was refused at once, behind others that are on their way.
        case refused
    }

    let ticket: Int
    /// The request's `id`, byte for byte.
    let id: [UInt8]
    let kind: Kind
    /// The length of its line.
    let bytes: Int
    var outcome: EntryResolution?
}

/// What has come of a request to the shared log.
package enum EntryResolution {
    /// It was carried out, or refused, and that is durable here; it took so many operations.
    case outcome(CommandOutcome, spent: Int)
    /// It was not heard of in time.
    case failed(MemberFailure)
    /// Everything that anybody had been answered before is applied here.
    case synced
}
