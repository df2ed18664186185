import BusJSON
import BusLogic
import BusProtocol

/// Why an entry of the log can't be applied.
package struct ReplayFailure: Error, Sendable {
    /// The revision at which it stopped: everything up to here was applied.
    package let revision: Int
    /// One sentence.
    package let message: String
}

/// Replays entries of the log: the same states come out, because mutations are pure.
extension StateMachine {
    /// A machine for replay: it has no types but those of the log, and no limits, since every entry was
    /// within them when it was committed. `known` are types that need not be compiled from their
    /// definitions; those in code can't be.
    package convenience init(replayingWith known: [any StateType], epoch: String, hashSeed: UInt64) {
        self.init(types: [], epoch: epoch, limits: .none, hashSeed: hashSeed)
        knownTypes = known
    }

    /// Whether actions come from the log: `require` is not checked where redacted members are kept as digests only.
    package var isReplaying: Bool {
        get { context.isReplaying }
        set { context.isReplaying = newValue }
    }

    /// Replays the entries of a batch up to a revision. Those that this machine has applied already are skipped.
    package func replay(
        _ entries: UnsafeRawBufferPointer, through last: Int = .max
    ) throws(ReplayFailure) {
        // What is in the log was accepted.
        let takesUnnamedMembers = context.takesUnnamedMembers
        (context.takesUnnamedMembers, context.isReplaying) = (true, true)
        defer { (context.takesUnnamedMembers, context.isReplaying) = (takesUnnamedMembers, false) }
        // The revision before the line; nil until the first commit of the batch tells it.
        var place: Int?
        var early: [JSONObject] = []
        try forEachKnownLine(in: entries) { (line) throws(ReplayFailure) in
            if let entry = reading.entries.read(line), let by = named(by: entry.by) {
                if place == nil, isNext(entry.first, behind: revision) {
                    for note in early { try replay(note: note) }
                }
                early = []
                let count = try due(entry.first, entry.first + entry.times - 1, behind: &place, through: last)
                if count > 0 {
                    reading.noteInPlace()
                    try replay(entry, by: try requirePrincipal(by, entry.by), count: count)
                }
                return
            }
            guard let entry = (try? JSON(parsing: line, depthLimit: 1000))?.object else {
                throw failure("is not a JSON object")
            }
            guard entry["revision"] != nil else {
                // A note at another revision than this machine's is skipped.
                if let place { if place == revision { try replay(note: entry) } } else { early.append(entry) }
                return
            }
            guard let (first, end) = LogLines.revisions(of: entry) else { throw failure("has no revision") }
            if place == nil, isNext(first, behind: revision) { for note in early { try replay(note: note) } }
            early = []
            let count = try due(first, end, behind: &place, through: last)
            if count > 0 { try replay(entry, count: count) }
        }
        for note in early { try replay(note: note) }
    }

