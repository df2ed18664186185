import BusJSON

/// Proposals as bytes. The first two numbers are the form and the rules, in every version; the rest is of this form.
///
/// Numbers have seven bits in each byte, lowest first; bytes and texts have their length before them. An entry that is
/// asked for by the same principal as the one before it does not repeat who that is.
extension ProposalContent {
    package static let form = 1

    private enum Kind: UInt8 {
        case request, revert, sessionNamed, sessionEnded, configure
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
        for entry in entries {
            Self.add(entry, behind: before, to: &writer)
            before = entry.by
        }
        return writer.bytes
    }

    private static func add(
        _ entry: ClusterEntry, behind before: [UInt8]?, to writer: inout CompactWriter
    ) {
        let kind: Kind =
            switch entry.command {
            case .request: .request
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

    /// Reads what somebody has put into the log; every version of these rules refuses the same.
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
        for _ in 0..<count {
            guard let entry = Self.entry(&reader, behind: entries.last?.by) else { throw .malformed }
            entries.append(entry)
        }
        guard reader.isAtEnd else { throw .malformed }
        self.init(
            rules: rules, clock: clock, evidence: Evidence(epoch: epoch, link: link), entries: entries)
    }

    private static func entry(_ reader: inout CompactReader, behind before: [UInt8]?) -> ClusterEntry? {
        guard let head = reader.byte(), let kind = Kind(rawValue: head & ~(sameBy | byOperator)),
            let session = reader.number()
        else { return nil }
        let by: [UInt8]
        if head & sameBy == 0 {
            // It is written in one way only.
            guard let own = reader.block(most: ClusterLimits.by), own != before else { return nil }
            by = own
        } else {
            guard let before else { return nil }
            by = before
        }
        guard let command = command(kind, &reader) else { return nil }
        return ClusterEntry(session: session, by: by, isOperator: head & byOperator != 0, command)
    }

    private static func command(_ kind: Kind, _ reader: inout CompactReader) -> ClusterEntry.Command? {
        switch kind {
        case .request: reader.block(most: ClusterLimits.proposal).map { .request($0) }
        case .revert:
            reader.block(most: ClusterLimits.proposal).flatMap { line in
                reader.block(most: ClusterLimits.proposal).map { .revert(line, past: $0) }
            }
        case .sessionNamed:
            reader.text(most: ClusterLimits.sessionName).flatMap { name in
                reader.number().map { .sessionNamed(name, linger: $0) }
            }
        case .sessionEnded: .sessionEnded
        case .configure: reader.block(most: ClusterLimits.proposal).map { .configure($0) }
        }
    }
}
