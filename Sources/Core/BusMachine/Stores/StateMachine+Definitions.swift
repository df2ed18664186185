import BusJSON
import BusLogic
import BusProtocol

/// Types are added, changed and removed.
extension StateMachine {
    func addType(_ type: any StateType) {
        let entry = TypeEntry(index: Int32(types.count), type: type, stores: stores)
        types.append(entry)
        typesByName[type.name] = entry
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
    }

    /// The types that are defined now; a reload may have removed some.
    package var liveTypes: [TypeEntry] { types.filter { typesByName[$0.name] === $0 } }

    /// The same by name.
    package var typesInOrder: [TypeEntry] {
        liveTypes.sorted { UTF8Order.precedes($0.name, $1.name) }
    }

    package var typeCount: Int { typesByName.count }

    /// The types whose stores would not fit new definitions, and why; a type once for each such store.
    func incompatibleStores(
        with loaded: [any StateType]
    ) -> [(type: String, reason: String)] {
        let names = Set(loaded.map(\.name))
        var found: [(type: String, reason: String)] = []
        for entry in types where !names.contains(entry.name) && entry.count > 0 {
            found.append((entry.name, "\(entry.name) is gone but has \(entry.count) stores"))
        }
        for type in loaded {
            guard let entry = typesByName[type.name], entry.type.definition != type.definition else {
                continue
            }
            for index in entry.members where index >= 0 {
                do throws(PayloadFailure) {
                    let state = try type.initialState(replacing: kept(index, of: entry))
                    guard state.encodedSize <= limits.state else {
                        throw PayloadFailure("the state would be longer than \(limits.state) bytes")
                    }
                } catch {
                    found.append((entry.name, "\(address(of: Int(index))): \(error.message)"))
                }
            }
        }
        return found
    }

    /// The same as `define`, for definitions that may not fit every store; throws if one does not.
    package func redefine(_ loaded: [any StateType]) throws(RequestError) -> CommitDetails {
        let incompatible = incompatibleStores(with: loaded)
        guard incompatible.isEmpty else {
            let shown = incompatible.prefix(20).map(\.reason).joined(separator: "; ")
            throw RequestError(
                .rejected, "The old definitions stay, because stores do not fit the new ones: \(shown).")
        }
        return define(loaded)
    }

    /// Replaces the definitions by new ones, which every store fits, to be committed next.
    func define(_ loaded: [any StateType]) -> CommitDetails {
        let names = Set(loaded.map(\.name))
        let details = CommitDetails()
        for type in loaded {
            guard let entry = typesByName[type.name] else {
                details.definitions.append(type.definition)
                continue
            }
            if entry.type.definition == type.definition { continue }
            details.definitions.append(type.definition)
            for index in entry.members where index >= 0 {
                // That it fits has been checked.
                if let state = try? type.initialState(replacing: kept(index, of: entry)) {
                    details.replaced.append((index, state))
                }
            }
        }
        for type in loaded { define(type) }
        for entry in liveTypes where !names.contains(entry.name) {
            details.undefined.append(entry.name)
            typesByName[entry.name] = nil
        }
        lastType = nil
        orderTypes()
        plan.clear()
        return details
    }

    /// Puts types in force that the stores fit: at the start, where nothing is committed if all are the same. A type
    /// whose stores do not fit the new one keeps the old one; returns which those are, and why.
    package func begin(
        with loaded: [any StateType]
    ) -> (details: CommitDetails?, kept: [(type: String, reason: String)]) {
        var loaded = loaded
        var kept: [(type: String, reason: String)] = []
        for incompatible in incompatibleStores(with: loaded) {
            guard let old = typesByName[incompatible.type]?.type else { continue }
            loaded.removeAll { $0.name == incompatible.type }
            loaded.append(old)
            kept.append(incompatible)
        }
        let known = liveTypes.map(\.type)
        let isNew = loaded.contains { type in
            known.first { $0.name == type.name }?.definition != type.definition
        }
        if isNew || known.contains(where: { old in !loaded.contains { $0.name == old.name } }) {
            return (define(loaded), kept)
        }
        // A type with the same definition may still differ in code.
        for type in loaded { typesByName[type.name]?.redefine(type) }
        return (nil, kept)
    }

    func define(_ type: any StateType) {
        if let known = types.first(where: { $0.name == type.name }) {
            known.redefine(type)
            typesByName[type.name] = known
        } else {
            addType(type)
        }
    }

    /// Removes a type that has no stores.
    func undefine(_ name: String) { typesByName[name] = nil }

    /// A store's state without the values its old type computes.
    private func kept(_ index: Int32, of entry: TypeEntry) -> JSONObject {
        entry.withoutComputed(stores.pointer(index).pointee.state)
    }
}

extension TypeEntry {
    /// A state without the values that the type computes.
    func withoutComputed(_ state: JSONObject) -> JSONObject {
        var state = state
        for name in type.definition["computed"]?.object?.keys ?? [] { state[name] = nil }
        return state
    }
}
