import BusJSON
import BusLogic
import BusProtocol
import BusState

/// Why an entry of the log can't be carried out.
package struct ReplayFailure: Error, Sendable {
    /// The revision at which it stopped: everything up to here was carried out.
    package let revision: Int
    /// One sentence.
    package let message: String
}

/// Entries of the log are carried out again: the same states come out, because mutations are pure.
extension Engine {
    /// An engine for that: it has no clients and no types but those of the log, and nothing is too large for it, as it
    /// was not when it was committed.
    package convenience init(replaying configuration: EngineConfiguration) {
        var configuration = configuration
        configuration.limits.state = Int(Int32.max)
        configuration.limits.line = 1 << 40
        configuration.limits.depth = 1000
        configuration.limits.memory = Int(Int32.max) << 20
        configuration.limits.stores = Int(Int32.max)
        configuration.limits.batch = Int(Int32.max)
        configuration.limits.commit = Int(Int32.max)
        self.init(configuration, types: [])
    }

    /// Carries out the entries of a group up to a revision. Those that this engine has seen already are passed over.
    package func replay(
        _ entries: UnsafeRawBufferPointer, through last: Int = .max
    ) throws(ReplayFailure) {
        // Behind which commit the line stands; at the beginning of a group that is told by its first one.
        var place: Int?
        var early: [JSONObject] = []
        try LogLines.forEach(in: entries) { (line) throws(ReplayFailure) in
            if let alike = entryReader.readAlike(line), let meaning = entryReader.meaning {
                if place == nil, alike.first == revision + 1 { for note in early { try replay(note: note) } }
                early = []
                let count = try due(alike.first, alike.first + alike.times - 1, behind: &place, through: last)
                if count > 0 { try replay(alike, meaning, count: count) }
                return
            }
            guard let entry = (try? JSON(parsing: line, depthLimit: 1000))?.object else {
                throw failure("is no JSON object")
            }
            guard entry["revision"] != nil else {
                // A note that belongs to another moment than the one this engine has come to is not for it.
                if let place { if place == revision { try replay(note: entry) } } else { early.append(entry) }
                return
            }
            guard let (first, end) = LogLines.revisions(of: entry) else { throw failure("has no revision") }
            if place == nil, first == revision + 1 { for note in early { try replay(note: note) } }
            early = []
            let count = try due(first, end, behind: &place, through: last)
            if count > 0 {
                try replay(entry, count: count)
                learn(from: line, entry)
            }
        }
        for note in early { try replay(note: note) }
    }

    /// How often an entry has still to be carried out.
    private func due(
        _ first: Int, _ end: Int, behind place: inout Int?, through last: Int
    ) throws(ReplayFailure) -> Int {
        guard first >= 1, end >= first, first == place.map({ $0 + 1 }) ?? first,
            first <= revision + 1 || revision >= last
        else { throw failure("has no fitting revision") }
        place = end
        return max(0, min(end, last) - revision)
    }

    /// Entries like this one are to be read faster.
    private func learn(from line: UnsafeRawBufferPointer, _ entry: JSONObject) {
        entryReader.forget()
        // Whatever is more than an action may have changed what names mean.
        guard plan.actions.count == 1, plan.steps.count == 1, plan.actions[0].payloadForEveryType == nil,
            let by = entry["by"]?.object, let actor = try? actor(by), let alike = entryReader.read(line)
        else { return }
        let step = plan.steps[0]
        entryReader.remember(
            alike.head, .init(type: step.type, action: step.action, store: step.store, actor: actor))
    }

    /// Carries out an entry that is like the one before, so and so often.
    private func replay(
        _ entry: EntryReader.Entry, _ meaning: EntryReader.Meaning, count: Int
    ) throws(ReplayFailure) {
        // As it was then, also where a later history began at an earlier time.
        now = entry.time
        do throws(RequestError) {
            let payload = try accept(entry.payload, for: meaning.action, of: meaning.type)
            plan.clear()
            plan.actions.append(.init(steps: 0..<1, payloadForEveryType: nil))
            plan.steps.append(
                .init(
                    type: meaning.type, action: meaning.action, payload: payload, store: meaning.store))
            for _ in 0..<count {
                let matched = try perform(by: meaning.actor)
                publish(by: [], actions: false)
                if !entry.key.isEmpty {
                    try rememberKey(
                        Array(entry.key), entry.digest, of: meaning.actor,
                        matched: matched, changed: publication.changed)
                }
            }
        } catch {
            throw failure("can't be carried out: \(error.message)")
        }
    }

    /// In seconds since 1970; no clock tells a later one.
    private static let latestTime = 1e12

