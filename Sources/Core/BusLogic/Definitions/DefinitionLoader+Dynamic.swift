import BusCEL
import BusJSON
import BusProtocol
import BusSource
import BusState

/// The writes of an action: those of each kind, then `patch`, then what `each` repeats.
extension DefinitionLoader {
    /// - Parameter place: The keys that lead to the object in the definition.
    mutating func loadWrites(
        of object: LocatedObject, at place: [String], in scope: ExpressionScope, _ payload: LoadedPayload,
        _ compiler: inout ExpressionCompiler
    ) -> [PendingPart] {
        var parts: [PendingPart] = []
        for kind in WriteKind.allCases {
            guard let source = object[kind.rawValue],
                let writes = mistakes.collect({ () throws(SourceError) in try Self.writes(of: kind, source) })
            else { continue }
            for write in writes {
                let path = mistakes.collect { () throws(SourceError) in
                    try loadPath(write, payload: payload.schema, in: scope, &compiler)
                }
                let value = write.expression.flatMap { expression in
                    mistakes.collect { () throws(SourceError) in
                        try kind == .increment
                            ? compiler.compile(expression: expression, in: scope)
                            : compiler.compile(expression, in: scope)
                    }
                }
                guard let path, kind.takesValue == (value != nil) else { continue }
                parts.append(.write(PendingWrite(kind: kind, path: path, value: value, source: write)))
            }
            if kind.takesValue { keepOrder(of: writes, at: place + [kind.rawValue]) }
        }
        if let source = object["patch"] {
            parts += loadPatches(source, at: place + ["patch"], in: scope, payload, &compiler)
        }
        if let source = object["each"] {
            parts += loadRepetitions(source, at: place + ["each"], in: scope, payload, &compiler)
        }
        return parts
    }

    // MARK: patch

    /// `patch: = payload`, or `patch: { PATH: … }`.
    private mutating func loadPatches(
        _ source: LocatedValue, at place: [String], in scope: ExpressionScope, _ payload: LoadedPayload,
        _ compiler: inout ExpressionCompiler
    ) -> [PendingPart] {
        if isExpression(source) {
            let write = Write(path: "patch", place: source.place, expression: source)
            return loadPatch(write, at: nil, in: scope, payload, &compiler).map { [$0] } ?? []
        }
        guard
            let writes = mistakes.collect({ () throws(SourceError) in
                try Self.assignments(source, of: "patch")
            })
        else { return [] }
        var parts: [PendingPart] = []
        for write in writes {
            let path = mistakes.collect { () throws(SourceError) in
                try loadPath(write, payload: payload.schema, in: scope, &compiler)
            }
            guard let path, let part = loadPatch(write, at: path, in: scope, payload, &compiler) else {
                continue
            }
            parts.append(part)
        }
        keepOrder(of: writes, at: place)
        return parts
    }

    /// Whether a patch is an expression of what the whole state takes: a text, or an operation of JsonLogic.
    private func isExpression(_ source: LocatedValue) -> Bool {
        switch source.content {
        case .scalar(.string): return readsText
        case .object(let object):
            guard object.count == 1 else { return false }
            let key = object.members[0].key
            return Expression.operators.contains(key) && parts.plain.index(of: key) == nil
        default: return false
        }
    }

    private func loadPatch(
        _ write: Write, at base: WritePath?, in scope: ExpressionScope, _ payload: LoadedPayload,
        _ compiler: inout ExpressionCompiler
    ) -> PendingPart? {
        guard let source = write.expression,
            let value = mistakes.collect({ () throws(SourceError) in
                try compiler.compile(expression: source, in: scope)
            })
        else { return nil }
        let kinds = schema(of: value, payload, compiler).kinds
        if kinds.isDisjoint(with: .map) {
            mistakes.doubt("patch needs a map, and this is \(kinds.phrase).", at: source.place)
        }
        return .patch(PendingWrite(kind: .set, path: .members(of: base), value: value, source: write))
    }

    private func schema(
        of node: ExpressionNode, _ payload: LoadedPayload, _ compiler: ExpressionCompiler
    ) -> ValueSchema {
        guard let review = compiler.review else { return .any }
        return ValueInference(payload: payload, state: parts.schema, review: review).schema(of: node)
    }

    // MARK: each

    /// `each: { in: …, as: NAME, … }`, or a list of these.
    private mutating func loadRepetitions(
        _ source: LocatedValue, at place: [String], in scope: ExpressionScope, _ payload: LoadedPayload,
        _ compiler: inout ExpressionCompiler
    ) -> [PendingPart] {
        guard case .array(let elements) = source.content else {
            return loadRepetition(source, at: place, in: scope, payload, &compiler).map { [$0] } ?? []
        }
        var parts: [PendingPart] = []
        for (index, element) in elements.enumerated() {
            let part = loadRepetition(element, at: place + [String(index)], in: scope, payload, &compiler)
            if let part { parts.append(part) }
        }
        return parts
    }

    private mutating func loadRepetition(
        _ source: LocatedValue, at place: [String], in scope: ExpressionScope, _ payload: LoadedPayload,
        _ compiler: inout ExpressionCompiler
    ) -> PendingPart? {
        let found = mistakes.collect { () throws(SourceError) in
            let object = try source.object("each")
            try object.refuseMembers(besides: ["in", "as"] + Self.writeMembers, of: "each")
            let range = try object.required("in", of: "each")
            let names = try names(object.required("as", of: "each"), in: scope, compiler)
            guard object.count > 2 else {
                throw SourceError("each repeats nothing; add a write, such as set.", at: object.place)
            }
            return (object, range, names)
        }
        guard let (object, range, names) = found,
            let node = mistakes.collect({ () throws(SourceError) in
                try compiler.compile(expression: range, in: scope)
            })
        else { return nil }
        let schema = schema(of: node, payload, compiler)
        if schema.kinds.isDisjoint(with: [.list, .map]) {
            mistakes.doubt("each needs a list or a map, and this is \(schema.kinds.phrase).", at: range.place)
        }
        var inner = scope
        let hasTwoNames = names.count == 2
        let schemas = TextCompiler.schemas(of: schema, hasTwoNames: hasTwoNames)
        inner.locals += zip(names, schemas).map { TextCompiler.Local(name: $0, schema: $1) }
        let parts = loadWrites(of: object, at: place, in: inner, payload, &compiler)
        return .each(node, hasTwoNames: hasTwoNames, parts)
    }

    /// One name, of an element or a key, or two: of an index or a key, and of what stands there.
    private func names(
        _ source: LocatedValue, in scope: ExpressionScope, _ compiler: ExpressionCompiler
    ) throws(SourceError) -> [String] {
        var elements = [source]
        if case .array(let list) = source.content { elements = list }
        guard 1...2 ~= elements.count else {
            throw source.failure("as is one name, such as item, or two, such as [key, item].")
        }
        var names: [String] = []
        for element in elements {
            let name = try element.string("as")
            guard case .name? = (try? Term(parsing: name))?.form else {
                throw element.failure("\(name) can't be a name; write letters, digits and _, such as item.")
            }
            let taken = ExpressionScope.actionNames + scope.locals.map(\.name) + names
            let isTaken = taken.contains { UTF8Order.equal($0, name) } || named?.contains(name) == true
            guard !isTaken else {
                throw element.failure("\(name) means something here already; choose another name.")
            }
            names.append(name)
        }
        return names
    }
}
