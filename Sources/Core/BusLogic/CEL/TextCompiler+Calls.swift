import BusCEL
import BusJSON
import BusProtocol
import BusSource

/// Calls: macros, which give names to elements, and functions.
extension TextCompiler {
    /// What is written like a function and sees terms instead of values, with how it is written.
    static let macros: [String: String] = [
        "has": "has(a.b)", "all": "a.all(x, CONDITION)", "exists": "a.exists(x, CONDITION)",
        "exists_one": "a.exists_one(x, CONDITION)", "existsOne": "a.existsOne(i, x, CONDITION)",
        "map": "a.map(x, VALUE)", "filter": "a.filter(x, CONDITION)", "sortBy": "a.sortBy(x, KEY)",
        "transformList": "a.transformList(i, x, VALUE)", "transformMap": "a.transformMap(k, v, VALUE)",
        "transformMapEntry": "a.transformMapEntry(k, v, {KEY: VALUE})",
        "cel.bind": "cel.bind(x, VALUE, EXPRESSION)", "optional.of": "optional.of(a)",
        "optional.none": "optional.none()", "optional.ofNonZeroValue": "optional.ofNonZeroValue(a)",
        "orValue": "a.?b.orValue(c)", "or": "a.?b.or(c)", "value": "a.?b.value()",
        "hasValue": "a.?b.hasValue()",
        "optMap": "a.?b.optMap(x, VALUE)", "optFlatMap": "a.?b.optFlatMap(x, OPTIONAL)", "first": "a.first()",
        "last": "a.last()",
    ]

    /// The names of all functions and macros.
    static let callNames = (TextFunction.all.map(\.name) + macros.keys).sorted(by: UTF8Order.precedes)

    mutating func compileCall(
        _ name: String, on receiver: Term?, _ arguments: [Term], at position: Term.Position
    ) throws(SourceError) -> Compiled {
        var (name, receiver) = (name, receiver)
        if case .name(let space)? = receiver?.form, TextFunction.namespaces.contains(space), !isLocal(space) {
            (name, receiver) = ("\(space).\(name)", nil)
        }
        if let usage = Self.macros[name] {
            if let compiled = try compileMacro(name, on: receiver, arguments, at: position) {
                return compiled
            }
            throw failure("\(name) is written \(usage).", at: position)
        }
        guard let function = TextFunction.byName[name] else {
            return broken(Self.unknown(name), at: position)
        }
        let given = (receiver.map { [$0] } ?? []) + arguments
        let isMethod = receiver != nil
        guard function.style == .both || (function.style == .method) == isMethod,
            function.counts.contains(given.count)
        else {
            return broken("\(name) is written \(function.usage).", at: position)
        }
        return try call(function, given)
    }

    private static func unknown(_ name: String) -> String {
        switch name {
        case "matches":
            "there is no matches, because a regular expression has no bounded cost; write contains, startsWith or endsWith."
        case "type": "there is no type; write a condition on the value, such as x == null."
        case "timestamp", "duration", "bytes", "uint":
            "there is no \(name); times are seconds since 1970, as meta.time, and numbers are int or double."
        case "len", "length", "count": "\(name) is not a function; write size(a)."
        case "max", "min":
            "\(name) is not a function; write math.\(name == "max" ? "greatest" : "least")(a, b)."
        case "abs", "floor", "ceil", "round": "\(name) is not a function; write math.\(name)(a)."
        default: "\(name) is not a function; \(suggestion(for: name, among: callNames))"
        }
    }

    private mutating func call(_ function: TextFunction, _ terms: [Term]) throws(SourceError) -> Compiled {
        var nodes: [ExpressionNode] = []
        var first = ValueSchema.any
        for (index, term) in terms.enumerated() {
            let (node, schema) = try value(term)
            demand(schema, function.kinds(at: index), function.name, term)
            if index == 0 { first = schema }
            nodes.append(node)
        }
        let schema: ValueSchema =
            switch function.result {
            case .same: first.narrowed(to: function.kinds(at: 0)).broad
            case .kinds(let kinds): .of(kinds)
            }
        if schema.kinds.contains(.double) { mayBeInfinite = true }
        return folded(FunctionNode(function, nodes), nodes, schema)
    }

