import BusJSON

/// Why the contract refuses a request.
struct Refusal: Error {
    /// Usually one; several where the contract leaves open which check comes first.
    let codes: Set<String>
    /// Members of the error beside `code` and `message`.
    var members: JSONObject
    /// Where several writes fail, `path` is one of these: which of them is named is not promised.
    var paths: Set<String> = []

    init(_ codes: String..., members: JSONObject = [:]) {
        self.codes = Set(codes)
        self.members = members
    }
}

/// A state type, read from its definition each time that something is asked.
struct ModelType {
    let definition: JSON
    let name: String

    init(_ definition: JSON) {
        self.definition = definition
        name = definition["type"]?.string ?? ""
    }

    var version: Int { definition["version"]?.int ?? 1 }
    var computed: JSONObject { definition["computed"]?.object ?? [:] }
    var waitsFor: [String] { definition["waitFor"]?.array?.compactMap(\.string) ?? [] }
    var schemas: JSONObject? { definition["state"]?.object }
    func action(_ name: String) -> JSON? { definition["actions"]?[name] }

    /// The state of a new store, without what is computed.
    var initial: JSONObject {
        var state = definition["initial"]?.object ?? [:]
        for member in schemas ?? [:] where state[member.key] == nil {
            state[member.key] = member.value["default"]
        }
        return state
    }

    /// `let`, on the data that its expressions see.
    private func names(on data: JSON) -> ModelExpression.Names {
        ModelExpression.Names(rules: definition["let"]?.object ?? [:], data: data)
    }

    /// The value of an expression on a state itself, whose names see it as `state`.
    func value(_ rule: JSON, of state: JSON) throws -> JSON {
        try ModelExpression.evaluate(rule, on: state, names(on: ["state": state]))
    }

    /// A state as clients see it.
    func visible(_ plain: JSONObject) -> JSON {
        var state = plain
        // Computed members may read each other: each is worked out from what it reads, in as many rounds as there are.
        for _ in computed {
            for member in computed {
                state[member.key] = (try? value(member.value, of: .object(state))) ?? .null
            }
        }
        return .object(state)
    }

    /// The paths of what the schema of the state does not allow, at most one in each member.
    func violations(of state: JSONObject) -> [String] {
        guard let schemas else { return [] }
        let missing = schemas.filter { state[$0.key] == nil }.map(\.key)
        return missing
            + state.compactMap { member in
                guard let schema = schemas[member.key].map(ModelSchema.init) else { return member.key }
                return schema.violation(of: member.value, at: [member.key])?.joined(separator: ".")
            }
    }

    /// Whether the type says that no state is like that.
    func breaksInvariant(_ plain: JSONObject) -> Bool {
        (definition["invariant"]?.array ?? []).contains { element in
            let value = try? value(element["if"] ?? .null, of: visible(plain))
            return !(value.map(ModelExpression.isTrue) ?? false)
        }
    }

    /// The timers of the type that have to be set on a state, by their names.
    func timers(on state: JSON) -> [(name: String, timer: JSON)] {
        (definition["timers"]?.object ?? [:]).compactMap { member in
            let value = try? value(member.value["while"] ?? .null, of: state)
            return value.map(ModelExpression.isTrue) == true ? (member.key, member.value) : nil
        }
    }

    // MARK: Actions

    /// The payload with defaults filled in.
    func accept(_ payload: JSONObject, for action: String) throws -> JSONObject {
        guard let definition = self.action(action) else { throw Refusal("unknown_action") }
        let refusal = Refusal("invalid_payload", members: ["action": .string(action)])
        let schemas = definition["payload"]?.object ?? [:]
        var result = payload
        for member in payload where schemas[member.key] == nil { throw refusal }
        for member in schemas {
            let schema = ModelSchema(member.value)
            guard let value = payload[member.key] else {
                guard let value = schema.words["default"] else {
                    if schema.isOptional { continue }
                    throw refusal
                }
                result[member.key] = value
                continue
            }
            if schema.violation(of: value, at: []) != nil { throw refusal }
        }
        return result
    }

