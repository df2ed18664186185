import BusJSON
import BusLogic

/// What new definitions would make of views, for a dry run.
extension StateMachine {
    /// The stores of views that would be new or differ, with their states, in the order of views and names.
    package func rehearsedViews(of planned: Redefinition) -> [(address: String, state: JSONObject)] {
        if planned.definitions.isEmpty { return [] }
        let types = Dictionary(planned.types.map { ($0.name, $0) }) { first, _ in first }
        let states = Dictionary(planned.states.map { ($0.store, $0.state) }) { first, _ in first }
        let sources = RehearsedSources()
        var differing: [(address: String, state: JSONObject)] = []
        for view in viewsInOrder(among: types) {
            for name in view.rules.sources where !sources.isKnown(name) {
                for store in typesByName[name]?.members ?? [] where store >= 0 {
                    let record = stores.pointer(store)
                    sources.add(name, record.pointee.name, states[store] ?? record.pointee.state)
                }
            }
            let index = ViewIndex(
                TypeEntry(index: -1, type: view.type, stores: stores), view.type, view.rules, sources: [],
                sources.order)
            for name in view.rules.sources {
                for source in sources.ofType(name) {
                    withUnsafePointer(to: sources.state(of: source)) {
                        index.update(source, $0, changed: ViewRules.anything)
                    }
                }
            }
            index.takeDirty { group in
                let (address, state) = ("\(view.type.name)/\(group.name)", index.state(of: group))
                sources.add(view.type.name, group.name, state)
                if find(address).map({ stores.pointer($0).pointee.state }) != state {
                    differing.append((address, state))
                }
            }
        }
        return differing
    }
}

/// The stores that views would read, by numbers of their own.
private final class RehearsedSources {
    private var stores: [(type: String, name: String, state: JSONObject)] = []
    private var byType: [String: [Int32]] = [:]

    func isKnown(_ type: String) -> Bool { byType[type] != nil }
    func ofType(_ type: String) -> [Int32] { byType[type] ?? [] }
    func state(of store: Int32) -> JSONObject { stores[Int(store)].state }

    func add(_ type: String, _ name: String, _ state: JSONObject) {
        byType[type, default: []].append(Int32(stores.count))
        stores.append((type, name, state))
    }

    var order: AddressOrder {
        AddressOrder(
            precedes: { [unowned self] left, right in
                let (a, b) = (stores[Int(left)], stores[Int(right)])
                return UTF8Order.equal(a.type, b.type)
                    ? UTF8Order.precedes(a.name, b.name) : UTF8Order.precedes(a.type, b.type)
            }, address: { [unowned self] in "\(stores[Int($0)].type)/\(stores[Int($0)].name)" })
    }
}