    // MARK: Macros

    /// Nil where the macro is written in another way.
    private mutating func compileMacro(
        _ name: String, on receiver: Term?, _ arguments: [Term], at position: Term.Position
    ) throws(SourceError) -> Compiled? {
        let count = arguments.count
        switch (name, receiver) {
        case ("has", nil) where count == 1: return .value(try presence(arguments[0]), .boolean)
        case ("cel.bind", nil) where count == 3:
            let (bound, schema) = try value(arguments[1])
            let names = try self.names([arguments[0]])
            let body = try inside([(names[0], schema)]) { (compiler) throws(SourceError) in
                try compiler.compile(arguments[2])
            }
            switch body {
            case .value(let node, let schema): return .value(BindingNode(bound, in: node), schema)
            case .optional(let node, let schema):
                let optional = OptionalNode(.of(bound, isNonZero: false))
                return .optional(OptionalNode(.bound(optional, .optional(node))), schema)
            }
        case ("optional.none", nil) where count == 0: return .optional(OptionalNode(.none), .any)
        case ("optional.of", nil) where count == 1, ("optional.ofNonZeroValue", nil) where count == 1:
            let (node, schema) = try value(arguments[0])
            return .optional(OptionalNode(.of(node, isNonZero: name != "optional.of")), schema)
        case ("first", let list?) where count == 0, ("last", let list?) where count == 0:
            let (node, schema) = try value(list)
            demand(schema, .list, name, list)
            return .optional(OptionalNode(.end(node, isFirst: name == "first")), schema.element)
        case ("orValue", let term?), ("or", let term?), ("value", let term?), ("hasValue", let term?),
            ("optMap", let term?), ("optFlatMap", let term?):
            return try compileOptional(name, on: term, arguments, at: position)
        case (_, let range?): return try compileComprehension(name, on: range, arguments)
        default: return nil
        }
    }

    private mutating func compileOptional(
        _ name: String, on term: Term, _ arguments: [Term], at position: Term.Position
    ) throws(SourceError) -> Compiled? {
        guard case .optional(let node, let schema) = try compile(term) else {
            throw failure(
                "\(name) is for optionals, and \(term.brief) is always there or fails; "
                    + "write a.?b instead of a.b for one that may be absent.", at: position)
        }
        switch (name, arguments.count) {
        case ("orValue", 1):
            let (fallback, other) = try value(arguments[0])
            return .value(OptionalValueNode(node, or: fallback), schema.union(other))
        case ("value", 0):
            return .value(OptionalValueNode(node, or: FailureNode("\(term.brief) has no value")), schema)
        case ("hasValue", 0): return .value(PresenceNode(node), .boolean)
        case ("or", 1):
            guard case .optional(let other, let otherSchema) = try compile(arguments[0]) else {
                throw failure(
                    "or takes another optional, and \(arguments[0].brief) is always there; write orValue.",
                    at: arguments[0].position)
            }
            return .optional(OptionalNode(.or(node, other)), schema.union(otherSchema))
        case ("optMap", 2), ("optFlatMap", 2):
            let names = try self.names([arguments[0]])
            let body = try inside([(names[0], schema)]) { (compiler) throws(SourceError) in
                try compiler.compile(arguments[1])
            }
            switch (body, name) {
            case (.value(let body, let schema), "optMap"):
                return .optional(OptionalNode(.bound(node, .value(body))), schema)
            case (.optional(let body, let schema), "optFlatMap"):
                return .optional(OptionalNode(.bound(node, .optional(body))), schema)
            default:
                let other = name == "optMap" ? "optFlatMap" : "optMap"
                throw failure(
                    "\(arguments[1].brief) is \(name == "optMap" ? "an" : "no") optional here; write \(other).",
                    at: arguments[1].position)
            }
        default: return nil
        }
    }

