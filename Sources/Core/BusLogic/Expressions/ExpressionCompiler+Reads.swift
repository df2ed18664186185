import BusJSON
import BusProtocol
import BusSource

/// `var`, `val`, `exists`, `missing`: finding out beforehand where a path leads.
extension ExpressionCompiler {
    mutating func compileVar(
        _ operation: Operation, in scope: ExpressionScope
    ) throws(SourceError) -> ExpressionNode {
        try operation.expect(0...2)
        let operands = operation.operands
        let fallback = operands.count > 1 ? try compile(operands[1], in: scope) : nil
        guard let source = operands.first else {
            review?.note(read: [], in: scope, at: operation.place)
            return try read([], fallback, in: scope, at: operation.place)
        }
        let path = try compileName(source, in: scope)
        guard let constant = path.constant else {
            noteAll(in: scope)
            review?.note(read: [], in: scope, at: source.place)
            return DynamicReadNode(path, in: scope.data, fallback: fallback)
        }
        let text = Self.pathText(constant)
        let keys = text.isEmpty ? [] : Evaluation.keys(of: text).map(\.name)
        if let read = try readNamed(keys, fallback, in: scope) {
            return read.keys.isEmpty && read.value.constant != nil ? read.value : read
        }
        review?.note(read: keys, in: scope, at: source.place)
        if !operation.isMeant(0) { review?.check(read: keys, in: scope, at: source.place) }
        return try read(keys, fallback, in: scope, at: source.place)
    }

    mutating func compileMissing(
        _ operation: Operation, in scope: ExpressionScope
    ) throws(SourceError) -> ExpressionNode {
        let nodes = try compileNames(operation.operands, in: scope)
        let isSome = operation.name == "missing_some"
        if isSome { try operation.expect(2...2) }
        for node in isSome ? nodes.suffix(1) : nodes[...] {
            noteMissing(node, in: scope, at: operation.place)
        }
        return isSome
            ? MissingSomeNode(nodes[0], nodes[1], in: scope.data) : MissingNode(nodes, in: scope.data)
    }

    /// A read of what `let` gives a name; nil where the path begins with none.
    mutating func readNamed(
        _ keys: [String], _ fallback: ExpressionNode?, in scope: ExpressionScope
    ) throws(SourceError) -> NamedReadNode? {
        guard let first = keys.first,
            let (node, _) = try value(named: first, in: scope, depth: scope.locals.count)
        else { return nil }
        return NamedReadNode(node, keys.dropFirst().map { ReadKey($0) }, fallback: fallback)
    }

    /// A read of a place that is known now.
    mutating func read(
        _ keys: [String], _ fallback: ExpressionNode?, in scope: ExpressionScope, at place: Place
    ) throws(SourceError) -> ReadNode {
        if let root = keys.first, let slot = scope.locals.lastIndex(where: { UTF8Order.equal($0.name, root) })
        {
            return LocalReadNode(slot, keys.dropFirst().map { ReadKey($0) }, fallback: fallback)
        }
        switch scope.data {
        case .element:
            if scope.isStore { note(read: keys) }
            let around = Self.around(keys, in: scope, fallback)
            return ElementReadNode(keys.map { ReadKey($0) }, fallback: around ?? fallback)
        case .state:
            var keys = keys
            if scope.isNamed, let root = keys.first {
                guard root == "state" else { throw unknownRoot(root, in: scope, at: place) }
                keys.removeFirst()
            }
            note(read: keys.first)
            return StateReadNode(Self.hinted(keys, in: .object(scope.shape)), fallback: fallback)
        case .reduction:
            let rest = keys.dropFirst().map { ReadKey($0) }
            switch keys.first {
            case "current"?: return ElementReadNode(rest, fallback: fallback)
            case "accumulator"?: return AccumulatorReadNode(rest, fallback: fallback)
            default: return DataReadNode(keys.map { ReadKey($0) }, in: .reduction, fallback: fallback)
            }
        case .action: return try readAction(keys, fallback, in: scope, at: place)
        case .migration: return try readMigration(keys, fallback, in: scope, at: place)
        }
    }

    /// What a free-standing expression reads where the data has no such member: all data as `state`, or what a store's
    /// condition knows besides its state.
    private static func around(
        _ keys: [String], in scope: ExpressionScope, _ fallback: ExpressionNode?
    ) -> ReadNode? {
        let rest = keys.dropFirst().map { ReadKey($0) }
        switch (scope.names, keys.first) {
        case (.state, "state"?), (.store, "state"?): return ElementReadNode(rest, fallback: fallback)
        case (.store, let root?):
            return Evaluation.namesOfStore.firstIndex(of: root).map {
                LocalReadNode($0, rest, fallback: fallback)
            }
        default: return nil
        }
    }

    /// The state that is migrated has the members of an earlier version, which no definition lists any more.
    private func readMigration(
        _ keys: [String], _ fallback: ExpressionNode?, in scope: ExpressionScope, at place: Place
    ) throws(SourceError) -> ReadNode {
        guard let root = keys.first else { return DataReadNode([], in: scope.data, fallback: fallback) }
        guard UTF8Order.equal(root, "state") else {
            let hint =
                ExpressionScope.actionNames.contains(root)
                ? "leave it out." : "write state.\(root) for a member of it."
            throw SourceError(
                "\(root) is not data of a migration, which reads the old state alone; \(hint)", at: place)
        }
        return StateReadNode(keys.dropFirst().map { ReadKey($0) }, fallback: fallback)
    }

