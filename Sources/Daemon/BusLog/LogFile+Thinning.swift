/// Thinning removes the past that a type does not keep, in small steps between batches. The *horizon* of a type is the snapshot from
/// which on its past is known. Groups that end at or before it are rewritten without the type; a group that becomes empty is deleted,
/// and the next one takes over its revisions. The file does not interpret entries: its owner says what is left of them.
///
/// A horizon is written before anything is removed, so that no reader takes what is left for everything. It never moves back.
enum HorizonSchema {
    /// An earlier version would take the gaps for damage, so the file has another form from then on.
    static let create = """
        CREATE TABLE IF NOT EXISTS horizons( -- what groups up to a revision may lack
            type TEXT PRIMARY KEY,
            revision INTEGER NOT NULL, -- of the snapshot from which on all of the type is known
            thinned INTEGER NOT NULL   -- the revision up to which the rest is gone
        ) WITHOUT ROWID; PRAGMA user_version = \(Schema.form)
        """

    static func isThere(in database: Database) throws(LogFailure) -> Bool {
        try database.integer("SELECT count(*) FROM sqlite_schema WHERE name = 'horizons'") > 0
    }

    /// The horizons of types, and how far each has been thinned.
    static func all(in database: Database) throws(LogFailure) -> [String: (revision: Int, thinned: Int)] {
        guard try isThere(in: database) else { return [:] }
        let list = try Statement(database, "SELECT type, revision, thinned FROM horizons")
        defer { list.reset() }
        var all: [String: (revision: Int, thinned: Int)] = [:]
        while try list.next() { all[list.text(0)] = (list.integer(1), list.integer(2)) }
        return all
    }

    static func write(
        _ horizons: [String: (revision: Int, thinned: Int)], in database: Database
    ) throws(LogFailure) {
        if horizons.isEmpty { return }
        try database.execute(create)
        let insertion = try Statement(
            database, "INSERT OR REPLACE INTO horizons(revision, thinned, type) VALUES(?1, ?2, ?3)")
        for (type, horizon) in horizons {
            insertion.bind(1, horizon.revision)
            insertion.bind(2, horizon.thinned)
            try insertion.run(3, type)
        }
    }
}

/// How new the horizon of a type may be: the newest snapshot that meets one of these conditions, except the newest of all. So a damaged
/// snapshot still costs nothing.
package struct HorizonLimit: Sendable {
    /// The least age of the snapshot in milliseconds; nil: its age does not matter.
    package let age: Int?
    /// The last revision that it may have; nil: any age is needed.
    package let through: Int?

    package init(age: Int?, through: Int?) { (self.age, self.through) = (age, through) }

    func allows(_ snapshot: SnapshotInfo, now: Int) -> Bool {
        // Whatever the clock says.
        age == 0 || age.map { now - snapshot.time >= $0 } ?? false
            || through.map { snapshot.revision <= $0 } ?? false
    }
}

/// How far a thinning has come.
struct Thinner {
    let horizons: [String: (revision: Int, thinned: Int)]
    /// Groups do not become one across a snapshot, where the log may be cut.
    let snapshots: Set<Int>
    /// The last revision that something goes of.
    let last: Int
    /// The next group.
    var next: Int

    /// The types of which something may have to go from a group that ends with a revision.
    func types(before revision: Int) -> [String] {
        horizons.filter { $0.value.thinned < revision && revision <= $0.value.revision }.map(\.key)
    }
}

extension LogFile {
    /// Moves the horizons of types on, as far as their limits allow now.
    package func moveHorizons(_ limits: [String: HorizonLimit], now: Int) throws(LogFailure) {
        try usable()
        let snapshots = try contents.snapshots().dropFirst().filter { $0.revision > 0 }
        if snapshots.isEmpty || limits.isEmpty { return }
        let horizons = try HorizonSchema.all(in: database)
        var moved: [String: (revision: Int, thinned: Int)] = [:]
        for (type, limit) in limits {
            guard let horizon = snapshots.first(where: { limit.allows($0, now: now) })?.revision,
                horizon > horizons[type]?.revision ?? 0
            else { continue }
            moved[type] = (horizon, horizons[type]?.thinned ?? 0)
        }
        if moved.isEmpty { return }
        thinning.thinner = nil
        try change { () throws(LogFailure) in try HorizonSchema.write(moved, in: database) }
    }

    /// The horizons of types.
    package func horizons() throws(LogFailure) -> [String: Int] {
        try HorizonSchema.all(in: database).mapValues(\.revision)
    }

    /// Changes when groups are replaced, so that places in them are others.
    package var thinningSteps: Int { thinning.steps }

    /// Takes a step in thinning the groups before horizons.
    ///
    /// - Parameters:
    ///   - budget: The most groups to look at.
    ///   - rest: What is left of a group's entries without some types; nil if that is all.
    /// - Returns: Whether there is more to do.
    package func thin(
        budget: Int, rest: (_ entries: UnsafeRawBufferPointer, _ types: [String]) -> [UInt8]?
    ) throws(LogFailure) -> Bool {
        try usable()
        guard var thinner = try currentThinner() else { return false }
        var step = ThinningStep(after: thinner)
        var isLast = true
        if let numbers = try contents.numbers() {
            var (groups, bytes) = (0, 0)
            // The front may have been trimmed meanwhile.
            thinner.next = max(thinner.next, numbers.lowerBound)
            try contents.forEachGroup(from: thinner.next) { group throws(LogFailure) in
                guard group.last <= thinner.last else { return false }
                guard groups < max(2, budget), groups < 2 || bytes < Self.bytesAtOnce else {
                    isLast = false
                    return false
                }
                let types = group.last >= group.first ? thinner.types(before: group.last) : []
                step.add(group, types.isEmpty ? nil : rest(group.entries, types))
                groups += 1
                bytes += group.entries.count
                return true
            }
        }
        thinner.next = step.finish()
        try write(step, isLast ? thinner.horizons.mapValues { ($0.revision, $0.revision) } : [:])
        thinning.thinner = isLast ? nil : thinner
        return !isLast
    }

