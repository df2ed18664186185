/// The digest of a snapshot or of a replica, part by part, as it is written or read.
struct PartsDigest {
    private var digest = LogDigest()
    private(set) var parts = 0
    /// The size of all parts.
    private(set) var bytes = 0

    /// - Parameter number: The revision of a snapshot, or the place of a replica.
    init(of number: Int) { digest.add(number) }

    mutating func add(_ part: UnsafeRawBufferPointer) {
        digest.add(part)
        parts += 1
        bytes += part.count
    }

    /// The digest of all parts so far and of the numbers beside them.
    func text(_ numbers: [Int] = []) -> String {
        var whole = digest
        for number in numbers + [parts] { whole.add(number) }
        return whole.text
    }
}

extension Statement {
    /// Calls `body` with each of `count` parts in order; it runs in a read transaction. The statement selects a part by the
    /// number that all have and by its own. Throws what `missing` says of one that is not there.
    func forEachPart(
        _ count: Int, of number: Int, missing: (Int) throws(LogFailure) -> LogFailure,
        _ body: (UnsafeRawBufferPointer) throws(LogFailure) -> Void
    ) throws(LogFailure) -> PartsDigest {
        var digest = PartsDigest(of: number)
        for part in 0..<max(0, count) {
            bind(1, number)
            bind(2, part)
            defer { reset() }
            guard try next() else {
                reset()
                throw try missing(part)
            }
            let bytes = bytes(0)
            digest.add(bytes)
            try body(bytes)
        }
        return digest
    }

    /// What `take` makes of the rows that can be read before damage is met; nil leaves one out.
    func rowsBeforeDamage<Row>(_ take: () -> Row?) throws(LogFailure) -> [Row] {
        defer { reset() }
        var found: [Row] = []
        do {
            while try next() {
                if let row = take() { found.append(row) }
            }
        } catch {
            if error.kind != .damaged || found.isEmpty { throw error }
        }
        return found
    }
}
