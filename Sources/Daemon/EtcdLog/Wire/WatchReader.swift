import BusCluster
import BusJSON

/// What a watch tells, read message by message: pure, so that any bytes can be tried on it.
///
/// A place is told once all of its changes are there: with the next one's first change, or with the end of a message that
/// is no fragment. So what was told is a point from which the reading can go on.
package struct WatchReader {
    package enum Fact: Equatable {
        /// The server watches.
        case created
        case entry(OrderedEntry)
        /// Somebody's barrier, by what was written, and where.
        case barrier([UInt8], place: Int)
        /// Everything up to this place was told.
        case progress(Int)
        /// What was asked for is gone, up to this place at least.
        case trimmedAway(through: Int)
    }

    private let keys: EtcdKeys
    private let endpoint: String
    /// Up to here everything was told.
    package private(set) var place: Int
    /// The changes of one revision that is still coming in.
    private var coming: (place: Int, changes: [Change]) = (0, [])

    private enum Change {
        case entry(OrderedEntry.Content)
        case ended(String)
        case barrier([UInt8])
    }

    /// - Parameter place: Up to here everything was told before.
    package init(_ keys: EtcdKeys, endpoint: String, behind place: Int) {
        self.keys = keys
        self.endpoint = endpoint
        self.place = place
    }

    /// The revision to watch from: that of the last place itself, though its changes are known. etcd refuses to begin before
    /// its compaction, but begins at it without the deletions that were there.
    package static func start(behind place: Int) -> Int { max(1, place) }

    package mutating func take(_ line: [UInt8]) throws(EtcdFault) -> [Fact] {
        let message = try EtcdReply(endpoint, line).streamed()
        if message.flag("canceled") {
            let compacted = try message.number("compact_revision")
            if compacted > 0 { return [.trimmedAway(through: compacted)] }
            throw EtcdFault(
                .server, mayHappen: false, .forbidden,
                "\(endpoint) ends the watch: check what the user may read (\(EtcdFault.shown(message.text("cancel_reason"))))."
            )
        }
        if message.flag("created") { return [.created] }
        var facts: [Fact] = []
        let events = message.json["events"]?.array ?? []
        for event in events { try take(event, &facts) }
        guard !message.flag("fragment") else { return facts }
        finish(&facts)
        // A message without changes says how far the server's store has come.
        if events.isEmpty {
            let revision = try message.revision()
            if revision > place {
                place = revision
                facts.append(.progress(revision))
            }
        }
        return facts
    }

    private mutating func take(_ event: JSON, _ facts: inout [Fact]) throws(EtcdFault) {
        let key = try EtcdKey(event["kv"] ?? .null, endpoint)
        guard key.modified > 0 else { throw .unexpected(endpoint, "a change without a revision") }
        if key.modified != coming.place {
            finish(&facts)
            guard key.modified > place else { return }
            coming.place = key.modified
        }
        if let change = change(key, isDeletion: event["type"]?.string == "DELETE") {
            coming.changes.append(change)
        }
    }

    private mutating func finish(_ facts: inout [Fact]) {
        guard coming.place > place else { return }
        place = coming.place
        var ended: [String] = []
        var first: OrderedEntry.Content?
        for change in coming.changes {
            switch change {
            case .barrier(let value): facts.append(.barrier(value, place: place))
            case .ended(let member): ended.append(member)
            // We write one at a time; what an operator's hand adds is left out, by all alike.
            case .entry(let content): first = first ?? content
            }
        }
        if !ended.isEmpty {
            facts.append(.entry(OrderedEntry(place: place, .ended(members: ended))))
        } else if let first {
            facts.append(.entry(OrderedEntry(place: place, first)))
        }
        coming = (place, [])
    }

    private func change(_ key: EtcdKey, isDeletion: Bool) -> Change? {
        switch keys.meaning(of: key.key) {
        case .member(let name)?:
            if isDeletion { return .ended(name) }
            // No member has written a longer one, and no copy has room for it.
            let report = key.value.count <= OrderedLogLimits.report ? key.value : []
            return .entry(
                key.created == key.modified
                    ? .joined(member: name, report: report)
                    : .reported(member: name, incarnation: key.created, report: report))
        case .log(let member, let incarnation)?
        where !isDeletion && key.value.count <= OrderedLogLimits.proposal:
            let name = ProposalName(member: member, incarnation: incarnation, number: key.version)
            return .entry(.proposal(name, key.value))
        case .barrier? where !isDeletion: return .barrier(key.value)
        default: return nil
        }
    }
}

/// Cuts what comes in pieces into lines.
package struct LineCutter {
    private var held: [UInt8] = []
    private let limit: Int

    /// - Parameter limit: The longest line, in bytes.
    package init(limit: Int) { self.limit = limit }

    /// Gives the lines that are complete now; nil when one is longer than allowed.
    package mutating func take(_ bytes: UnsafeRawBufferPointer) -> [[UInt8]]? {
        var lines: [[UInt8]] = []
        var rest = bytes[...]
        while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
            held += rest[..<end]
            rest = rest[(end + 1)...]
            guard held.count <= limit else { return nil }
            if !held.isEmpty { lines.append(held) }
            held = []
        }
        guard held.count + rest.count <= limit else { return nil }
        held += rest
        return lines
    }
}
