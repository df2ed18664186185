import BusEngine
import BusHistory
import BusJSON
import BusMachine

/// An action log in memory: what a disk would hold, without one.
package final class MemoryLog: PastSource {
    package struct Group {
        package let first: Int
        package let last: Int
        package let entries: [UInt8]
    }

    package var groups: [Group] = []
    package var snapshotBytes: [Int: [UInt8]] = [:]
    /// The revision through which commits may have been made of which nothing is in it.
    private(set) var reservedThrough = 0
    /// The log of which it is a member's copy; the replica with which that begins, and the entries since.
    var shared: SharedLog?
    var replica: [UInt8] = []
    private(set) var sharedEntries: [UInt8] = []

    package init() {}

    /// Another with the same in it.
    package func copy() -> MemoryLog {
        let copy = MemoryLog()
        copy.groups = groups
        copy.snapshotBytes = snapshotBytes
        copy.forgotten = forgotten
        copy.reservedThrough = reservedThrough
        copy.horizonsOfTypes = horizonsOfTypes
        (copy.shared, copy.replica, copy.sharedEntries) = (shared?.copy(), replica, sharedEntries)
        return copy
    }

    /// Through which revision what concerns types may be gone.
    private var horizonsOfTypes: [String: Int] = [:]

    package func horizons() throws(PastFailure) -> [String: Int] { horizonsOfTypes }

    /// Takes what concerns types out of the groups before a snapshot, or out of some of them, as if that had been interrupted.
    package func thin(_ horizons: [String: Int], groups most: Int = .max) {
        horizonsOfTypes.merge(horizons) { $1 }
        for index in groups.indices.prefix(most) {
            let group = groups[index]
            let types = horizons.filter { group.last <= $0.value }.keys
            let rest = group.entries.withUnsafeBytes { Thinning(types).rest(ofGroup: $0) }
            if let rest { groups[index] = Group(first: group.first, last: group.last, entries: rest) }
        }
    }

    package func group(atOrBefore number: Int) throws(PastFailure) -> Int? {
        groups.isEmpty || number < firstNumber ? nil : min(number, firstNumber + groups.count - 1)
    }

    /// What was taken away, for whoever judges the log afterwards.
    private var forgotten: (groups: [Group], snapshots: [Int: [UInt8]]) = ([], [:])

    /// Another in which nothing was forgotten.
    package func whole() -> MemoryLog {
        let whole = MemoryLog()
        whole.groups = forgotten.groups + groups
        whole.snapshotBytes = forgotten.snapshots.merging(snapshotBytes) { $1 }
        return whole
    }

    package var lastRevision: Int { max(groups.last?.last ?? 0, snapshotBytes.keys.max() ?? 0) }

    /// The entries as text, one per line.
    package var lines: [String] {
        groups.flatMap { String(decoding: $0.entries, as: UTF8.self).split(separator: "\n").map(String.init) }
    }

    /// What a log in a file is asked about that: here it is the entries.
    func answer(asFile query: LogQuery) -> LogAnswer? {
        let file = Array(lines.joined(separator: "\n").utf8) + [10]
        switch query.subject {
        case .compact: return .members(Array(",\"before\":\(file.count),\"bytes\":\(file.count)".utf8))
        case .backup(let offset):
            guard offset < file.count else {
                return .refused(
                    code: "conflict", message: "There is no such part; begin again with offset 0.",
                    details: [:])
            }
            let writer = ByteWriter()
            writer.append(",\"revision\":", decimal: lastRevision)
            writer.append(",\"bytes\":", decimal: file.count)
            writer.append(",\"data\":\"")
            file.withUnsafeBytes {
                Base64.append(
                    UnsafeRawBufferPointer(rebasing: $0[offset...].prefix(query.room / 2)), to: writer)
            }
            writer.append(UInt8(ascii: "\""))
            return .members(Array(writer.bytes))
        default: return nil
        }
    }

    package func append(_ group: SealedBatch) {
        precondition(group.first == lastRevision + 1, "A group follows the one before.")
        groups.append(Group(first: group.first, last: group.last, entries: Array(group.entries.bytes)))
        sharedEntries += group.shared?.bytes ?? []
        reservedThrough = group.reserved ?? reservedThrough
    }

    /// Goes on to a revision without an entry.
    func pass(through revision: Int) {
        if revision > lastRevision {
            groups.append(Group(first: lastRevision + 1, last: revision, entries: []))
        }
    }

    package func takeSnapshot(_ snapshot: ByteWriter, at revision: Int) {
        snapshotBytes[revision] = withExtendedLifetime(snapshot) { Array(snapshot.bytes) }
    }

    package func takeSnapshot(_ machine: StateMachine) {
        takeSnapshot(machine.snapshot(), at: machine.revision)
    }

    /// Takes away what stands before a snapshot.
    package func forget(before revision: Int) {
        forgotten.groups += groups.filter { $0.last <= revision && $0.first <= revision }
        for old in snapshotBytes.keys where old < revision { forgotten.snapshots[old] = snapshotBytes[old] }
        groups.removeAll { $0.last <= revision && $0.first <= revision }
        for old in snapshotBytes.keys where old < revision { snapshotBytes[old] = nil }
    }

    package func snapshots() throws(PastFailure) -> [Int] { snapshotBytes.keys.sorted() }

    package func snapshot(_ revision: Int) throws(PastFailure) -> [UInt8] {
        guard let bytes = snapshotBytes[revision] else {
            throw PastFailure(.gone, "There is no snapshot of revision \(revision).")
        }
        return bytes
    }

    /// It keeps no times beside its groups.
    package func lastRevision(by time: Int) throws(PastFailure) -> Int { 0 }

    package func forEachGroup(
        after revision: Int, _ body: (PastGroup) throws(PastFailure) -> Bool
    ) throws(PastFailure) {
        for (index, group) in groups.enumerated() where group.last > revision || group.first > group.last {
            if group.last < revision { continue }
            if try !visit(index, body) { return }
        }
    }

    package func forEachGroup(
        from number: Int, isOne: Bool, _ body: (PastGroup) throws(PastFailure) -> Bool
    ) throws(PastFailure) {
        for index in groups.indices where index + firstNumber >= number {
            if try !visit(index, body) { return }
        }
    }

    private func visit(
        _ index: Int, _ body: (PastGroup) throws(PastFailure) -> Bool
    ) throws(PastFailure) -> Bool {
        let group = groups[index]
        return try group.entries.withUnsafeBytes { bytes in
            Result { () throws(PastFailure) in
                try body(
                    PastGroup(
                        number: index + firstNumber, first: group.first, last: group.last, entries: bytes))
            }
        }.get()
    }

    private var firstNumber: Int { forgotten.groups.count + 1 }

    package func groupNumbers() throws(PastFailure) -> ClosedRange<Int>? {
        groups.isEmpty ? nil : firstNumber...(firstNumber + groups.count - 1)
    }

    package func group(after revision: Int) throws(PastFailure) -> Int {
        firstNumber + (groups.firstIndex { $0.last > revision || $0.first > revision } ?? groups.count)
    }

    // MARK: - The index

    /// How many groups a block of its index has: so few that tests have several, and a rest that is scanned. Nil: none.
    package var indexed: Int? = 3

    package func indexedGroups() throws(PastFailure) -> [ClosedRange<Int>] {
        guard let indexed, let all = try groupNumbers() else { return [] }
        var blocks: [ClosedRange<Int>] = []
        var first = 1
        while first + indexed - 1 <= all.upperBound {
            if first >= all.lowerBound { blocks.append(first...(first + indexed - 1)) }
            first += indexed
        }
        return blocks
    }

    package func indexBlock(
        of groups: ClosedRange<Int>, wantsLists: ([UInt8]) -> Bool
    ) throws(PastFailure) -> (terms: [UInt8], lists: [UInt8])? {
        var block = IndexBlockWriter(from: groups.lowerBound)
        try forEachGroup(from: groups.lowerBound, isOne: false) { group in
            if group.number <= groups.upperBound { block.add(group) }
            return group.number < groups.upperBound
        }
        let (_, terms, lists) = block.block()
        return (terms, wantsLists(terms) ? lists : [])
    }
}