    private func readAction(
        _ keys: [String], _ fallback: ExpressionNode?, in scope: ExpressionScope, at place: Place
    ) throws(SourceError) -> ReadNode {
        guard let root = keys.first else { return DataReadNode([], in: scope.data, fallback: fallback) }
        let rest = Array(keys.dropFirst())
        switch root {
        case "state": return StateReadNode(Self.hinted(rest, in: .object(scope.shape)), fallback: fallback)
        case "payload":
            if scope.isNamed {
                throw SourceError(
                    "let is the same for all actions and reads no payload; write payload where the name is used.",
                    at: place)
            }
            if let name = rest.first { try check(payload: name, in: scope, at: place) }
            let hint = rest.first.flatMap { scope.payload.firstIndex(of: $0) } ?? 0
            let read = rest.enumerated().map { ReadKey($1, hint: $0 == 0 ? hint : 0) }
            return PayloadReadNode(read, fallback: fallback)
        case "store": return StoreReadNode(rest.map { ReadKey($0) }, fallback: fallback)
        case "meta":
            guard let name = rest.first else { break }
            let names = Evaluation.metaNames + ClockTime.names
            if !names.contains(name) {
                let hint = suggestion(for: name, among: names)
                throw SourceError("meta has no member \(name); \(hint)", at: place)
            }
            return MetaReadNode(rest.map { ReadKey($0) }, fallback: fallback)
        case "stores":
            try check(stores: rest.first, in: scope, at: place)
            if rest.isEmpty { break }
            return StoresReadNode(rest.map { ReadKey($0) }, waitFor: scope.waitFor, fallback: fallback)
        default:
            let unknown = unknownRoot(root, in: scope, at: place)
            if fallback == nil { throw unknown }
            // A default does not make it data of an action; it always counts then.
            review?.mistakes.doubt(unknown.message, at: place)
        }
        return DataReadNode(keys.map { ReadKey($0) }, in: scope.data, fallback: fallback)
    }

    private func check(payload name: String, in scope: ExpressionScope, at place: Place) throws(SourceError) {
        if scope.payload.contains(where: { UTF8Order.equal($0, name) }) { return }
        let hint =
            scope.payload.isEmpty
            ? "the action declares no payload." : suggestion(for: name, among: scope.payload)
        throw SourceError("payload.\(name) is not declared; \(hint)", at: place)
    }

    func check(stores address: String?, in scope: ExpressionScope, at place: Place)
        throws(SourceError)
    {
        guard let address else {
            if !scope.waitFor.isEmpty { return }
            throw SourceError("stores can only be read with waitFor; name the types there.", at: place)
        }
        let type = String(address.prefix { $0 != "/" })
        if scope.waitFor.contains(where: { UTF8Order.equal($0, type) }) { return }
        let hint =
            scope.waitFor.isEmpty ? "add waitFor: [\(type)]." : suggestion(for: type, among: scope.waitFor)
        throw SourceError("stores.\(address) is of a type that waitFor does not name; \(hint)", at: place)
    }

    func unknownRoot(_ root: String, in scope: ExpressionScope, at place: Place) -> SourceError {
        let names = ExpressionScope.actionNames + scope.locals.map(\.name) + (named?.names ?? [])
        let hint: String =
            if scope.shape[root] != nil {
                "did you mean `state.\(root)`?"
            } else if scope.payload.contains(where: { UTF8Order.equal($0, root) }) {
                "did you mean `payload.\(root)`?"
            } else {
                suggestion(for: root, among: names)
            }
        return SourceError("\(root) is not data of an action; \(hint)", at: place)
    }

    /// Keys with the places they have in the initial state.
    private static func hinted(_ keys: [String], in shape: JSON) -> [ReadKey] {
        var here: JSON? = shape
        return keys.map { key in
            guard case .object(let object)? = here else { return ReadKey(key) }
            here = object[key]
            return ReadKey(key, hint: object.position(of: key).index)
        }
    }

    /// The text that a constant path means; empty for all data.
    private static func pathText(_ constant: JSON) -> String {
        var evaluation = Evaluation(budget: Budget(operations: 10_000, bytes: 1 << 16))
        if case .null = constant { return "" }
        // A path too long to be written out leads nowhere, as would its text.
        return (try? evaluation.text(of: constant)) ?? "\u{0}"
    }

    mutating func noteAll(in scope: ExpressionScope) {
        if scope.isState || scope.isStore { note(read: nil) }
    }

    /// What `missing` looks at; unlike `var` it may ask for what is never there.
    private mutating func noteMissing(
        _ node: ExpressionNode, in scope: ExpressionScope, at place: Place
    ) {
        let names: [JSON]
        switch node.constant {
        case .array(let all)?: names = all
        case let name?: names = [name]
        case nil:
            review?.note(read: [], in: scope, at: place)
            return noteAll(in: scope)
        }
        for name in names {
            let text = Self.pathText(name)
            let keys = text.isEmpty ? [] : Evaluation.keys(of: text).map(\.name)
            review?.note(read: keys, in: scope, at: place)
            if scope.isState { note(read: keys.first) }
            if scope.isStore { note(read: keys) }
        }
    }
}
