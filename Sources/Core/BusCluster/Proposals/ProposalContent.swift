import BusJSON

/// What a member puts into the shared log at once: its entries, and what it knew when it did.
package struct ProposalContent: Equatable, Sendable {
    /// The number of the rules by which it is to be applied; see `ClusterLimits.rules`.
    package let rules: Int
    /// The proposer's clock, in milliseconds since 1970.
    package let clock: Int
    package let evidence: Evidence
    package let entries: [ClusterEntry]

    package init(
        rules: Int = ClusterLimits.rules, clock: Int, evidence: Evidence, entries: [ClusterEntry]
    ) {
        self.rules = rules
        self.clock = clock
        self.evidence = evidence
        self.entries = entries
    }
}

/// Why a proposal can't be read.
package enum ProposalFailure: Error, Equatable, Sendable {
    /// It needs later rules than this version knows; it may be read by a later version.
    case newer(rules: Int)
    /// It has no meaning for any version: void, everywhere.
    case malformed
}

/// Proposals as bytes. The first two numbers are the form and the rules, in every version; the rest is of this form.
///
/// Numbers have seven bits in each byte, lowest first; the length of bytes and texts stands before them. An entry does not
/// repeat its principal where that is the principal of the entry before. A request's line leaves out the beginning and the
/// end that it shares with the line before: clients mostly send lines that are alike, and the log keeps each byte three times
/// on disk and sends it to every member. Once read, the entries are no longer than a proposal may be.
extension ProposalContent {
    package static let form = 1

    private enum Kind: UInt8 {
        case request, revert, sessionNamed, sessionEnded, configure
        /// A request whose line is written without the beginning and the end that it shares with the line before.
        case alike
    }

    private static let sameBy: UInt8 = 0x80
    private static let byOperator: UInt8 = 0x40

    // MARK: - Writing

    package var encoded: [UInt8] {
        var writer = CompactWriter()
        writer.add(Self.form)
        writer.add(rules)
        writer.add(clock)
        writer.add(evidence.epoch)
        writer.add(evidence.link)
        writer.add(entries.count)
        var before: [UInt8]?
        var line: [UInt8]?
        for entry in entries {
            Self.add(entry, behind: before, like: line, to: &writer)
            before = entry.by
            if case .request(let own) = entry.command { line = own }
        }
        return writer.bytes
    }

    private static func add(
        _ entry: ClusterEntry, behind before: [UInt8]?, like line: [UInt8]?,
        to writer: inout CompactWriter
    ) {
        let alike = Alike(entry, like: line)
        let kind: Kind =
            switch entry.command {
            case .request: alike == nil ? .request : .alike
            case .revert: .revert
            case .sessionNamed: .sessionNamed
            case .sessionEnded: .sessionEnded
            case .configure: .configure
            }
        let isSame = before == entry.by
        writer.add(
            byte: kind.rawValue | (isSame ? sameBy : 0) | (entry.isOperator ? byOperator : 0))
        writer.add(entry.session)
        if !isSame { writer.add(entry.by) }
        if let alike {
            writer.add(alike.first)
            writer.add(alike.last)
            return writer.add(alike.between)
        }
        switch entry.command {
        case .request(let line), .configure(let line): writer.add(line)
        case .revert(let line, let past):
            writer.add(line)
            writer.add(past)
        case .sessionNamed(let name, let linger):
            writer.add(name)
            writer.add(linger)
        case .sessionEnded: break
        }
    }

    // MARK: - Reading

