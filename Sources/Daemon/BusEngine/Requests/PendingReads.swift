/// A `get`, `stores` or `timers` that takes more than one slice.
final class PendingRead {
    let query: any SlicedQuery
    /// The request as it came, for a daemon that takes over, and its `id`.
    let line: [UInt8]
    let id: [UInt8]
    /// The bytes it counts as while it waits.
    fileprivate var heldBytes = 0

    init(_ query: any SlicedQuery, line: [UInt8], id: [UInt8]) {
        self.query = query
        self.line = line
        self.id = id
    }
}

/// Reads that continue in a later slice. They are notified of stores created and dropped meanwhile.
final class PendingReads {
    private var active: [PendingRead] = []
    /// The bytes they count as.
    private(set) var bytes = 0
    /// How many depend on the states of stores that they have looked at; mostly none.
    @exclusivity(unchecked) private var following = 0

    func add(_ read: PendingRead) {
        active.append(read)
        if read.query.followsChanges { following += 1 }
        count(read)
    }

    /// A read is done, or its client no longer waits for it.
    func remove(_ read: PendingRead) {
        active.removeAll { $0 === read }
        if read.query.followsChanges { following -= 1 }
        bytes -= read.heldBytes
        read.heldBytes = 0
    }

    /// A read has found more.
    func count(_ read: PendingRead) {
        let held = read.line.count + read.query.count * 4 + 512
        bytes += held - read.heldBytes
        read.heldBytes = held
    }

    /// A commit creates stores. Returns the work of adding them.
    func noteCreated(_ stores: [Int32]) -> Int {
        var work = 0
        for read in active { for index in stores { work += read.query.add(index) } }
        return work
    }

    /// A commit drops stores, whose records are still there. Returns the work of forgetting them.
    func noteDropped(_ stores: [Int32]) -> Int {
        var work = 0
        for read in active { for index in stores { work += read.query.forget(index) } }
        return work
    }

    /// Whether some depend on the states of stores.
    @inline(__always)
    var followChanges: Bool { following > 0 }

    /// A commit changes stores. Returns the work of noting them.
    func noteChanged(_ stores: some Collection<Int32>) -> Int {
        for read in active where read.query.followsChanges {
            for store in stores { read.query.note(changed: store) }
        }
        return following * stores.count * Work.look
    }

    /// The bytes of all that continue, counted from nothing.
    var recount: Int { active.reduce(0) { $0 + $1.heldBytes } }

    /// All stores are replaced: reads begin again.
    func restart() { for read in active { read.query.restart() } }
}
