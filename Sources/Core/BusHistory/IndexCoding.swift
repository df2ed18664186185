import BusJSON
import BusMachine

/// Encodes a block of the index: for successive groups of the log, which entries have which terms.
///
/// `terms` has the hashes of the terms, ascending, then for each the offset at which its list ends: 32 bits each,
/// little-endian.
///
/// `lists` begins with the length of the table of entries, then has that table, then the lists. Of each entry the table has the
/// difference of its group's number, its offset in the group (as a difference within the same group), the difference of its
/// first revision from the one that would follow, and how many further revisions it has. A list has the numbers of entries in
/// the block as differences. All of these are LEB128.
package struct IndexBlockWriter {
    /// The number of the first group.
    private let first: Int
    /// The next group's number.
    private var next: Int
    private var places: [UInt8] = []
    private var count = 0
    private var lastPlace: EntryPlace
    private var nextRevision = 0
    private var lists: [UInt32: (bytes: [UInt8], last: Int)] = [:]
    /// Bytes of entries.
    package private(set) var bytes = 0

    /// A block is full with the group that reaches this many entries or bytes. Entries after the last block are scanned, which
    /// takes a few milliseconds.
    package static let fullEntries = 4096
    package static let fullBytes = 1 << 20

    package init(from group: Int) {
        (first, next) = (group, group)
        lastPlace = EntryPlace(group: group, offset: 0)
    }

    package var isFull: Bool { count >= Self.fullEntries || bytes >= Self.fullBytes }
    package var isEmpty: Bool { next == first }

    /// Adds the next group. Entries that can't be read are left out of the index; a scan reports them as damaged.
    package mutating func add(_ group: PastGroup) {
        precondition(group.number >= next, "Groups are indexed as they follow one another.")
        next = group.number + 1
        bytes += group.entries.count
        var lines = LogLines.Cursor(group.entries)
        while true {
            let place = EntryPlace(group: group.number, offset: lines.offset)
            guard let line = lines.next() else { return }
            guard let revisions = LogLines.revisions(of: line), revisions.lowerBound >= nextRevision,
                let entry = (try? JSON(parsing: line, depthLimit: 1000))?.object
            else { continue }
            Self.append(place.group - lastPlace.group, to: &places)
            Self.append(
                place.group == lastPlace.group ? place.offset - lastPlace.offset : place.offset, to: &places)
            Self.append(revisions.lowerBound - nextRevision, to: &places)
            Self.append(revisions.count - 1, to: &places)
            (lastPlace, nextRevision) = (place, revisions.upperBound + 1)
            CommitStep.forEachTerm(of: entry) { Self.note(count, in: &lists[$0.hash, default: ([], -1)]) }
            count += 1
        }
    }

    package func block() -> (groups: ClosedRange<Int>, terms: [UInt8], lists: [UInt8]) {
        let hashes = lists.keys.sorted()
        var (terms, ends): ([UInt8], [UInt8]) = ([], [])
        var all: [UInt8] = []
        Self.append(places.count, to: &all)
        all += places
        for hash in hashes {
            all += lists[hash]!.bytes
            withUnsafeBytes(of: hash.littleEndian) { terms.append(contentsOf: $0) }
            withUnsafeBytes(of: UInt32(all.count).littleEndian) { ends.append(contentsOf: $0) }
        }
        return (first...max(first, next - 1), terms + ends, all)
    }

    private static func note(_ entry: Int, in list: inout (bytes: [UInt8], last: Int)) {
        if list.last == entry { return }
        append(entry - list.last - 1, to: &list.bytes)
        list.last = entry
    }

    private static func append(_ number: Int, to bytes: inout [UInt8]) {
        var rest = UInt64(number)
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(rest))
    }
}

/// The terms of a block, and where the list of each is.
struct IndexTerms {
    private let bytes: [UInt8]
    private let count: Int

    init(bytes: [UInt8]) { (self.bytes, count) = (bytes, bytes.count / 8) }

