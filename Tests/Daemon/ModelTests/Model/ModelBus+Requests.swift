import BusJSON

/// What must be answered to a request.
enum Answer {
    /// Accepted, with exactly these members beside `id` and `ok`.
    case done(JSONObject)
    /// Refused, with one of these codes, and exactly these members beside `code` and `message`.
    case refused(Refusal)
    /// Accepted without a reply.
    case silent
}

/// Requests that commit.
extension ModelBus {
    mutating func answer(_ request: JSON, from session: Int) -> Answer {
        do {
            guard let members = request.object else { return .silent }
            return try execute(members, session)
        } catch let refusal as Refusal {
            return .refused(refusal)
        } catch {
            return .refused(Refusal("\(error)"))
        }
    }

    private mutating func execute(_ request: JSONObject, _ session: Int) throws -> Answer {
        let principal = sessions[session]!.principal
        switch request["op"]?.string ?? "" {
        case "dispatch":
            let reply = try dispatch(request, principal)
            return request["ack"] == false ? .silent : .done(reply)
        case "create": return .done(try create(request, session, principal))
        case "drop": return .done(try drop(request, principal))
        case "revert": return .done(try revert(request, principal))
        case "cancel": return .done(try cancel(request, principal))
        case "will":
            let actions = request["actions"]?.array?.map { Action($0) } ?? []
            for (index, action) in actions.enumerated() {
                do {
                    try check(action)
                } catch var refusal as Refusal {
                    refusal.members["index"] = .int(index)
                    throw refusal
                }
            }
            if !actions.isEmpty { open(session) }
            sessions[session]?.will = actions
            return .done([:])
        case "sync": return .done(["revision": .int(revision)])
        case "ping": return .done([:])
        case "get": return .done(try get(request))
        case "stores": return .done(stores(request))
        case "timers": return .done(timers(request))
        case "history": return .done(try history(request))
        default: throw Refusal("unknown_op")
        }
    }

    /// A will's stores need not be there yet.
    private func check(_ action: Action) throws {
        if action.kind == "type" {
            _ = try world.planned(action)
            return
        }
        guard let type = world.types[action.type] else { throw Refusal("unknown_type") }
        _ = try type.accept(action.payload, for: action.name)
    }

    // MARK: Keys

    /// What was answered to the request with this key, or nil if there was none.
    private func repeated(_ request: JSONObject, _ principal: Principal) throws -> JSONObject? {
        guard let key = request["key"]?.string, request["dryRun"] != true else { return nil }
        if let earlier = keys[principal.named(key)] {
            guard earlier.request == Self.meaning(of: request) else { throw Refusal("conflict") }
            var reply = earlier.reply
            reply["duplicate"] = true
            return reply
        }
        if let epoch = request["epoch"], epoch.string != self.epoch { throw Refusal("conflict") }
        if let after = request["after"]?.int, after > revision { throw Refusal("conflict") }
        return nil
    }

    private mutating func remember(_ request: JSONObject, _ reply: JSONObject, _ principal: Principal)
        -> JSONObject
    {
        if let key = request["key"]?.string {
            keys[principal.named(key)] = Key(request: Self.meaning(of: request), reply: reply)
        }
        return reply
    }

    /// What must be equal in a request that is sent again.
    private static func meaning(of request: JSONObject) -> JSON {
        var meaning = request
        for member in ["id", "key", "after", "epoch", "ack"] { meaning[member] = nil }
        return .object(meaning)
    }

    // MARK: Dispatch

    private mutating func dispatch(_ request: JSONObject, _ principal: Principal) throws -> JSONObject {
        if let reply = try repeated(request, principal) { return reply }
        let isBatch = request["actions"] != nil
        let actions = (request["actions"]?.array ?? [.object(request)]).map { Action($0) }
        do {
            return try dispatch(request, actions, principal)
        } catch var refusal as Refusal {
            if !isBatch { refusal.members["index"] = nil }
            throw refusal
        }
    }

