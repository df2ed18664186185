import BusCEL
import BusJSON
import BusProtocol
import BusSource

/// `let:` of a type: what its expressions call by names. Each is compiled once for each kind of data, those that it reads
/// before it, and its node stands wherever it is read: a name costs what its expression costs, and nothing where it is not used.
///
/// It belongs to the loading of one type.
final class NamedExpressions {
    typealias Value = (node: ExpressionNode, schema: ValueSchema)

    /// What a name became for one kind of data.
    private struct Compiled {
        let result: Result<Value, SourceError>
        let reads: StateReads
        /// Whether the expression gives values names itself, so that those around it have to be put aside.
        let hasLocals: Bool
        /// What is wrong with it, which counts where it is read.
        let mistakes: Mistakes
    }

    /// The kinds of data in which names are known.
    private enum Kind: CaseIterable { case action, state, migration }

    /// Levels of an expression with those of the names that it reads: little enough for recursive code, below an expression as deep
    /// as any.
    private static let deepest = 32

    let names: [String]
    private let members: [LocatedObject.Member]
    private let mistakes: Mistakes
    private let readsText: Bool
    private let waitFor: [String]
    /// The members of states, computed ones included, and what they have to be.
    private var shape = JSONObject()
    private var known: [String]?
    private var schema: StateSchema?
    private var compiled: [Kind: [String: Compiled]] = [:]
    /// Whether one of them is a text.
    private(set) var hasText = false

    init(_ members: [LocatedObject.Member], _ mistakes: Mistakes, readsText: Bool, waitFor: [String]) {
        self.members = members
        self.mistakes = mistakes
        self.readsText = readsText
        self.waitFor = waitFor
        names = members.map(\.key)
    }

    func contains(_ name: String) -> Bool { names.contains { UTF8Order.equal($0, name) } }

    /// Compiles all of them, and says what is wrong with those that nothing reads, too.
    func compile(shape: JSONObject, _ names: [String]?, _ schema: StateSchema?) {
        (self.shape, known, self.schema) = (shape, names, schema)
        var order = Array(members.indices)
        switch DependencyOrder.sort(members.map { dependencies(of: $0.value) }) {
        case .order(let sorted): order = sorted
        case .cycle(let cycle):
            let circle = cycle.map { members[$0].key }.joined(separator: " → ")
            mistakes.add(
                "The names \(circle) of let read each other in a circle; break it.",
                at: members[cycle.min()!].place)
            return
        }
        guard areFlat(order) else { return }
        for kind in Kind.allCases {
            for index in order { compile(members[index], kind) }
        }
        for name in self.names { tellMistakes(of: name, .action) }
    }

    /// The value of a name, for an expression that reads it below so many named values; nil where nothing has the name.
    func value(
        of name: String, in scope: ExpressionScope, depth: Int, _ reads: inout StateReads
    ) throws(SourceError) -> Value? {
        let kind: Kind
        switch scope.data {
        case .action: kind = .action
        case .state: kind = .state
        case .migration: kind = .migration
        case .element, .reduction: return nil
        }
        guard contains(name) else { return nil }
        guard let found = compiled[kind]?[name] else { return (FailureNode("\(name) is not known"), .any) }
        tellMistakes(of: name, kind)
        let value = try found.result.get()
        reads.formUnion(found.reads)
        return found.hasLocals && depth > 0 ? (NamedNode(value.node), value.schema) : value
    }

    private func tellMistakes(of name: String, _ kind: Kind) {
        guard let found = compiled[kind]?[name] else { return }
        for error in found.mistakes.errors { mistakes.add(error) }
        for doubt in found.mistakes.doubts { mistakes.doubt(doubt.message, at: doubt.place) }
        if case .failure(let error) = found.result { mistakes.add(error) }
    }

