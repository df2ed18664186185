import BusJSON

/// Requests that read.
extension ModelBus {
    func get(_ request: JSONObject) throws -> JSONObject {
        let filter = Filter(request)
        let at = request["revision"]?.int ?? revision
        if at > revision { throw Refusal("conflict") }
        if at < oldest { throw gone }
        // A single store that does not exist is unknown, even if its type is, too.
        guard request["store"] != nil || filter.hasType(world) else { throw Refusal("unknown_type") }
        let states = commits[at].states
        if let address = request["store"]?.string, states[address] == nil { throw Refusal("unknown_store") }
        let (page, next) = page(Array(states.filter { filter.means($0.key, $0.value) }.keys), request)
        var reply: JSONObject = [
            "revision": .int(at),
            "states": .object(page.reduce(into: [:]) { $0[$1] = filter.selected(states[$1]!) }),
        ]
        reply["next"] = next
        return reply
    }

    func stores(_ request: JSONObject) -> JSONObject {
        let filter = Filter(request)
        let (page, next) = page(
            Array(world.stores.filter { filter.means($0.key, $0.value.state) }.keys), request)
        let list = page.map { address -> JSON in
            let store = world.stores[address]!
            var members: JSONObject = [
                "store": .string(address), "revision": .int(store.revision),
                "ephemeral": .bool(store.session != nil),
            ]
            members["ttl"] = store.ttl.map(JSON.int)
            return .object(members)
        }
        var reply: JSONObject = ["stores": .array(list)]
        reply["next"] = next
        return reply
    }

    private func page(_ addresses: [String], _ request: JSONObject) -> ([String], next: JSON?) {
        let after = request["after"]?.string
        let rest = addresses.filter {
            after == nil || Array(after!.utf8).lexicographicallyPrecedes(Array($0.utf8))
        }
        .sorted { Array($0.utf8).lexicographicallyPrecedes(Array($1.utf8)) }
        let limit = request["limit"]?.int ?? 1000
        return (Array(rest.prefix(limit)), rest.count > limit ? .string(rest[limit - 1]) : nil)
    }

    /// Timers of stores that match, and of types all of whose stores do.
    func timers(_ request: JSONObject) -> JSONObject {
        let filter = Filter(request)
        let pending = world.timers.filter { timer in
            timer.action.kind == "store"
                ? filter.matches(timer.action.target) : filter.matchesAll(of: timer.action.target)
        }.sorted { ($0.due, $0.action.target, $0.name) < ($1.due, $1.action.target, $1.name) }
        let limit = request["limit"]?.int ?? 1000
        let list = pending.prefix(limit).map { timer -> JSON in
            var members = timer.action.json.object ?? [:]
            members["timer"] = .string(timer.name)
            members["due"] = .int(timer.due)
            members["every"] = timer.every.map(JSON.int)
            members["by"] = timer.principal.by
            return .object(members)
        }
        var reply: JSONObject = ["revision": .int(revision), "timers": .array(list)]
        // What it holds is the bus's own affair.
        if pending.count > limit { reply["next"] = "…" }
        return reply
    }

    // MARK: The past

    /// What is asked for is not kept.
    var gone: Refusal { Refusal("conflict", members: ["oldest": .int(oldest)]) }

    func history(_ request: JSONObject) throws -> JSONObject {
        let since = request["since"]?.int ?? oldest
        let until = min(request["until"]?.int ?? revision, revision)
        if since < oldest { throw gone }
        let limit = request["limit"]?.int ?? 100
        let found = since < until ? (since + 1...until).filter { concerns($0, request) } : []
        var reply: JSONObject = [
            "commits": .array(found.prefix(limit).map { commitTold($0) }), "oldest": .int(oldest),
        ]
        if found.count > limit { reply["next"] = .int(found[limit - 1]) }
        return reply
    }

    func commitTold(_ revision: Int) -> JSON {
        let commit = commits[revision]
        var members = commit.details
        members["revision"] = .int(revision)
        members["time"] = .int(commit.time)
        members["by"] = commit.by
        members["actions"] = .array(commit.actions)
        return .object(members)
    }

    /// Whether a commit concerns the `type` or the `store` of a request.
    func concerns(_ revision: Int, _ request: JSONObject) -> Bool {
        guard let wanted = request["store"]?.string ?? request["type"]?.string else { return true }
        let commit = commits[revision]
        func fits(_ target: String?, _ action: String? = nil) -> Bool {
            guard let target else { return false }
            let type = Self.type(of: wanted)
            if target == "*" { return world.types[type]?.action(action ?? "") != nil }
            return target == wanted || target == type || wanted == type && Self.type(of: target) == type
        }
        if commit.actions.contains(where: {
            fits($0["store"]?.string ?? $0["type"]?.string, $0["action"]?.string)
        }) {
            return true
        }
        if let definitions = commit.details["definitions"] {
            return definitions.array?.contains { $0["type"]?.string == Self.type(of: wanted) } ?? false
        }
        let addresses =
            (commit.details["created"]?.object?.keys ?? []) + (commit.details["states"]?.object?.keys ?? [])
            + (commit.details["dropped"]?.array?.compactMap(\.string) ?? [])
        if addresses.contains(where: { fits($0) }) { return true }
        return ["scheduled", "cancelled", "fired"].contains {
            let timer = commit.details[$0]
            return fits(timer?["store"]?.string ?? timer?["type"]?.string)
        }
    }
}

