import BusJSON

/// What happens without a request: timers, leases, sessions that end, new definitions.
extension ModelBus {
    /// When the next thing is due.
    var nextDue: Int? {
        (world.timers.map(\.due)
            + world.stores.values.compactMap { store in store.ttl.map { store.touched + $0 } }
            + sessions.values.compactMap(\.end)).min()
    }

    /// Lets it be `time`, and everything happen that is due by then.
    mutating func advance(to time: Int) {
        now = max(now, time)
        while let due = nextDue, due <= now {
            // Of what is due at one time, sessions end first, and then what was set first comes first.
            if let session = sessionsInOrder.first(where: { sessions[$0]?.end == due }) {
                end(session)
                continue
            }
            let timer = world.timers.filter { $0.due == due }.min { $0.order < $1.order }
            let lease = world.stores.filter { store in
                store.value.ttl.map { store.value.touched + $0 == due } ?? false
            }.min { $0.value.order < $1.value.order }
            if let timer, timer.order < lease?.value.order ?? .max {
                fire(timer)
            } else if let address = lease?.key {
                var next = world
                next.drop(address)
                commit(next, .daemon, details: ["dropped": [.string(address)]])
            }
        }
    }

    private mutating func fire(_ timer: Timer) {
        let kind = timer.action.kind
        var by = timer.principal.by.object ?? [:]
        by["timer"] = .string(timer.name)
        let principal = Principal(uid: timer.principal.uid, by: .object(by))
        var told: JSONObject = [kind: .string(timer.action.target), "timer": .string(timer.name)]
        told["every"] = timer.every.map(JSON.int)
        let details: JSONObject = ["fired": .object(told)]
        var next = world
        next.timers.removeAll { $0.action.target == timer.action.target && $0.name == timer.name }
        if let every = timer.every {
            var due = timer.due + every
            while due <= now { due += every }
            next.set(timer.name, timer.action, due: due, every: every, timer.principal)
        }
        do {
            // A timer that the action sets belongs to the principal of this one.
            let fired = try applied([timer.action], principal, to: next)
            commit(
                fired.world.timersSet(by: timer.principal, after: next), principal,
                actions: try self.told([timer.action], fired.returned), details: details,
                order: fired.matched, asker: timer.principal)
        } catch {
            commit(next, principal, details: details)
        }
    }

    // MARK: Sessions

    /// In the order in which they first left something.
    var sessionsInOrder: [Int] {
        sessions.keys.sorted {
            (sessions[$0]?.order ?? .max, $0) < (sessions[$1]?.order ?? .max, $1)
        }
    }

    mutating func connect(_ session: Int, uid: Int, by: JSON) {
        sessions[session] = Session(principal: Principal(uid: uid, by: by))
    }

    /// Names a session. Gives the number of the one that it takes over, and whether that had left something.
    mutating func name(_ session: Int, _ name: String, linger: Int) -> (session: Int, left: Bool)? {
        let uid = sessions[session]?.principal.uid
        guard
            let old = sessions.first(where: {
                $0.key != session && $0.value.name == name && $0.value.principal.uid == uid
            })
        else {
            sessions[session]?.name = name
            sessions[session]?.linger = linger
            return nil
        }
        let left = !old.value.will.isEmpty || world.stores.values.contains { $0.session == old.key }
        let principal = sessions[session]!.principal
        sessions[session] = nil
        sessions[old.key]?.principal = principal
        sessions[old.key]?.linger = linger
        sessions[old.key]?.end = nil
        return (old.key, left)
    }

    /// The connection of a session ends.
    mutating func disconnect(_ session: Int) {
        if let linger = sessions[session]?.linger, linger > 0 {
            sessions[session]?.end = now + linger
        } else {
            end(session)
        }
    }

    /// The will, then the ephemeral stores, as one commit.
    mutating func end(_ session: Int) {
        guard let ended = sessions.removeValue(forKey: session) else { return }
        var next = world
        var actions: [JSON] = []
        var matched: [String] = []
        if !ended.will.isEmpty,
            let applied = try? applied(ended.will, ended.principal),
            let told = try? told(ended.will, applied.returned)
        {
            next = applied.world
            actions = told
            matched = applied.matched
        }
        let mine = world.order.filter { world.stores[$0]?.session == session }
        for address in mine { next.drop(address) }
        if actions.isEmpty && mine.isEmpty { return }
        commit(
            next, ended.principal, actions: actions,
            details: mine.isEmpty ? [:] : ["dropped": .array(mine.map(JSON.string))], order: matched)
    }

    // MARK: Definitions

    /// New definitions, all or none: what was migrated, or nil if they do not fit.
    mutating func reload(_ definitions: [JSON], _ principal: Principal) -> [JSON]? {
        var next = world
        var migrated: [JSON] = []
        var states = JSONObject()
        var changed: [JSON] = []
        for type in definitions.map(ModelType.init) {
            guard let old = world.types[type.name] else { continue }
            if type.version < old.version { return nil }
            if type.definition == old.definition { continue }
            changed.append(type.definition)
            next.types[type.name] = type
            var count = 0
            for address in next.order where next.stores[address]?.type == type.name {
                guard var store = next.stores[address], let plain = type.refined(store.plain, of: old) else {
                    return nil
                }
                count += 1
                if plain != store.plain { states[address] = type.visible(plain) }
                store.plain = plain
                store.state = type.visible(plain)
                next.stores[address] = store
            }
            if type.version > old.version {
                migrated.append([
                    "type": .string(type.name), "from": .int(old.version), "to": .int(type.version),
                    "stores": .int(count),
                ])
            }
        }
        var details: JSONObject = [:]
        if !changed.isEmpty { details["definitions"] = .array(changed) }
        // In the order in which the definitions come.
        let order = definitions.compactMap { $0["type"]?.string }.flatMap { type in
            next.order.filter { next.stores[$0]?.type == type }
        }
        commit(next, principal, details: details, order: order, asker: .daemon)
        return migrated
    }
}

extension ModelType {
    /// A state of the definition before, as this one has it; nil if it does not fit.
    func refined(_ plain: JSONObject, of old: ModelType) -> JSONObject? {
        if version > old.version { return migrated(plain, from: old.version, of: old) }
        var state = plain
        // Only what `initial` gained: a member that an action has taken away stays away.
        for member in initial where old.initial[member.key] == nil && state[member.key] == nil {
            state[member.key] = member.value
        }
        return violations(of: state).isEmpty && !breaksInvariant(state) ? state : nil
    }
}

extension ModelBus.World {
    /// Timers that came since are by who set the one that fired.
    func timersSet(by principal: ModelBus.Principal, after before: ModelBus.World) -> ModelBus.World {
        var world = self
        world.timers = timers.map { timer in
            timer.order < before.nextTimer
                ? timer
                : ModelBus.Timer(
                    action: timer.action, name: timer.name, due: timer.due, every: timer.every,
                    order: timer.order, principal: principal)
        }
        return world
    }
}