    private func compile(_ member: LocatedObject.Member, _ kind: Kind) {
        let data: DataScope =
            switch kind {
            case .action: .action(waitFor: waitFor)
            case .state: .state
            case .migration: .migration
            }
        let scope = ExpressionScope(data: data, shape: shape, isNamed: true)
        let found = Mistakes(isStrict: mistakes.isStrict)
        let nothing = LoadedPayload([])
        let review = ExpressionReview(
            found, names: known, schema: schema, payload: kind == .action ? nothing : nil)
        var compiler = ExpressionCompiler()
        compiler.readsText = readsText
        compiler.named = self
        if kind != .migration { compiler.review = review }
        let result = Result { () throws(SourceError) -> Value in
            let node = try compiler.compile(expression: member.value, in: scope)
            let inference = ValueInference(payload: nothing, state: schema, review: review)
            return (node, inference.schema(of: node))
        }
        hasText = hasText || compiler.hasText
        compiled[kind, default: [:]][member.key] = Compiled(
            result: result, reads: compiler.reads, hasLocals: compiler.hasLocals, mistakes: found)
    }

    // MARK: Order

    /// The names that an expression reads, by their indices: in JsonLogic, what its operators that read data are given.
    private func dependencies(of source: LocatedValue) -> [Int] {
        var found: Set<Int> = []
        func note(_ path: String) {
            let first = String(path.prefix { $0 != "." })
            if let index = names.firstIndex(where: { UTF8Order.equal($0, first) }) { found.insert(index) }
        }
        func look(_ term: Term) {
            if case .name(let name) = term.form { note(name) }
            for part in term.form.parts { look(part) }
        }
        func look(_ value: LocatedValue, isExpression: Bool, isRead: Bool) {
            switch value.content {
            case .scalar(.string(let text)):
                if isRead { note(text) }
                guard readsText, isExpression || TextCompiler.isMarked(text),
                    let term = try? TextCompiler.term(text)
                else { return }
                look(term)
            case .scalar: return
            case .array(let elements):
                for element in elements { look(element, isExpression: false, isRead: isRead) }
            case .object(let object):
                for member in object.members {
                    let reads = ["var", "val", "exists", "missing", "missing_some"].contains(member.key)
                    look(member.value, isExpression: false, isRead: object.count == 1 && reads)
                }
            }
        }
        look(source, isExpression: true, isRead: false)
        return found.sorted()
    }

    /// Whether no name is too deep with those that it reads, which come before it; adds the mistake.
    private func areFlat(_ order: [Int]) -> Bool {
        var depths: [Int: Int] = [:]
        for index in order {
            let source = members[index].value
            let inner = dependencies(of: source).reduce(0) { max($0, depths[$1] ?? 0) }
            var own = source.depth
            if case .scalar(.string(let text)) = source.content, readsText {
                own = (try? TextCompiler.term(text))?.depth ?? 1
            }
            depths[index] = own + inner
            if own + inner <= Self.deepest { continue }
            mistakes.add(
                "\(members[index].key) nests more than \(Self.deepest) levels deep, with the names that it reads; divide it "
                    + "into computed values.", at: members[index].place)
            return false
        }
        return true
    }
}

extension LocatedValue {
    fileprivate var depth: Int {
        switch content {
        case .scalar: 1
        case .array(let elements): 1 + elements.reduce(0) { max($0, $1.depth) }
        case .object(let object): 1 + object.members.reduce(0) { max($0, $1.value.depth) }
        }
    }
}

extension DefinitionLoader {
    /// `let`, whose names have to mean nothing else. The members of states are known, but for computed values.
    mutating func loadNames(ofLet root: LocatedObject) throws(SourceError) {
        guard let source = root["let"] else { return }
        let members = try source.object("let").members
        var computed: [String] = []
        if case .object(let object)? = root["computed"]?.content { computed = object.keys }
        for member in members {
            let name = member.key
            guard case .name? = (try? Term(parsing: name))?.form else {
                throw SourceError(
                    "\(name) can't be a name; write letters, digits and _, such as isOpen.", at: member.place)
            }
            let other: String? =
                if ExpressionScope.actionNames.contains(name) {
                    "data of every action"
                } else if TextFunction.namespaces.contains(name) {
                    "where functions come from"
                } else if parts.plain[name] != nil {
                    "a member of the state"
                } else if computed.contains(where: { UTF8Order.equal($0, name) }) {
                    "a computed value"
                } else {
                    nil
                }
            if let other {
                throw SourceError("\(name) is \(other) already; choose another name.", at: member.place)
            }
        }
        named = NamedExpressions(members, mistakes, readsText: readsText, waitFor: parts.waitFor)
    }
}
