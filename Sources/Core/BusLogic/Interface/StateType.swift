import BusJSON
import BusProtocol
import BusState

/// What the engine asks of a state type, declared or compiled: which actions it has, which payloads it takes,
/// and how an action commits to one state. On the wire nothing tells the two kinds apart.
///
/// A type never changes once it is made; everything it does is a pure function of its arguments.
package protocol StateType: AnyObject, Sendable {
    var name: String { get }

    /// The definition as `types` shows it.
    var definition: JSON { get }

    /// Writes it with its members as people ordered them, where that is known.
    func appendDefinition(to writer: ByteWriter)

    /// The state of a new store, computed values included.
    var initial: JSONObject { get }

    /// The types whose stores commit first within one action, and whose states this type's expressions read.
    var waitFor: [String] { get }

    /// How long a store that a client creates lives without a dispatch, in milliseconds; nil: for ever.
    var timeToLive: Int? { get }

    /// The declared actions' names, ascending by their bytes; an action is known by its index here.
    var actionNames: [String] { get }

    /// Checks a payload against the action's schema and fills in defaults.
    func accept(_ payload: JSONObject, for action: Int) throws(PayloadFailure) -> JSONObject

    /// The action's schema, where `accept` looks at nothing else: a payload that is complete by it is accepted as it is.
    func payloadSchema(of action: Int) -> PayloadSchema?

    /// The members of an action's payload of which only a digest leaves the bus.
    func redactedMembers(of action: Int) -> [String]

    /// Commits an accepted action to one state: writes through `draft`, then brings computed values up to date.
    /// False when the action's `when` leaves this store alone. After a rejection the driver rolls the undo log back.
    func commit(
        _ action: Int, payload: JSONObject, to draft: inout Draft, in context: CommitContext
    ) throws(Rejection) -> Bool

    /// What an action writes, where that depends on its payload alone; nil where a state has to be looked at. `commit`
    /// must come to the same.
    func precomputedWrites(of action: Int) -> PrecomputedWrites?

    /// The names of the timers that the type has of itself, ascending: each is set while something holds of a store's state. Most
    /// types have none.
    var ownTimers: [String] { get }

    /// Which of them have to be set on a state, a bit for each in their order. Throws where the budget does not suffice.
    func holding(
        on state: JSONObject, spending budget: inout Budget
    ) throws(TimerRefusal) -> UInt64

    /// What the one of them at an index is set to on a state, at a time in milliseconds since 1970.
    func setting(
        ofOwn index: Int, on state: JSONObject, at time: Int, spending budget: inout Budget
    ) throws(TimerRefusal) -> TimerChange.Setting

    /// A state with these members, as far as the origin lets them be: computed ones are ignored and recomputed,
    /// which takes from the budget.
    func state(
        _ members: JSONObject, from origin: StateOrigin, spending budget: inout Budget
    ) throws(PayloadFailure) -> JSONObject

    /// A state of an earlier version, without computed values, as this version has it, which takes from the budget. What
    /// comes out is checked by `state`.
    func migrate(
        _ state: JSONObject, from version: Int, spending budget: inout Budget
    ) throws(PayloadFailure) -> JSONObject
}

extension StateType {
    package func appendDefinition(to writer: ByteWriter) { writer.append(json: definition) }
    package var timeToLive: Int? { nil }
    package var ownTimers: [String] { [] }

    package func holding(
        on state: JSONObject, spending budget: inout Budget
    ) throws(TimerRefusal) -> UInt64 { 0 }

    package func setting(
        ofOwn index: Int, on state: JSONObject, at time: Int, spending budget: inout Budget
    ) throws(TimerRefusal) -> TimerChange.Setting {
        preconditionFailure("A type without timers of its own sets none.")
    }

    package func payloadSchema(of action: Int) -> PayloadSchema? { nil }
    package func redactedMembers(of action: Int) -> [String] { [] }

    /// The same, whatever it costs: for states that no client makes.
    package func state(
        _ members: JSONObject, from origin: StateOrigin
    ) throws(PayloadFailure) -> JSONObject {
        var budget = Budget.unlimited
        return try state(members, from: origin, spending: &budget)
    }

    package func migrate(
        _ state: JSONObject, from version: Int, spending budget: inout Budget
    ) throws(PayloadFailure) -> JSONObject {
        throw PayloadFailure("\(name) has no step from version \(version).")
    }

    /// Migrates a state without a limit on what that may cost.
    package func migrate(_ state: JSONObject, from version: Int) throws(PayloadFailure) -> JSONObject {
        var budget = Budget.unlimited
        return try migrate(state, from: version, spending: &budget)
    }

    /// The definition's version; 1 where it has none.
    package var version: Int { definition.definedVersion }

    /// The state that one of an earlier version, or of another definition of this version, becomes; computed values of
    /// that definition are left out of it. The error says what is in the way, and where.
    package func adopt(
        _ state: JSONObject, of earlier: Int, from origin: StateOrigin
    ) throws(PayloadFailure) -> JSONObject {
        var budget = Budget.unlimited
        return try adopt(state, of: earlier, from: origin, spending: &budget)
    }

    /// The same for a state that a client makes.
    package func adopt(
        _ state: JSONObject, of earlier: Int, from origin: StateOrigin, spending budget: inout Budget
    ) throws(PayloadFailure) -> JSONObject {
        guard earlier <= version else {
            throw PayloadFailure(
                "the state is of version \(earlier), and \(name) has version \(version): states do not go back to an earlier version."
            )
        }
        let state = earlier < version ? try migrate(state, from: earlier, spending: &budget) : state
        return try self.state(state, from: origin, spending: &budget)
    }
}

extension JSON {
    /// The version of a state type whose definition this is.
    package var definedVersion: Int { self["version"]?.int ?? 1 }

    /// A state without the values that a type with this definition computes.
    package func withoutComputed(_ state: JSONObject) -> JSONObject {
        var state = state
        for name in self["computed"]?.object?.keys ?? [] { state[name] = nil }
        return state
    }
}
