/// What the commit being made did to timers, so that it can be rolled back.
///
/// It knows of which commit: what an earlier one did is never rolled back, and need not be forgotten when that one is
/// done, which would cost every commit a look.
struct TimerUndo {
    enum Record {
        case added(BusTimer)
        case removed(BusTimer)
        case renewed(BusTimer, due: Int)
    }

    private var revision = -1
    private var records: [Record] = []

    /// Whether there may be something to roll back.
    var isEmpty: Bool { records.isEmpty }

    mutating func note(_ record: Record, of revision: Int) {
        if self.revision != revision { forget() }
        self.revision = revision
        records.append(record)
    }

    /// What the commit of a revision did.
    func records(of revision: Int) -> [Record] { self.revision == revision ? records : [] }

    /// Returns what the commit of a revision did, and forgets it.
    mutating func take(of revision: Int) -> [Record] {
        defer { forget() }
        return records(of: revision)
    }

    mutating func forget() {
        records.removeAll(keepingCapacity: records.count <= BusLimits.usualWrites)
        revision = -1
    }
}
