import BusJSON
import BusLogic
import BusMachine
import BusProtocol

/// How far a query has come that takes several slices.
package final class PastProgress {
    /// A `Blame` or `Samples` that has begun.
    var values: AnyObject?
    fileprivate var history: (page: HistoryPage, search: CommitSearch, found: Int?)?
    /// The horizons in the log when the query was begun.
    private var horizons: [String: Int]?

    package init() {}

    /// Throws if a horizon has moved since the query was begun: commits before it may be gone in part.
    fileprivate func require(_ horizons: [String: Int]) throws(PastFailure) {
        if horizons != self.horizons ?? horizons { throw .thinned }
        self.horizons = horizons
    }

    fileprivate func restart() { (values, history, horizons) = (nil, nil, nil) }
}

/// Answers queries to the log. It keeps the last machine of the past that it made, because a client that reads one
/// revision mostly reads the next.
package final class PastAnswers<Source: PastSource> {
    let source: Source
    let replayer: Replayer
    /// The longest line of the daemon, in bytes.
    private let longestLine: Int
    private var kept: StateMachine?

    /// How much of the log one answer for a subscription holds, in bytes.
    private static var entriesAtOnce: Int { 256 << 10 }
    /// After how many entries it is checked whether there is time left.
    private static var entriesPerLook: Int { 16 }
    /// How much of one group: each part of it takes reading all of the group.
    private static var mostEntriesAtOnce: Int { 2 << 20 }

    package init(_ source: Source, _ replayer: Replayer, longestLine: Int) {
        self.source = source
        self.replayer = replayer
        self.longestLine = longestLine
    }

    /// Releases the machine that was kept: it takes as much memory as the bus did then.
    package func forget() { kept = nil }

    /// Answers a query, however long that takes.
    package func answer(_ query: LogQuery) -> LogAnswer {
        guard let answer = answer(query, PastProgress(), hasTime: { true }) else {
            preconditionFailure("An answer that has all the time it takes is one.")
        }
        return answer
    }

    /// Goes on with a query for as long as there is time; nil while there is more to do. Pages of the history are made in
    /// slices; states of the past are made at once.
    ///
    /// - Parameter hasTime: It is asked now and then, after something was done.
    package func answer(_ query: LogQuery, _ progress: PastProgress, hasTime: () -> Bool) -> LogAnswer? {
        do throws(PastFailure) {
            return try PastFailure.retrying { () throws(PastFailure) in
                do throws(PastFailure) {
                    return try proceed(query, progress, hasTime: hasTime)
                } catch {
                    // What was found so far may lack something: start over.
                    if error.kind == .thinned {
                        kept = nil
                        progress.restart()
                    }
                    throw error
                }
            }
        } catch {
            return refusal(error)
        }
    }

    private func proceed(
        _ query: LogQuery, _ progress: PastProgress, hasTime: () -> Bool
    ) throws(PastFailure) -> LogAnswer? {
        switch query.subject {
        case .history(let range, let limit, let wish, let view):
            let filter = HistoryFilter(wish: wish, view: view, kept: try keptPast(query))
            return try history(range, limit: limit, filter, query, progress, hasTime: hasTime)
        case .blame(let question, let paths, let point):
            return try blame(question, paths, at: point, query, progress, hasTime: hasTime)
        case .samples(let question, let path, let range, let most, let cause):
            return try samples(
                question, path, range, most: most, cause: cause, query, progress, hasTime: hasTime)
        case .stores(let point, let selection, let known):
            return try stores(
                selection, known, at: try revision(of: point, within: query.needed), room: query.room)
        case .types(let point, let name, let view):
            return try types(
                name, seenBy: view, at: try revision(of: point, within: query.needed), room: query.room)
        case .state(let revision, let store, let known):
            return try state(revision, store, known)
        case .entries(let after):
            return try entries(after: after)
        case .backup, .compact:
            return .refused(
                code: "unavailable", message: "This bus keeps its log in memory, not in a file.",
                details: [:])
        }
    }

    private func refusal(_ failure: PastFailure) -> LogAnswer {
        switch failure.kind {
        case .gone: break
        case .tooLarge: return .refused(code: "too_large", message: failure.message, details: [:])
        case .damaged, .unreadable, .abandoned, .thinned:
            return .refused(code: "unavailable", message: failure.message, details: [:])
        }
        let oldest = (try? source.snapshots().first) ?? nil
        return .refused(
            code: "conflict", message: failure.message,
            details: oldest.map { ["oldest": .int($0)] } ?? [:])
    }

    func oldest() throws(PastFailure) -> Int {
        guard let oldest = try source.snapshots().first else {
            throw PastFailure(.gone, "The log holds no snapshot, so there is no past to tell.")
        }
        return oldest
    }

    // MARK: - Commits

    private func history(
        _ range: HistoryRange, limit: Int, _ filter: HistoryFilter, _ query: LogQuery,
        _ progress: PastProgress, hasTime: () -> Bool
    ) throws(PastFailure) -> LogAnswer? {
        let (oldest, horizon) = (try oldest(), try horizon(of: filter.wish.subject, progress))
        if progress.history == nil {
            let until = try revision(of: range.until, within: query.needed)
            let since = try range.since.map { (point) throws(PastFailure) in
                try revision(of: point, within: until)
            }
            if let since, since < oldest, oldest >= horizon {
                throw PastFailure(
                    .gone, "The log goes back to revision \(oldest) only; ask for what came after it.")
            }
            let oldest = max(oldest, horizon)
            if let since, since < oldest { return gone(filter.wish.subject!, horizon) }
            let page = HistoryPage(
                after: since ?? oldest, through: until, newestFirst: range.isNewestFirst, limit: limit,
                room: query.room - 128)
            let search = try CommitSearch(
                filter.lookUp, after: since ?? oldest, through: until, newestFirst: range.isNewestFirst,
                in: source)
            progress.history = (page, search, range.isByTime ? (range.isNewestFirst ? until : since) : nil)
        }
        let (page, search, found) = progress.history!
        var (count, isFull) = (0, false)
        let isThrough = try search.advance(in: source, hasTime: hasTime) { (line) throws(PastFailure) in
            isFull = try !page.add(line, filter)
            count += 1
            return !isFull && (count % Self.entriesPerLook > 0 || hasTime())
        }
        _ = try self.horizon(of: filter.wish.subject, progress)
        return isThrough || isFull
            ? .members(page.members(oldest: max(oldest, horizon), found: found)) : nil
    }

    /// The same for a query that may take several slices.
    func horizon(of subject: HistorySubject?, _ progress: PastProgress) throws(PastFailure) -> Int {
        try progress.require(source.horizons())
        return try subject.map { (subject) throws(PastFailure) in try horizon(of: subject) } ?? 0
    }

    func keptPast(_ query: LogQuery) throws(PastFailure) -> KeptPast {
        KeptPast(query.horizons.merging(try source.horizons()) { max($0, $1) })
    }

    /// The revision from which on the past of a subject is known; 0: as far back as the log goes.
    private func horizon(of subject: HistorySubject) throws(PastFailure) -> Int {
        let horizons = try source.horizons()
        func newest(_ subject: HistorySubject) -> Int {
            subject.sources.reduce(max(subject.keptSince, horizons[subject.type] ?? 0)) {
                max($0, newest($1))
            }
        }
        return newest(subject)
    }

    /// The types that match and have no past at a machine's revision, or none by now, by name.
    private func lost(
        _ pattern: AddressPattern, in machine: StateMachine, _ known: KnownPast
    ) throws(PastFailure) -> [LostPast] {
        let now = known.lost.filter { one in machine.types.contains { $0.name == one.type } }
        var lost: [LostPast] = []
        for one in machine.unkept(of: pattern) where !now.contains(where: { $0.type == one.type }) {
            if one.keep != .all, let subject = known.late.first(where: { $0.type == one.type }) {
                lost.append(
                    LostPast(
                        type: one.type, keep: .all,
                        refusal: StateMachine.gone(one.type, before: try horizon(of: subject))))
            } else {
                lost.append(one)
            }
        }
        return (lost + now).sorted { $0.type < $1.type }
    }

    func gone(_ subject: HistorySubject, _ horizon: Int) -> LogAnswer {
        Self.refusal(StateMachine.gone(subject.type, before: horizon))
    }

    /// The revision that a point of the history is, or was then.
    func revision(of point: PastPoint, within last: Int) throws(PastFailure) -> Int {
        switch point {
        case .revision(let revision): return revision
        case .time(let time):
            return min(try revision(at: time), last)
        }
    }

    /// The last revision that was committed at or before a time.
    private func revision(at time: Int) throws(PastFailure) -> Int {
        let oldest = try oldest()
        var found = max(oldest, try source.lastRevision(by: time))
        var isLater = false
        try source.forEachGroup(after: found) { (group) throws(PastFailure) in
            try LogLines.forEach(in: group.entries) { (line) throws(PastFailure) in
                guard !isLater, let entry = (try? JSON(parsing: line, depthLimit: 1000))?.object,
                    let revisions = LogLines.revisions(of: entry)
                else { return }
                guard let committed = LogLines.time(of: entry) else {
                    throw PastFailure(.damaged, "The log's commit \(revisions.first) has no time.")
                }
                isLater = committed > time
                if !isLater { found = max(found, revisions.last) }
            }
            return !isLater
        }
        if found == oldest, oldest > 0, try replayer.restored(oldest, from: source).time > time {
            throw PastFailure(
                .gone, "The log does not go back to that time; ask for a later one, or for a revision.")
        }
        return found
    }

    private func entries(after: Int) throws(PastFailure) -> LogAnswer {
        let oldest = try oldest()
        if after < oldest { return .gap(oldest: oldest) }
        var bytes: [UInt8] = []
        var through = after
        try source.forEachGroup(after: after) { (group) throws(PastFailure) in
            var isFull = false
            LogLines.forEach(in: group.entries) { line in
                guard !isFull, let revisions = LogLines.revisions(of: line), revisions.upperBound > through
                else { return }
                // The rest of a large group comes with the next answer.
                isFull = bytes.count >= Self.mostEntriesAtOnce
                if isFull { return }
                if !bytes.isEmpty { bytes.append(UInt8(ascii: "\n")) }
                bytes.append(contentsOf: line)
                through = revisions.upperBound
            }
            if !isFull { through = max(through, group.last) }
            return bytes.count < Self.entriesAtOnce
        }
        return .entries(
            bytes, through: through, horizons: try source.horizons().filter { $0.value > after })
    }

    // MARK: - States

    /// The bus at a revision.
    func machine(at revision: Int) throws(PastFailure) -> StateMachine {
        if let kept, kept.revision <= revision,
            try source.snapshots().last(where: { $0 <= revision }) ?? 0 <= kept.revision
        {
            do throws(PastFailure) {
                try replayer.advance(kept, to: revision, from: source)
            } catch {
                self.kept = nil
                throw error
            }
            if kept.revision == revision { return kept }
        }
        kept = nil
        let made = try replayer.machine(at: revision, from: source)
        kept = made
        return made
    }

    /// The answer that a `get` would have had then.
    private func stores(
        _ selection: StoreSelection, _ known: KnownPast, at revision: Int, room: Int
    ) throws(PastFailure) -> LogAnswer {
        let machine = try machine(at: revision)
        let reply = ByteWriter()
        let lost = try lost(selection.pattern, in: machine, known).filter {
            selection.view?.knows(type: $0.type) ?? true
        }
        if let first = lost.first, selection.pattern.type.isLiteral { return Self.refusal(first.refusal) }
        if let store = selection.required, machine.find(store) == nil { return Self.unknown(store, revision) }
        do throws(RequestError) {
            let query = try StoreQuery(
                selection, but: machine.types.filter { type in lost.contains { $0.type == type.name } },
                in: machine,
                room: room - lost.reduce(0) { $0 + $1.type.utf8.count + 16 })
            _ = query.advance { _ in true }
            guard query.appendAnswer(to: reply) else { return tooLong }
            // Stores of other types are shown.
            if !lost.isEmpty {
                reply.append(
                    ",\"gone\":",
                    jsonObject: lost.reduce(into: [:]) { $0[$1.type] = .string($1.keep.rawValue) })
            }
        } catch {
            return Self.refusal(error)
        }
        return .members(Array(reply.bytes))
    }

    /// The definitions at that revision.
    private func types(
        _ name: String?, seenBy view: Grants?, at revision: Int, room: Int
    ) throws(PastFailure) -> LogAnswer {
        let machine = try machine(at: revision)
        let reply = ByteWriter()
        do throws(RequestError) {
            let wanted = try name.map { (name) throws(RequestError) in try machine.requireType(name) }
            guard machine.appendTypes(wanted, seenBy: view, to: reply, room: room) else { return tooLong }
        } catch {
            return Self.refusal(error)
        }
        return .members(Array(reply.bytes))
    }

    var tooLong: LogAnswer {
        .refused(
            code: "too_large",
            message:
                "The reply would be longer than a line of \(longestLine) bytes; ask for less with limit, "
                + "select or store.", details: [:])
    }

    static func refusal(_ error: RequestError) -> LogAnswer {
        var details = JSONObject()
        for detail in error.details { details[detail.name] = detail.value }
        return .refused(code: error.code.rawValue, message: error.message, details: details)
    }

    static func unknown(_ store: String, _ revision: Int) -> LogAnswer {
        .refused(
            code: "unknown_store",
            message:
                "There was no store \(store) at revision \(revision); look for a revision in its history.",
            details: [:])
    }

    private func state(
        _ revision: Int, _ store: String, _ known: KnownPast
    ) throws(PastFailure) -> LogAnswer {
        let machine = try machine(at: revision)
        let type = AddressPattern(type: String(store.prefix { $0 != "/" }))
        if let lost = try lost(type, in: machine, known).first { return Self.refusal(lost.refusal) }
        guard let past = machine.pastState(at: store) else {
            return Self.unknown(store, revision)
        }
        return .state(past)
    }
}
