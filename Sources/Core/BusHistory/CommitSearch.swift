import BusJSON
import BusMachine

/// Goes through entries of the log, from the oldest or from the newest on: through those that the index finds, where there is
/// one, and through all where there is none. It can be interrupted, and goes on where it was.
final class CommitSearch {
    private let query: IndexQuery
    private let isNewestFirst: Bool
    /// The groups that it has still to go through; nil when none is left.
    private var rest: ClosedRange<Int>?
    /// Up to where it has gone through the first of them.
    private var seen: EntryPlace?
    /// What is indexed, in order.
    private let blocks: [ClosedRange<Int>]

    /// Called with an entry; false to stop behind it.
    typealias Visit = (UnsafeRawBufferPointer) throws(PastFailure) -> Bool

    /// - Parameters:
    ///   - since: Groups with later commits only.
    ///   - until: The last commit that is wanted; later ones may be visited, too.
    init(
        _ query: IndexQuery, after since: Int, through until: Int, newestFirst: Bool,
        in source: some PastSource
    ) throws(PastFailure) {
        self.query = query
        isNewestFirst = newestFirst
        blocks = query.isEverything ? [] : try source.indexedGroups()
        guard since < until, let groups = try source.groupNumbers() else { return }
        let first = try source.group(after: since)
        let last = min(groups.upperBound, try source.group(after: until))
        if first <= last { rest = first...last }
    }

    /// Goes on while there is time and `visit` says so; true when it is through.
    func advance(in source: some PastSource, hasTime: () -> Bool, _ visit: Visit) throws(PastFailure) -> Bool
    {
        while let groups = rest {
            let (part, found) = try part(of: groups, in: source)
            if let found {
                guard try go(through: found.map(\.place), in: source, visit) else { return false }
            } else {
                guard try scan(part, in: source, hasTime: hasTime, visit) else { return false }
            }
            leave(part)
            if !hasTime() { return rest == nil }
        }
        return true
    }

    /// The revisions that may be what is looked for in the next part of the log, in the order of the search, without looking at what
    /// the index finds; nil when it is through.
    func nextRevisions(in source: some PastSource) throws(PastFailure) -> [ClosedRange<Int>]? {
        guard let groups = rest else { return nil }
        let (part, found) = try part(of: groups, in: source)
        var revisions: [ClosedRange<Int>] = []
        if let found {
            revisions = found.map(\.revisions)
            if isNewestFirst { revisions.reverse() }
        } else {
            _ = try scan(part, in: source, hasTime: { true }) { line in
                guard let some = LogLines.revisions(of: line),
                    let entry = (try? JSON(parsing: line, depthLimit: 1000))?.object
                else { return true }
                var hashes: Set<UInt32> = []
                CommitStep.forEachTerm(of: entry) { hashes.insert($0.hash) }
                if query.holds(for: hashes) { revisions.append(some) }
                return true
            }
        }
        leave(part)
        return revisions
    }

    /// Whether it has gone through all groups from one on, the newest first.
    func hasPassed(_ group: Int) -> Bool { rest.map { $0.upperBound < group } ?? true }

    /// The next groups that are in one block, with what the index finds in it; or that are not indexed.
    private func part(
        of groups: ClosedRange<Int>, in source: some PastSource
    ) throws(PastFailure) -> (ClosedRange<Int>, [(place: EntryPlace, revisions: ClosedRange<Int>)]?) {
        let block = block(in: groups)
        let part = part(of: groups, block)
        guard let block, !query.isEverything else { return (part, nil) }
        var mayHold = false
        guard
            let bytes = try source.indexBlock(
                of: block,
                wantsLists: {
                    mayHold = IndexTerms(bytes: $0).mayHold(query)
                    return mayHold
                })
        else { return (part, nil) }
        if !mayHold { return (part, []) }
        let reader = IndexBlockReader(groups: block, terms: bytes.terms, lists: bytes.lists)
        return (part, reader?.entries(of: query)?.filter { isAhead($0.place, in: part) })
    }

