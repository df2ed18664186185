import BusCEL
import BusJSON
import BusProtocol
import BusSource
import BusState

/// Names, and where they lead.
extension TextCompiler {
    /// A name and keys behind it, all of which are known.
    private struct Path {
        let root: String
        let position: Term.Position
        var keys: [(name: String, position: Term.Position)] = []

        var names: [String] { [root] + keys.map(\.name) }
        /// As an expression has it.
        var text: String { names.joined(separator: ".") }
    }

    private static func path(of term: Term) -> Path? {
        switch term.form {
        case .name(let name): return Path(root: name, position: term.position)
        case .member(let owner, let name, isOptional: false): return path(of: owner, name, term.position)
        case .index(let owner, let key, isOptional: false):
            // A path can't tell the key "0" from an index.
            guard case .text(let name) = key.form, arrayIndex(name) == nil else { return nil }
            return path(of: owner, name, key.position)
        default: return nil
        }
    }

    private static func path(of owner: Term, _ name: String, _ position: Term.Position) -> Path? {
        guard var path = path(of: owner) else { return nil }
        path.keys.append((name, position))
        return path
    }

    mutating func compilePlace(_ term: Term) throws(SourceError) -> Compiled {
        if let path = Self.path(of: term) { return try read(path) }
        switch term.form {
        case .member(let owner, let name, let isOptional):
            return try member(name, of: owner, isOptional: isOptional, at: term.position)
        case .index(let owner, let key, let isOptional):
            return try element(of: owner, at: key, isOptional: isOptional)
        default: preconditionFailure("A name is always a path.")
        }
    }

    private mutating func member(
        _ name: String, of owner: Term, isOptional: Bool, at position: Term.Position
    ) throws(SourceError) -> Compiled {
        switch try compile(owner, of: name) {
        case .optional(let node, let schema):
            let inner = inside(schema, name, of: owner.brief, at: position)
            return .optional(OptionalNode(.member(.optional(node), name)), inner)
        case .value(let node, let schema):
            let inner = inside(schema, name, of: owner.brief, at: position)
            if isOptional { return .optional(OptionalNode(.member(.value(node), name)), inner) }
            return folded(MemberNode(node, name), [node], inner)
        }
    }

    /// Compiles what a member is looked up in: where that is the whole state, only the member is read of it.
    @inline(never)
    private mutating func compile(_ owner: Term, of name: String) throws(SourceError) -> Compiled {
        let before = base.reads
        let compiled = try compile(owner)
        if case .name("state") = owner.form, base.reads.everything, !before.everything {
            base.narrow(to: name, since: before, in: scope)
        }
        return compiled
    }

    private mutating func element(
        of owner: Term, at keyTerm: Term, isOptional: Bool
    ) throws(SourceError) -> Compiled {
        let key = try value(keyTerm)
        if scope.isAction, case .name("stores") = owner.form, !isLocal("stores") {
            return try store(key, keyTerm, isOptional: isOptional)
        }
        return element(of: try compile(owner), owner, at: key, keyTerm, isOptional: isOptional)
    }

    @inline(never)
    private mutating func store(
        _ key: Value, _ keyTerm: Term, isOptional: Bool
    ) throws(SourceError) -> Compiled {
        demand(key.schema, .text, "stores[…]", keyTerm)
        if case .string(let address)? = key.node.constant {
            try check(stores: address, at: keyTerm.position)
        }
        let node = StoreStateNode(key.node, waitFor: scope.waitFor)
        return isOptional ? .optional(OptionalNode(.owner(.store(node))), .any) : .value(node, .any)
    }

    /// Stands on its own, so that it adds nothing to the frames of terms in terms.
    @inline(never)
    private mutating func element(
        of compiled: Compiled, _ owner: Term, at key: Value, _ keyTerm: Term, isOptional: Bool
    ) -> Compiled {
        let schema =
            switch compiled {
            case .value(_, let schema), .optional(_, let schema): schema
            }
        demand(schema, [.list, .map], "[…]", owner)
        if schema.kinds == .list { demand(key.schema, .number, "a list's index", keyTerm) }
        if schema.kinds == .map { demand(key.schema, .text, "a map's key", keyTerm) }
        switch compiled {
        case .optional(let node, _):
            return .optional(OptionalNode(.index(.optional(node), key.node)), schema.element)
        case .value(let node, _):
            if isOptional { return .optional(OptionalNode(.index(.value(node), key.node)), schema.element) }
            return folded(IndexNode(node, key.node), [node, key.node], schema.element)
        }
    }

