import BusCEL
import BusJSON
import BusProtocol
import BusSource

/// Views: what a file says that begins with `view: NAME`, and what `types` shows of it, where the name is the `type` and the
/// rules stand in `view`.
extension DefinitionLoader {
    private static let viewMembers = [
        "view", "summary", "of", "by", "where", "values", "computed", "expressions", "tests",
    ]
    private static let ruleMembers = ["of", "by", "where", "values"]
    /// As many as there are bits for what each reads, about: more than one looks at together.
    private static let mostValues = 64
    private static let mostSources = 32

    mutating func loadView(_ root: LocatedObject) -> Parts {
        readsText = true
        let loaded = mistakes.collect { () throws(SourceError) in try self.rules(of: root) }
        guard let rules = loaded else { return parts }
        mistakes.collect { () throws(SourceError) in try loadLanguage(root) }
        mistakes.collect { () throws(SourceError) in parts.summary = try root["summary"]?.string("summary") }
        var sources: [(name: String, place: Place)] = []
        if !isMissing("of", in: rules) {
            mistakes.collect { () throws(SourceError) in sources = try loadSources(of: rules) }
        }
        var written = ViewRules.Written(key: rules["by"], condition: rules["where"])
        let before = mistakes.count
        if !isMissing("values", in: rules) {
            mistakes.collect { () throws(SourceError) in
                written.values = try rules.required("values", of: "A view").object("values").members
            }
        }
        if written.values.isEmpty, rules["values"] != nil, mistakes.count == before {
            mistakes.add(
                "values names no value; write values: { rooms: count() }, for example.",
                at: rules.member("values")?.place ?? root.place)
        }
        let review = ExpressionReview(mistakes, names: nil, schema: nil, payload: nil)
        let expressions = Self.compile(written, review)
        let values = expressions.values.sorted { UTF8Order.precedes($0.name, $1.name) }
        parts.schema = StateSchema(values.map { .init(name: $0.name, schema: $0.function.schema) })
        for value in values { parts.plain[value.name] = value.function.ofNothing }
        isShapeKnown = mistakes.isEmpty
        // What the computed values read is known once they are compiled, and where their names stand.
        parts.view = ViewRules(
            sources: [], key: nil, condition: nil, values: [], shape: shape, bits: { _ in 0 }, .init())
        mistakes.collect { () throws(SourceError) in try loadComputed(root) }
        let computed = parts.computed
        parts.view = ViewRules(
            sources: sources, key: expressions.key, condition: expressions.condition, values: values,
            shape: shape, bits: { computed.bits(of: $0) }, written)
        parts.definition = .object(definition(root, values))
        parts.written = order(root, rules)
        parts.tests = root["tests"]
        return parts
    }

    /// The members that say how the view is made, wherever they stand. Notes its name.
    private mutating func rules(of root: LocatedObject) throws(SourceError) -> LocatedObject {
        let view = try root.required("view", of: "A view")
        if let type = root["type"], case .object(let rules) = view.content {
            for member in root.strangers(besides: [
                "type", "view", "summary", "state", "computed", "expressions",
            ]) {
                mistakes.add(Self.stranger(member), at: member.place)
            }
            for member in rules.strangers(besides: Self.ruleMembers) {
                mistakes.add(Self.stranger(member), at: member.place)
            }
            try note(name: type, "type")
            return rules
        }
        for member in root.strangers(besides: Self.viewMembers) {
            mistakes.add(Self.stranger(member), at: member.place)
        }
        try note(name: view, "view")
        return root
    }

    /// Whether a member is missing, and others are there that mean nothing: one of them may be meant.
    private func isMissing(_ name: String, in rules: LocatedObject) -> Bool {
        rules[name] == nil && !mistakes.isEmpty
    }

    private mutating func note(name: LocatedValue, _ member: String) throws(SourceError) {
        parts.name = try name.string(member)
        parts.place = name.place
        try Self.check(name: parts.name, of: "A view", at: name.place)
    }

