import BusJSON
import BusProtocol
import BusSource

/// Compiles one state type from what its file says. Nothing is overlooked: a member that means nothing here,
/// an operator or a type that does not exist, a path that can't be right, each is an error with its line and
/// the word that was probably meant. All of them are found at once.
struct DefinitionLoader {
    /// Everything a type is made of.
    struct Parts {
        var name = ""
        var summary: String?
        var definition = JSON.null
        /// The definition's members in the order of the file.
        var written: LocatedValue
        var plain = JSONObject()
        var schema: StateSchema?
        var computed = ComputedValues([], shape: JSONObject())
        /// What is known of their values.
        var computedSchemas = JSONObject()
        var invariants = Invariants(entries: [])
        var timers: [TypeTimer] = []
        /// What the conditions of `timers` read.
        var readsOfTimers: UInt64 = 0
        var waitFor: [String] = []
        var waitForPlaces: [Place] = []
        var actions: [DeclaredAction] = []
        var migrations = Migrations(steps: [])
        var timeToLive: Int?
        var indexed: [String] = []
        var logPolicy = LogPolicy.all
        var logReach = LogReach.whole
        /// How the states of a view are worked out.
        var view: ViewRules?
        var tests: LocatedValue?
        var place: Place
    }

    let source: LocatedValue
    let mistakes: Mistakes
    var parts: Parts
    /// All members of a state, computed ones as null: where keys stand.
    var shape = JSONObject()
    /// Names of the computed values.
    var computedNames: [String] = []
    /// Whether `initial` and `state` could be read: otherwise nothing is said about members that they lack.
    var isShapeKnown = true

    /// Whether texts may be expressions: in files, and in definitions that say so. One without the member comes from a time
    /// when no text was an expression, and means what it meant then.
    var readsText = false
    /// Whether one is; then the definition that is passed on says so.
    var usesText = false

    /// The schemas of all files of a load; nil where there is only this one.
    var schemas: SharedSchemas?

    /// What `let` gives names; nil where the type has none.
    var named: NamedExpressions?

    /// Whether what is code somewhere may be left out: steps between versions, and what actions do to timers.
    var mayLackCode = false

    static let members = [
        "type", "summary", "version", "state", "initial", "let", "computed", "invariant", "waitFor", "ttl",
        "index", "log", "timers", "actions", "migrate", "expressions", "schemas", "tests",
    ]
    static let longestName = 64

    init(_ source: LocatedValue, _ mistakes: Mistakes) {
        self.source = source
        self.mistakes = mistakes
        parts = Parts(written: source, place: source.place)
    }

    /// What the definition says; only good where there are no mistakes afterwards.
    mutating func load() -> Parts {
        guard let written = mistakes.collect({ () throws(SourceError) in try source.object("A state type") })
        else { return parts }
        if written.member("view") != nil { return loadView(written) }
        let root = expanded(written)
        var definition = root.json
        definition["schemas"] = nil
        parts.definition = .object(definition)
        parts.written = LocatedValue(.object(root), at: root.place)
        refuseStrangers(in: root)
        loadTests(root)
        mistakes.collect { () throws(SourceError) in try loadLanguage(root) }
        mistakes.collect { () throws(SourceError) in try loadNames(root) }
        mistakes.collect { () throws(SourceError) in try loadWaiting(root) }
        loadShape(root)
        mistakes.collect { () throws(SourceError) in try loadNames(ofLet: root) }
        mistakes.collect { () throws(SourceError) in try loadComputed(root) }
        usesText = usesText || named?.hasText == true
        mistakes.collect { () throws(SourceError) in try loadActions(root) }
        mistakes.collect { () throws(SourceError) in parts.migrations = try loadMigrations(root) }
        checkTimers(root)
        mistakes.collect { () throws(SourceError) in parts.timeToLive = try loadTimeToLive(root) }
        mistakes.collect { () throws(SourceError) in try loadIndex(root) }
        mistakes.collect { () throws(SourceError) in try loadLog(root) }
        if usesText, case .object(var definition) = parts.definition {
            definition["expressions"] = .string(Self.language)
            parts.definition = .object(definition)
        }
        return parts
    }