    func isLocal(_ name: String) -> Bool { locals.contains { $0.name == name } }

    private mutating func check(stores address: String, at position: Term.Position) throws(SourceError) {
        do throws(SourceError) {
            try base.check(stores: address, in: scope, at: place)
        } catch {
            throw failure(error.message, at: position)
        }
    }

    /// Whether `has(…)` of a member would hold.
    mutating func presence(_ term: Term) throws(SourceError) -> ExpressionNode {
        guard case .member(let owner, let name, let isOptional) = term.form else {
            throw failure(
                "has takes a member, such as has(state.a.b), and not \(term.brief).", at: term.position)
        }
        switch try compile(owner, of: name) {
        case .optional(let node, let schema):
            _ = inside(schema, name, of: owner.brief, at: term.position)
            return PresenceNode(OptionalNode(.member(.optional(node), name)))
        case .value(let node, let schema):
            _ = inside(schema, name, of: owner.brief, at: term.position)
            if isOptional { return PresenceNode(OptionalNode(.member(.value(node), name))) }
            return HasNode(node, name)
        }
    }

    // MARK: Reads

    /// Stands on its own, so that it adds nothing to the frames of terms in terms.
    @inline(never)
    private mutating func read(_ path: Path) throws(SourceError) -> Compiled {
        let missing = FailureNode("\(path.text) is missing")
        if let slot = locals.lastIndex(where: { $0.name == path.root }) {
            let keys = path.keys.map(\.name)
            let schema = walk(locals[slot].schema, path.keys[...], path.root)
            let read = LocalReadNode(slot, keys.map { ReadKey($0) }, fallback: missing)
            return .value(read, schema)
        }
        if base.named != nil, let value = try readNamed(path) { return value }
        switch scope.data {
        case .action: return try readAction(path, missing)
        case .state: return try readState(path, missing)
        case .migration:
            return .value(try base(path.names, or: missing, at: path.position), .any)
        case .element, .reduction:
            reads.insert(path.root)
            if case .only(let names, let texts) = scope.names {
                guard names.contains(path.root) else {
                    return broken(
                        "\(path.root) is not known here; \(suggestion(for: path.root, among: names))",
                        at: path.position)
                }
                if texts.contains(path.root), let key = path.keys.first {
                    let hint = names.contains(key.name) ? "write \(key.name)." : "leave .\(key.name) out."
                    doubt("\(path.root) is a text, which has no members; \(hint)", at: key.position)
                }
            }
            return .value(try base(path.names, or: missing, at: path.position), .any)
        }
    }

    /// What `let` gives a name, or a place in it.
    @inline(never)
    private mutating func readNamed(_ path: Path) throws(SourceError) -> Compiled? {
        guard let (node, schema) = try base.value(named: path.root, in: scope, depth: locals.count) else {
            return nil
        }
        var value = (node: node, schema: schema, owner: path.root)
        for key in path.keys {
            let inner = inside(value.schema, key.name, of: value.owner, at: key.position)
            let member = MemberNode(value.node, key.name)
            value = (
                ExpressionCompiler.folded(member, [value.node], base.constants), inner,
                "\(value.owner).\(key.name)"
            )
        }
        return .value(value.node, value.schema)
    }

    /// The read of a place that JsonLogic knows, too.
    private mutating func base(
        _ names: [String], or missing: ExpressionNode?, at position: Term.Position
    ) throws(SourceError) -> ExpressionNode {
        base.review?.note(read: names, in: scope, at: place)
        do throws(SourceError) {
            return try base.read(names, missing, in: scope, at: place)
        } catch {
            throw failure(error.message, at: position)
        }
    }

