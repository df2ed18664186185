import BusJSON
import BusProtocol
import BusSource
import BusState

/// Actions: what they take, what they ask, what they write.
extension DefinitionLoader {
    private static let actionMembers =
        ["summary", "payload", "require", "when", "timers"] + WriteKind.allCases.map(\.rawValue)

    mutating func loadAction(_ member: LocatedObject.Member) throws(SourceError) -> DeclaredAction {
        let name = member.key
        let action = try member.value.object("The action \(name)")
        try action.refuseMembers(besides: Self.actionMembers, of: "an action")
        _ = try action["summary"]?.string("summary")

        let payload = try loadPayload(action["payload"])
        let scope = ExpressionScope(
            data: .action(waitFor: parts.waitFor), shape: shape, payload: payload.names)
        var compiler = ExpressionCompiler()
        var requirements: [DeclaredAction.Requirement] = []
        for element in try action["require"]?.array("require") ?? [] {
            requirements.append(try loadRequirement(element, in: scope, &compiler))
        }
        var condition: ExpressionNode?
        if let when = action["when"] { condition = try compiler.compile(when, in: scope) }
        var steps: [WriteStep] = []
        for kind in WriteKind.allCases {
            guard let source = action[kind.rawValue] else { continue }
            let writes = try Self.writes(of: kind, source)
            for write in writes {
                let path = try loadPath(write, payload: payload)
                let value: ExpressionNode? =
                    if let expression = write.expression { try compiler.compile(expression, in: scope) } else
                    { nil }
                let bits = path.first.map { parts.computed.bits(of: $0) }
                steps.append(WriteStep(kind, path, value: value, bits: bits))
            }
            keepOrder(of: writes, kind, in: "actions", name)
        }
        return DeclaredAction(
            name: name, payload: payload, requirements: requirements, condition: condition, steps: steps,
            timers: try loadTimers(action["timers"], in: scope, &compiler))
    }

    private func loadRequirement(
        _ source: LocatedValue, in scope: ExpressionScope, _ compiler: inout ExpressionCompiler
    ) throws(SourceError) -> DeclaredAction.Requirement {
        let object = try source.object("each element of require")
        try object.refuseMembers(besides: ["if", "else"], of: "require")
        let condition = try compiler.compile(object.required("if", of: "An element of require"), in: scope)
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
            for element in try source.array(name) {
                let path = try element.string("each path of \(name)")
                writes.append(Write(path: path, place: element.place, expression: nil))
            }
            return writes
        }
        var objects: [LocatedObject] = []
        if case .array(let elements) = source.content {
            for element in elements { objects.append(try element.object("each element of \(name)")) }
        } else {
            objects.append(try source.object(name))
        }
        return objects.flatMap(\.members).map { Write(path: $0.key, place: $0.place, expression: $0.value) }
    }

    private func loadPath(_ write: Write, payload: PayloadSchema) throws(SourceError) -> WritePath {
        let path = try WritePath.parse(write.path, payload: payload, shape: shape, at: write.place)
        if let first = path.first, computedNames.contains(where: { UTF8Order.equal($0, first) }) {
            throw SourceError(
                "\(first) is computed and can't be written; write what it reads.", at: write.place)
        }
        return path
    }

    /// Objects lose the order of their members when a definition is passed on. Where it matters, the definition
    /// that is passed on has a list instead: in the member `name` of `actions` or of `migrate`.
    mutating func keepOrder(of writes: [Write], _ kind: WriteKind, in group: String, _ name: String) {
        guard kind.takesValue else { return }
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
        guard case .object(var definition) = parts.definition,
            case .object(var members)? = definition[group], case .object(var body)? = members[name]
        else { return }
        body[kind.rawValue] = .array(list)
        members[name] = .object(body)
        definition[group] = .object(members)
        parts.definition = .object(definition)
    }

    /// Whether two writes may touch the same member of a state.
    private static func mayMeet(_ left: String, _ right: String) -> Bool {
        let first = left.prefix { $0 != "." }
        let second = right.prefix { $0 != "." }
        return first.hasPrefix("{") || second.hasPrefix("{") || UTF8Order.equal(String(first), String(second))
    }
}
