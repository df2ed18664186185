import BusJSON
import BusLogic
import BusMachine
import BusProtocol

/// Questions about single values of a store: which commit made them what they are, and what they were over time.
extension PastAnswers {
    /// Members that one reply to `blame` lists at most.
    private static var mostMembers: Int { 256 }

    func blame(
        _ question: StoreQuestion, _ paths: [JSONPointer]?, at point: PastPoint, _ query: LogQuery,
        _ progress: PastProgress, hasTime: () -> Bool
    ) throws(PastFailure) -> LogAnswer? {
        let (kept, horizon) = (try oldest(), try horizon(of: question.subject, progress))
        let revision = try self.revision(of: point, within: query.needed)
        if revision < horizon, horizon > kept { return gone(question.subject, horizon) }
        try require(revision, since: kept)
        let oldest = max(kept, horizon)
        let blame: Blame<Source>
        if let begun = progress.values as? Blame<Source> {
            blame = begun
        } else {
            var wanted = paths
            if wanted == nil {
                guard let state = question.state(in: try machine(at: revision)) else {
                    return Self.unknown(question.store, revision)
                }
                wanted = (state.object?.keys ?? []).map { JSONPointer(tokens: [$0]) }
            }
            guard wanted!.count <= Self.mostMembers else {
                return .refused(
                    code: "limit",
                    message: "A reply tells of at most \(Self.mostMembers) members; name one in `path`.",
                    details: [:])
            }
            blame = try Blame(
                walk(question), of: wanted!, at: revision, oldest: oldest, now: query.needed)
            progress.values = blame
        }
        guard try blame.advance(hasTime: hasTime) else { return nil }
        try blame.finish()
        guard blame.exists ?? true else { return Self.unknown(question.store, revision) }
        let reply = ByteWriter()
        reply.append(",\"revision\":", decimal: revision)
        reply.append(",\"oldest\":", decimal: oldest)
        try blame.append(to: reply) { (revision, reply) throws(PastFailure) in
            reply.append(json: .object(try commit(revision, question, query)))
        }
        return reply.count <= query.room ? .members(Array(reply.bytes)) : tooLong
    }

    func samples(
        _ question: StoreQuestion, _ path: JSONPointer, _ range: HistoryRange, most: Int, cause: Bool,
        _ query: LogQuery, _ progress: PastProgress, hasTime: () -> Bool
    ) throws(PastFailure) -> LogAnswer? {
        let horizon = try horizon(of: question.subject, progress)
        let samples: Samples<Source>
        if let begun = progress.values as? Samples<Source> {
            samples = begun
        } else {
            let kept = try oldest()
            // Stores of views come and go without commits of their own.
            let isView = !question.subject.sources.isEmpty
            if let missing = question.missing, !isView,
                try source.last(.term(.target(question.store)), after: kept, through: query.needed) == nil
            {
                return Self.refusal(missing)
            }
            let until = try revision(of: range.until, within: query.needed)
            let since = try range.since.map { (point) throws(PastFailure) in
                try revision(of: point, within: until)
            }
            let earliest = min(since ?? until, until)
            if earliest < horizon, horizon > kept { return gone(question.subject, horizon) }
            try require(earliest, since: kept)
            let oldest = max(kept, horizon)
            let first = try machine(at: min(since ?? oldest, until))
            let begin = first.revision
            let state = question.state(in: first)
            // Before its first commit a bus has no time.
            let time = try first.time > 0 || until == begin ? first.time : time(behind: begin)
            let end = try until > begin ? self.time(of: until) : time
            samples = try Samples(
                walk(question), of: path, after: begin, through: until, most: most, now: query.needed,
                times: time...max(time, end), value: state.flatMap(path.resolve),
                sought: isView && question.missing != nil && state == nil ? oldest : nil)
            progress.values = samples
        }
        guard try samples.advance(hasTime: hasTime) else { return nil }
        if samples.isSought, let missing = question.missing { return Self.refusal(missing) }
        if cause {
            let isComplete = try samples.addAuthors(hasTime: hasTime) { revision throws(PastFailure) in
                try commit(revision, question, query)["by"]
            }
            guard isComplete else { return nil }
        }
        let reply = ByteWriter()
        samples.append(to: reply)
        return reply.count <= query.room ? .members(Array(reply.bytes)) : tooLong
    }

    private func walk(_ question: StoreQuestion) -> ValueWalk<Source> {
        ValueWalk(
            question: question, source: source,
            machine: { [unowned self] (revision) throws(PastFailure) in
                try machine(at: revision)
            }, replayer: replayer)
    }

    private func require(_ revision: Int, since oldest: Int) throws(PastFailure) {
        guard revision >= oldest else {
            throw PastFailure(
                .gone, "The log goes back to revision \(oldest) only; ask for a later one.")
        }
    }

    /// A commit as `history` tells it. If the asker may see nothing of it, only its time is told.
    private func commit(
        _ revision: Int, _ question: StoreQuestion, _ query: LogQuery
    ) throws(PastFailure) -> JSONObject {
        let whole = try entry(of: revision)
        let time: JSONObject = ["time": whole["time"] ?? .null]
        let kept = try keptPast(query)
        let entry = JSON.object(whole).encoded.utf8Span.span.withUnsafeBytes {
            kept.part(of: whole, $0, at: revision) ?? time
        }
        var commit = HistoryPage.told(question.view.map { $0.shown(entry) ?? time } ?? entry)
        commit["revision"] = .int(revision)
        return commit
    }

    /// In milliseconds since 1970.
    private func time(of revision: Int) throws(PastFailure) -> Int {
        if let entry = try findEntry(of: revision), let time = LogLines.time(of: entry) { return time }
        return try machine(at: revision).time
    }

    /// That of the first commit behind a revision.
    private func time(behind revision: Int) throws(PastFailure) -> Int {
        var found: Int?
        try source.forEachGroup(after: revision) { group in
            LogLines.forEach(in: group.entries) { line in
                guard found == nil, let last = LogLines.revisions(of: line)?.upperBound, last > revision
                else { return }
                found = (try? JSON(parsing: line, depthLimit: 1000))?.object.flatMap(LogLines.time)
            }
            return found == nil
        }
        return found ?? 0
    }

    private func entry(of revision: Int) throws(PastFailure) -> JSONObject {
        guard let found = try findEntry(of: revision) else {
            throw PastFailure(.damaged, "The log's commit \(revision) can't be read.")
        }
        return found
    }

    /// Nil where the log keeps nothing of the commit.
    private func findEntry(of revision: Int) throws(PastFailure) -> JSONObject? {
        var found: JSONObject?
        try source.forEachGroup(after: revision - 1) { group in
            var lines = LogLines.Cursor(group.entries)
            while found == nil, let line = lines.next() {
                if LogLines.revisions(of: line)?.contains(revision) == true {
                    found = (try? JSON(parsing: line, depthLimit: 1000))?.object
                }
            }
            return found == nil && group.last < revision
        }
        return found
    }
}
