/// The reliable contents of a log: its newest whole snapshot, and the groups after it as far as they are whole.
struct LogSurvey {
    /// The newest whole snapshot; nil if history begins at revision 0.
    private(set) var base: SnapshotInfo?
    private(set) var lastRevision = 0
    private(set) var oldestRevision = 0
    /// The revision of the oldest snapshot, whole or not; 0 if there is none.
    private(set) var oldestSnapshot = 0
    /// The number of the newest group.
    private(set) var number = 0
    /// Bytes of entries in all groups, including those trimmed.
    private(set) var written = 0
    /// Damage, in words; empty if there is none that matters.
    private(set) var problems: [String] = []
    /// Whether commits at the end are damaged.
    private(set) var lostCommits = false
    /// Whether damage hides the oldest groups, which are perhaps not needed.
    private(set) var hidesOldest = false
    /// The facts of the member's copy that this log is; nil if it is no copy, or if they can't be read.
    private(set) var copy: SharedCopySurvey?

    /// - Throws: `damaged` if the log holds nothing that a bus could begin with; any other failure that keeps the file from being read.
    init(_ contents: LogContents) throws(LogFailure) {
        let snapshots = try findBase(contents)
        try followGroups(contents)
        oldestSnapshot = snapshots.last?.revision ?? 0
        oldestRevision = oldestSnapshot
        if oldestRevision > 0, (try? Self.beginsAtOrigin(contents)) == true { oldestRevision = 0 }
        try surveyCopy(contents)
    }

    private mutating func surveyCopy(_ contents: LogContents) throws(LogFailure) {
        do throws(LogFailure) {
            guard try contents.isCopy() else { return }
        } catch {
            // The facts can't be read then, which is found where they are needed.
            guard error.kind == .damaged else { throw error }
            return
        }
        let copy = try SharedCopySurvey(contents)
        problems += copy.problems
        self.copy = copy
    }

    private mutating func findBase(_ contents: LogContents) throws(LogFailure) -> [SnapshotInfo] {
        var snapshots: [SnapshotInfo] = []
        try noting { _ throws(LogFailure) in snapshots = try contents.snapshots() }
        for snapshot in snapshots {
            let isWhole = try noting { _ throws(LogFailure) in try contents.forEachPart(of: snapshot) { _ in }
            }
            if isWhole {
                base = snapshot
                lastRevision = snapshot.revision
                written = snapshot.start
                return snapshots
            }
        }
        if problems.isEmpty, try contents.numbers() == nil { return snapshots }
        if try Self.beginsAtOrigin(contents) { return snapshots }
        throw contents.damaged("it has no whole snapshot to begin with")
    }

    private mutating func followGroups(_ contents: LogContents) throws(LogFailure) {
        // Damage of older groups costs no commit.
        let isListed = try noting { _ throws(LogFailure) in _ = try contents.numbers() }
        var hidesNewest = false
        let isWhole = try noting { survey throws(LogFailure) in
            let readable = try contents.readableNumbers()
            hidesNewest = readable.hidesNewest
            guard let numbers = readable.numbers else { return }
            var next = try contents.number(after: survey.lastRevision)
            // Even without a group after the snapshot the newest group is checked: the next one is written behind it.
            if next > numbers.upperBound { next = numbers.upperBound }
            try contents.forEachGroup(from: next) { group throws(LogFailure) in
                guard group.first <= survey.lastRevision + 1 else {
                    throw contents.damaged("groups are missing")
                }
                survey.add(group)
                return true
            }
        }
        lostCommits = !isWhole || hidesNewest
        hidesOldest = !isListed && !hidesNewest
        if number == 0, let base { try findEnd(at: base.revision, contents) }
    }

    /// Where no group after the newest snapshot is whole, the newest is the one that ends at that snapshot, if it is whole.
    private mutating func findEnd(at revision: Int, _ contents: LogContents) throws(LogFailure) {
        var isFound = false
        do throws(LogFailure) {
            guard let numbers = try contents.readableNumbers().numbers else { return }
            var number = try contents.number(after: revision) - 1
            while !isFound, numbers.contains(number) {
                do throws(LogFailure) {
                    try contents.forEachGroup(from: number, isOne: true) { group throws(LogFailure) in
                        isFound = true
                        if group.last == revision { add(group) }
                        return false
                    }
                } catch {
                    guard error.kind == .damaged else { throw error }
                }
                number -= 1
            }
        } catch {
            guard error.kind == .damaged else { throw error }
        }
    }

    /// A whole group comes next.
    mutating func add(_ group: Group) {
        lastRevision = max(lastRevision, group.last)
        number = group.number
        written = group.start + group.entries.count
    }

    /// Whether the groups begin with the first commit of all.
    private static func beginsAtOrigin(_ contents: LogContents) throws(LogFailure) -> Bool {
        guard let numbers = try contents.readableNumbers().numbers else { return false }
        var begins = false
        try contents.forEachGroup(from: numbers.lowerBound) { group throws(LogFailure) in
            begins = group.first == 1
            return false
        }
        return begins
    }

    /// Runs a check and records the damage that it finds; false if there was any.
    @discardableResult
    private mutating func noting(_ body: (inout Self) throws(LogFailure) -> Void) throws(LogFailure) -> Bool {
        do {
            try body(&self)
            return true
        } catch {
            guard error.kind == .damaged else { throw error }
            problems.append(error.message)
            return false
        }
    }
}
