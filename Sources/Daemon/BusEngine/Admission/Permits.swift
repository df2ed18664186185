import BusLogic
import BusMachine

/// Which dispatches need no further look under the access rules, for all who have the same roles: those that some rule
/// allows without a condition, and whose outcome can be seen whole. Worked out once for each action of a type, and where
/// rules name stores, for each action of a store.
final class Permits {
    private enum Permit: UInt8 { case unknown, free, checked, byStore }

    private struct StoreAction: Hashable {
        let store: Int32
        let action: Int32
    }

    private let grants: Grants
    /// By the type's index, then by action.
    @exclusivity(unchecked) private var ofTypes: ContiguousArray<ContiguousArray<Permit>> = []
    @exclusivity(unchecked) private var ofStores: [StoreAction: Bool] = [:]
    /// A store that was dropped may have left its index to another.
    @exclusivity(unchecked) private var names = 0

    @exclusivity(unchecked) private var freeType = -1
    @exclusivity(unchecked) private var freeAction = -1

    /// Stores of which it is remembered.
    private static let mostStores = 65_536

    init(_ grants: Grants) { self.grants = grants }

    /// Types or rules may have changed.
    func clear() { (ofTypes, freeType) = ([], -1) }

    /// Whether the planned dispatch, which has one step, is one of those.
    @inline(__always)
    func isFree(_ machine: StateMachine) -> Bool {
        guard machine.plan.steps.count == 1 else { return false }
        let step = machine.plan.steps.elements.baseAddress!
        let type = Int(Unmanaged.passUnretained(step.pointee.type)._withUnsafeGuaranteedRef { $0.index })
        // The last one that was free, which the next one mostly is like. The machine holds the types of its plan.
        if type == freeType, step.pointee.action == freeAction { return true }
        return look(machine)
    }

    @inline(never)
    private func look(_ machine: StateMachine) -> Bool {
        let step = machine.plan.steps[0]
        let (type, action) = (Int(step.type.index), step.action)
        // The names of such a dispatch are those of one type.
        if machine.plan.actions[0].payloadForEveryType != nil { return false }
        while ofTypes.count <= type { ofTypes.append([]) }
        while ofTypes[type].count <= action { ofTypes[type].append(.unknown) }
        if ofTypes[type][action] == .unknown { ofTypes[type][action] = permit(step) }
        switch ofTypes[type][action] {
        case .free:
            (freeType, freeAction) = (type, action)
            return true
        case .checked, .unknown: return false
        case .byStore: return step.store >= 0 && isFree(step, machine)
        }
    }

    private func permit(_ step: DispatchPlan.Step) -> Permit {
        let (type, action) = (step.type.name, step.type.actionName(step.action))
        let isFree = grants.dispatching(action, to: nil, ofType: type).contains {
            $0.condition == nil && $0.maxStores == .max
        }
        if isFree, grants.showsAll(ofType: type) { return .free }
        return grants.mayDispatch(action, toSomeOf: type) ? .byStore : .checked
    }

    private func isFree(_ step: DispatchPlan.Step, _ machine: StateMachine) -> Bool {
        if names != machine.nameChanges || ofStores.count >= Self.mostStores {
            ofStores.removeAll(keepingCapacity: true)
            names = machine.nameChanges
        }
        let key = StoreAction(store: step.store, action: Int32(step.action))
        if let known = ofStores[key] { return known }
        let (type, name) = (step.type.name, machine.stores.pointer(step.store).pointee.name)
        let isAllowed = grants.dispatching(step.type.actionName(step.action), to: name, ofType: type)
            .contains { $0.condition == nil && $0.maxStores > 0 }
        let isFree = isAllowed && grants.showsWhole(name, ofType: type)
        ofStores[key] = isFree
        return isFree
    }
}
