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
        self.init(configuration, types: [])
    }

    /// Carries out the entries of a group up to a revision. Those that this engine has seen already are passed over.
    package func replay(
        _ entries: UnsafeRawBufferPointer, through last: Int = .max
    ) throws(ReplayFailure) {
        try LogLines.forEach(in: entries) { (line) throws(ReplayFailure) in
            if let alike = entryReader.readAlike(line), let meaning = entryReader.meaning {
                return try replay(alike, meaning, through: last)
            }
            guard let entry = (try? JSON(parsing: line, depthLimit: 1000))?.object else {
                throw failure("is no JSON object")
            }
            guard let first = entry["revision"]?.int else { return try replay(note: entry) }
            let times = entry["times"]?.int ?? 1
            guard times >= 1, first <= revision + 1 else { throw failure("has no fitting revision") }
            let end = min(first + times - 1, last)
            if end > revision { try replay(entry, count: end - revision) }
            learn(from: line, entry)
        }
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

    /// Carries out an entry that is like the one before.
    private func replay(
        _ entry: EntryReader.Entry, _ meaning: EntryReader.Meaning, through last: Int
    ) throws(ReplayFailure) {
        guard entry.times >= 1, entry.first <= revision + 1 else { throw failure("has no fitting revision") }
        let end = min(entry.first + entry.times - 1, last)
        now = max(now, entry.time)
        do throws(RequestError) {
            let payload = try accept(entry.payload, for: meaning.action, of: meaning.type)
            plan.clear()
            plan.actions.append(.init(steps: 0..<1, payloadForEveryType: nil))
            plan.steps.append(
                .init(
                    type: meaning.type, action: meaning.action, payload: payload, store: meaning.store))
            while revision < end {
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

    private func failure(_ what: String) -> ReplayFailure {
        ReplayFailure(
            revision: revision, message: "The log's entry behind revision \(revision) \(what).")
    }

    /// Carries out one entry, so and so often.
    private func replay(_ entry: JSONObject, count: Int) throws(ReplayFailure) {
        guard let by = entry["by"]?.object, let actions = entry["actions"]?.array,
            let time = entry["time"]?.double
        else { throw failure("lacks by, actions or time") }
        now = max(now, Int((time * 1000).rounded()))
        let actor = try actor(by)
        do throws(RequestError) {
            try plan(actions)
            if entry.members.count <= (entry["times"] == nil ? 4 : 5) {
                for _ in 0..<count { try repeatPlan(by: actor, actions: !actions.isEmpty) }
            } else {
                guard count == 1 else { throw RequestError(.internal, "is counted though it is not alike") }
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
        let matched = actions ? try perform(by: actor) : 0
        try redefine(by: entry)
        var created: [Int32] = []
        for (address, state) in entry["created"]?.object?.members.map({ ($0.key, $0.value) }) ?? [] {
            guard let state = state.object else { throw RequestError(.internal, "has no state") }
            created.append(
                try replayCreation(address, state, by: actor, connection: entry["connection"]?.int))
        }
        let dropped = try (entry["dropped"]?.array ?? []).map { (address) throws(RequestError) in
            try find(address.string ?? "")
        }
        let moved = try (entry["states"]?.object?.members.map { ($0.key, $0.value) } ?? []).map {
            (address, state) throws(RequestError) in
            (store: try find(address), state: state.object ?? [:])
        }
        if entry["states"] != nil || entry["definitions"] != nil || entry["undefined"] != nil {
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
            throw RequestError(.internal, "has a key without a digest")
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
                    throw RequestError(.internal, "makes a store that exists")
                }
                let owner = connection.map { self.pastConnection($0, of: actor) }
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
        for name in undefined { typesByName[name] = nil }
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
            throw RequestError(.internal, "has a definition that this version can't read (\(error.message))")
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
        if let known = pastConnections[number] { return known }
        let connection = Connection(
            id: number, peer: actor?.peer ?? .unix(uid: configuration.ownUID, pid: 0), limits: limits)
        connection.identity = actor?.identity
        connection.identityIndex = actor?.identityIndex ?? StoreRecord.nobody
        connection.by = actor?.by ?? Self.daemon
        pastConnections[number] = connection
        return connection
    }

    /// Somebody who left a will, or whose stores are to come.
    func take(session: JSONObject) throws(ReplayFailure) {
        guard let will = session["will"]?.array, let number = session["connection"]?.int,
            let by = session["by"]?.object
        else { throw failure("is no session") }
        pastConnection(number, of: try actor(by)).will = will.compactMap { WillAction($0) }
    }

    private func replay(note: JSONObject) throws(ReplayFailure) {
        if let ended = note["ended"]?.int {
            pastConnections[ended] = nil
        } else if let will = note["will"]?.array, let number = note["connection"]?.int,
            let by = note["by"]?.object
        {
            let connection = pastConnection(number, of: try actor(by))
            connection.will = will.compactMap { WillAction($0) }
            if connection.will.isEmpty, connection.ephemeralStores.isEmpty { pastConnections[number] = nil }
        } else {
            throw failure("is neither a commit nor a note that this version knows")
        }
    }
}
