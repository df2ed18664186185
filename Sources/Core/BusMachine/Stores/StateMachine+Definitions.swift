import BusJSON
import BusLogic
import BusProtocol

/// Types are added, changed and removed.
extension StateMachine {
    func addType(_ type: any StateType) {
        let entry = TypeEntry(index: Int32(types.count), type: type, stores: stores)
        types.append(entry)
        typesByName[type.name] = entry
        noteDefinition(of: type)
    }

    /// Orders types by name, but after those they wait for.
    func orderTypes() {
        commitOrder = []
        var placed: Set<String> = []
        func place(_ entry: TypeEntry) {
            guard placed.insert(entry.name).inserted else { return }
            for name in entry.type.waitFor.sorted(by: UTF8Order.precedes) {
                if let awaited = typesByName[name] { place(awaited) }
            }
            commitOrder.append(entry)
        }
        for entry in typesInOrder { place(entry) }
        countOperationsOfViews()
    }

    /// The types that are defined now; a reload may have removed some.
    package var liveTypes: [TypeEntry] { types.filter { typesByName[$0.name] === $0 } }

    /// The same by name.
    package var typesInOrder: [TypeEntry] {
        liveTypes.sorted { UTF8Order.precedes($0.name, $1.name) }
    }

    package var typeCount: Int { typesByName.count }

    /// Works out what definitions do, and puts them in force, to be committed next; throws if they do not fit.
    package func redefine(_ loaded: [any StateType]) throws(Redefinition.Refusal) -> CommitDetails {
        redefine(by: try redefinition(with: loaded, access: access))
    }

    /// Puts definitions in force, to be committed next. Nothing was committed since they were worked out.
    package func redefine(by planned: Redefinition) -> CommitDetails {
        let details = CommitDetails()
        details.definitions = planned.definitions
        details.undefined = planned.undefined
        details.replaced = planned.states
        details.access = planned.access
        if planned.access != nil { putInForce(planned.rules, since: revision + 1) }
        // A type with the same definition may still differ in code.
        turnTimers(by: planned)
        for type in planned.types { define(type) }
        for name in planned.undefined { undefine(name) }
        orderTypes()
        details.policies = planned.policies
        keep(planned.policies, since: revision + 1)
        plan.clear()
        return details
    }

    private func turnTimers(by planned: Redefinition) {
        if planned.definitions.isEmpty { return }
        var states: [Int32: JSONObject]?
        for type in planned.types {
            turnTimers(redefining: type) { store in
                if states == nil {
                    states = Dictionary(uniqueKeysWithValues: planned.states.map { ($0, $1) })
                }
                return states?[store]
            }
        }
    }

    /// Puts the definitions of a start in force. Nil where they are those of the log, so that there is nothing to commit.
    package func begin(
        with loaded: [any StateType], access: AccessRules?
    ) throws(Redefinition.Refusal) -> CommitDetails? {
        let planned = try redefinition(with: loaded, access: access)
        let details = redefine(by: planned)
        return planned.isEmpty ? nil : details
    }

    /// Puts in force what was restored in another form, to be committed next.
    package func redefine(by outcome: Restoration.Outcome) -> CommitDetails {
        let details = CommitDetails()
        details.replaced = outcome.replaced
        for type in outcome.views { define(type) }
        for name in outcome.goneViews { undefine(name) }
        orderTypes()
        plan.clear()
        return details
    }

    func define(_ type: any StateType) {
        if let known = types.first(where: { $0.name == type.name }) {
            noteDefinition(of: type, before: known.type)
            known.redefine(type)
            typesByName[type.name] = known
        } else {
            addType(type)
        }
    }

    /// Removes a type that has no stores, or is a view.
    func undefine(_ name: String) {
        if let known = typesByName[name] { noteDefinition(of: known.type) }
        typesByName[name]?.kept = .all
        typesByName[name] = nil
        removeTimers(ofType: name)
        noteKept()
    }
}
