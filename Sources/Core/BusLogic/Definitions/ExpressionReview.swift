import BusJSON
import BusProtocol
import BusSource

/// What the expressions of an action, or of the computed values, are held against while they are compiled: what they
/// read has to be there, and a text must not look like an expression. Notes also what they read of the payload.
///
/// It belongs to one compilation.
final class ExpressionReview {
    /// A text that stands where a value does.
    struct Text {
        let text: String
        let place: Place
    }

    let mistakes: Mistakes
    /// The members of a state, computed ones included; nil when that is unknown, because of another mistake.
    let names: [String]?
    let schema: StateSchema?
    /// Nil for computed values, which have none.
    let payload: LoadedPayload?
    /// How the state is called in a read: `state.` in an action.
    private let prefix: String
    /// The type whose states a view reads; nil for expressions of the type itself.
    let source: String?

    private var payloadReads: [String] = []
    private var readsWholePayload = false
    /// How many of `payloadReads` are of `require`, which comes first.
    private var readsOfRequirements = 0
    private(set) var texts: [Text] = []
    /// What is known of the values of expressions in text.
    private(set) var schemas: [ObjectIdentifier: (node: ExpressionNode, schema: ValueSchema)] = [:]
    /// Reads inside an iteration that look like reads of the payload, by its member's name.
    private(set) var hiddenReads: [Text] = []

    init(
        _ mistakes: Mistakes, names: [String]?, schema: StateSchema?, payload: LoadedPayload?,
        of source: String? = nil
    ) {
        self.mistakes = mistakes
        self.source = source
        self.names = names
        self.schema = schema
        self.payload = payload
        prefix = payload == nil ? "" : "state."
    }

    func isMember(_ name: String) -> Bool {
        names?.contains { UTF8Order.equal($0, name) } ?? true
    }

    /// Records what is known about an expression's value, for the write that uses it.
    func know(_ node: ExpressionNode, _ schema: ValueSchema) {
        schemas[ObjectIdentifier(node)] = (node, schema)
    }

    // MARK: Reads

    func notePayload(_ name: String?) {
        if let name { payloadReads.append(name) } else { readsWholePayload = true }
    }

    func reads(payload name: String) -> Bool {
        readsWholePayload || payloadReads.contains { UTF8Order.equal($0, name) }
    }

    /// What was read up to here, `require` has read.
    func endRequirements() { readsOfRequirements = payloadReads.count }

    /// Whether anything but `require` reads a member of the payload; where that reads all of it, so may the rest.
    func readsBesidesRequirements(payload name: String) -> Bool {
        readsWholePayload || payloadReads[readsOfRequirements...].contains { UTF8Order.equal($0, name) }
    }

    /// Notes what a read of a place needs of the payload.
    func note(read keys: [String], in scope: ExpressionScope, at place: Place) {
        switch scope.data {
        case .action:
            if keys.isEmpty { notePayload(nil) }
            if keys.first == "payload" { notePayload(keys.count > 1 ? keys[1] : nil) }
        case .element, .reduction:
            guard keys.count > 1, keys[0] == "payload", payload?.member(keys[1]) != nil else { return }
            hiddenReads.append(Text(text: keys[1], place: place))
        case .state, .migration: break
        }
    }

    /// Holds a read of a known place against what is there.
    func check(read keys: [String], in scope: ExpressionScope, at place: Place) {
        guard let root = keys.first else { return }
        switch scope.data {
        case .state:
            let keys = scope.isNamed ? Array(keys.dropFirst()) : keys
            if !keys.isEmpty { check(state: keys, at: place) }
        case .action:
            let inner = Array(keys.dropFirst())
            if root == "state", !inner.isEmpty { check(state: inner, at: place) }
            if root == "meta", let problem = Self.problem(ofMeta: inner) {
                mistakes.doubt(problem, at: place)
            }
            if root == "payload", let name = inner.first, let member = payload?.member(name) {
                checkInside(member.schema, inner, after: "payload.", at: place)
            }
        case .element, .reduction, .migration: break
        }
    }