    /// Decodes a proposal, which anybody may have put into the log. All members must refuse the same ones.
    package init(_ bytes: [UInt8]) throws(ProposalFailure) {
        var reader = CompactReader(bytes)
        guard let form = reader.number(), let rules = reader.number() else { throw .malformed }
        guard rules <= ClusterLimits.rules else { throw .newer(rules: rules) }
        guard form == Self.form, rules > 0, let clock = reader.number(),
            clock <= ClusterLimits.latestClock, let epoch = reader.text(most: ClusterLimits.epoch),
            let link = reader.link(), let count = reader.number(),
            count <= ClusterLimits.entries
        else { throw .malformed }
        var entries: [ClusterEntry] = []
        var line: [UInt8]?
        var bytes = 0
        for _ in 0..<count {
            guard let entry = Self.entry(&reader, behind: entries.last?.by, like: line) else {
                throw .malformed
            }
            if case .request(let own) = entry.command {
                line = own
                bytes += own.count
                guard bytes <= ClusterLimits.proposal else { throw .malformed }
            }
            entries.append(entry)
        }
        guard reader.isAtEnd else { throw .malformed }
        self.init(
            rules: rules, clock: clock, evidence: Evidence(epoch: epoch, link: link), entries: entries)
    }

    private static func entry(
        _ reader: inout CompactReader, behind before: [UInt8]?, like line: [UInt8]?
    ) -> ClusterEntry? {
        guard let head = reader.byte(), let kind = Kind(rawValue: head & ~(sameBy | byOperator)),
            let session = reader.number()
        else { return nil }
        let by: [UInt8]
        if head & sameBy == 0 {
            // A proposal has only one way to be written.
            guard let own = reader.block(most: ClusterLimits.by), own != before else { return nil }
            by = own
        } else {
            guard let before else { return nil }
            by = before
        }
        guard let (command, written) = command(kind, like: line, &reader) else { return nil }
        let entry = ClusterEntry(session: session, by: by, isOperator: head & byOperator != 0, command)
        return Alike(entry, like: line) == written ? entry : nil
    }

    private static func command(
        _ kind: Kind, like line: [UInt8]?, _ reader: inout CompactReader
    ) -> (ClusterEntry.Command, Alike?)? {
        if kind != .alike { return command(kind, &reader).map { ($0, nil) } }
        guard let line, let first = reader.number(), let last = reader.number(), first <= line.count,
            last <= line.count - first, let between = reader.block(most: ClusterLimits.proposal)
        else { return nil }
        return (
            .request(Array(line[..<first]) + between + Array(line[(line.count - last)...])),
            Alike(first: first, last: last, between: between)
        )
    }

    private static func command(_ kind: Kind, _ reader: inout CompactReader) -> ClusterEntry.Command? {
        switch kind {
        case .alike: return nil
        case .request: return reader.block(most: ClusterLimits.proposal).map { .request($0) }
        case .revert:
            return reader.block(most: ClusterLimits.proposal).flatMap { line in
                reader.block(most: ClusterLimits.proposal).map { .revert(line, past: $0) }
            }
        case .sessionNamed:
            return reader.text(most: ClusterLimits.sessionName).flatMap { name in
                reader.number().map { .sessionNamed(name, linger: $0) }
            }
        case .sessionEnded: return .sessionEnded
        case .configure: return reader.block(most: ClusterLimits.proposal).map { .configure($0) }
        }
    }
}

/// The part of a request's line that differs from the line before.
private struct Alike: Equatable {
    /// How many bytes it shares with the line before at its beginning and at its end.
    let first: Int
    let last: Int
    let between: [UInt8]

    /// With fewer bytes in common, the two numbers do not pay.
    private static let least = 8

    init(first: Int, last: Int, between: [UInt8]) {
        self.first = first
        self.last = last
        self.between = between
    }

    init?(_ entry: ClusterEntry, like before: [UInt8]?) {
        guard let before, case .request(let line) = entry.command else { return nil }
        let most = min(before.count, line.count)
        var first = 0
        while first < most, before[first] == line[first] { first += 1 }
        var last = 0
        while last < most - first, before[before.count - 1 - last] == line[line.count - 1 - last] {
            last += 1
        }
        guard first + last >= Self.least else { return nil }
        self.first = first
        self.last = last
        between = Array(line[first..<line.count - last])
    }
}
