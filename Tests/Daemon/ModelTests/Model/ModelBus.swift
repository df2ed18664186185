import BusJSON

/// A whole bus as the contract describes it, without anything that makes one fast: every commit copies the world, every
/// look searches it from end to end, and every state that ever was is kept.
///
/// It takes nothing from a bus but its epoch and who its clients are.
struct ModelBus {
    struct Store {
        var type: String
        /// Without what is computed.
        var plain: JSONObject
        /// As clients see it.
        var state: JSON
        /// The last commit that changed it.
        var revision: Int
        /// Its uid; nil for a configured store.
        let creator: Int?
        /// The session with which it goes.
        let session: Int?
        let ttl: Int?
        /// When a dispatch last matched it.
        var touched: Int
        /// Decides between its lease and what else is due at one time: it counts as set when the store was created.
        var order = 0
    }

    struct Action {
        /// `type` or `store`.
        let kind: String
        let target: String
        let name: String
        var payload: JSONObject
        /// Which stores of the type are meant; nil: all.
        let condition: JSON?

        init(_ json: JSON) {
            kind = json["store"] == nil ? "type" : "store"
            target = json[kind]?.string ?? ""
            name = json["action"]?.string ?? ""
            payload = json["payload"]?.object ?? [:]
            condition = kind == "type" ? json["where"] : nil
        }

        var json: JSON {
            var members: JSONObject = [
                kind: .string(target), "action": .string(name), "payload": .object(payload),
            ]
            members["where"] = condition
            return .object(members)
        }
        var type: String { String(target.prefix { $0 != "/" }) }
    }

    struct Timer {
        let action: Action
        let name: String
        let due: Int
        let every: Int?
        let order: Int
        let principal: Principal
    }

    struct Principal {
        let uid: Int?
        let by: JSON
        /// A key of its own: a uid of one machine is not that of another.
        func named(_ key: String) -> String { "\(uid ?? -1) \(by["member"]?.string ?? "") \(key)" }
        static let daemon = Principal(uid: nil, by: ["daemon": true])
    }

    /// What a commit changes.
    struct World {
        var types: [String: ModelType] = [:]
        var stores: [String: Store] = [:]
        /// Addresses in order of creation.
        var order: [String] = []
        var timers: [Timer] = []
        var nextTimer = 0
        var states: [String: JSON] { stores.mapValues(\.state) }
    }

    struct Commit {
        let time: Int
        let by: JSON
        var actions: [JSON] = []
        /// Members of the commit in `history` beside revision, time, by and actions.
        var details: JSONObject = [:]
        var states: [String: JSON] = [:]
        var plain: [String: JSONObject] = [:]
        var types: [String: ModelType] = [:]
    }

    /// What a connection leaves behind.
    struct Session {
        var principal: Principal
        var name: String?
        var linger = 0
        var will: [Action] = []
        /// When it ends, once its connection has.
        var end: Int?
        /// Counts the sessions that leave something: those that end at one time end in this order.
        var order: Int?
    }

    struct Key {
        let request: JSON
        let reply: JSONObject
    }

    let epoch: String
    /// The daemon's user, who may drop and revert everything.
    let ownUID: Int
    /// In milliseconds since 1970; always 0 beside a bus whose time is the machine's.
    var now: Int
    var isTimed: Bool { now > 0 }
    var world = World()
    /// By revision.
    private(set) var commits: [Commit]
    /// The revision behind which everything is kept, as the next request is answered.
    var oldest = 0
    let isShared: Bool
    var sessions: [Int: Session] = [:]
    private var openedSessions = 0
    /// By client and key.
    var keys: [String: Key] = [:]
    var revision: Int { commits.count - 1 }

    /// - Parameter begun: When the commit was made that the bus begins with; nil: it begins with none.
    init(
        types: [JSON], stores: [String], epoch: String, ownUID: Int, now: Int, isShared: Bool, begun: Int?
    ) {
        (self.epoch, self.ownUID, self.now) = (epoch, ownUID, now)
        for type in types.map(ModelType.init) { world.types[type.name] = type }
        self.isShared = isShared
        commits = [Commit(time: begun ?? now, by: ["daemon": true])]
        if begun != nil {
            var first = commits[0]
            first.details["definitions"] = .array(types)
            first.types = world.types
            commits.append(first)
        }
        for address in stores { makeConfigured(address) }
    }