    /// What an action makes of a state: the new one, nil where `when` does not hold, the timers it sets or takes away, and
    /// what it returns.
    func apply(
        _ action: String, _ payload: JSONObject, to plain: JSONObject, store: String, meta: JSON, stores: JSON
    ) throws -> (state: JSONObject?, timers: [(name: String, timer: JSON?)], result: JSON?) {
        let definition = self.action(action) ?? [:]
        var data: JSON = [
            "state": visible(plain), "payload": .object(payload), "store": .string(store), "meta": meta,
            "stores": stores,
        ]
        func refusal(_ path: String? = nil) -> Refusal {
            var members: JSONObject = ["store": .string(store), "action": .string(action)]
            members["path"] = path.map(JSON.string)
            return Refusal("rejected", members: members)
        }
        func names() -> ModelExpression.Names {
            var known = data.object ?? [:]
            known["payload"] = nil
            return self.names(on: .object(known))
        }
        func value(_ rule: JSON) throws -> JSON {
            do { return try ModelExpression.evaluate(rule, on: data, names()) } catch { throw refusal() }
        }
        if let condition = definition["when"] {
            // One that fails is false.
            let holds = try? ModelExpression.evaluate(condition, on: data, names())
            guard let holds, ModelExpression.isTrue(holds) else { return (nil, [], nil) }
        }
        for requirement in definition["require"]?.array ?? []
        where !ModelExpression.isTrue(try value(requirement["if"] ?? .null)) { throw refusal() }
        let writes: [ModelWrite]
        do {
            writes = try Self.writes(of: definition, on: data, names())
        } catch let found as ModelWrite.Failure { throw refusal(found.path) }
        let timers = try (definition["timers"]?.object ?? [:]).map { member in
            (
                try Self.name(member.key, visible(plain), refusal()),
                try timer(member.value, refusal(), value: { try value($0) })
            )
        }
        var state = plain
        var broken: Set<String> = []
        func failure(at paths: [String]) -> Refusal {
            var refusal = refusal(paths[0])
            refusal.paths = broken.union(paths)
            return refusal
        }
        for write in writes {
            let member = write.path[0]
            let isNew = write.isPatch && write.path.count == 1 && initial[member] == nil
            if computed[member] != nil || isNew { throw failure(at: [member]) }
            do { state = try write.apply(to: state) } catch let found as ModelWrite.Failure {
                throw failure(at: [found.path ?? member])
            }
            broken.formUnion(violations(of: state))
        }
        let violations = violations(of: state)
        if !violations.isEmpty { throw failure(at: violations) }
        if breaksInvariant(state) { throw refusal() }
        var after = data.object ?? [:]
        after["state"] = visible(state)
        data = .object(after)
        return (state, timers, try definition["returns"].map { try value($0) })
    }

    /// A timer with its time in milliseconds from now on, or nil if it is taken away.
    private func timer(_ rule: JSON, _ refusal: Refusal, value: (JSON) throws -> JSON) throws -> JSON? {
        if rule.isNull { return nil }
        let every = rule["every"].flatMap(Self.milliseconds)
        let delay = try value(rule["in"] ?? rule["every"] ?? .null)
        guard let milliseconds = Self.milliseconds(delay), milliseconds <= Self.farthest else {
            throw refusal
        }
        let action = rule["action"]?.string ?? ""
        let payload: JSONObject
        do {
            var given = JSONObject()
            for member in rule["payload"]?.object ?? [:] { given[member.key] = try value(member.value) }
            payload = try accept(given, for: action)
        } catch { throw refusal }
        var timer: JSONObject = [
            "in": .int(milliseconds), "action": .string(action), "payload": .object(payload),
        ]
        timer["every"] = every.map(JSON.int)
        return .object(timer)
    }

    /// The part of a timer's name that is an expression.
    static let nameExpression = "{state.n % 3}"

    private static func name(_ template: String, _ state: JSON, _ refusal: Refusal) throws -> String {
        guard template.hasSuffix(nameExpression) else { return template }
        guard let number = state["n"]?.int else { throw refusal }
        return "\(template.dropLast(nameExpression.count))\(number % 3)"
    }

    /// Ten years, as far ahead as a timer may be.
    static let farthest = 10 * 366 * 86_400_000

    /// A length of time in milliseconds.
    static func milliseconds(_ length: JSON) -> Int? {
        if let seconds = length.double { return seconds < 0 ? nil : Int(exactly: (seconds * 1000).rounded()) }
        guard let text = length.string, let unit = text.last.map(String.init),
            let scale = ["s": 1000, "m": 60_000, "h": 3_600_000][unit], let count = Int(text.dropLast())
        else { return nil }
        return count * scale
    }

    // MARK: Versions

    /// A state of an earlier version, as this one has it; nil where a step fails or what comes out does not fit.
    func migrated(_ plain: JSONObject, from version: Int, of old: ModelType?) -> JSONObject? {
        var state = plain
        for step in version..<max(version, self.version) {
            let data: JSON = ["state": .object(state)]
            let rules = definition["migrate"]?["\(step)"] ?? [:]
            guard let writes = try? Self.writes(of: rules, on: data, names(on: data)) else { return nil }
            for write in writes {
                guard let next = try? write.apply(to: state) else { return nil }
                state = next
            }
        }
        // What an action had taken away stays away, unless every state has it.
        for member in initial where state[member.key] == nil {
            if old?.initial[member.key] == nil || schemas != nil { state[member.key] = member.value }
        }
        return violations(of: state).isEmpty && !breaksInvariant(state) ? state : nil
    }
}