    /// Where the list of a term begins (nil for the first list) and ends; nil if no entry has the term.
    func find(_ term: IndexTerm) -> (start: Int?, end: Int)? {
        let hash = term.hash
        var (before, after) = (0, count)
        while before < after {
            let middle = (before + after) / 2
            if word(middle) < hash { before = middle + 1 } else { after = middle }
        }
        guard before < count, word(before) == hash else { return nil }
        return (before == 0 ? nil : Int(word(count + before - 1)), Int(word(count + before)))
    }

    private func word(_ index: Int) -> UInt32 {
        bytes.withUnsafeBytes {
            UInt32(littleEndian: $0.loadUnaligned(fromByteOffset: index * 4, as: UInt32.self))
        }
    }
}

/// Looks terms up in a block.
struct IndexBlockReader {
    private let groups: ClosedRange<Int>
    private let terms: IndexTerms
    private let lists: [UInt8]
    /// Where the places end.
    private let placesEnd: Int

    /// Nil for bytes that are no block.
    init?(groups: ClosedRange<Int>, terms: [UInt8], lists: [UInt8]) {
        (self.groups, self.terms, self.lists) = (groups, IndexTerms(bytes: terms), lists)
        var start = 0
        guard let length = Self.number(in: lists, &start), length <= lists.count - start
        else { return nil }
        placesEnd = start + length
    }

    /// The entries that may match, ascending; nil if all may.
    func entries(of query: IndexQuery) -> [(place: EntryPlace, revisions: ClosedRange<Int>)]? {
        guard let wanted = numbers(of: query) else { return nil }
        if wanted.isEmpty { return [] }
        var found: [(place: EntryPlace, revisions: ClosedRange<Int>)] = []
        var (start, entry, next, revision) = (0, 0, 0, 0)
        var place = EntryPlace(group: groups.lowerBound, offset: 0)
        guard Self.number(in: lists, &start) != nil else { return nil }
        while next < wanted.count {
            guard start < placesEnd, let groups = Self.number(in: lists, &start),
                let offset = Self.number(in: lists, &start), let step = Self.number(in: lists, &start),
                let more = Self.number(in: lists, &start)
            else { return nil }
            place = EntryPlace(
                group: place.group + groups, offset: groups == 0 ? place.offset + offset : offset)
            if entry == wanted[next] {
                found.append((place, revision + step...revision + step + more))
                next += 1
            }
            revision += step + more + 1
            entry += 1
        }
        return found
    }

    /// The numbers of entries, ascending; nil: all of them.
    private func numbers(of query: IndexQuery) -> [Int]? {
        switch query {
        case .term(let term): return numbers(with: term)
        case .any(let parts):
            let lists = parts.map(numbers).filter { $0.map { !$0.isEmpty } ?? true }
            if lists.contains(where: { $0 == nil }) { return nil }
            if lists.count <= 1 { return lists.first ?? [] }
            return Set(lists.flatMap { $0! }).sorted()
        case .all(let parts):
            var found: [Int]?
            for part in parts {
                guard let list = numbers(of: part) else { continue }
                found = found.map { Self.common($0, list) } ?? list
                if found!.isEmpty { break }
            }
            return found
        }
    }

    private static func common(_ one: [Int], _ other: [Int]) -> [Int] {
        var rest = other[...]
        return one.filter { number in
            while let first = rest.first, first < number { rest.removeFirst() }
            return rest.first == number
        }
    }

    private func numbers(with term: IndexTerm) -> [Int] {
        guard let list = terms.find(term) else { return [] }
        var start = list.start ?? placesEnd
        let end = min(lists.count, list.end)
        var (found, last): ([Int], Int) = ([], -1)
        while start < end, let step = Self.number(in: lists, &start) {
            last += step + 1
            found.append(last)
        }
        return found
    }

    private static func number(in bytes: [UInt8], _ start: inout Int) -> Int? {
        var (number, shift) = (0, 0)
        while start < bytes.count, shift < 56 {
            let byte = bytes[start]
            start += 1
            number |= Int(byte & 0x7f) << shift
            if byte & 0x80 == 0 { return number }
            shift += 7
        }
        return nil
    }
}