    private mutating func makeConfigured(_ address: String) {
        let type = world.types[Self.type(of: address)]!
        let store = Store(
            type: type.name, plain: type.initial, state: type.visible(type.initial), revision: revision + 1,
            creator: nil, session: nil, ttl: nil, touched: now)
        var next = world
        next.add(store, at: address)
        commit(next, .daemon, details: ["created": [address: store.state]])
    }

    /// A session leaves something: a will or an ephemeral store.
    mutating func open(_ session: Int) {
        guard sessions[session]?.order == nil else { return }
        sessions[session]?.order = openedSessions
        openedSessions += 1
    }

    static func type(of address: String) -> String { String(address.prefix { $0 != "/" }) }

    // MARK: Commits

    /// Makes `next` the world. A store whose visible state differs has the new revision as its own.
    ///
    /// - Parameters:
    ///   - order: The stores in the order in which their types' own timers are turned, where it is not that of all stores.
    ///   - asker: On whose behalf these are set, where it is not the principal.
    mutating func commit(
        _ next: World, _ principal: Principal, actions: [JSON] = [], details: JSONObject = [:],
        order: [String]? = nil, asker: Principal? = nil
    ) {
        let old = world
        world = next
        turnTimers(from: old, order ?? next.order, by: asker ?? principal)
        for (address, store) in next.stores {
            if let before = old.stores[address], before.state == store.state { continue }
            world.stores[address]?.revision = commits.count
        }
        commits.append(
            Commit(
                time: now, by: principal.by, actions: actions, details: details, states: world.states,
                plain: world.stores.mapValues(\.plain), types: world.types))
    }

    /// Sets the timers of types that have begun to hold for stores, and takes away those that have ended.
    private mutating func turnTimers(from old: World, _ order: [String], by principal: Principal) {
        for address in order {
            guard let store = world.stores[address], let type = world.types[store.type] else { continue }
            let before =
                old.stores[address].map { old.types[$0.type]!.timers(on: $0.state).map(\.name) } ?? []
            let now = type.timers(on: store.state)
            for name in before where !now.contains(where: { $0.name == name }) {
                world.timers.removeAll { $0.action.target == address && $0.name == name }
            }
            for (name, timer) in now where !before.contains(name) {
                let action = timer["action"]?.string ?? ""
                let given = (timer["payload"]?.object ?? [:]).reduce(into: JSONObject()) {
                    $0[$1.key] = try? type.value($1.value, of: store.state)
                }
                let payload = (try? type.accept(given, for: action)) ?? [:]
                world.set(
                    name,
                    Action([
                        "store": .string(address), "action": .string(action), "payload": .object(payload),
                    ]), due: self.now + (ModelType.milliseconds(timer["for"] ?? 0) ?? 0), principal)
            }
        }
    }

    /// What some actions come to.
    struct Applied {
        var world: World
        /// In the order in which they were matched first.
        var matched: [String] = []
        /// What each of them returns, by address.
        var returned: [JSONObject] = []
    }

    func applied(_ actions: [Action], _ principal: Principal, to world: World? = nil) throws -> Applied {
        var applied = Applied(world: world ?? self.world)
        for (index, action) in actions.enumerated() {
            do {
                applied.returned.append([:])
                try apply(action, principal, &applied)
            } catch var refusal as Refusal {
                refusal.members["index"] = .int(index)
                throw refusal
            }
        }
        return applied
    }

    /// The actions of a commit as they are told.
    func told(_ actions: [Action], _ returned: [JSONObject]) throws -> [JSON] {
        try zip(actions, returned).flatMap { action, returned in
            try world.planned(action).map { planned in
                var json = planned.json.object ?? [:]
                let own = returned.filter { member in
                    ["*", member.key, Self.type(of: member.key)].contains(planned.target)
                }
                if own.isEmpty { return .object(json) }
                if planned.kind == "store" {
                    json["result"] = own[0].value
                } else {
                    json["results"] = .object(own.reduce(into: [:]) { $0[$1.key] = $1.value })
                }
                return .object(json)
            }
        }
    }

