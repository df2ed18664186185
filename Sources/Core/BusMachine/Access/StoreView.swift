import BusLogic
import BusState

/// What a client may see of stores: of those that are, or of those that were.
package struct StoreView: Sendable {
    private let grants: Grants
    private let isPast: Bool

    /// Nil where that is everything.
    package init?(_ grants: Grants?, isPast: Bool) {
        guard let grants, !(isPast ? grants.knowsEverything : grants.readsEverything) else { return nil }
        self.grants = grants
        self.isPast = isPast
    }

    func visibility(of store: Int32, in machine: StateMachine) -> Grants.Visibility {
        let record = machine.stores.pointer(store)
        let (name, type) = (record.pointee.name, machine.types[Int(record.pointee.type)].name)
        if isPast { return grants.knowsHistory(of: name, ofType: type) ? .whole : .nothing }
        return grants.visibility(of: name, ofType: type)
    }
}
