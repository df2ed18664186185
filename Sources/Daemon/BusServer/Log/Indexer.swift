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
                let past = try LogPast(path: writer.file.path)
                while let block = try next(in: past) {
                    try writer.withFile { (file) throws(LogFailure) in try file.add(block) }
                }
            } catch {
                // Whoever reads or writes the log says what is wrong with it.
            }
        }
    }

    private func next(in past: LogPast) throws(PastFailure) -> IndexBlock? {
        guard let groups = try past.groupNumbers() else { return nil }
        let indexed = try past.indexedGroups().last { $0.upperBound <= groups.upperBound }
        let first = max(groups.lowerBound, (indexed?.upperBound ?? 0) + 1)
        guard first <= groups.upperBound else { return nil }
        var block = IndexBlockWriter(from: first)
        try past.forEachGroup(from: first, isOne: false) { group in
            block.add(group)
            return !block.isFull && !ending.hasBegun
        }
        guard block.isFull, !ending.hasBegun else { return nil }
        let (range, terms, lists) = block.block()
        return IndexBlock(groups: range, terms: terms, lists: lists)
    }

    /// Waits until it does nothing.
    func drain() { worker.drain() }
}