    private func currentThinner() throws(LogFailure) -> Thinner? {
        if let thinner = thinning.thinner { return thinner }
        let horizons = try HorizonSchema.all(in: database).filter { $0.value.thinned < $0.value.revision }
        guard let first = horizons.values.map(\.thinned).min(),
            let last = horizons.values.map(\.revision).max()
        else { return nil }
        return Thinner(
            horizons: horizons, snapshots: Set(try contents.snapshots().map(\.revision)), last: last,
            next: try contents.number(after: first))
    }

    private func write(
        _ step: ThinningStep, _ done: [String: (revision: Int, thinned: Int)]
    ) throws(LogFailure) {
        guard !step.gone.isEmpty || !done.isEmpty else { return }
        if !step.gone.isEmpty { thinning.steps += 1 }
        try change { () throws(LogFailure) in
            if let first = step.gone.first, let last = step.gone.last {
                let numbers = step.gone.map { "\($0)" }.joined(separator: ", ")
                try database.execute("DELETE FROM groups WHERE number IN (\(numbers))")
                // Places in it are others now.
                if try IndexSchema.isThere(in: database) {
                    try database.execute(
                        "DELETE FROM index_blocks WHERE first <= \(last) AND last >= \(first)")
                }
                let insertion = try Statement(database, Group.insertion)
                for group in step.groups { try group.insert(with: insertion) }
            }
            try HorizonSchema.write(done, in: database)
        }
    }

    /// Writes a transaction. If it is not on disk after a crash, it is done again.
    private func change(_ body: () throws(LogFailure) -> Void) throws(LogFailure) {
        try checkpointIfDue()
        try setFull(false)
        try database.transaction(body)
        wroteUnsynced()
    }
}

/// What a step of thinning takes away and writes instead.
private struct ThinningStep {
    private let snapshots: Set<Int>
    private var next: Int
    /// The numbers of the groups that are replaced or go.
    private(set) var gone: [Int] = []
    private(set) var groups: [ThinnedGroup] = []
    /// Groups in which nothing is left, as one; and whether that was one alone and is as it was.
    private var empty: (group: ThinnedGroup, numbers: [Int], isSame: Bool)?

    init(after thinner: Thinner) { (snapshots, next) = (thinner.snapshots, thinner.next) }

    /// Adds the next group; `rest` is what is left of it, nil for all of it.
    mutating func add(_ group: Group, _ rest: [UInt8]?) {
        next = group.number + 1
        let isEmpty = (rest?.isEmpty ?? group.entries.isEmpty) && group.last >= group.first
        guard isEmpty || rest != nil || empty != nil else { return }
        let thinned = ThinnedGroup(
            group, first: empty?.group.first ?? group.first, start: empty?.group.start ?? group.start,
            entries: isEmpty ? [] : rest ?? Array(group.entries))
        if isEmpty {
            let isSame = empty == nil && group.entries.isEmpty
            empty = (thinned, (empty?.numbers ?? []) + [group.number], isSame)
            if snapshots.contains(group.last) { flush() }
        } else {
            gone += (empty?.numbers ?? []) + [group.number]
            groups.append(thinned)
            empty = nil
        }
    }

    /// Returns the number of the group with which the next step begins: one in which nothing is left joins those behind it.
    mutating func finish() -> Int {
        let number = empty?.group.number
        flush()
        return number ?? next
    }

    private mutating func flush() {
        if let empty, !empty.isSame {
            gone += empty.numbers
            groups.append(empty.group)
        }
        empty = nil
    }
}

/// A group as it is written back after thinning.
private struct ThinnedGroup {
    let number: Int
    let first: Int
    let last: Int
    let time: Int
    let start: Int
    let entries: [UInt8]

    init(_ group: Group, first: Int, start: Int, entries: [UInt8]) {
        (number, last, time) = (group.number, group.last, group.time)
        (self.first, self.start, self.entries) = (first, start, entries)
    }

    func insert(with statement: Statement) throws(LogFailure) {
        try entries.span.withUnsafeBytes { (entries) throws(LogFailure) in
            try Group(number: number, first: first, last: last, time: time, start: start, entries: entries)
                .insert(with: statement)
        }
    }
}

extension LogReader {
    /// Through which revision groups may lack what concerns some types.
    package func horizons() throws(LogFailure) -> [String: Int] {
        try HorizonSchema.all(in: database).mapValues(\.revision)
    }

    /// The number of the newest group up to one; nil if there is none.
    package func group(atOrBefore number: Int) throws(LogFailure) -> Int? {
        guard let numbers = try contents.numbers() else { return nil }
        let number = min(number, numbers.upperBound)
        if try contents.digest(of: number) != nil { return number }
        let statement = try Statement(database, "SELECT max(number) FROM groups WHERE number <= ?1")
        statement.bind(1, number)
        defer { statement.reset() }
        return try statement.next() && !statement.isNull(0) ? statement.integer(0) : nil
    }
}