    /// What is wrong with a read of `meta` below its own members; nil where nothing is.
    static func problem(ofMeta keys: [String]) -> String? {
        guard keys.count > 1, keys[0] == "who", !whoNames.contains(keys[1]) else { return nil }
        return "meta.who has no member \(keys[1]); \(suggestion(for: keys[1], among: whoNames))"
    }

    /// What `meta.who` may have.
    private static let whoNames = ["roles", "uid", "user", "unit", "token"]

    private func check(state keys: [String], at place: Place) {
        guard let names else { return }
        let name = keys[0]
        guard isMember(name) else {
            if payload == nil, let hint = Self.hint(forRoot: keys, names) {
                return mistakes.doubt(hint, at: place)
            }
            let path = prefix + keys.joined(separator: ".")
            return mistakes.doubt(
                "\(prefix)\(name) is in neither initial nor state; \(suggestion(for: name, among: names)) "
                    + "To read what only some states have, write { var: { literal: \(path) } }.",
                at: place)
        }
        if let member = schema?[name] { checkInside(member, keys, after: prefix, at: place) }
    }

    /// What to say of a computed value that reads as an action does.
    private static func hint(forRoot keys: [String], _ names: [String]) -> String? {
        switch keys[0] {
        case "state":
            guard keys.count > 1 else {
                return "A computed value's data is the state itself; write { var: \"\" } for all of it."
            }
            let rest = keys.dropFirst().joined(separator: ".")
            return "A computed value reads the state itself; write \(rest) instead of state.\(rest)."
        case "payload", "meta", "store", "stores":
            return
                "\(keys[0]) is only there in actions; here an expression reads the state, and nothing else."
        default: return nil
        }
    }

    private func checkInside(
        _ member: ValueSchema, _ keys: [String], after prefix: String, at place: Place
    ) {
        var schema = member
        for depth in 1..<max(keys.count, 1) {
            let owner = prefix + keys[..<depth].joined(separator: ".")
            switch schema.inside(keys[depth]) {
            case .open: return
            case .schema(let inner): schema = inner
            case .nothing: return mistakes.doubt(Self.nothing(keys[depth], in: schema, owner), at: place)
            }
        }
    }

    /// That a key leads nowhere, and what may be meant.
    static func nothing(_ key: String, in schema: ValueSchema, _ owner: String) -> String {
        switch schema.type {
        case .object:
            let names = (schema.properties ?? []).map(\.name)
            return "\(owner) has no member \(key); \(suggestion(for: key, among: names))"
        case .array where key == "length":
            return "\(owner) is an array, and length is not an index; write { length: { var: \(owner) } }."
        case .array:
            return "\(owner) is an array, and \(key) is not an index; write a number, counted from 0."
        case .string where key == "length":
            return "\(owner) is a string; write { length: { var: \(owner) } }."
        default:
            return "\(owner) is \(schema.type.phrase), which has no members; leave .\(key) out."
        }
    }

    // MARK: Texts

    /// Notes a text that stands where a value does, and doubts one that looks like an expression.
    func check(text: String, at place: Place) {
        texts.append(Text(text: text, place: place))
        guard mistakes.isStrict, let message = TextReview(self).message(for: text) else { return }
        mistakes.doubt(message, at: place)
    }

    /// Doubts an object of several members one of which is an operator: it is built, and nothing is worked out.
    func check(object: LocatedObject) {
        guard object.count > 1,
            let member = object.members.first(where: { Self.unmistakable.contains($0.key) })
        else { return }
        mistakes.doubt(
            "An object with several members is built member by member, and \(member.key) is not worked out; "
                + "give each operator an object of its own, or write { object: … } if \(member.key) is a name.",
            at: member.place)
    }

    /// Operators that are no names of members.
    private static let unmistakable: Set<String> = [
        "var", "==", "===", "!=", "!==", "!", "!!", "??", ">", ">=", "<", "<=", "+", "-", "*", "/", "%",
        "?:",
    ]
}