    private func failure(_ what: String) -> ReplayFailure {
        ReplayFailure(
            revision: revision, message: "The log's entry behind revision \(revision) \(what).")
    }

    /// Carries out one entry, so and so often.
    private func replay(_ entry: JSONObject, count: Int) throws(ReplayFailure) {
        guard let by = entry["by"]?.object, let actions = entry["actions"]?.array,
            let time = entry["time"]?.double, 0...Self.latestTime ~= time
        else { throw failure("lacks by, actions or time") }
        now = Int((time * 1000).rounded())
        let actor = try actor(by)
        do throws(RequestError) {
            try plan(actions)
            if entry.members.count <= (entry["times"] == nil ? 4 : 5) {
                for _ in 0..<count { try repeatPlan(by: actor, actions: !actions.isEmpty) }
            } else {
                guard count == 1 else {
                    throw RequestError(.internal, "it is counted though it is not alike")
                }
                try carryOut(entry, by: actor, actions: !actions.isEmpty)
            }
        } catch {
            throw failure("can't be carried out: \(error.message)")
        }
        guard revision > 0 else { throw failure("did nothing") }
    }

    private func plan(_ actions: [JSON]) throws(RequestError) {
        plan.clear()
        for (index, action) in actions.enumerated() {
            try planElement(try BatchElement(action, place: "actions[\(index)]"))
        }
    }

    private func repeatPlan(by actor: Connection?, actions: Bool) throws(RequestError) {
        if actions { _ = try perform(by: actor) }
        publish(by: [], actions: false)
    }

    /// A commit that is more than one without a key: its stores come and go, its states are set.
    private func carryOut(
        _ entry: JSONObject, by actor: Connection?, actions: Bool
    ) throws(RequestError) {
        let isSetting = entry["states"] != nil || entry["definitions"] != nil || entry["undefined"] != nil
        guard !isSetting || !actions && entry["created"] == nil && entry["dropped"] == nil else {
            throw RequestError(.internal, "it sets states beside its actions")
        }
        let matched = actions ? try perform(by: actor) : 0
        try redefine(by: entry)
        var created: [Int32] = []
        for (address, state) in entry["created"]?.object?.members.map({ ($0.key, $0.value) }) ?? [] {
            guard let state = state.object else { throw RequestError(.internal, "a store has no state") }
            created.append(
                try replayCreation(address, state, by: actor, connection: entry["connection"]?.int))
        }
        let dropped = try (entry["dropped"]?.array ?? []).map { (address) throws(RequestError) in
            try find(address.string ?? "")
        }
        guard Set(dropped).count == dropped.count else {
            throw RequestError(.internal, "it drops a store twice")
        }
        let moved = try (entry["states"]?.object?.members.map { ($0.key, $0.value) } ?? []).map {
            (address, state) throws(RequestError) in
            (store: try find(address), state: state.object ?? [:])
        }
        if isSetting {
            publish(moved: moved, by: [], CommitFacts())
        } else {
            publish(by: [], actions: false, created: created, dropped: dropped)
        }
        if let ended = entry["ended"]?.int { pastConnections[ended] = nil }
        let isDispatch = created.isEmpty && dropped.isEmpty
        try replayKey(
            entry, by: actor, matched: isDispatch ? matched : 1,
            changed: isDispatch ? publication.changed : 1)
    }

    private func replayKey(
        _ entry: JSONObject, by actor: Connection?, matched: Int, changed: Int
    ) throws(RequestError) {
        guard let key = entry["key"]?.string else { return }
        let digest = Array((entry["digest"]?.string ?? "").utf8)
        let outcome = digest.withUnsafeBytes { digest in
            Result { () throws(RequestError) in
                try self.rememberKey(
                    Array(key.utf8), digest, of: actor, matched: matched, changed: changed)
            }
        }
        try outcome.get()
    }

    private func rememberKey(
        _ key: [UInt8], _ digest: UnsafeRawBufferPointer, of actor: Connection?, matched: Int, changed: Int
    ) throws(RequestError) {
        guard let actor, let digest = HandOver.digest(of: digest) else {
            throw RequestError(.internal, "its key has no digest")
        }
        keys.remember(
            .init(digest: digest, revision: revision, matched: matched, changed: changed),
            as: .init(identity: actor.identityIndex, key: key))
    }

    private func find(_ address: String) throws(RequestError) -> Int32 {
        var address = address
        let found = address.withUTF8 { text in
            Result { () throws(RequestError) in try self.requireStore(UnsafeRawBufferPointer(text)) }
        }
        return try found.get().1
    }

