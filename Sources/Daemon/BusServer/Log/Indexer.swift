import BusHistory
import BusLog
import Synchronization

/// Indexes the log on a thread of its own, block by block, a few thousand commits behind the newest. A commit writes nothing
/// for it, and waits for the insertion of one row at most. A log that was made before there was an index is indexed in the same
/// way, from its oldest commit on.
///
/// Nothing waits for it. Groups that could not be indexed are scanned, and tried again with the next block.
final class Indexer: Sendable {
    /// As nice as the threads that read the past.
    private let worker = Worker(named: "fluxbus-index", niceness: 10)
    private let writer: LogWriter
    private let ending: Ending
    private let isBusy = Atomic(false)

    init(_ writer: LogWriter, _ ending: Ending) { (self.writer, self.ending) = (writer, ending) }

    /// Indexes what fills blocks by now.
    func catchUp() {
        if isBusy.exchange(true, ordering: .relaxed) { return }
        worker.async { [self] in
            // Before it looks: what is written from now on is left to the next call.
            isBusy.store(false, ordering: .relaxed)
            do {
                let past = try writer.past()
                while true {
                    var steps = 0
                    try writer.withFile { (file) throws(LogFailure) in steps = file.thinningSteps }
                    guard let block = try next(in: past) else { break }
                    try writer.withFile { [steps] (file) throws(LogFailure) in
                        try file.add(block, asOf: steps)
                    }
                }
            } catch {
                // Whoever reads or writes the log says what is wrong with it.
            }
        }
    }

    private func next(in past: LogPast) throws(PastFailure) -> IndexBlock? {
        guard let groups = try past.groupNumbers() else { return nil }
        var first = groups.lowerBound
        // Between blocks are groups that were thinned.
        for indexed in try past.indexedGroups() where indexed.upperBound >= first {
            if indexed.lowerBound > first,
                let block = try block(from: first, through: indexed.lowerBound - 1, in: past)
            {
                return block
            }
            first = indexed.upperBound + 1
        }
        return first <= groups.upperBound ? try block(from: first, through: nil, in: past) : nil
    }

    /// A block of what is not indexed yet, if it is full or ends where the next one begins.
    private func block(
        from first: Int, through last: Int?, in past: LogPast
    ) throws(PastFailure) -> IndexBlock? {
        var block = IndexBlockWriter(from: first)
        try past.forEachGroup(from: first, isOne: false) { group in
            if let last, group.number > last { return false }
            block.add(group)
            return !block.isFull && !ending.hasBegun
        }
        guard block.isFull || last != nil && !block.isEmpty, !ending.hasBegun else { return nil }
        let (range, terms, lists) = block.block()
        return IndexBlock(groups: range, terms: terms, lists: lists)
    }

    /// Waits until it does nothing.
    func drain() { worker.drain() }
}
