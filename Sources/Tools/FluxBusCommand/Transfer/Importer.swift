import BusJSON
import FluxBus

/// Applies an exported file on a running bus, as new commits.
///
/// Every request has a key made of the recorded epoch and revision, so that an interrupted import can be repeated: what
/// was committed is not committed again. Where the bus has a log, the log shows how far an earlier import came, however
/// long ago, and only what follows is sent.
final class Importer {
    private let session: CommandSession
    private let connection: BusConnection
    private let header: Recording.Header
    private let isDryRun: Bool
    private let pipeline: RequestPipeline
    /// How far an earlier import came; nil when there was none.
    private var progress: ImportStep.Place?
    /// Stores of the file's base that the bus lacks, though an earlier import came past them.
    private var missing: Set<String> = []
    /// The definitions that the bus has, by name.
    private var present: [String: JSON] = [:]
    private var definitions = RecordedDefinitions(present: [:])
    private(set) var tally = ImportTally()
    private(set) var status = CommandStatus.success

    init(_ session: CommandSession, header: Recording.Header, isDryRun: Bool) throws {
        self.session = session
        self.header = header
        self.isDryRun = isDryRun
        connection = try session.connect()
        pipeline = RequestPipeline(session, connection)
    }

    /// Reads the file to its end and sends its requests.
    func run(_ reader: inout RecordingReader) throws {
        defer { pipeline.abandon() }
        try refuseOwnHistory()
        try findProgress()
        for definition in try session.ask(BusRequest("types"), on: connection)["types"]?.array ?? [] {
            present[definition["type"]?.string ?? ""] = definition
        }
        definitions = RecordedDefinitions(present: present)
        try session.console.showingProgress(isDryRun ? "reading" : "importing", total: header.count) {
            meter in
            while let entry = try reader.next() {
                switch entry {
                case .definition(let definition): try check([definition], of: header.base)
                case .store(let address, let state): try takeStore(address, state)
                case .commit(let commit):
                    try take(commit)
                    try meter?.reached(commit.revision - header.base)
                }
            }
            try pipeline.finish()
        }
        try reportMissing()
    }

    // MARK: - Before

    /// On the bus that the file came from, every commit would happen a second time.
    private func refuseOwnHistory() throws {
        let hello = try connection.hello(client: "fluxbus", until: session.replyDeadline)
        guard hello["epoch"]?.string != header.epoch else {
            throw CommandFailure(
                .refused,
                "This bus is the one that was exported: import into another one, or use fluxbus revert."
            )
        }
    }

    /// Queries the log of the bus for how far an earlier import came. Without a log there are only the keys, of which a
    /// bus remembers the newest hundred thousand.
    private func findProgress() throws {
        let history = HistoryReader(session, connection)
        func place(of commit: JSON) -> ImportStep.Place? {
            let place = commit["key"]?.string.flatMap { ImportStep.Place(key: $0, epoch: header.epoch) }
            // Anybody may use such a key; one behind the file is nobody's who imported it.
            return place.flatMap { $0.revision <= header.last ? $0 : nil }
        }
        do {
            try history.forEach(after: nil, newestFirst: true) { commit in
                progress = place(of: commit)
                return progress == nil
            }
        } catch let error as BusError where error.meansNoLog {
            return
        }
        if let progress {
            try session.console.note(
                "The bus has this history up to revision \(progress.revision) already; continuing after it.")
        }
    }

    /// Stops unless every needed type exists: without it everything would be refused.
    private func check(_ definitions: [JSON], of revision: Int) throws {
        for definition in definitions { self.definitions.note(definition) }
        let missing = definitions.compactMap { $0["type"]?.string }.filter { present[$0] == nil }
        guard missing.isEmpty else {
            let list = missing.joined(separator: ", ")
            throw CommandFailure(
                .refused,
                "The bus has no state type \(list), which revision \(revision) needs: put the definition into its "
                    + "types directory, reload, and import again.")
        }
        let later = definitions.filter {
            $0.definedVersion > present[$0["type"]?.string ?? ""]?.definedVersion ?? 1
        }
        guard later.isEmpty else {
            let list = later.compactMap { $0["type"]?.string }.joined(separator: ", ")
            throw CommandFailure(
                .refused,
                "Revision \(revision) has a later version of \(list) than the bus, and states can't be migrated back: put that "
                    + "definition into its types directory, reload, and import again.")
        }
        let changed = definitions.filter { present[$0["type"]?.string ?? ""] != $0 }
        guard !changed.isEmpty else { return }
        let list = changed.compactMap { $0["type"]?.string }.joined(separator: ", ")
        try session.console.note(
            "The definition of \(list) on the bus differs from that of revision \(revision); states may differ."
        )
    }

    // MARK: - Stores and commits

    /// Creates a missing store. An existing one keeps its state, and a difference is reported.
    private func takeStore(_ address: String, _ state: JSONObject) throws {
        let step = ImportStep.base(tally.stores, address, state, definitions, in: header)
        tally.stores += 1
        if let progress, step.place <= progress { return try look(for: address) }
        var found: JSON?
        try pipeline.send(BusRequest("get", ["store": .string(address)])) { reply in
            if case .success(let members) = reply { found = members["states"]?[address] }
            if self.isDryRun { try self.note(found, at: address, wanted: state) }
        }
        guard !isDryRun else { return }
        try send(step) { reply in
            if reply["created"]?.bool == false { try self.note(found, at: address, wanted: state) }
        }
    }

