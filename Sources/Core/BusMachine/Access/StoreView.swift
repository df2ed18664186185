import BusLogic
import BusState

/// How much a client may see of stores, present or past.
package struct StoreView: Sendable {
    private let grants: Grants
    private let isPast: Bool

    /// Nil if the client sees everything.
    package init?(_ grants: Grants?, isPast: Bool) {
        guard let grants, !(isPast ? grants.knowsEverything : grants.readsEverything) else { return nil }
        self.grants = grants
        self.isPast = isPast
    }

    /// Whether the client may know that there is a type.
    package func knows(type: String) -> Bool { grants.knows(type: type) }

    func visibility(of store: Int32, in machine: StateMachine) -> Grants.Visibility {
        let record = machine.stores.pointer(store)
        let (name, type) = (record.pointee.name, machine.types[Int(record.pointee.type)].name)
        return isPast
            ? grants.pastVisibility(of: name, ofType: type) : grants.visibility(of: name, ofType: type)
    }

    /// The revision of a store as it is shown.
    func revision(of store: Int32, in machine: StateMachine) -> Int {
        machine.revision(of: store, seenBy: grants)
    }
}
