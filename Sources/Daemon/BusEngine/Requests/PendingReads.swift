import BusMachine

/// A `get` or `stores` that takes more than one slice.
final class PendingRead {
    let query: StoreQuery
    /// The request as it came, for a daemon that takes over, and its `id`.
    let line: [UInt8]
    let id: [UInt8]
    /// What it is counted as while it waits.
    fileprivate var heldBytes = 0

    init(_ query: StoreQuery, line: [UInt8], id: [UInt8]) {
        self.query = query
        self.line = line
        self.id = id
    }
}

/// Reads that go on in a later slice. What comes and goes meanwhile they are told.
final class PendingReads {
    private var active: [PendingRead] = []
    /// What they hold counts as.
    private(set) var bytes = 0

    func add(_ read: PendingRead) {
        active.append(read)
        count(read)
    }

    /// A read is over, or nobody waits for it any more.
    func remove(_ read: PendingRead) {
        active.removeAll { $0 === read }
        bytes -= read.heldBytes
    }

    /// A read has found more.
    func count(_ read: PendingRead) {
        let held = read.line.count + read.query.count * 4 + 512
        bytes += held - read.heldBytes
        read.heldBytes = held
    }

    /// Stores that a commit makes. Gives the work of taking them in.
    func noteCreated(_ stores: [Int32]) -> Int {
        var looked = 0
        for read in active { for index in stores { looked += read.query.noteCreated(index) } }
        return looked * Work.look
    }

    /// Stores that a commit drops, whose records are still there. Gives the work of forgetting them.
    func noteDropped(_ stores: [Int32]) -> Int {
        var looked = 0
        for read in active {
            for index in stores {
                looked += read.query.count
                read.query.noteDropped(index)
            }
        }
        return looked
    }

    /// All stores are others now: reads begin again.
    func restart() { for read in active { read.query.restart() } }
}