    /// Notes whether a store that an earlier import came past is missing.
    private func look(for address: String) throws {
        // Without the whole past of its type, nothing would tell whether it was dropped since.
        guard present[String(address.prefix { $0 != "/" })]?.logReach == .whole else { return }
        try pipeline.send(BusRequest("get", ["store": .string(address)])) { reply in
            if case .failure(let error) = reply, error.code == .unknownStore { self.missing.insert(address) }
        }
    }

    /// Reports the missing stores that were never dropped: an earlier import could not create them.
    private func reportMissing() throws {
        // Where the bus has let the oldest commits go, one of these may have dropped them.
        guard !missing.isEmpty, try HistoryReader(session, connection).oldest() == 0 else { return }
        let drops = HistoryReader(session, connection, filter: CommitFilter(action: "drop"))
        try drops.forEach(after: nil, newestFirst: true) { commit in
            for address in commit["dropped"]?.array ?? [] { missing.remove(address.string ?? "") }
            return !missing.isEmpty
        }
        for address in missing.sorted() {
            try report(
                BusError(.unknownStore, "\(address) is not there; an earlier import could not create it."),
                at: header.base, "create")
        }
        if !missing.isEmpty { status = status.worse(.refused) }
    }

    private func note(_ found: JSON?, at address: String, wanted: JSONObject) throws {
        guard let found else { return }
        tally.present += 1
        if found != .object(wanted) {
            try session.console.note(
                "\(address) exists already, and its state differs from that in the file.")
        }
    }

    private func take(_ commit: RecordedCommit) throws {
        tally.count(commit)
        try check(commit.definitions, of: commit.revision)
        for step in ImportStep.steps(of: commit, under: definitions, epoch: header.epoch) {
            if let progress, step.place <= progress {
                tally.repeated += 1
            } else if !isDryRun {
                try send(step) { _ in }
            }
        }
    }

    private func send(_ step: ImportStep, _ settled: @escaping (JSONObject) throws -> Void) throws {
        tally.sent += 1
        try pipeline.send(step.request) { reply in
            switch reply {
            case .success(let members):
                if members["duplicate"]?.bool == true { self.tally.repeated += 1 }
                try settled(members)
            case .failure(let error) where step.isExpected(error): break
            case .failure(let error): try self.report(error, of: step)
            }
        }
    }

    /// Reports a refusal, and continues: what follows may not depend on it. It stops at a bus
    /// that can commit nothing now.
    private func report(_ error: BusError, of step: ImportStep) throws {
        if error.code == .unavailable {
            throw CommandFailure(
                .temporary,
                error.message.endingSentence(
                    with: "the import stopped at revision \(step.place.revision); repeat it to continue"))
        }
        try report(error, at: step.place.revision, step.request.op)
    }

    private func report(_ error: BusError, at revision: Int, _ op: String) throws {
        tally.refused += 1
        status = status.worse(CommandStatus(error.code))
        if session.console.form == .text {
            try session.console.line(
                "revision \(revision): \(op) refused: \(ScreenText.safe(error.message))")
        } else {
            try session.console.row([
                "revision": .int(revision), "op": .string(op),
                "error": ["code": .string(error.code.rawValue), "message": .string(error.message)],
            ])
        }
    }
}

/// What an import did, or would do.
struct ImportTally {
    /// Stores at the file's base, and how many of them the bus had.
    var stores = 0
    var present = 0
    /// Commits of the file, and what they hold.
    private(set) var commits = 0
    private(set) var actions = 0
    private(set) var created = 0
    private(set) var dropped = 0
    private(set) var reverted = 0
    private(set) var reloads = 0
    /// Requests sent, those that had been committed before, and those that the bus refused.
    var sent = 0
    var repeated = 0
    var refused = 0

    mutating func count(_ commit: RecordedCommit) {
        commits += 1
        actions += commit.actions.count
        created += commit.created.count
        dropped += commit.dropped.count
        if commit.reverted != nil { reverted += 1 }
        if commit.redefines { reloads += 1 }
    }

    func show(in console: Console, isDryRun: Bool) throws {
        guard console.form == .text else {
            var object: JSONObject = [
                "stores": .int(stores), "present": .int(present), "commits": .int(commits),
                "actions": .int(actions), "created": .int(created), "dropped": .int(dropped),
                "reverted": .int(reverted), "reloads": .int(reloads),
            ]
            if isDryRun {
                object["dryRun"] = true
            } else {
                object["sent"] = .int(sent)
                object["repeated"] = .int(repeated)
                object["refused"] = .int(refused)
            }
            return try console.line(.object(object))
        }
        let count = DispatchCommand.count
        let known = present > 0 ? " (\(present) there already)" : ""
        var parts = [
            "\(count(stores, "store"))\(known)", count(commits, "commit"), count(actions, "action"),
        ]
        if created > 0 { parts.append("\(created) created") }
        if dropped > 0 { parts.append("\(dropped) dropped") }
        if reverted > 0 { parts.append("\(reverted) reverted") }
        if reloads > 0 { parts.append("\(count(reloads, "reload")) left out") }
        if repeated > 0 { parts.append("\(repeated) committed before") }
        if refused > 0 { parts.append("\(refused) refused") }
        try console.line((isDryRun ? "would import " : "imported ") + parts.joined(separator: ", "))
    }
}
