import BusJSON
import BusProtocol
import BusSource
import BusState

/// One rule: what a role may do, and with which stores.
package final class AccessRule: Sendable {
    /// Its index in the definition.
    package let number: Int
    package let role: String
    package let may: Capability
    /// The stores it is about.
    package let match: [AddressPattern]
    /// The actions it allows to dispatch; nil: all.
    package let actions: [String]?
    /// What must hold of a dispatch, store by store, and of a new store.
    package let condition: Expression?
    /// Whether the condition may read the state.
    package let readsState: Bool
    /// The only parts of a state that it shows; nil: all of it.
    package let parts: Selection?
    /// A dispatch reaches no more stores than this by this rule.
    package let maxStores: Int
    /// Where it stands.
    package let place: Place

    init(
        number: Int, role: String, may: Capability, match: [AddressPattern], actions: [String]?,
        condition: Expression?, readsState: Bool, parts: Selection?, maxStores: Int, place: Place
    ) {
        self.number = number
        self.role = role
        self.may = may
        self.match = match
        self.actions = actions
        self.condition = condition
        self.readsState = readsState
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

    /// Whether who has the role manages the bus: that is about the bus as a whole, so a rule about some stores does not say it.
    package var grantsManage: Bool { may.contains(.manage) && coversEverything }

    /// Whether it shows what happened to stores: actions are shown whole, or not at all.
    var tellsActions: Bool { may.contains(.history) && parts == nil }

    /// Whether it allows something, where it is about the store in question.
    func allows(_ capability: Capability) -> Bool {
        capability == .manage ? grantsManage : may.contains(capability)
    }

    package func allows(_ action: String) -> Bool {
        actions.map { $0.contains { UTF8Order.equal($0, action) } } ?? true
    }
}
