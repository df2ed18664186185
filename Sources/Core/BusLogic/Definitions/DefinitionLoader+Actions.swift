import BusJSON
import BusProtocol
import BusSource
import BusState

/// Actions: what they take, what they ask, what they write.
extension DefinitionLoader {
    static let actionMembers =
        ["summary", "payload", "redact", "require", "when", "timers", "returns"] + writeMembers
    /// What writes, in the order in which it does.
    static let writeMembers = WriteKind.allCases.map(\.rawValue) + ["patch", "each"]

    mutating func loadAction(_ member: LocatedObject.Member) throws(SourceError) -> DeclaredAction {
        let name = member.key
        let action = try body(of: member)
        let before = mistakes.errors.count
        refuseStrangers(in: action, of: name)
        mistakes.collect { () throws(SourceError) in _ = try action["summary"]?.string("summary") }

        let payload = loadPayload(action["payload"])
        let scope = ExpressionScope(
            data: .action(waitFor: parts.waitFor), shape: shape, payload: payload.schema.names)
        let review = ExpressionReview(mistakes, names: knownNames, schema: parts.schema, payload: payload)
        var compiler = compiler(review)
        defer { usesText = usesText || compiler.hasText }
        let requirements = loadRequirements(action["require"], in: scope, &compiler)
        review.endRequirements()
        var condition: ExpressionNode?
        if let when = action["when"] {
            condition = mistakes.collect { () throws(SourceError) in
                try loadCondition(when, in: scope, &compiler)
            }
        }
        let pending = loadWrites(of: action, at: ["actions", name], in: scope, payload, &compiler)
        let writes = PendingPart.writes(of: pending)
        let (steps, dynamic) = compiledWrites(pending, payload, review)
        let timers =
            mistakes.collect { () throws(SourceError) in
                try loadTimers(action["timers"], in: scope, &compiler)
            } ?? []
        let returns = action["returns"].flatMap { source in
            mistakes.collect { () throws(SourceError) in try compiler.compile(source, in: scope) }
        }
        // What could not be compiled may read it.
        if mistakes.errors.count == before, !writes.isEmpty || !timers.isEmpty {
            doubtUnread(payload, of: name, action["payload"], writes.map(\.path), review)
        }
        let redacted =
            mistakes.collect { () throws(SourceError) in
                try loadRedacted(action["redact"], payload, writes.map(\.path), review)
            } ?? []
        return DeclaredAction(
            name: name, payload: payload, requirements: requirements, condition: condition, steps: steps,
            dynamic: dynamic, timers: timers, returns: returns, redacted: redacted,
            isWatched: parts.computed.areWatched(by: .max),
            mayTurnTimers: parts.readsOfTimers != 0
                && (dynamic != nil
                    || steps.contains {
                        parts.computed.reach(of: $0.bits ?? .max) & parts.readsOfTimers != 0
                    })
        )
    }

    private func loadRequirements(
        _ source: LocatedValue?, in scope: ExpressionScope, _ compiler: inout ExpressionCompiler
    ) -> [DeclaredAction.Requirement] {
        guard let source,
            let elements = mistakes.collect({ () throws(SourceError) in try source.array("require") })
        else { return [] }
        var requirements: [DeclaredAction.Requirement] = []
        for element in elements {
            let requirement = mistakes.collect { () throws(SourceError) in
                try loadRequirement(element, in: scope, &compiler)
            }
            if let requirement { requirements.append(requirement) }
        }
        return requirements
    }

    private func loadRequirement(
        _ source: LocatedValue, in scope: ExpressionScope, _ compiler: inout ExpressionCompiler
    ) throws(SourceError) -> DeclaredAction.Requirement {
        let object = try source.object("each element of require")
        if object.count == 1, let operation = object.members.first,
            Expression.operators.contains(where: { UTF8Order.equal($0, operation.key) }),
            operation.key != "if"
        {
            throw SourceError(
                "\(operation.key) is where an element of require has its if; "
                    + "write { if: { \(operation.key): … }, else: … }.", at: operation.place)
        }
        try object.refuseMembers(besides: ["if", "else"], of: "require")
        let condition = try loadCondition(
            object.required("if", of: "An element of require"), in: scope, &compiler)
        let otherwise: ExpressionNode =
            if let source = object["else"] {
                try compiler.compile(source, in: scope)
            } else {
                LiteralNode("what it requires does not hold")
            }
        return .init(condition: condition, otherwise: otherwise)
    }

    // MARK: Writes

    struct Write {
        let path: String
        let place: Place
        let expression: LocatedValue?
    }

