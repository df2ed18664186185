import BusJSON
import BusProtocol
import BusSource
import BusState

/// Compiles roles and rules. All mistakes are found at once, each with its place and what to write instead.
struct AccessLoader {
    /// The types that the rules are written for; nil for those of a log, which are only read.
    private let types: [any StateType]?
    let mistakes: Mistakes

    init(types: [any StateType]?) {
        self.types = types
        mistakes = Mistakes(isStrict: types != nil)
    }

    private static let ruleMembers = ["role", "may", "match", "actions", "if", "select", "maxStores"]
    /// What the condition of a rule may read.
    private static let data = ["state", "payload", "store", "meta", "who"]

    mutating func load(_ source: LocatedValue) -> (roles: [AccessRole], rules: [AccessRule]) {
        let nothing: ([AccessRole], [AccessRule]) = ([], [])
        guard let object = collect({ () throws(SourceError) in try source.object("access") }) else {
            return nothing
        }
        collect { () throws(SourceError) in
            try object.refuseMembers(besides: ["roles", "rules"], of: "access")
        }
        guard
            let listed = collect({ () throws(SourceError) in
                try object.required("roles", of: "access").object("roles")
            }),
            let written = collect({ () throws(SourceError) in
                try object.required("rules", of: "access").array("rules")
            })
        else { return nothing }
        let roles = listed.members.compactMap { member in
            collect { () throws(SourceError) in try role(member) }
        }
        let names = listed.keys
        let rules = written.enumerated().compactMap { number, rule in
            collect { () throws(SourceError) in try self.rule(rule, number: number, roles: names) }
        }
        if mistakes.isEmpty, !rules.contains(where: \.grantsManage) {
            mistakes.doubt(
                "No rule without match has may: manage, so nobody could ever change these rules; give one to a role that you have.",
                at: object.place)
        }
        return (roles, rules)
    }

    private func collect<Value>(_ body: () throws(SourceError) -> Value) -> Value? { mistakes.collect(body) }

    @discardableResult
    private func collect(_ body: () throws(SourceError) -> Void) -> Void? { mistakes.collect(body) }

    // MARK: Roles

    private func role(_ member: LocatedObject.Member) throws(SourceError) -> AccessRole {
        guard Names.isTypeName(member.key) else {
            throw SourceError(
                "A role can't be called \(member.key); \(Names.typeNameRule).",
                at: member.place)
        }
        let elements = try member.value.array("the role \(member.key)")
        if elements.isEmpty {
            mistakes.doubt(
                "Nobody can have the role \(member.key); list who has it, or take it out.", at: member.place)
        }
        return AccessRole(
            name: member.key, place: member.place,
            lines: elements.compactMap { element in
                collect { () throws(SourceError) in try line(element) }
            })
    }

    private func line(_ element: LocatedValue) throws(SourceError) -> AccessRole.Line {
        var line = AccessRole.Line()
        if case .scalar(.string(let text)) = element.content {
            guard text == "everyone" else {
                throw element.failure("\(text) does not say who it is; write everyone, or { user: \(text) }.")
            }
            return line
        }
        let object = try element.object("each line of a role")
        try object.refuseMembers(besides: AccessRole.members, of: "a line of a role")
        guard !object.isEmpty else {
            throw element.failure("This line names nobody; write everyone if all of them are meant.")
        }
        guard object.members.contains(where: { $0.key != "client" }) else {
            throw element.failure(
                "Any program may call itself by this name; also name its user, uid, group, unit, token or certificate."
            )
        }
        for member in object.members {
            if member.key == "uid" {
                line.uid = try member.value.int("uid", in: 0...Int(UInt32.max))
            } else {
                line.patterns.append((member.key, Glob(Array(try member.value.string(member.key).utf8))))
            }
        }
        return line
    }

    // MARK: Rules

    private func rule(
        _ source: LocatedValue, number: Int, roles: [String]
    ) throws(SourceError) -> AccessRule {
        let object = try source.object("each of rules")
        try object.refuseMembers(besides: Self.ruleMembers, of: "a rule")
        let role = try object.required("role", of: "A rule").word("role", among: roles)
        let may = try capabilities(try object.required("may", of: "A rule"))
        let match = try patterns(object["match"])
        let actions = try self.actions(object["actions"], may, match)
        let condition = try self.condition(object["if"], may)
        let parts = try self.parts(object["select"], may)
        let maxStores = try object["maxStores"]?.int("maxStores", in: 1...Int.max) ?? .max
        let rule = AccessRule(
            number: number, role: role, may: may, match: match, actions: actions, condition: condition,
            readsState: condition?.reads.contains("state") == true
                || object["if"].map { Self.readsState($0.json) } ?? false,
            parts: parts, maxStores: maxStores, place: source.place)
        try review(rule, may: object["may"]!)
        return rule
    }

    /// Finds words that allow nothing in the rule that they stand in.
    private func review(_ rule: AccessRule, may: LocatedValue) throws(SourceError) {
        for (word, element) in try strings(may, "may") {
            if word == "manage", !rule.coversEverything {
                mistakes.doubt(
                    "manage is about the whole bus, and this rule about some stores only; allow it in a rule without match.",
                    at: element.place)
            }
        }
    }

    private func strings(_ value: LocatedValue, _ name: String) throws(SourceError) -> [(
        String, LocatedValue
    )] {
        if case .scalar(.string(let text)) = value.content { return [(text, value)] }
        var found: [(String, LocatedValue)] = []
        for element in try value.array(name) {
            found.append((try element.string("each of \(name)"), element))
        }
        guard !found.isEmpty else {
            throw value.failure("\(name) is empty; leave it out, or list something.")
        }
        return found
    }