    private mutating func dispatch(
        _ request: JSONObject, _ actions: [Action], _ principal: Principal
    ) throws -> JSONObject {
        var planned: [Action] = []
        for (index, action) in actions.enumerated() {
            do {
                planned += try world.planned(action)
            } catch var refusal as Refusal {
                refusal.members["index"] = .int(index)
                throw refusal
            }
        }
        if let expected = request["ifRevision"]?.int, let store = world.stores[actions[0].target],
            store.revision != expected
        {
            throw Refusal("conflict", members: ["revision": .int(store.revision)])
        }
        if request["in"] != nil || request["at"] != nil {
            return try schedule(request, planned[0], principal)
        }
        let applied = try applied(actions, principal)
        let next = applied.world
        let changed = applied.matched.filter { next.stores[$0]?.state != world.stores[$0]?.state }
        var reply: JSONObject = ["matched": .int(applied.matched.count), "changed": .int(changed.count)]
        let returned = applied.returned.reduce(into: JSONObject()) { all, own in
            for member in own { all[member.key] = member.value }
        }
        if actions.count == 1, actions[0].kind == "store" {
            reply["result"] = returned[actions[0].target]
        } else if !returned.isEmpty {
            reply["results"] = .object(returned)
        }
        if request["dryRun"] == true {
            reply["revision"] = .int(revision)
            // A test reads it as `changes` and `states` together, applied to what there is.
            reply["outcome"] = .object(changed.reduce(into: [:]) { $0[$1] = next.stores[$1]?.state })
            return reply
        }
        var details: JSONObject = [:]
        details["key"] = request["key"]
        commit(
            next, principal, actions: try told(actions, applied.returned), details: details,
            order: applied.matched)
        reply["revision"] = .int(revision)
        return remember(request, reply, principal)
    }

    private mutating func schedule(
        _ request: JSONObject, _ action: Action, _ principal: Principal
    ) throws -> JSONObject {
        var due: Int
        if let delay = request["in"] {
            guard let milliseconds = ModelType.milliseconds(delay) else {
                throw Refusal("invalid_request", members: ["member": "in"])
            }
            due = now + milliseconds
        } else {
            due = Int(((request["at"]?.double ?? 0) * 1000).rounded())
            if due < now - 60_000 { throw Refusal("invalid_request", members: ["member": "at"]) }
        }
        due = max(due, now + 10)
        if due > now + ModelType.farthest { throw Refusal("limit") }
        let name = request["timer"]?.string ?? "@\(revision + 1)"
        let own = world.timers.filter { $0.action.target == action.target && $0.name != name }
        if own.count >= (action.kind == "store" ? 64 : 1024) { throw Refusal("limit") }
        let reply: JSONObject = ["revision": .int(revision + 1), "timer": .string(name), "due": .int(due)]
        if request["dryRun"] == true { return reply }
        var next = world
        next.set(name, action, due: due, principal)
        var scheduled = action.json.object ?? [:]
        scheduled["timer"] = .string(name)
        scheduled["due"] = .int(due)
        var details: JSONObject = ["scheduled": .object(scheduled)]
        details["key"] = request["key"]
        commit(next, principal, details: details)
        return remember(request, reply, principal)
    }

    private mutating func cancel(_ request: JSONObject, _ principal: Principal) throws -> JSONObject {
        if let reply = try repeated(request, principal) { return reply }
        let action = Action(.object(request))
        guard world.types[action.type] != nil else { throw Refusal("unknown_type") }
        if action.kind == "store", world.stores[action.target] == nil { throw Refusal("unknown_store") }
        let name = request["timer"]?.string ?? ""
        var next = world
        next.timers.removeAll { $0.action.target == action.target && $0.name == name }
        if next.timers.count == world.timers.count { throw Refusal("unknown_timer") }
        var details: JSONObject = [
            "cancelled": [action.kind: .string(action.target), "timer": .string(name)]
        ]
        details["key"] = request["key"]
        commit(next, principal, details: details)
        return remember(request, ["revision": .int(revision)], principal)
    }

    // MARK: Stores

    private mutating func create(
        _ request: JSONObject, _ session: Int, _ principal: Principal
    ) throws -> JSONObject {
        let address = request["store"]?.string ?? ""
        // Which check comes first is not said: this one does, as the type says how long the store lives.
        guard let type = world.types[Self.type(of: address)] else { throw Refusal("unknown_type") }
        if let reply = try repeated(request, principal) { return reply }
        if world.stores[address] != nil {
            if request["ifMissing"] == true { return ["revision": .int(revision), "created": false] }
            throw Refusal("exists")
        }
        let plain = try type.created(request["state"]?.object ?? [:], version: request["version"]?.int)
        var ttl = type.definition["ttl"].flatMap(ModelType.milliseconds)
        if let own = request["ttl"] { ttl = ModelType.milliseconds(own) }
        let isEphemeral = request["ephemeral"] == true
        let store = Store(
            type: type.name, plain: plain, state: type.visible(plain), revision: revision + 1,
            creator: principal.uid, session: isEphemeral ? session : nil, ttl: ttl, touched: now)
        var next = world
        next.add(store, at: address)
        var details: JSONObject = ["created": [address: store.state]]
        if isEphemeral { details["ephemeral"] = true }
        details["ttl"] = ttl.map(JSON.int)
        if isEphemeral, let name = sessions[session]?.name {
            details["session"] = .string(name)
            details["linger"] = .int(sessions[session]?.linger ?? 0)
        }
        details["key"] = request["key"]
        if isEphemeral { open(session) }
        commit(next, principal, details: details)
        return remember(request, ["revision": .int(revision), "created": true], principal)
    }

