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
        (copy.shared, copy.replica, copy.sharedEntries) = (shared?.copy(), replica, sharedEntries)
        return copy
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

    package func append(_ group: SealedBatch) {
        precondition(group.first == lastRevision + 1, "A group follows the one before.")
        groups.append(Group(first: group.first, last: group.last, entries: Array(group.entries.bytes)))
        sharedEntries += group.shared?.bytes ?? []
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
        for group in groups where group.last > revision || group.first > group.last {
            if group.last < revision { continue }
            var failure: PastFailure?
            var goesOn = true
            group.entries.withUnsafeBytes { bytes in
                do throws(PastFailure) {
                    goesOn = try body(PastGroup(first: group.first, last: group.last, entries: bytes))
                } catch {
                    failure = error
                }
            }
            if let failure { throw failure }
            if !goesOn { return }
        }
    }
}
