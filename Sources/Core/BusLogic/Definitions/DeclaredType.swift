import BusJSON
import BusProtocol
import BusSource
import BusState

/// A state type that was declared in a file, compiled: the rules of its actions as trees of operations, and
/// its writes as paths into the state.
///
/// A commit evaluates every expression against the state as it was, lets go of that state, and only then
/// writes, so that each write happens in place.
package final class DeclaredType: StateType {
    package let name: String
    package let summary: String?
    package let definition: JSON
    /// The definition as JSON text, with its members in the order of the file.
    private let text: [UInt8]
    package let initial: JSONObject
    package let waitFor: [String]
    package let actionNames: [String]
    package let timeToLive: Int?
    /// The members by whose values its stores are found.
    package let indexed: [String]
    /// What the log keeps of its stores; a view says nothing of its own.
    package let logPolicy: LogPolicy
    /// How far back it keeps their past.
    package let logReach: LogReach

    let actions: [DeclaredAction]
    /// Whether an action makes members whose names its payload says.
    private let makesMembers: Bool
    let migrations: Migrations
    let computed: ComputedValues
    /// What is known of the computed values before there is a state, as a definition says it.
    package let computedSchemas: JSONObject
    let invariants: Invariants
    let typeTimers: [TypeTimer]
    /// `initial` as it was written, without computed values.
    let plain: JSONObject
    /// What every state satisfies; nil where the definition does not say.
    package let schema: StateSchema?
    /// How its states are worked out, where it is a view: nobody changes them.
    package let view: ViewRules?
    /// The file's text about `waitFor`, for errors that need other types.
    let waitForPlaces: [Place]
    /// Where the type's name stands.
    package let place: Place
    /// The tests that its file has, which the definition lacks; `TypeTestSuite` reads them.
    package let tests: LocatedValue?

    /// Compiles what a file says; throws the mistake that explains most.
    package convenience init(_ source: LocatedValue) throws(SourceError) {
        try self.init(source, Mistakes(isStrict: true))
    }

    /// Compiles a definition as `types` shows it, and as a log has it: a bus accepted it before, so only what can't be
    /// compiled is refused. One of a type in code lacks what is code there: the steps from earlier
    /// versions, and the rule for timers.
    package convenience init(definition: JSON) throws(SourceError) {
        try self.init(
            accepted: LocatedValue(definition, name: definition["type"]?.string ?? "definition"))
    }

    /// The same where the definition still knows its places.
    package convenience init(accepted source: LocatedValue) throws(SourceError) {
        try self.init(source, Mistakes(isStrict: false))
    }

    /// Compiles what a file says; nil after all its mistakes were added, in the order of their places.
    ///
    /// - Parameters:
    ///   - schemas: Those of all files that are loaded together; nil where this is the only one.
    ///   - isTakenElsewhere: Whether another type has an action of this name with a payload member of this name. A
    ///     dispatch to all types gives the member to each, so that one that does not read it has to take it, too.
    package static func load(
        _ source: LocatedValue, _ errors: inout [SourceError], schemas: SharedSchemas? = nil,
        isTakenElsewhere: @escaping (_ action: String, _ member: String) -> Bool = { _, _ in false }
    ) -> DeclaredType? {
        let mistakes = Mistakes(isStrict: true)
        mistakes.isTakenElsewhere = isTakenElsewhere
        let type = try? DeclaredType(source, mistakes, schemas)
        errors += mistakes.inOrder
        return type
    }

    private convenience init(
        _ source: LocatedValue, _ mistakes: Mistakes, _ schemas: SharedSchemas? = nil
    ) throws(SourceError) {
        var loader = DefinitionLoader(source, mistakes)
        loader.schemas = schemas
        loader.mayLackCode = !mistakes.isStrict
        let parts = loader.load()
        if let first = mistakes.first { throw first }
        self.init(parts)
    }

    private init(_ parts: DefinitionLoader.Parts) {
        name = parts.name
        summary = parts.summary
        definition = parts.definition
        let writer = ByteWriter()
        parts.written.append(parts.definition, to: writer)
        text = Array(writer.bytes)
        plain = parts.plain
        schema = parts.schema
        computed = parts.computed
        computedSchemas = parts.computedSchemas
        invariants = parts.invariants
        typeTimers = parts.timers
        // What stands in a file costs what its author wants.
        var budget = Budget.unlimited
        initial = (try? parts.computed.added(to: parts.plain, spending: &budget)) ?? parts.plain
        waitFor = parts.waitFor
        waitForPlaces = parts.waitForPlaces
        actions = parts.actions
        makesMembers =
            parts.schema == nil
            && parts.actions.contains(where: \.makesMembers)
        migrations = parts.migrations
        actionNames = parts.actions.map(\.name)
        timeToLive = parts.timeToLive
        indexed = parts.indexed
        logPolicy = parts.logPolicy
        logReach = parts.logReach
        view = parts.view
        tests = parts.tests
        place = parts.place
    }

    package func appendDefinition(to writer: ByteWriter) {
        text.withUnsafeBytes { writer.append($0) }
    }

    package func accept(_ payload: JSONObject, for action: Int) throws(PayloadFailure) -> JSONObject {
        let result = Unmanaged.passUnretained(actions[action])._withUnsafeGuaranteedRef { action in
            Result { () throws(PayloadFailure) in
                var accepted = try action.payload.accept(payload, by: action.name)
                if let constraints = action.constraints {
                    accepted = constraints.filled(accepted)
                    try constraints.check(accepted, of: action.name)
                }
                return accepted
            }
        }
        return try result.get()
    }

    /// Whether an action changes no state, whatever its payload is.
    package func isPureEvent(_ action: Int) -> Bool { actions[action].writes.isEmpty }

    package func payloadSchema(of action: Int) -> PayloadSchema? {
        actions[action].constraints == nil ? actions[action].payload : nil
    }

    package func redactedMembers(of action: Int) -> [String] { actions[action].redacted }

    /// What an action's payload may hold, ascending by name, as the definition says it.
    package func payloadMembers(of action: Int) -> [PayloadMember] { actions[action].payloadMembers }

    package func migrate(
        _ state: JSONObject, from version: Int, spending budget: inout Budget
    ) throws(PayloadFailure) -> JSONObject {
        try migrations.apply(to: state, from: version, spending: &budget)
    }

    package func state(
        _ members: JSONObject, from origin: StateOrigin, spending budget: inout Budget
    ) throws(PayloadFailure) -> JSONObject {
        var state = plain
        for member in members.members {
            if computed.contains(member.key) { continue }
            guard plain.index(of: member.key) != nil || takes(member.key, from: origin) else {
                let hint = suggestion(for: member.key, among: plain.keys)
                throw PayloadFailure("\(name) has no member \(member.key.shortened(to: 200)); \(hint)")
            }
            guard member.value.nests(atMost: Evaluation.deepestValue - 1) else {
                throw PayloadFailure("\(member.key) is nested too deeply; make it flatter.")
            }
            let known = schema?[member.key]
            let value = known?.filled(member.value) ?? member.value
            if let problem = known?.problem(of: value, at: [member.key]) {
                throw PayloadFailure("\(problem.sentence).")
            }
            state[member.key] = value
        }
        if case .store(let unset, _) = origin {
            for name in unset where schema?[name] == nil && members.index(of: name) == nil {
                state[name] = nil
            }
        }
        do throws(ComputedValues.CommitBudgetFailure) {
            state = try computed.added(to: state, spending: &budget)
        } catch {
            throw PayloadFailure(
                "the commit's budget is used up at \(error.name); create it with less in it.")
        }
        if !invariants.isEmpty { try hold(state, spending: &budget) }
        return state
    }

    /// Holds a state against the invariants.
    private func hold(_ state: JSONObject, spending budget: inout Budget) throws(PayloadFailure) {
        let allowance = Budget.smaller(.ofStore, budget)
        let (result, evaluation) = Evaluation.run(on: state, allowance) {
            (evaluation) throws(Invariants.Breach) in try invariants.check(.max, &evaluation)
        }
        budget = evaluation.rest(of: budget, after: allowance)
        switch result {
        case .success: return
        case .failure(.broken(let reason, _)): throw PayloadFailure(reason.asSentence)
        case .failure(.failed(let failure)): throw PayloadFailure("an invariant of it fails: \(failure).")
        }
    }

    /// Whether no action writes a member, because it is worked out from others.
    package func isComputed(_ member: String) -> Bool { computed.contains(member) }

    /// Whether a state that an action made may have a member that the definition does not name.
    package var isOpen: Bool { makesMembers }

    /// Whether a state may have a member that the definition does not name.
    private func takes(_ member: String, from origin: StateOrigin) -> Bool {
        switch origin {
        case .request: makesMembers
        case .store(_, let made): made.index(of: member) != nil
        case .firstRules: false
        }
    }
}