    /// Whether a principal may drop and revert a store: root and the daemon's own user, and who created it.
    private func mayChange(_ store: Store, _ principal: Principal) -> Bool {
        principal.uid == 0 || principal.uid == ownUID
            || store.creator != nil && store.creator == principal.uid
    }

    private mutating func drop(_ request: JSONObject, _ principal: Principal) throws -> JSONObject {
        if let reply = try repeated(request, principal) { return reply }
        var chosen: [String]
        if let type = request["type"]?.string {
            guard world.types[type] != nil else { throw Refusal("unknown_type") }
            let filter = Filter(request)
            chosen = world.order.filter { filter.means($0, world.stores[$0]!.state) }
        } else {
            chosen = [request["store"]?.string ?? ""]
            guard world.stores[chosen[0]] != nil else { throw Refusal("unknown_store") }
        }
        guard chosen.allSatisfy({ mayChange(world.stores[$0]!, principal) }) else {
            throw Refusal("forbidden")
        }
        if chosen.isEmpty { return ["revision": .int(revision), "matched": 0, "changed": 0] }
        var next = world
        for address in chosen { next.drop(address) }
        var details: JSONObject = ["dropped": .array(chosen.map(JSON.string))]
        details["key"] = request["key"]
        commit(next, principal, details: details)
        var reply: JSONObject = ["revision": .int(revision)]
        if request["type"] != nil {
            (reply["matched"], reply["changed"]) = (.int(chosen.count), .int(chosen.count))
        }
        return remember(request, reply, principal)
    }

    private mutating func revert(_ request: JSONObject, _ principal: Principal) throws -> JSONObject {
        let address = request["store"]?.string ?? ""
        let past = request["revision"]?.int ?? 0
        guard var store = world.stores[address] else { throw Refusal("unknown_store") }
        // Which check comes first is not said: a member of a shared bus looks for the past before it proposes.
        if !isShared, !mayChange(store, principal) { throw Refusal("forbidden") }
        if let expected = request["ifRevision"]?.int, store.revision != expected {
            throw Refusal("conflict", members: ["revision": .int(store.revision)])
        }
        let old = try state(of: address, at: past)
        guard mayChange(store, principal) else { throw Refusal("forbidden") }
        let type = world.types[store.type]!
        guard let plain = type.refined(old, of: commits[past].types[type.name] ?? type) else {
            throw Refusal("rejected", members: ["store": .string(address)])
        }
        store.plain = plain
        store.state = type.visible(plain)
        store.touched = now
        var next = world
        next.stores[address] = store
        commit(
            next, principal,
            details: [
                "reverted": ["store": .string(address), "to": .int(past)], "states": [address: store.state],
            ])
        return ["revision": .int(revision)]
    }
}

extension ModelBus {
    /// What a store was at a revision, without what is computed.
    private func state(of address: String, at past: Int) throws -> JSONObject {
        if past > revision { throw Refusal("conflict") }
        if past < oldest { throw gone }
        guard let state = commits[past].plain[address] else { throw Refusal("unknown_store") }
        return state
    }
}

extension ModelType {
    /// The state of a store that is created with these members.
    func created(_ members: JSONObject, version: Int?) throws -> JSONObject {
        let refusal = Refusal("invalid_request", members: ["member": "state"])
        if let version, version > self.version {
            throw Refusal("invalid_request", members: ["member": "version"])
        }
        var given = members
        for member in computed { given[member.key] = nil }
        if let version, version < self.version {
            guard let plain = migrated(given, from: version, of: nil), plain.keys.allSatisfy(mayHave) else {
                throw refusal
            }
            return plain
        }
        var plain = initial
        for member in given {
            if !mayHave(member.key) { throw refusal }
            plain[member.key] = member.value
        }
        if !violations(of: plain).isEmpty || breaksInvariant(plain) { throw refusal }
        return plain
    }

    /// Whether a state may have a member: definitions name it, or a payload may.
    func mayHave(_ member: String) -> Bool {
        initial[member] != nil || schemas?[member] != nil
            || schemas == nil
                && (definition["actions"]?.object ?? [:]).contains { ModelType.makesMembers($0.value) }
    }
}