/// Subscriptions to actions.
extension ModelBus {
    /// Whether a subscription to actions receives an action of a commit: one to a store that it means, and one to a type if it
    /// means any store of it, there or not; with `where`, of those that it means before the commit or after it.
    func concerns(_ action: JSON, of revision: Int, _ filter: Filter) -> Bool {
        let states = [commits[revision - 1].states, commits[revision].states]
        if let store = action["store"]?.string {
            return filter.matches(store)
                && (filter.condition == nil
                    || states.contains { $0[store].map { filter.means(store, $0) } ?? false })
        }
        let target = action["type"]?.string ?? ""
        return world.types.values.contains { type in
            (target == type.name || target == "*" && type.action(action["action"]?.string ?? "") != nil)
                && filter.meansAny(of: type.name)
                && (filter.condition == nil
                    || states.contains {
                        $0.contains { Self.type(of: $0.key) == type.name && filter.means($0.key, $0.value) }
                    })
        }
    }
}

/// Which stores a request means, and what of them.
struct Filter {
    let store: String?
    let type: String?
    let match: String
    private(set) var select: [String]?
    /// `where`.
    private(set) var condition: JSON?

    init(_ request: JSONObject) {
        condition = request["where"]
        store = request["store"]?.string
        type = request["type"]?.string
        match = request["match"]?.string ?? "*/*"
        select = request["select"]?.array?.compactMap(\.string)
    }

    /// A type that is named must be there; one that is only described need not.
    func hasType(_ world: ModelBus.World) -> Bool {
        let name = store ?? type ?? match
        return name.prefix { $0 != "/" }.contains { "*?".contains($0) }
            || world.types[ModelBus.type(of: name)] != nil
    }

    func matches(_ address: String) -> Bool {
        if let store { return address == store }
        if let type { return ModelBus.type(of: address) == type }
        return Self.matches(Array(match.utf8)[...], Array(address.utf8)[...])
    }

    /// Whether it means a store with this state.
    func means(_ address: String, _ state: JSON) -> Bool {
        matches(address) && Self.holds(condition, on: state, of: address)
    }

    /// Whether an expression holds: JsonLogic, or one of the texts that `RandomRequests` writes. Where it has no value, it does
    /// not.
    static func holds(_ condition: JSON?, on state: JSON, of address: String) -> Bool {
        guard let condition else { return true }
        if let text = condition.string {
            let words = text.split(separator: " ").map(String.init)
            if words[0] == "store" { return (words[1] == "==") == (words[2] == "'\(address)'") }
            let value = state[words[0].split(separator: ".").last.map(String.init) ?? ""]
            guard let value = value?.double, let bound = Double(words[2]) else { return false }
            return words[1] == "<" ? value < bound : words[1] == "==" ? value == bound : value >= bound
        }
        var data = state.object ?? [:]
        if data["state"] == nil { data["state"] = state }
        if data["store"] == nil { data["store"] = .string(address) }
        return (try? ModelExpression.evaluate(condition, on: .object(data))).map(ModelExpression.isTrue)
            ?? false
    }

    /// Whether a store of a type may match.
    func meansAny(of type: String) -> Bool {
        let pattern = (store ?? self.type ?? match).utf8.prefix { $0 != UInt8(ascii: "/") }
        return Self.matches(Array(pattern)[...], Array(type.utf8)[...])
    }

    /// Whether all stores match that a type may have.
    func matchesAll(of type: String) -> Bool {
        match.hasSuffix("/*")
            && Self.matches(Array(match.utf8).dropLast(2), Array(type.utf8)[...])
    }

    static func matches(_ pattern: ArraySlice<UInt8>, _ text: ArraySlice<UInt8>) -> Bool {
        guard let first = pattern.first else { return text.isEmpty }
        let slash = UInt8(ascii: "/")
        if first == UInt8(ascii: "*") {
            return matches(pattern.dropFirst(), text)
                || text.first.map { $0 != slash } == true && matches(pattern, text.dropFirst())
        }
        guard let letter = text.first, first == letter || first == UInt8(ascii: "?") && letter != slash else {
            return false
        }
        return matches(pattern.dropFirst(), text.dropFirst())
    }

    // MARK: Selecting

    func selected(_ state: JSON) -> JSON {
        guard let select else { return state }
        return select.map { $0.split(separator: "/").map(String.init)[...] }
            .reduce(.object([:])) { Self.adding($1, of: state, to: $0) ?? $0 }
    }

    /// `part` with what stands at a path of `whole`, and its parents; nil where nothing stands there.
    private static func adding(_ path: ArraySlice<String>, of whole: JSON, to part: JSON) -> JSON? {
        guard let key = path.first else { return whole }
        if whole.array != nil { return whole }
        guard whole.object != nil, var members = part.object else { return nil }
        guard let inner = whole[key],
            let added = adding(path.dropFirst(), of: inner, to: members[key] ?? .object([:]))
        else { return part }
        members[key] = added
        return .object(members)
    }

    /// The same without what depends on states.
    var byAddress: Filter {
        var all = self
        (all.select, all.condition) = (nil, nil)
        return all
    }

    /// What it shows of all these states.
    func shown(_ states: [String: JSON]) -> [String: JSON] {
        states.filter { means($0.key, $0.value) }.mapValues(selected)
    }
}