    /// The definition with the schemas that it refers to: its own, or those of all files.
    private func expanded(_ written: LocatedObject) -> LocatedObject {
        let own = written["schemas"]
        let schemas =
            schemas
            ?? SharedSchemas {
                if case .object(let object)? = own?.content { [object] } else { [] }
            }
        if let own { schemas.check(own, mistakes) }
        return schemas.expand(written, mistakes)
    }

    /// Tests are their file's, which whoever runs them reads: the bus neither passes them on nor keeps them.
    private mutating func loadTests(_ root: LocatedObject) {
        guard let tests = root["tests"], case .object(var definition) = parts.definition else { return }
        parts.tests = tests
        definition["tests"] = nil
        parts.definition = .object(definition)
    }

    /// What the member `expressions` says.
    static let language = "cel"

    mutating func loadLanguage(_ root: LocatedObject) throws(SourceError) {
        readsText = readsText || mistakes.isStrict || root["expressions"] != nil
        _ = try root["expressions"]?.word("expressions", among: [Self.language])
    }

    /// Compiles the expressions of one part of the definition.
    func compiler(_ review: ExpressionReview?) -> ExpressionCompiler {
        var compiler = ExpressionCompiler()
        compiler.review = review
        compiler.readsText = readsText
        compiler.named = named
        return compiler
    }

    private mutating func loadNames(_ root: LocatedObject) throws(SourceError) {
        mistakes.collect { () throws(SourceError) in parts.summary = try root["summary"]?.string("summary") }
        let type = try root.required("type", of: "A state type")
        parts.name = try type.string("type")
        parts.place = type.place
        try Self.check(name: parts.name, of: "A state type", at: type.place)
    }

    private mutating func loadWaiting(_ root: LocatedObject) throws(SourceError) {
        for element in try root["waitFor"]?.array("waitFor") ?? [] {
            let name = try element.string("each type of waitFor")
            if parts.waitFor.contains(name) {
                throw element.failure(FileWords.duplicate("type", name))
            }
            parts.waitFor.append(name)
            parts.waitForPlaces.append(element.place)
        }
    }

    private mutating func loadActions(_ root: LocatedObject) throws(SourceError) {
        // What stands beside it instead of in it has been refused.
        guard let source = root["actions"], !source.isNull || mistakes.isEmpty else { return }
        let actions = try source.object("actions")
        let misplaced = refuseMisplaced(in: actions)
        for member in actions.members.sorted(by: { UTF8Order.precedes($0.key, $1.key) })
        where !misplaced.contains(where: { UTF8Order.equal($0, member.key) }) {
            mistakes.collect { () throws(SourceError) in
                try Self.check(name: member.key, of: "An action", at: member.place)
            }
            if let action = mistakes.collect({ () throws(SourceError) in try loadAction(member) }) {
                parts.actions.append(action)
            }
        }
    }

    /// Type and action names: `[a-z][A-Za-z0-9_-]*`, at most 64 bytes.
    static func check(name: String, of owner: String, at place: Place) throws(SourceError) {
        let bytes = name.utf8
        let isGood =
            bytes.first.map { 97...122 ~= $0 } == true
            && bytes.allSatisfy {
                97...122 ~= $0 || 65...90 ~= $0 || 48...57 ~= $0 || $0 == UInt8(ascii: "_")
                    || $0 == UInt8(ascii: "-")
            }
        guard isGood else {
            throw SourceError(
                "\(owner) can't be called \(name); \(Names.typeNameRule).",
                at: place)
        }
        guard bytes.count <= longestName else {
            throw SourceError("The name \(name) has more than \(longestName) bytes; shorten it.", at: place)
        }
    }
}