    private func apply(_ action: Action, _ principal: Principal, _ applied: inout Applied) throws {
        for type in try applied.world.reached(action) {
            let payload = try type.accept(action.payload, for: action.name)
            for address in applied.world.order
            where applied.world.stores[address]?.type == type.name
                && (action.kind == "type" || action.target == address)
                && Filter.holds(action.condition, on: applied.world.stores[address]!.state, of: address)
            {
                let result = try apply(
                    action.name, payload, to: address, of: type, principal, &applied.world)
                applied.returned[applied.returned.count - 1][address] = result
                if !applied.matched.contains(address) { applied.matched.append(address) }
            }
        }
    }

    private func apply(
        _ action: String, _ payload: JSONObject, to address: String, of type: ModelType,
        _ principal: Principal, _ next: inout World
    ) throws -> JSON? {
        guard var store = next.stores[address] else { return nil }
        let readable = next.stores.filter { type.waitsFor.contains($0.value.type) }
        let result = try type.apply(
            action, payload, to: store.plain, store: address,
            meta: [
                "time": .double(Double(now) / 1000), "revision": .int(revision + 1),
                "uid": principal.uid.map(JSON.int) ?? .null,
            ],
            stores: .object(readable.reduce(into: [:]) { $0[$1.key] = $1.value.state }))
        store.touched = now
        if let state = result.state {
            store.plain = state
            store.state = type.visible(state)
        }
        next.stores[address] = store
        for (name, timer) in result.timers {
            guard let timer else {
                next.timers.removeAll { $0.action.target == address && $0.name == name }
                continue
            }
            next.set(
                name,
                Action(["store": .string(address), "action": timer["action"]!, "payload": timer["payload"]!]),
                due: now + max(10, timer["in"]!.int!), every: timer["every"]?.int, principal)
        }
        return result.result
    }
}

extension ModelBus.World {
    mutating func add(_ store: ModelBus.Store, at address: String) {
        stores[address] = store
        stores[address]?.order = nextTimer
        nextTimer += 1
        order.append(address)
    }

    mutating func drop(_ address: String) {
        stores[address] = nil
        order.removeAll { $0 == address }
        timers.removeAll { $0.action.target == address }
    }

    /// Sets a timer, in the place of one with the same name.
    mutating func set(
        _ name: String, _ action: ModelBus.Action, due: Int, every: Int? = nil,
        _ principal: ModelBus.Principal
    ) {
        timers.removeAll { $0.action.target == action.target && $0.name == name }
        timers.append(
            ModelBus.Timer(
                action: action, name: name, due: due, every: every, order: nextTimer, principal: principal))
        nextTimer += 1
    }

    /// The types that an action reaches, in the order in which they commit; refused if there is not what it names.
    func reached(_ action: ModelBus.Action) throws -> [ModelType] {
        if action.target == "*" {
            var waiting = types.values.sorted { $0.name < $1.name }
            var reached: [ModelType] = []
            while let next = waiting.first(where: { type in
                !waiting.contains { type.waitsFor.contains($0.name) }
            }) {
                waiting.removeAll { $0.name == next.name }
                if next.action(action.name) != nil { reached.append(next) }
            }
            if reached.isEmpty { throw Refusal("unknown_action") }
            for type in reached { _ = try type.accept(action.payload, for: action.name) }
            return reached
        }
        guard let type = types[action.type] else { throw Refusal("unknown_type") }
        _ = try type.accept(action.payload, for: action.name)
        if action.kind == "store", stores[action.target] == nil { throw Refusal("unknown_store") }
        return [type]
    }

    /// An action as commits tell it, with the defaults of its payload: where types fill in different ones, an action for each of
    /// them. Refused if there is not what it names.
    func planned(_ action: ModelBus.Action) throws -> [ModelBus.Action] {
        let payloads = try reached(action).map { ($0.name, try $0.accept(action.payload, for: action.name)) }
        if payloads.allSatisfy({ $0.1 == payloads[0].1 }) {
            var planned = action
            planned.payload = payloads[0].1
            return [planned]
        }
        return payloads.map { type, payload in
            var json = action.json.object ?? [:]
            (json["type"], json["payload"]) = (.string(type), .object(payload))
            return ModelBus.Action(.object(json))
        }
    }
}
