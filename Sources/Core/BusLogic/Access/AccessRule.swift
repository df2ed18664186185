import BusJSON
import BusProtocol
import BusSource
import BusState

/// One rule: what a role may do, and with which stores.
package final class AccessRule: Sendable {
    package let role: String
    package let may: Capability
    /// The stores it is about.
    package let match: [AddressPattern]
    /// The actions it allows to dispatch; nil: all.
    package let actions: [String]?
    /// What must hold of a dispatch, store by store, and of a new store.
    package let condition: Expression?
    /// The only parts of a state that it shows; nil: all of it.
    package let parts: Selection?
    /// A dispatch reaches no more stores than this by this rule.
    package let maxStores: Int
    /// Where it stands.
    package let place: Place

    init(
        role: String, may: Capability, match: [AddressPattern], actions: [String]?, condition: Expression?,
        parts: Selection?, maxStores: Int, place: Place
    ) {
        self.role = role
        self.may = may
        self.match = match
        self.actions = actions
        self.condition = condition
        self.parts = parts
        self.maxStores = maxStores
        self.place = place
    }

    /// Whether it is about a store.
    package func covers(_ type: String, _ name: String) -> Bool {
        match.contains { $0.type.matches(type) && $0.name.matches(name) }
    }

    /// Whether it is about all stores of a type, whatever they will be called.
    package func covers(all type: String) -> Bool {
        match.contains { $0.name.isAny && $0.type.matches(type) }
    }

    /// Whether a store of the type may be one that it is about.
    package func mentions(_ type: String) -> Bool { match.contains { $0.type.matches(type) } }

    /// Whether it is about all stores there may ever be.
    package var coversEverything: Bool { match.contains { $0.name.isAny && $0.type.isAny } }

    package func allows(_ action: String) -> Bool {
        actions.map { $0.contains { UTF8Order.equal($0, action) } } ?? true
    }
}