    private func replayCreation(
        _ address: String, _ state: JSONObject, by actor: Connection?, connection: ConnectionID?
    ) throws(RequestError) -> Int32 {
        var address = address
        let made = address.withUTF8 { bytes in
            Result { () throws(RequestError) in
                let text = UnsafeRawBufferPointer(bytes)
                let parts = try self.requireAddress(text)
                let entry = try self.requireType(parts.type)
                guard self.stores.find(type: entry.index, name: parts.name) == nil else {
                    throw RequestError(.internal, "it makes a store that exists")
                }
                let owner = try connection.map { (number) throws(RequestError) in
                    guard Self.isNumber(number) else {
                        throw RequestError(.internal, "it names no connection")
                    }
                    return self.pastConnection(number, of: actor)
                }
                return self.insert(
                    parts.name, of: entry, state, size: state.encodedSize,
                    creator: actor?.identityIndex ?? StoreRecord.configured, owner: owner)
            }
        }
        return try made.get()
    }

    private func redefine(by entry: JSONObject) throws(RequestError) {
        let definitions = entry["definitions"]?.array ?? []
        let undefined = (entry["undefined"]?.array ?? []).compactMap(\.string)
        if definitions.isEmpty, undefined.isEmpty { return }
        for definition in definitions { try define(definition) }
        for name in undefined {
            guard typesByName[name]?.count ?? 0 == 0 else {
                throw RequestError(.internal, "it takes away a type that has stores")
            }
            typesByName[name] = nil
        }
        lastType = nil
        orderTypes()
    }

    /// Puts a definition of the log in force.
    func define(_ definition: JSON) throws(RequestError) {
        do throws(ReloadFailure) {
            let type = try configuration.compile(definition)
            if let known = types.first(where: { $0.name == type.name }) {
                known.redefine(type)
                typesByName[type.name] = known
            } else {
                addType(type)
            }
        } catch {
            throw RequestError(
                .internal, "it has a definition that this version can't read (\(error.message))")
        }
    }

    // MARK: - Who acted

    /// Somebody in the log, as far as rules and keys know them; nil for the daemon itself.
    func actor(_ by: JSONObject) throws(ReplayFailure) -> Connection? {
        if by["daemon"] != nil { return nil }
        let text = by.encoded
        if let known = actors[text] { return known }
        let actor: Connection
        if let uid = by["uid"]?.int {
            actor = Connection(
                id: -1, peer: .unix(uid: uid, pid: by["pid"]?.int ?? 0, unit: by["unit"]?.string),
                limits: limits)
            identify(actor, as: .uid(uid), by: by)
        } else if let token = by["token"]?.string {
            actor = Connection(id: -1, peer: .tcp(address: by["address"]?.string ?? ""), limits: limits)
            identify(actor, as: .token(token), by: by)
        } else {
            throw failure("names nobody in by")
        }
        // Processes come and go; whoever comes back is made again.
        if actors.count > 4096 { actors.removeAll() }
        actors[text] = actor
        return actor
    }

    /// A connection of the daemon that wrote the log, which left a will or stores behind.
    private func pastConnection(_ number: ConnectionID, of actor: Connection?) -> Connection {
        // One that has left nothing may have gone, and its number be in use again.
        if let known = pastConnections[number], !known.will.isEmpty || !known.ephemeralStores.isEmpty {
            return known
        }
        let connection = Connection(
            id: number, peer: actor?.peer ?? .unix(uid: configuration.ownUID, pid: 0), limits: limits)
        connection.identity = actor?.identity
        connection.identityIndex = actor?.identityIndex ?? StoreRecord.nobody
        connection.by = actor?.by ?? Self.daemon
        connection.isNoted = true
        pastConnections[number] = connection
        return connection
    }

    /// Whether a number can be one of a connection, as a store remembers it.
    private static func isNumber(_ number: Int) -> Bool { 0..<1 << 24 ~= number }

    /// Somebody who left a will, or whose stores are to come.
    func take(session: JSONObject) throws(ReplayFailure) {
        guard let will = session["will"]?.array, let number = session["connection"]?.int,
            Self.isNumber(number), let by = session["by"]?.object
        else { throw failure("is no session") }
        pastConnection(number, of: try actor(by)).will = will.compactMap { WillAction($0) }
    }

    private func replay(note: JSONObject) throws(ReplayFailure) {
        if let ended = note["ended"]?.int {
            pastConnections[ended] = nil
        } else if let will = note["will"]?.array, let number = note["connection"]?.int,
            Self.isNumber(number), let by = note["by"]?.object
        {
            let connection = pastConnection(number, of: try actor(by))
            connection.will = will.compactMap { WillAction($0) }
            if connection.will.isEmpty, connection.ephemeralStores.isEmpty { pastConnections[number] = nil }
        } else {
            throw failure("is neither a commit nor a note that this version knows")
        }
    }
}
