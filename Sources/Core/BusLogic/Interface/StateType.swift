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

    /// The state of a new store, computed values included.
    var initial: JSONObject { get }

    /// The types whose stores commit first within one action, and whose states this type's expressions read.
    var waitFor: [String] { get }

    /// The declared actions' names, ascending by their bytes; an action is known by its index here.
    var actionNames: [String] { get }

    /// Checks a payload against the action's schema and fills in defaults.
    func accept(_ payload: JSONObject, for action: Int) throws(PayloadFailure) -> JSONObject

    /// The action's schema, where `accept` looks at nothing else: a payload that is complete by it is accepted as it is.
    func payloadSchema(of action: Int) -> PayloadSchema?

    /// Commits an accepted action to one state: writes through `draft`, then brings computed values up to date.
    /// False when the action's `when` leaves this store alone. After a rejection the driver rolls the undo log back.
    func commit(
        _ action: Int, payload: JSONObject, to draft: inout Draft, in context: CommitContext
    ) throws(Rejection) -> Bool

    /// What an action writes, where that depends on its payload alone; nil where a state has to be looked at. `commit`
    /// must come to the same.
    func precomputedWrites(of action: Int) -> PrecomputedWrites?

    /// The state of a new store with members of `initial` replaced: unknown ones are refused, computed ones
    /// ignored and worked out anew.
    func initialState(replacing members: JSONObject) throws(PayloadFailure) -> JSONObject
}

extension StateType {
    package func payloadSchema(of action: Int) -> PayloadSchema? { nil }
}
