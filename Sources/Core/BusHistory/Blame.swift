import BusJSON
import BusMachine
import BusProtocol

/// Finds the commits that last changed parts of a store's state. It walks back from snapshot to snapshot, and replays only
/// where the index knows of a commit that may have changed one of them. If a value changed and changed back, the commit that
/// changed it back is found.
final class Blame<Source: PastSource> {
    private let walk: ValueWalk<Source>
    private let oldest: Int
    /// The current definition is in force since this revision.
    private let defined: Int
    /// Everything after this revision has been looked at.
    private var end: Int
    private var search: CommitSearch?
    /// What the search has found, the newest first.
    private var found: [ClosedRange<Int>] = []
    private var parts: [Part]
    /// Whether the store was there at the revision that was asked about; nil until that is known.
    private(set) var exists: Bool?

    /// What is known of one part.
    private struct Part {
        let path: JSONPointer
        /// As it was at the revision that was asked about; nil until that is known.
        var value: JSON??
        /// The commit that made it so, and what it was before.
        var change: (revision: Int, old: JSON?)?
    }

    init(_ walk: ValueWalk<Source>, of paths: [JSONPointer], at revision: Int, oldest: Int, now: Int)
        throws(PastFailure)
    {
        self.walk = walk
        self.oldest = oldest
        end = revision
        defined = try walk.lastDefinition(after: oldest, through: now) ?? oldest
        parts = paths.map { Part(path: $0) }
    }

    private var open: [Int] { parts.indices.filter { parts[$0].change == nil } }

    /// Goes on while there is time; true when all is found, or nothing is left to look at.
    func advance(hasTime: () -> Bool) throws(PastFailure) -> Bool {
        while end > oldest, !open.isEmpty {
            try lookBack()
            if !hasTime() { return end <= oldest || open.isEmpty }
        }
        return true
    }

    /// Looks at the newest part of the log that may tell more, down to a snapshot.
    private func lookBack() throws(PastFailure) {
        let floor = end > defined ? defined : oldest
        if search == nil {
            search = try CommitSearch(
                walk.query(for: open.map { parts[$0].path.tokens }, isDefined: end > defined), after: floor,
                through: end, newestFirst: true, in: walk.source)
        }
        guard let search else { return }
        if found.isEmpty {
            guard let next = try search.nextRevisions(in: walk.source) else {
                (self.search, end) = (nil, floor)
                return
            }
            found = wanted(next, after: floor)
            if found.isEmpty { return }
        }
        // A replay from here gives the state before the newest of them, and those after all others since this snapshot.
        let newest = found[0].lowerBound
        let start = max(floor, try walk.source.snapshots().last { $0 < newest } ?? oldest)
        let group = try walk.source.group(after: start)
        while !search.hasPassed(group), let next = try search.nextRevisions(in: walk.source) {
            found += wanted(next, after: floor)
        }
        let revisions = found.filter { $0.upperBound > start }.map {
            max($0.lowerBound, start + 1)...$0.upperBound
        }
        try look(at: revisions.reversed())
        (self.search, found, end) = (nil, [], start)
    }

    private func wanted(_ revisions: [ClosedRange<Int>], after floor: Int) -> [ClosedRange<Int>] {
        revisions.filter { $0.upperBound > floor && $0.lowerBound <= end }
            .map { max($0.lowerBound, floor + 1)...min($0.upperBound, end) }
    }

    private func look(at revisions: [ClosedRange<Int>]) throws(PastFailure) {
        let open = open
        var values: [JSON?] = []
        var isThere = false
        try walk.walk(revisions) { revision, _, state in
            isThere = state != nil
            let next = open.map { index in state.flatMap(parts[index].path.resolve) }
            for (place, index) in open.enumerated() where !values.isEmpty && values[place] != next[place] {
                parts[index].change = (revision, values[place])
            }
            values = next
        }
        exists = exists ?? isThere
        for (place, index) in open.enumerated() where parts[index].value == nil {
            parts[index].value = .some(values[place])
        }
    }

    /// A part that was never seen to change has the value that it had at the beginning of the log.
    func finish() throws(PastFailure) {
        guard parts.contains(where: { $0.value == nil }) else { return }
        let state = walk.question.state(in: try walk.machine(oldest))
        exists = exists ?? (state != nil)
        for index in parts.indices where parts[index].value == nil {
            parts[index].value = .some(state.flatMap(parts[index].path.resolve))
        }
    }

    /// `"values":[…]`, without parts that have no value and never had one.
    func append(
        to reply: ByteWriter, _ commit: (Int, ByteWriter) throws(PastFailure) -> Void
    ) throws(PastFailure) {
        reply.append(",\"values\":[")
        for (place, part) in parts.enumerated() {
            reply.append(place == 0 ? "{\"path\":" : ",{\"path\":")
            reply.append(quoted: part.path.description)
            if let value = part.value ?? nil { reply.append(",\"value\":", json: value) }
            if let change = part.change {
                if let old = change.old { reply.append(",\"old\":", json: old) }
                reply.append(",\"commit\":")
                try commit(change.revision, reply)
            }
            reply.append(UInt8(ascii: "}"))
        }
        reply.append(UInt8(ascii: "]"))
    }
}
