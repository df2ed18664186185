import BusJSON
import BusMachine

/// Visits entries of the log, the oldest or the newest first: where the log is indexed, those that the index finds, and
/// elsewhere all. It can be interrupted, and continues where it stopped.
final class CommitSearch {
    private let query: IndexQuery
    private let isNewestFirst: Bool
    /// The groups still to be visited; nil when none is left.
    private var rest: ClosedRange<Int>?
    /// The last entry visited in the first of them.
    private var seen: EntryPlace?
    /// What is indexed, in order.
    private let blocks: [ClosedRange<Int>]

    /// Called with an entry; false stops the search after it.
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

    /// Continues while there is time and `visit` returns true. True when the search has ended.
    func advance(in source: some PastSource, hasTime: () -> Bool, _ visit: Visit) throws(PastFailure) -> Bool
    {
        while let groups = rest {
            let (part, found) = try part(of: groups, in: source)
            if let found {
                let goesOn = try go(through: found.map(\.place), in: source, visit)
                // The places are those of entries before they were thinned.
                if let block = block(in: groups), !found.isEmpty, try !source.indexedGroups().contains(block)
                {
                    throw .thinned
                }
                if !goesOn { return false }
            } else {
                guard try scan(part, in: source, hasTime: hasTime, visit) else { return false }
            }
            leave(part)
            if !hasTime() { return rest == nil }
        }
        return true
    }

    /// Groups without an index of which one call reads no more: some milliseconds.
    private static let groupsAtOnce = 64

    /// The revisions in the next part of the log that may match, in the order of the search; nil when the search has ended.
    /// Entries that the index finds are not read.
    func nextRevisions(in source: some PastSource) throws(PastFailure) -> [ClosedRange<Int>]? {
        guard let groups = rest else { return nil }
        var (part, found) = try part(of: groups, in: source)
        if found == nil, part.count > Self.groupsAtOnce {
            part =
                isNewestFirst
                ? part.upperBound - Self.groupsAtOnce + 1...part.upperBound
                : part.lowerBound...part.lowerBound + Self.groupsAtOnce - 1
        }
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
                if query.holds({ hashes.contains($0.hash) }) { revisions.append(some) }
                return true
            }
        }
        leave(part)
        return revisions
    }

    /// Whether a search from the newest on has visited all groups from this one on.
    func hasPassed(_ group: Int) -> Bool { rest.map { $0.upperBound < group } ?? true }

    /// The next groups: those of one block, with what the index finds there, or those up to the next block, with nil.
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
                    let terms = IndexTerms(bytes: $0)
                    mayHold = query.holds { terms.find($0) != nil }
                    return mayHold
                })
        else { return (part, nil) }
        if !mayHold { return (part, []) }
        let reader = IndexBlockReader(groups: block, terms: bytes.terms, lists: bytes.lists)
        return (part, reader?.entries(of: query)?.filter { isAhead($0.place, in: part) })
    }

    /// The block that holds the next group, if it is indexed.
    private func block(in groups: ClosedRange<Int>) -> ClosedRange<Int>? {
        let next = isNewestFirst ? groups.upperBound : groups.lowerBound
        var (before, after) = (0, blocks.count)
        while before < after {
            let middle = (before + after) / 2
            if blocks[middle].upperBound < next { before = middle + 1 } else { after = middle }
        }
        return before < blocks.count && blocks[before].contains(next) ? blocks[before] : nil
    }

    /// The next groups as far as they are in this block, or in none.
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
                guard found.number == group else { throw .thinned }
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
            // Nothing is before the first entry of a group.
            var next = Optional(
                seen.map { min(part.upperBound, $0.offset == 0 ? $0.group - 1 : $0.group) } ?? part.upperBound
            )
            while goesOn, let number = next, number >= part.lowerBound {
                var isThere = false
                try source.forEachGroup(from: number, isOne: true) { (group) throws(PastFailure) in
                    isThere = group.number == number
                    if isThere { try go(through: group) }
                    return false
                }
                // One that is gone had nothing left in it.
                next = try isThere ? number - 1 : source.group(atOrBefore: number - 1)
                if isThere, goesOn, number > part.lowerBound, !hasTime() {
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

extension PastSource {
    /// The last revision that defined or undefined a type.
    func lastDefinition(
        of type: String, after since: Int, through until: Int
    ) throws(PastFailure) -> Int? {
        try last(
            .all([.term(.target(type)), .term(.action("reload"))]), after: since, through: until)
    }

    /// The last revision of a commit that is found by a query.
    func last(_ query: IndexQuery, after since: Int, through until: Int) throws(PastFailure) -> Int? {
        let search = try CommitSearch(query, after: since, through: until, newestFirst: true, in: self)
        while let found = try search.nextRevisions(in: self) {
            if let last = found.first { return last.upperBound }
        }
        return nil
    }

    /// The newest revision after which there are at least so many commits of a type; nil if there are fewer since `floor`. A
    /// dispatch to `*` counts for every type.
    package func revision(
        before commits: Int, of type: String, after floor: Int, through last: Int
    ) throws(PastFailure) -> Int? {
        let search = try CommitSearch(
            CommitStep.lookUp(HistorySubject(type: type, store: nil, actions: nil)), after: floor,
            through: last, newestFirst: true, in: self)
        var count = 0
        while let found = try search.nextRevisions(in: self) {
            for revisions in found {
                count += revisions.count
                if count >= commits { return revisions.lowerBound + count - commits - 1 }
            }
        }
        return nil
    }
}