    private func capabilities(_ value: LocatedValue) throws(SourceError) -> Capability {
        var may: Capability = []
        for (_, element) in try strings(value, "may") {
            let word = try element.word("may", among: Capability.named.map(\.key))
            for (name, capability) in Capability.named where name == word { may.formUnion(capability) }
        }
        return may
    }

    private func patterns(_ value: LocatedValue?) throws(SourceError) -> [AddressPattern] {
        guard let value else { return [AddressPattern(type: "*")] }
        var patterns: [AddressPattern] = []
        for (text, element) in try strings(value, "match") {
            var text = text
            guard let pattern = text.withUTF8({ AddressPattern(UnsafeRawBufferPointer($0)) }) else {
                throw element.failure(
                    "\(text) is not a pattern of addresses; write TYPE/NAME, such as light/*.")
            }
            if let types, !types.contains(where: { pattern.type.matches($0.name) }) {
                let name = String(decoding: pattern.type.pattern, as: UTF8.self)
                mistakes.doubt(
                    "\(text) matches no store, because there is no type \(name); \(suggestion(for: name, among: types.map(\.name)))",
                    at: element.place)
            }
            patterns.append(pattern)
        }
        return patterns
    }

    private func actions(
        _ value: LocatedValue?, _ may: Capability, _ match: [AddressPattern]
    ) throws(SourceError) -> [String]? {
        guard let value else { return nil }
        if !may.contains(.dispatch) {
            mistakes.doubt(
                "actions goes with may: dispatch; add that, or leave actions out.", at: value.place)
        }
        var actions: [String] = []
        for (text, element) in try strings(value, "actions") {
            let known = (types ?? []).filter { type in match.contains { $0.type.matches(type.name) } }
                .flatMap(\.actionNames)
            if types != nil, !known.isEmpty, !known.contains(where: { UTF8Order.equal($0, text) }) {
                mistakes.doubt(
                    "No type that this rule matches has an action \(text); \(suggestion(for: text, among: known))",
                    at: element.place)
            }
            actions.append(text)
        }
        return actions
    }

    private func condition(_ value: LocatedValue?, _ may: Capability) throws(SourceError) -> Expression? {
        guard let value else { return nil }
        if may.isDisjoint(with: [.dispatch, .create]) {
            mistakes.doubt(
                "if decides about dispatches and new stores, and this rule allows neither; leave it out.",
                at: value.place)
        }
        let condition =
            if case .scalar(.string(let text)) = value.content {
                try Expression.compile(
                    text: text, isCondition: true, names: .only(Self.data), isLenient: types == nil,
                    at: value.place)
            } else {
                try Expression.compile(value)
            }
        if let constant = condition.constant {
            mistakes.doubt(
                "This condition is always \(constant.isTruthy ? "true" : "false"); let it read the state, the payload or who asks, or leave it out.",
                at: value.place)
        }
        check(value)
        return condition
    }

    /// Whether an expression may read the state: all texts of it are taken for paths.
    private static func readsState(_ expression: JSON) -> Bool {
        switch expression {
        case .string(let text): text.isEmpty || text == "state" || text.hasPrefix("state.")
        case .array(let elements): elements.isEmpty || elements.contains(where: readsState)
        case .object(let object): object.members.contains { readsState($0.value) }
        default: false
        }
    }

    /// Finds paths that lead nowhere, outside of iterations, which have data of their own.
    private func check(_ value: LocatedValue) {
        switch value.content {
        case .scalar: break
        case .array(let elements): for element in elements { check(element) }
        case .object(let object):
            if object.count == 1, let member = object.members.first, ["var", "val"].contains(member.key) {
                return check(path: member.value)
            }
            for member in object.members
            where !["map", "filter", "reduce", "all", "some", "none", "try", "literal", "preserve", "find"]
                .contains(member.key)
            {
                check(member.value)
            }
        }
    }

    private func check(path value: LocatedValue) {
        var place = value
        if case .array(let elements) = value.content {
            guard let first = elements.first else { return }
            place = first
        }
        guard case .scalar(.string(let text)) = place.content else { return check(place) }
        let root = String(text.prefix { $0 != "." })
        if root.isEmpty || Self.data.contains(root) { return }
        mistakes.doubt(
            "a rule can't read \(root); \(suggestion(for: root, among: Self.data))",
            at: place.place)
    }

    private func parts(_ value: LocatedValue?, _ may: Capability) throws(SourceError) -> Selection? {
        guard let value else { return nil }
        if may.isDisjoint(with: [.read, .history]) {
            mistakes.doubt(
                "select goes with may: read or history; add one of them, or leave select out.",
                at: value.place)
        }
        var pointers: [[String]] = []
        for (text, element) in try strings(value, "select") {
            guard let pointer = try? JSONPointer(text), !pointer.tokens.isEmpty else {
                throw element.failure(
                    "\(text) is not a part of a state; write a JSON Pointer such as /target, or leave select out for all of it."
                )
            }
            guard pointer.tokens.count <= JSON.deepestState else {
                throw element.failure(
                    "a pointer of select has \(pointer.tokens.count) segments, and states nest at most \(JSON.deepestState) levels deep; select a parent."
                )
            }
            pointers.append(pointer.tokens)
        }
        return Selection(pointers)
    }
}
