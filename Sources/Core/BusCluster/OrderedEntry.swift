/// One entry of the shared log.
package struct OrderedEntry: Equatable, Sendable {
    package enum Content: Equatable, Sendable {
        case proposal(ProposalName, [UInt8])
        /// A member is present from here on; the entry's place is its incarnation.
        case joined(member: String, report: [UInt8])
        /// A member reports something else. Reports may be skipped: only the last one of each member counts.
        case reported(member: String, incarnation: Int, report: [UInt8])
        /// Leases of members have ended, or they have left, or somebody has ended them. Mostly one; several are in the
        /// order in which their consequences are to come, the same for all readers.
        case ended(members: [String])
    }

    package let place: Int
    package let content: Content

    package init(place: Int, _ content: Content) {
        self.place = place
        self.content = content
    }
}

/// A member that is present.
package struct OrderedLogMember: Equatable, Sendable {
    package let name: String
    package let incarnation: Int
    package let report: [UInt8]

    package init(name: String, incarnation: Int, report: [UInt8]) {
        self.name = name
        self.incarnation = incarnation
        self.report = report
    }
}

/// Encodes entries one after another, as a member keeps them in its own file.
///
/// Numbers have seven bits in each byte, lowest first; bytes and texts have their length before them. Each entry ends by
/// itself, and there is one way only to write it.
extension OrderedEntry {
    private enum Kind: UInt8 {
        case proposal, joined, reported, ended
    }

    package var encoded: [UInt8] {
        var writer = CompactWriter()
        switch content {
        case .proposal(let name, let bytes):
            Self.begin(.proposal, place, &writer)
            writer.add(name.member)
            writer.add(name.incarnation)
            writer.add(name.number)
            writer.add(bytes)
        case .joined(let member, let report):
            Self.begin(.joined, place, &writer)
            writer.add(member)
            writer.add(report)
        case .reported(let member, let incarnation, let report):
            Self.begin(.reported, place, &writer)
            writer.add(member)
            writer.add(incarnation)
            writer.add(report)
        case .ended(let members):
            Self.begin(.ended, place, &writer)
            writer.add(members.count)
            for member in members { writer.add(member) }
        }
        return writer.bytes
    }

    private static func begin(_ kind: Kind, _ place: Int, _ writer: inout CompactWriter) {
        writer.add(byte: kind.rawValue)
        writer.add(place)
    }

    /// Reads entries that stand behind each other; nil where these can't have been written, in whole or in part.
    package static func decode(all bytes: [UInt8]) -> [OrderedEntry]? {
        var reader = CompactReader(bytes)
        var entries: [OrderedEntry] = []
        while !reader.isAtEnd {
            guard let entry = next(&reader), entry.place > entries.last?.place ?? 0 else { return nil }
            entries.append(entry)
        }
        return entries
    }

    private static func next(_ reader: inout CompactReader) -> OrderedEntry? {
        guard let kind = reader.byte().flatMap(Kind.init), let place = reader.number(),
            let content = content(kind, &reader)
        else { return nil }
        return OrderedEntry(place: place, content)
    }

    private static func content(_ kind: Kind, _ reader: inout CompactReader) -> Content? {
        if kind == .ended { return ended(&reader) }
        guard let member = member(&reader) else { return nil }
        switch kind {
        case .joined:
            return reader.block(most: OrderedLogLimits.report).map { .joined(member: member, report: $0) }
        case .reported:
            guard let incarnation = reader.number(),
                let report = reader.block(most: OrderedLogLimits.report)
            else { return nil }
            return .reported(member: member, incarnation: incarnation, report: report)
        case .proposal, .ended:
            guard let incarnation = reader.number(), let number = reader.number(),
                let bytes = reader.block(most: OrderedLogLimits.proposal)
            else { return nil }
            return .proposal(ProposalName(member: member, incarnation: incarnation, number: number), bytes)
        }
    }

    private static func ended(_ reader: inout CompactReader) -> Content? {
        guard let count = reader.number() else { return nil }
        var members: [String] = []
        // However many there are said to be, it ends with the bytes.
        while members.count < count {
            guard let member = member(&reader) else { return nil }
            members.append(member)
        }
        return .ended(members: members)
    }

    private static func member(_ reader: inout CompactReader) -> String? {
        guard let name = reader.text(most: OrderedLogLimits.memberName), ProposalName.isMemberName(name)
        else { return nil }
        return name
    }
}