    /// Visits what entries say of types that are known.
    private func forEachKnownLine(
        in entries: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer) throws(ReplayFailure) -> Void
    ) throws(ReplayFailure) {
        guard let thinning = reading.thinning else { return try LogLines.forEach(in: entries, body) }
        try LogLines.forEach(in: entries) { (line) throws(ReplayFailure) in
            switch thinning.rest(of: line) {
            case .all: try body(line)
            case .some(let rest):
                try rest.span.withUnsafeBytes { (rest) throws(ReplayFailure) in try body(rest) }
            case .nothing: break
            }
        }
    }

    /// How often an entry has still to be applied.
    private func due(
        _ first: Int, _ end: Int, behind place: inout Int?, through last: Int
    ) throws(ReplayFailure) -> Int {
        guard first >= 1, end >= first, place.map({ isNext(first, behind: $0) }) ?? true,
            isNext(first, behind: revision) || first <= revision || revision >= last
        else { throw failure("has no fitting revision") }
        place = end
        let count = max(0, min(end, last) - max(revision, first - 1))
        if count > 0 { pass(through: first - 1) }
        return count
    }

    /// Whether an entry may follow a revision: only the next one may, unless the log may leave commits out.
    private func isNext(_ first: Int, behind revision: Int) -> Bool {
        first == revision + 1 || mayHaveHoles && first > revision
    }

    /// Replays an entry that was read in place, `count` times.
    private func replay(
        _ entry: EntryReader.Entry, by principal: Principal, count: Int
    ) throws(ReplayFailure) {
        // The commit's own time, even where that is earlier than the one before.
        time = entry.time
        do throws(RequestError) {
            plan.clear()
            defer { end(reading.entries.batch) }
            try plan(reading.entries.batch)
            for _ in 0..<count {
                let matched = try apply(by: principal)
                commit()
                if !entry.key.isEmpty {
                    try rememberKey(
                        entry.key, entry.digest, of: principal, matched: matched, changed: changed)
                }
            }
        } catch {
            throw failure("can't be replayed: \(error.message)")
        }
    }

    /// Whom an entry names: one who is known, or an object that says who it is.
    private enum Named {
        case known(Principal)
        case other(JSONObject)
    }

    /// Nil if it is no object.
    private func named(by text: UnsafeRawBufferPointer) -> Named? {
        if let known = reading.principals[text] { return .known(known) }
        return (try? JSON(parsing: text, depthLimit: 1000))?.object.map(Named.other)
    }

    private func requirePrincipal(
        _ named: Named, _ text: UnsafeRawBufferPointer
    ) throws(ReplayFailure) -> Principal {
        switch named {
        case .known(let principal): return principal
        case .other(let by):
            let principal = try requirePrincipal(by)
            reading.principals[text] = principal
            return principal
        }
    }

    private func failure(_ what: String) -> ReplayFailure {
        ReplayFailure(
            revision: revision, message: "The log's entry behind revision \(revision) \(what).")
    }

    /// Replays one entry, `count` times.
    private func replay(_ entry: JSONObject, count: Int) throws(ReplayFailure) {
        guard let by = entry["by"]?.object, let actions = entry["actions"]?.array,
            let committed = LogLines.time(of: entry)
        else { throw failure("lacks by, actions or time") }
        time = committed
        let principal = try requirePrincipal(by)
        do throws(RequestError) {
            if let steps = entry["steps"]?.array {
                for _ in 0..<count { try replay(steps, actions, of: entry, by: principal) }
                return
            }
            try plan(actions)
            let others = ["times", "traceparent"].count { entry[$0] != nil }
            if entry.members.count == 4 + others {
                for _ in 0..<count {
                    if !actions.isEmpty { _ = try apply(by: principal) }
                    commit()
                }
            } else {
                guard count == 1 else {
                    throw RequestError(.internal, "it is counted though it is not alike")
                }
                try replay(entry, by: principal, actions: !actions.isEmpty)
            }
        } catch {
            throw failure("can't be replayed: \(error.message)")
        }
        guard revision > 0 else { throw failure("did nothing") }
    }

    private func requirePrincipal(_ by: JSONObject) throws(ReplayFailure) -> Principal {
        guard let principal = principal(by: by) else { throw failure("names nobody in by") }
        return principal
    }

    /// Replays a commit with details: stores created and dropped, states replaced.
    private func replay(
        _ entry: JSONObject, by principal: Principal, actions: Bool
    ) throws(RequestError) {
        let isReplacement =
            entry["states"] != nil || entry["definitions"] != nil || entry["undefined"] != nil
            || entry["access"] != nil || entry["keeping"] != nil
        guard !isReplacement || !actions && entry["created"] == nil && entry["dropped"] == nil else {
            throw RequestError(.internal, "it sets states beside its actions")
        }
        let due = try replayTimers(of: entry, by: principal)
        let matched = actions ? try apply(by: principal) : 0
        try redefine(by: entry)
        let details = CommitDetails()
        for (address, state) in entry["created"]?.object?.members.map({ ($0.key, $0.value) }) ?? [] {
            guard let state = state.object else { throw RequestError(.internal, "a store has no state") }
            details.created.append(
                try replayCreation(address, state, by: principal, entry))
            try replayLease(of: entry, details.created[0])
            beginTimers(of: details.created[0], by: principal)
        }
        details.dropped = try (entry["dropped"]?.array ?? []).map { (address) throws(RequestError) in
            try requireStore(address.string ?? "").1
        }
        guard Set(details.dropped).count == details.dropped.count else {
            throw RequestError(.internal, "it drops a store twice")
        }
        details.replaced = try (entry["states"]?.object?.members.map { ($0.key, $0.value) } ?? []).map {
            (address, state) throws(RequestError) in
            (store: try requireStore(address).1, state: state.object ?? [:])
        }
        if entry["reverted"] != nil {
            for (store, state) in details.replaced {
                try turnTimers(of: store, to: state, by: principal)
                renewLease(of: store)
            }
        }
        let taken = try replayPolicies(of: entry, into: details)
        commit(details)
        date(taken)
        if let ended = entry["ended"]?.int { closeSession(ended) }
        let isDispatch = details.created.isEmpty && details.dropped.isEmpty
        let stores = max(1, details.dropped.count)
        try replayKey(
            entry, by: principal, matched: isDispatch ? matched : stores,
            changed: due ?? (isDispatch ? changed : stores))
    }

    /// Replays a batch that created or dropped stores.
    private func replay(
        _ steps: [JSON], _ actions: [JSON], of entry: JSONObject, by principal: Principal
    ) throws(RequestError) {
        let batch = try apply(steps, actions, creating: entry["created"]?.object ?? [:], by: principal) { $1 }
        if entry["connection"] != nil {
            let session = try session(of: entry, principal)
            give(batch, to: { session })
        }
        let matched = matched(with: batch)
        commit(CommitDetails(batch))
        try replayKey(entry, by: principal, matched: matched, changed: changed)
    }

    private func session(of entry: JSONObject, _ principal: Principal) throws(RequestError) -> Session {
        guard let number = entry["connection"]?.int, Self.isSession(number) else {
            throw RequestError(.internal, "it names no connection")
        }
        let session = replayedSession(number, of: principal)
        name(session, by: entry)
        return session
    }

    private func replayKey(
        _ entry: JSONObject, by principal: Principal, matched: Int, changed: Int
    ) throws(RequestError) {
        guard let key = entry["key"]?.string else { return }
        // A commit kept only in part says how much it reached.
        let (matched, changed) = (entry["matched"]?.int ?? matched, entry["changed"]?.int ?? changed)
        let digest = entry["digest"]?.string ?? ""
        // Only an action that was one of several has an index.
        let isPart = entry["actions"]?.array?.first?["index"] != nil
        try digest.utf8Span.span.withUnsafeBytes { (digest) throws(RequestError) in
            try key.utf8Span.span.withUnsafeBytes { (key) throws(RequestError) in
                try rememberKey(
                    key, digest, of: principal, matched: matched, changed: changed, isPart: isPart)
            }
        }
    }

    private func rememberKey(
        _ key: UnsafeRawBufferPointer, _ digest: UnsafeRawBufferPointer, of principal: Principal,
        matched: Int, changed: Int, isPart: Bool = false
    ) throws(RequestError) {
        guard principal.identity != nil, let digest = StateTransfer.digest(of: digest) else {
            throw RequestError(.internal, "its key has no digest")
        }
        remember(
            KeyedRequest(id: keys.id(principal.number, key), digest: digest), matched: matched,
            changed: changed, isPart: isPart)
    }

    private func replayCreation(
        _ address: String, _ state: JSONObject, by principal: Principal, _ line: JSONObject
    ) throws(RequestError) -> Int32 {
        try address.utf8Span.span.withUnsafeBytes { (address) throws(RequestError) in
            let parts = try requireAddress(address)
            let entry = try requireType(parts.type)
            guard stores.find(type: entry.index, name: parts.name) == nil else {
                throw RequestError(.internal, "it makes a store that exists")
            }
            let owner = line["connection"]?.int == nil ? nil : try session(of: line, principal)
            return insert(parts.name, of: entry, state, creator: principal.number, owner: owner)
        }
    }

    private func redefine(by entry: JSONObject) throws(RequestError) {
        if let access = entry["access"] { try restoreAccess(access, since: revision + 1) }
        let definitions = entry["definitions"]?.array ?? []
        let undefined = (entry["undefined"]?.array ?? []).compactMap(\.string)
        if definitions.isEmpty, undefined.isEmpty { return }
        let states = entry["states"]?.object ?? [:]
        for definition in definitions {
            let type = try compiled(definition)
            turnTimers(redefining: type) { states[address(of: Int($0))]?.object }
            define(type)
        }
        for name in undefined {
            guard let entry = typesByName[name], entry.count == 0 || entry.view != nil else {
                throw RequestError(.internal, "it takes away a type that has stores")
            }
            undefine(name)
        }
        orderTypes()
    }

    /// Puts a definition of the log in force.
    func define(_ definition: JSON) throws(RequestError) {
        define(try compiled(definition))
    }

    private func compiled(_ definition: JSON) throws(RequestError) -> any StateType {
        do {
            return try compile(definition)
        } catch {
            throw RequestError(.internal, "it has a definition that this version can't read (\(error))")
        }
    }

    package func compile(_ definition: JSON) throws -> any StateType {
        if let known = knownTypes.first(where: { $0.definition == definition }) { return known }
        let declared = try DeclaredType(definition: definition)
        let isCode = declared.writesNothing && knownTypes.contains { $0.name == declared.name }
        return isCode ? EarlierCode(declared) : declared
    }

    // MARK: - Sessions

    /// The session with a number of the log. One that left nothing may have ended without a note.
    private func replayedSession(_ number: SessionID, of principal: Principal) -> Session {
        if let known = sessions[number], !known.isEmpty { return known }
        let session = openSession(number, principal)
        session.isLogged = true
        return session
    }

    /// Restores a session of a snapshot: it left a will, or its stores follow.
    func restoreSession(_ record: JSONObject) throws(ReplayFailure) {
        guard let will = record["will"]?.array, let number = record["connection"]?.int,
            Self.isSession(number), let by = record["by"]?.object
        else { throw failure("is not a session") }
        let session = replayedSession(number, of: try requirePrincipal(by))
        session.will = will.compactMap { WillAction($0) }
        name(session, by: record)
    }

    private func replay(note: JSONObject) throws(ReplayFailure) {
        if let ended = note["ended"]?.int {
            closeSession(ended)
        } else if let will = note["will"]?.array, let number = note["connection"]?.int,
            Self.isSession(number), let by = note["by"]?.object
        {
            let session = replayedSession(number, of: try requirePrincipal(by))
            session.will = will.compactMap { WillAction($0) }
            give(session, to: try requirePrincipal(by))
            name(session, by: note)
            if session.isEmpty { closeSession(number) }
        } else {
            throw failure("is neither a commit nor a note that this version knows")
        }
    }
}