    /// The writes of one kind, in written order: a list of paths, or an object of paths and expressions. Such
    /// objects may also stand in a list, which keeps their order where objects do not.
    static func writes(of kind: WriteKind, _ source: LocatedValue) throws(SourceError) -> [Write] {
        let name = kind.rawValue
        guard kind.takesValue else {
            var writes: [Write] = []
            for element in try paths(of: kind, source) {
                let path = try element.string("each path of \(name)")
                writes.append(Write(path: path, place: element.place, expression: nil))
            }
            return writes
        }
        return try assignments(source, of: name)
    }

    /// Paths with a value each, as an object or a list of objects.
    static func assignments(_ source: LocatedValue, of name: String) throws(SourceError) -> [Write] {
        var objects: [LocatedObject] = []
        if case .array(let elements) = source.content {
            for element in elements { objects.append(try element.object("each element of \(name)")) }
        } else {
            if case .scalar(.string(let path)) = source.content {
                throw source.failure(
                    "\(name) must be an object, not a string; write { \(path): VALUE } to say what goes there."
                )
            }
            objects.append(try source.object(name))
        }
        return objects.flatMap(\.members).map { Write(path: $0.key, place: $0.place, expression: $0.value) }
    }

    /// The list of paths of a write that takes no values.
    private static func paths(
        of kind: WriteKind, _ source: LocatedValue
    ) throws(SourceError) -> [LocatedValue] {
        let name = kind.rawValue
        switch source.content {
        case .array(let elements): return elements
        case .object(let object):
            let paths = object.keys.joined(separator: ", ")
            throw source.failure("\(name) must be a list, not an object. Write [\(paths)].")
        case .scalar(.string(let path)):
            throw source.failure("\(name) must be a list, not a string. Write [\(path)].")
        case .scalar: return try source.array(name)
        }
    }

    func loadPath(
        _ write: Write, payload: PayloadSchema, in scope: ExpressionScope,
        _ compiler: inout ExpressionCompiler
    ) throws(SourceError) -> WritePath {
        var isMigration = false
        if case .migration = scope.data { isMigration = true }
        if isMigration, WritePath.readsPayload(write.path) {
            throw SourceError(
                "The path \(write.path) takes a segment from a payload, and a migration has none; write the path out, or "
                    + "let an expression of state tell it.", at: write.place)
        }
        let shape = isMigration ? JSONObject() : shape
        let path = try WritePath.parse(write.path, payload: payload, shape: shape, at: write.place) {
            (text, column) throws(SourceError) in
            try compiler.compile(segment: text, at: column, in: scope, write.place)
        }
        if path.segments.contains(where: { if case .key("*") = $0 { true } else { false } }) {
            mistakes.doubt(
                "A path leads to one place, and * is a key like any other; write = and the whole list, such as "
                    + "state.\(path.first ?? "items").map(x, …), or {payload.NAME} for the element that is meant.",
                at: write.place)
        }
        if !isMigration, let first = path.first, computedNames.contains(where: { UTF8Order.equal($0, first) })
        {
            throw SourceError(
                "\(first) is computed and can't be written; write what it reads.", at: write.place)
        }
        return path
    }

    /// Objects lose the order of their members when a definition is passed on. Where it matters, the definition
    /// that is passed on has a list instead, at a place such as `actions`, `NAME`, `set`.
    mutating func keepOrder(of writes: [Write], at place: [String]) {
        let isSorted = zip(writes, writes.dropFirst()).allSatisfy { UTF8Order.precedes($0.path, $1.path) }
        if isSorted { return }
        // Comparing each with each is only worth it where people write by hand.
        var matters = writes.count > 256
        for (index, write) in writes.enumerated() where !matters {
            matters = writes[(index + 1)...].contains {
                !UTF8Order.precedes(write.path, $0.path) && Self.mayMeet(write.path, $0.path)
            }
        }
        guard matters else { return }
        let list = writes.map { write in JSON.object([write.path: write.expression?.json ?? .null]) }
        parts.definition = parts.definition.replacing(place[...], by: .array(list))
    }

    /// Whether two writes may touch the same member of a state.
    private static func mayMeet(_ left: String, _ right: String) -> Bool {
        let first = left.prefix { $0 != "." }
        let second = right.prefix { $0 != "." }
        return first.hasPrefix("{") || second.hasPrefix("{") || UTF8Order.equal(String(first), String(second))
    }
}

extension JSON {
    /// The value with another one where keys and indices lead, which is there.
    fileprivate func replacing(_ path: ArraySlice<String>, by value: JSON) -> JSON {
        guard let key = path.first else { return value }
        switch self {
        case .object(var object):
            object[key] = object[key]?.replacing(path.dropFirst(), by: value)
            return .object(object)
        case .array(var elements):
            guard let index = Int(key), elements.indices.contains(index) else { return self }
            elements[index] = elements[index].replacing(path.dropFirst(), by: value)
            return .array(elements)
        default: return self
        }
    }
}