    private mutating func readAction(
        _ path: Path, _ missing: ExpressionNode
    ) throws(SourceError) -> Compiled {
        guard ExpressionScope.actionNames.contains(path.root) else {
            return broken(base.unknownRoot(path.root, in: scope, at: place).message, at: path.position)
        }
        let review = base.review
        var schema = ValueSchema.any
        var isCertain = false
        switch (path.root, path.keys.first) {
        case ("state", let first?):
            check(member: first.name, as: path, at: first.position)
            if let known = review?.schema?[first.name] {
                schema = walk(known, path.keys.dropFirst(), "state.\(first.name)")
                isCertain = path.keys.count == 1
            }
        case ("payload", let first?):
            if let member = review?.payload?.member(first.name) {
                schema = walk(member.schema, path.keys.dropFirst(), "payload.\(first.name)")
                isCertain = path.keys.count == 1 && (!member.isOptional || member.schema.fallback != nil)
            }
        case ("state", nil), ("payload", nil), ("meta", nil), ("stores", nil): schema = .object
        case ("store", _): schema = .string
        case ("meta", let name?):
            if let problem = ExpressionReview.problem(ofMeta: path.keys.map(\.name)) {
                doubt(problem, at: path.keys[1].position)
            }
            schema =
                name.name == "time"
                ? .number
                : name.name == "revision" || ClockTime(rawValue: name.name) != nil ? .integer : .any
        default: break
        }
        return .value(try base(path.names, or: isCertain ? nil : missing, at: path.position), schema)
    }

    private mutating func readState(
        _ path: Path, _ missing: ExpressionNode
    ) throws(SourceError) -> Compiled {
        let isWhole =
            path.root == "state" && (scope.isNamed || base.review?.names?.contains("state") != true)
        if scope.isNamed, !isWhole {
            if ["payload", "meta", "store", "stores"].contains(path.root) {
                return broken(
                    "\(path.root) is only there in actions, and an expression that reads the state alone reads this name.",
                    at: path.position)
            }
            return broken(base.unknownRoot(path.root, in: scope, at: place).message, at: path.position)
        }
        let keys = isWhole ? path.keys : [(path.root, path.position)] + path.keys
        guard let first = keys.first else {
            return .value(try base(scope.isNamed ? ["state"] : [], or: missing, at: path.position), .object)
        }
        check(member: first.name, as: path, at: first.position)
        var schema = ValueSchema.any
        var isCertain = false
        if let known = base.review?.schema?[first.name] {
            schema = walk(known, keys.dropFirst(), first.name)
            isCertain = keys.count == 1
        }
        let names = scope.isNamed ? path.names : keys.map(\.name)
        return .value(try base(names, or: isCertain ? nil : missing, at: path.position), schema)
    }

    /// Doubts the name of a member that no state has.
    private mutating func check(member name: String, as path: Path, at position: Term.Position) {
        guard let review = base.review, let names = review.names, !review.isMember(name) else { return }
        if scope.isState, ["payload", "meta", "store", "stores"].contains(path.root) {
            if let source = review.source {
                return doubt(
                    "\(path.root) is not there in a view, which reads the states of \(source), and nothing else.",
                    at: position)
            }
            return doubt(
                "\(path.root) is only there in actions; here an expression reads the state, and nothing else.",
                at: position)
        }
        let owner = path.root == "state" ? "state." : ""
        let others = owner.isEmpty ? base.named?.names ?? [] : []
        let lack = review.source.map { "\($0) has no member \(name)" }
        doubt(
            "\(lack ?? "\(owner)\(name) is in neither initial nor state"); \(suggestion(for: name, among: names + others)) "
                + "To read what only some states have, write state.?\(name).orValue(VALUE).", at: position)
    }

    // MARK: What is inside

    /// What is known of the value that keys lead to.
    private mutating func walk(
        _ start: ValueSchema, _ keys: ArraySlice<(name: String, position: Term.Position)>, _ root: String
    ) -> ValueSchema {
        var schema = start
        var owner = root
        for key in keys {
            schema = inside(schema, key.name, of: owner, at: key.position)
            owner += "." + key.name
        }
        return schema
    }

    /// What is known of a member; doubts one that can't be there.
    private mutating func inside(
        _ schema: ValueSchema, _ name: String, of owner: String, at position: Term.Position
    ) -> ValueSchema {
        if schema.kinds.isDisjoint(with: .map) {
            let hint =
                ["length", "size", "count"].contains(name) && !schema.kinds.isDisjoint(with: [.list, .text])
                ? "write size(\(owner))."
                : schema.kinds == .list ? "write \(owner)[INDEX] for an element." : "leave .\(name) out."
            doubt("\(owner) is \(schema.kinds.phrase), which has no members; \(hint)", at: position)
            return .any
        }
        guard schema.choices == nil, schema.type == .object else { return .any }
        switch schema.inside(name) {
        case .open: return .any
        case .schema(let inner): return inner
        case .nothing:
            doubt(
                "\(owner) has no member \(name); "
                    + suggestion(for: name, among: (schema.properties ?? []).map(\.name)), at: position)
            return .any
        }
    }
}