    /// The block that has the next of some groups.
    private func block(in groups: ClosedRange<Int>) -> ClosedRange<Int>? {
        let next = isNewestFirst ? groups.upperBound : groups.lowerBound
        var (before, after) = (0, blocks.count)
        while before < after {
            let middle = (before + after) / 2
            if blocks[middle].upperBound < next { before = middle + 1 } else { after = middle }
        }
        return before < blocks.count && blocks[before].contains(next) ? blocks[before] : nil
    }

    /// The next groups that are of a block, or of none.
    private func part(of groups: ClosedRange<Int>, _ block: ClosedRange<Int>?) -> ClosedRange<Int> {
        if let block { return block.clamped(to: groups) }
        if isNewestFirst {
            let end = blocks.last { $0.upperBound < groups.upperBound }?.upperBound ?? 0
            return max(groups.lowerBound, end + 1)...groups.upperBound
        }
        let end = blocks.first { $0.lowerBound > groups.lowerBound }?.lowerBound ?? .max
        return groups.lowerBound...min(groups.upperBound, end - 1)
    }

    private func isAhead(_ place: EntryPlace, in part: ClosedRange<Int>) -> Bool {
        guard part.contains(place.group) else { return false }
        return seen.map { isNewestFirst ? place < $0 : place > $0 } ?? true
    }

    private func leave(_ part: ClosedRange<Int>) {
        guard let groups = rest else { return }
        seen = nil
        if isNewestFirst {
            rest = part.lowerBound > groups.lowerBound ? groups.lowerBound...(part.lowerBound - 1) : nil
        } else {
            rest = part.upperBound < groups.upperBound ? (part.upperBound + 1)...groups.upperBound : nil
        }
    }

    /// Visits some entries, group by group.
    private func go(
        through places: [EntryPlace], in source: some PastSource, _ visit: Visit
    ) throws(PastFailure) -> Bool {
        var (places, goesOn) = (isNewestFirst ? places.reversed() : places, true)
        while goesOn, let group = places.first?.group {
            let count = places.prefix { $0.group == group }.count
            try source.forEachGroup(from: group, isOne: true) { (found) throws(PastFailure) in
                for place in places.prefix(count) where goesOn && place.offset < found.entries.count {
                    goesOn = try visit(LogLines.line(in: found.entries, at: place.offset))
                    seen = place
                }
                return false
            }
            places = Array(places.dropFirst(count))
        }
        return goesOn
    }

    /// Visits all entries of some groups.
    private func scan(
        _ part: ClosedRange<Int>, in source: some PastSource, hasTime: () -> Bool, _ visit: Visit
    ) throws(PastFailure) -> Bool {
        var goesOn = true
        func go(through group: PastGroup) throws(PastFailure) {
            var lines = LogLines.Cursor(group.entries)
            var places: [EntryPlace] = []
            while true {
                let place = EntryPlace(group: group.number, offset: lines.offset)
                guard lines.next() != nil else { break }
                if isAhead(place, in: part) { places.append(place) }
            }
            for place in isNewestFirst ? places.reversed() : places where goesOn {
                goesOn = try visit(LogLines.line(in: group.entries, at: place.offset))
                seen = place
            }
        }
        if isNewestFirst {
            for number in part.reversed() where goesOn {
                // Nothing is before the first entry of a group.
                if let seen, seen < EntryPlace(group: number, offset: 1) { continue }
                try source.forEachGroup(from: number, isOne: true) { (group) throws(PastFailure) in
                    try go(through: group)
                    return false
                }
                if goesOn, number > part.lowerBound, !hasTime() {
                    seen = EntryPlace(group: number, offset: 0)
                    goesOn = false
                }
            }
        } else {
            let first = max(part.lowerBound, seen.map { $0.offset == .max ? $0.group + 1 : $0.group } ?? 0)
            try source.forEachGroup(from: first, isOne: false) { (group) throws(PastFailure) in
                guard group.number <= part.upperBound else { return false }
                try go(through: group)
                if goesOn, group.number < part.upperBound, !hasTime() {
                    seen = EntryPlace(group: group.number, offset: .max)
                    goesOn = false
                }
                return goesOn && group.number < part.upperBound
            }
        }
        return goesOn
    }
}