    private static func stranger(_ member: LocatedObject.Member) -> String {
        switch member.key {
        case "type": "A file has a type or a view; leave type: out if this is a view."
        case "actions", "timers", "ttl", "index", "migrate", "version", "waitFor", "invariant":
            "\(member.key) belongs to a state type: nobody changes a view, which follows its sources. Leave it out."
        case "state", "initial":
            "A view's members are its values; write what they are worked out by below values: instead of \(member.key):."
        case "log":
            "A view is worked out from its sources, so the log keeps of it what it keeps of them; write log: there."
        case "let", "schemas":
            "\(member.key) is for state types; give the types that the view reads a computed value instead."
        default: FileWords.unknownKey(member.key, in: "a view", among: viewMembers)
        }
    }

    private func loadSources(
        of rules: LocatedObject
    ) throws(SourceError) -> [(name: String, place: Place)] {
        let source = try rules.required("of", of: "A view")
        let elements: [LocatedValue] =
            if case .array(let elements) = source.content { elements } else { [source] }
        guard (1...Self.mostSources).contains(elements.count) else {
            throw source.failure("of names 1 to \(Self.mostSources) types, not \(elements.count).")
        }
        var sources: [(name: String, place: Place)] = []
        for element in elements {
            let name = try element.string(elements.count == 1 ? "of" : "each type of of")
            if sources.contains(where: { UTF8Order.equal($0.name, name) }) {
                throw element.failure(FileWords.duplicate("type", name))
            }
            if UTF8Order.equal(name, parts.name) {
                throw element.failure("\(name) can't be made of itself; name the types that it reads.")
            }
            sources.append((name, element.place))
        }
        return sources
    }

    // MARK: Expressions

    /// The expressions of a view, compiled.
    struct ViewExpressions {
        var key: ViewRules.Compiled?
        var condition: ViewRules.Compiled?
        var values: [ViewRules.LoadedValue] = []
    }

    /// Compiles what a view works out of each of its sources, which the review knows or not.
    static func compile(_ written: ViewRules.Written, _ review: ExpressionReview) -> ViewExpressions {
        var expressions = ViewExpressions()
        let mistakes = review.mistakes
        if let source = written.key {
            mistakes.collect { () throws(SourceError) in
                expressions.key = try Self.compile(
                    source, source.string("by"), as: [.text, .int, .bool], for: "by", review)
            }
        }
        if let source = written.condition {
            mistakes.collect { () throws(SourceError) in
                let before = mistakes.count
                let condition = try Self.compile(
                    source, source.string("where"), as: .bool, for: "where", review)
                if mistakes.count == before, let constant = condition.node.constant {
                    throw source.failure(
                        "This condition is always \(constant.isTruthy); let it read the stores' states, or leave it out."
                    )
                }
                expressions.condition = condition
            }
        }
        if written.values.count > mostValues {
            mistakes.add(
                "A view has at most \(mostValues) values; divide it into several.",
                at: written.values[mostValues].place)
        }
        for member in written.values {
            mistakes.collect { () throws(SourceError) in
                expressions.values.append(try loadValue(member, review))
            }
        }
        return expressions
    }

    private static func compile(
        _ source: LocatedValue, _ text: String, as kinds: ValueKinds, for owner: String,
        _ review: ExpressionReview
    ) throws(SourceError) -> ViewRules.Compiled {
        try compile(term(text, at: source.place), as: kinds, for: owner, at: source.place, review)
    }

    private static func term(_ text: String, at place: Place) throws(SourceError) -> Term {
        do throws(TermError) {
            return try TextCompiler.term(text)
        } catch {
            throw SourceError("\(error.position): \(error.message)", at: place)
        }
    }

