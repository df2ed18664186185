import BusHistory
import BusLog
import BusLogic

/// The log's file as the source of the past.
package struct LogPast: PastSource {
    private let reader: LogReader

    package init(_ reader: LogReader) { self.reader = reader }

    init(path: String) throws(PastFailure) {
        do throws(LogFailure) {
            reader = try LogReader(path: path)
        } catch {
            throw PastFailure(error)
        }
    }

    /// A log that may be a copy that stands alone: then nothing is written beside it.
    init(standing path: String) throws(PastFailure) {
        do throws(LogFailure) {
            reader = try LogReader(standing: path)
        } catch {
            throw PastFailure(error)
        }
    }

    /// Whether somebody has written it meanwhile, so that what was read may be wrong.
    var wasWritten: Bool { reader.wasWritten }

    /// Throws unless all is here that the daemon noted.
    func requireEnd() throws(PastFailure) {
        try read { (reader) throws(LogFailure) in try reader.requireEnd() }
    }

    package func snapshots() throws(PastFailure) -> [Int] {
        try read { (reader) throws(LogFailure) in try reader.snapshots().map(\.revision).sorted() }
    }

    package func snapshot(_ revision: Int) throws(PastFailure) -> [UInt8] {
        try read { (reader) throws(LogFailure) in try reader.snapshot(revision) }
    }

    package func forEachGroup(
        after revision: Int, _ body: (PastGroup) throws(PastFailure) -> Bool
    ) throws(PastFailure) {
        try visit(body, from: nil, after: revision)
    }

    package func groupNumbers() throws(PastFailure) -> ClosedRange<Int>? {
        try read { (reader) throws(LogFailure) in try reader.groupNumbers() }
    }

    package func group(after revision: Int) throws(PastFailure) -> Int {
        try read { (reader) throws(LogFailure) in try reader.group(after: revision) }
    }

    package func group(atOrBefore number: Int) throws(PastFailure) -> Int? {
        try read { (reader) throws(LogFailure) in try reader.group(atOrBefore: number) }
    }

    package func horizons() throws(PastFailure) -> [String: Int] {
        try read { (reader) throws(LogFailure) in try reader.horizons() }
    }

    package func forEachGroup(
        from number: Int, isOne: Bool, _ body: (PastGroup) throws(PastFailure) -> Bool
    ) throws(PastFailure) {
        try visit(body, from: number, isOne: isOne)
    }

    package func indexedGroups() throws(PastFailure) -> [ClosedRange<Int>] {
        try undamaged { (reader) throws(LogFailure) in try reader.indexedGroups() } ?? []
    }

    package func indexBlock(
        of groups: ClosedRange<Int>, wantsLists: ([UInt8]) -> Bool
    ) throws(PastFailure) -> (terms: [UInt8], lists: [UInt8])? {
        try undamaged { (reader) throws(LogFailure) in
            try reader.indexBlock(of: groups, wantsLists: wantsLists)
        }?
        .map { ($0.terms, $0.lists) }
    }

    package func lastRevision(by time: Int) throws(PastFailure) -> Int {
        try read { (reader) throws(LogFailure) in try reader.lastRevision(by: time) }
    }

    /// The newest horizon that each type's rule allows; commits are counted up to `last`.
    package func limits(
        by rules: [String: LogReach], through last: Int
    ) throws(PastFailure) -> [String: HorizonLimit] {
        let (oldest, horizons) = (try snapshots().first ?? 0, try horizons())
        var limits: [String: HorizonLimit] = [:]
        for (type, reach) in rules {
            let floor = max(oldest, horizons[type] ?? 0)
            let through = try reach.commits.flatMap { (commits) throws(PastFailure) in
                try revision(before: commits, of: type, after: floor, through: last)
            }
            limits[type] = HorizonLimit(age: reach.age, through: through)
        }
        return limits
    }

    private func read<Value>(
        _ body: (LogReader) throws(LogFailure) -> Value
    ) throws(PastFailure) -> Value {
        do throws(LogFailure) { return try body(reader) } catch { throw PastFailure(error) }
    }

    /// Nil where it is damaged: what the index does not tell is found without it.
    private func undamaged<Value>(
        _ body: (LogReader) throws(LogFailure) -> Value
    ) throws(PastFailure) -> Value? {
        do throws(LogFailure) { return try body(reader) } catch {
            if error.kind == .damaged { return nil }
            throw PastFailure(error)
        }
    }

    private func visit(
        _ body: (PastGroup) throws(PastFailure) -> Bool, from number: Int?, after revision: Int = 0,
        isOne: Bool = false
    ) throws(PastFailure) {
        var failure: PastFailure?
        func visit(_ group: Group) -> Bool {
            do throws(PastFailure) {
                return try body(
                    PastGroup(
                        number: group.number, first: group.first, last: group.last, entries: group.entries))
            } catch {
                failure = error
                return false
            }
        }
        do throws(LogFailure) {
            if let number {
                try reader.forEachGroup(from: number, isOne: isOne, visit)
            } else {
                try reader.forEachGroup(after: revision, visit)
            }
        } catch {
            throw PastFailure(error)
        }
        if let failure { throw failure }
    }
}

extension PastFailure {
    init(_ failure: LogFailure) {
        let kind: Kind =
            switch failure.kind {
            case .lost: .gone
            case .damaged, .notALog, .newerForm: .damaged
            case .inUse, .readOnly, .full, .io: .unreadable
            }
        self.init(kind, failure.message)
    }
}
