import BusJSON
import BusLogic
import BusMachine
import FluxBus

/// Writes the state of a bus at a revision and every later commit, up to the newest one when the export starts.
struct Exporter {
    let session: CommandSession
    let connection: BusConnection
    let output: Channel

    /// Exports from `since`, or from as far back as the log reaches. Returns the revision with which the export begins, and how many
    /// commits it holds.
    func export(since: RevisionArgument?) throws -> (base: Int, commits: Int) {
        let reader = HistoryReader(session, connection)
        let hello = try connection.hello(client: "fluxbus", until: session.replyDeadline)
        guard let epoch = hello["epoch"]?.string, let newest = hello["revision"]?.int else {
            throw CommandFailure(.internal, "The bus sent no epoch: use a fluxbus of its version.")
        }
        let base = try since?.resolved(on: connection, in: session, newest: newest) ?? reader.oldest()
        guard base <= newest else {
            throw CommandFailure(
                .no, "The bus is at revision \(newest): nothing can be exported from \(base) on.")
        }
        let header = Recording.Header(epoch: epoch, base: base, last: newest)
        let (definitions, now) = (try types(at: base), try types(at: newest))
        let leavesOut = definitions.contains { $0.logReach != .whole }
        // Where commits are left out, nothing but its end shows that a file is whole.
        let hasEnd =
            try leavesOut || now.contains { $0.logReach != .whole } || hasRule(after: base, through: newest)
        try output.write(header.line(form: hasEnd ? Recording.formWithEnd : Recording.form))
        for definition in definitions { try output.write(line: .object(["definition": definition])) }
        let views = Set(definitions.filter { $0["view"] != nil }.compactMap { $0["type"]?.string })
        let gone = try writeStates(at: base, but: views)
        // On a terminal, the commits themselves show the progress.
        let commits =
            try output.isTerminal
            ? writeCommits(header, leavesOut, without: gone, from: reader, nil)
            : session.console.showingProgress("exporting", total: header.count) {
                try writeCommits(header, leavesOut, without: gone, from: reader, $0)
            }
        if hasEnd { try output.write(line: .object(["end": .int(newest)])) }
        try output.flush()
        return (base, commits)
    }

    /// The definitions at a revision.
    private func types(at revision: Int) throws -> [JSON] {
        let reply = try session.ask(BusRequest("types", ["revision": .int(revision)]), on: connection)
        return reply["types"]?.array ?? []
    }

    /// Whether a commit has given a type a `log:` rule, which may be gone again.
    private func hasRule(after base: Int, through newest: Int) throws -> Bool {
        var isFound = false
        let reader = HistoryReader(session, connection, filter: CommitFilter(action: "reload"))
        try reader.forEach(after: base, through: newest) { commit in
            isFound = Recording.leavesOut(commit)
            return !isFound
        }
        return isFound
    }

    /// Writes the states of all stores but those of views, which follow from the others. Returns the types whose past does not
    /// reach back to `base`.
    private func writeStates(at base: Int, but views: Set<String>) throws -> Set<String> {
        let states = StateReader(session, connection, .match("*/*"), revision: base)
        while let (address, state) = try states.next() {
            if views.contains(String(address.prefix { $0 != "/" })) { continue }
            try output.write(line: .object(["store": .string(address), "state": state]))
        }
        try states.noteGone(on: session.console, withUnkept: false)
        return Set(states.gone.keys)
    }

    /// Returns the number of commits.
    private func writeCommits(
        _ header: Recording.Header, _ leavesOut: Bool, without gone: Set<String>, from reader: HistoryReader,
        _ meter: ProgressMeter?
    ) throws -> Int {
        // Later commits to stores of these types can't be replayed without the states they start from.
        let thinning = Thinning(gone)
        var (revision, commits, leavesOut) = (header.base, 0, leavesOut)
        try reader.forEach(after: header.base, through: header.last) { line in
            guard let commit = RecordedCommit(line),
                commit.revision == revision + 1 || leavesOut && commit.revision > revision
            else {
                throw CommandFailure(
                    .internal, "The log has a hole after revision \(revision): look at the daemon's journal.")
            }
            revision = commit.revision
            leavesOut = leavesOut || Recording.leavesOut(line)
            let text = CommitText.line(of: line)
            commits += 1
            switch text.utf8Span.span.withUnsafeBytes({ thinning.rest(of: $0) }) {
            case .all: try output.write(text + "\n")
            case .some(let rest): try output.write(String(decoding: rest, as: UTF8.self) + "\n")
            case .nothing: commits -= 1
            }
            try meter?.reached(revision - header.base)
            return true
        }
        guard revision == header.last || leavesOut else {
            throw CommandFailure(
                .internal,
                "The log ends with revision \(revision) instead of \(header.last): look at the daemon's journal."
            )
        }
        return commits
    }
}