    private static func compile(
        _ term: Term, as kinds: ValueKinds, for owner: String, at place: Place, _ review: ExpressionReview
    ) throws(SourceError) -> ViewRules.Compiled {
        var compiler = ExpressionCompiler()
        compiler.review = review
        compiler.readsText = true
        let node = try compiler.compile(
            term, as: kinds, for: owner, in: ExpressionScope(data: .state), at: place)
        return .init(node: node, reads: compiler.reads)
    }

    private static func loadValue(
        _ member: LocatedObject.Member, _ review: ExpressionReview
    ) throws(SourceError) -> ViewRules.LoadedValue {
        let place = member.value.place
        guard case .scalar(.string(let text)) = member.value.content else {
            throw member.value.failure(
                "\(member.key) must be a function of all stores, such as count() or avg(measured), not \(member.value.kind)."
            )
        }
        let term = try term(text, at: place)
        func failure(_ message: String, at other: Term? = nil) -> SourceError {
            SourceError("\((other ?? term).position): \(message)", at: place)
        }
        let names = ViewFunction.allCases.map(\.rawValue)
        guard case .call(let name, on: nil, let arguments) = term.form else {
            throw failure(
                "\(member.key) must be a function of all stores: \(names.joined(separator: ", ")). Write avg(\(term.brief)), for example."
            )
        }
        guard let function = ViewFunction(rawValue: name) else {
            throw failure("\(name) is not a function of views; \(suggestion(for: name, among: names))")
        }
        if function == .list {
            return .init(
                name: member.key, function: function, argument: nil, limit: try limit(arguments, failure))
        }
        if function == .count, arguments.isEmpty {
            return .init(name: member.key, function: function, argument: nil, limit: 0)
        }
        guard arguments.count == 1 else {
            throw failure("\(name) takes one expression, not \(arguments.count); write \(function.example).")
        }
        let argument = try compile(arguments[0], as: function.kinds, for: name, at: place, review)
        return .init(name: member.key, function: function, argument: argument, limit: 0)
    }

    /// The length of `list(store, 100)`.
    private static func limit(
        _ arguments: [Term], _ failure: (String, Term?) -> SourceError
    ) throws(SourceError) -> Int {
        guard arguments.count == 2, case .name("store") = arguments[0].form else {
            throw failure("list takes store and how many at most; write list(store, 100).", nil)
        }
        guard case .int(let limit) = arguments[1].form, (1...ViewFunction.most).contains(limit) else {
            throw failure(
                "list takes how many addresses at most, 1 to \(ViewFunction.most); write list(store, 100).",
                arguments[1])
        }
        return limit
    }

    // MARK: The definition

    /// Its members in the order of the file; those of its state are in that of `values`.
    private func order(_ root: LocatedObject, _ rules: LocatedObject) -> LocatedValue {
        let members = [
            ("type", LocatedValue(.scalar(.string(parts.name)), at: root.place)),
            ("summary", root["summary"]),
            ("view", LocatedValue(.object(rules), at: rules.place)), ("state", rules["values"]),
            ("computed", root["computed"]),
        ]
        let all = members.compactMap { name, value in
            value.map { LocatedObject.Member(key: name, place: root.place, value: $0) }
        }
        return LocatedValue(.object(LocatedObject(distinct: all, at: root.place)), at: root.place)
    }

    /// As `types` shows it: a type whose rules stand in `view`, and whose `state` says what its values are.
    private func definition(_ root: LocatedObject, _ values: [ViewRules.LoadedValue]) -> JSONObject {
        let all = root["type"] == nil ? root.json : root["view"]?.json.object ?? [:]
        var rules = JSONObject()
        for name in Self.ruleMembers { rules[name] = all[name] }
        var definition: JSONObject = [
            "type": .string(parts.name), "view": .object(rules), "expressions": .string(Self.language),
        ]
        var state = JSONObject()
        for value in values { state[value.name] = value.function.definition }
        definition["state"] = .object(state)
        for name in ["summary", "computed"] { definition[name] = root.json[name] }
        return definition
    }
}