    /// The macros that go through a list or a map.
    private mutating func compileComprehension(
        _ name: String, on range: Term, _ arguments: [Term]
    ) throws(SourceError) -> Compiled? {
        let isTransform = name.hasPrefix("transform")
        // Names, perhaps a condition, and what is made of each element.
        let counts: ClosedRange<Int> =
            switch name {
            case "all", "exists", "exists_one", "existsOne": 2...3
            case "map", "filter", "sortBy": 2...(name == "map" ? 3 : 2)
            default: 3...4
            }
        guard counts.contains(arguments.count) else { return nil }
        let hasTwoNames = isTransform || arguments.count == 3 && name != "map"
        let (node, schema) = try value(range)
        demand(schema, name == "sortBy" ? .list : [.list, .map], name, range)
        let names = try self.names(Array(arguments.prefix(hasTwoNames ? 2 : 1)))
        let bodies = Array(arguments.dropFirst(names.count))
        let schemas = Self.schemas(of: schema, hasTwoNames: hasTwoNames)
        let hasCondition =
            isTransform ? bodies.count == 2 : name != "map" && name != "sortBy" || bodies.count == 2
        var condition: ExpressionNode?
        var result: Value?
        try inside(Array(zip(names, schemas))) { (compiler) throws(SourceError) in
            if hasCondition { condition = try compiler.condition(bodies[0], for: name) }
            if !hasCondition || bodies.count == 2 { result = try compiler.value(bodies[bodies.count - 1]) }
        }
        return comprehension(
            name, (node, schema), hasTwoNames: hasTwoNames, schemas[0], condition, result,
            of: bodies[bodies.count - 1])
    }

    /// Stands on its own, so that it adds nothing to the frames of terms in terms.
    @inline(never)
    private mutating func comprehension(
        _ name: String, _ range: Value, hasTwoNames: Bool, _ first: ValueSchema,
        _ condition: ExpressionNode?, _ result: Value?, of body: Term
    ) -> Compiled? {
        let (node, schema) = range
        switch (name, condition, result) {
        case ("all", let condition?, _), ("exists", let condition?, _):
            return .value(
                SearchNode(name, node, hasTwoNames: hasTwoNames, condition, decisive: name == "exists"),
                .boolean)
        case ("exists_one", let condition?, _), ("existsOne", let condition?, _):
            return .value(SingleNode(name, node, hasTwoNames: hasTwoNames, condition), .boolean)
        case ("filter", let condition?, _):
            return .value(
                TransformNode(name, node, hasTwoNames: false, where: condition, nil), .array(of: first))
        case ("map", _, let result?), ("transformList", _, let result?):
            return .value(
                TransformNode(name, node, hasTwoNames: hasTwoNames, where: condition, result.node),
                .array(of: result.schema))
        case ("sortBy", _, let result?): return .value(SortByNode(node, by: result.node), schema.broad)
        case ("transformMap", _, let result?), ("transformMapEntry", _, let result?):
            let makesEntries = name == "transformMapEntry"
            if makesEntries { demand(result.schema, .map, name, body) }
            return .value(
                TransformMapNode(name, node, where: condition, result.node, makesEntries: makesEntries),
                .object)
        default: return nil
        }
    }

    /// What is known of the names that a macro gives.
    static func schemas(of range: ValueSchema, hasTwoNames: Bool) -> [ValueSchema] {
        let key: ValueSchema =
            switch range.kinds {
            case .list: .integer
            case .map: .string
            default: .any
            }
        if hasTwoNames { return [key, range.element] }
        return [range.kinds == .list ? range.element : range.kinds == .map ? .string : .any]
    }

    /// Names that a macro gives, as they are written.
    private func names(_ terms: [Term]) throws(SourceError) -> [String] {
        var names: [String] = []
        for term in terms {
            guard case .name(let name) = term.form else {
                throw failure("a name is needed here, such as x, and not \(term.brief).", at: term.position)
            }
            if base.named?.contains(name) == true {
                throw failure("\(name) is a name of let; choose another here.", at: term.position)
            }
            guard !names.contains(name) else {
                throw failure("duplicate name `\(name)`; choose another.", at: term.position)
            }
            names.append(name)
        }
        return names
    }

    /// Compiles what sees named values.
    private mutating func inside<Result>(
        _ named: [(String, ValueSchema)],
        _ body: (inout TextCompiler) throws(SourceError) -> Result
    ) throws(SourceError) -> Result {
        locals += named.map { Local(name: $0, schema: $1) }
        base.hasLocals = true
        defer { locals.removeLast(named.count) }
        return try body(&self)
    }
}
