import BusJSON
import BusLogic
import BusProtocol

/// Stores are created and dropped.
extension StateMachine {
    /// Why somebody who did not create a store may not drop it or revert it, without access rules.
    package func notOwned(_ index: Int32) -> RequestError {
        let address = address(of: Int(index))
        return RequestError(
            .forbidden,
            stores.pointer(index).pointee.creator == StoreRecord.configured
                ? "\(address) is in the configuration; only root and the daemon's own user may drop or revert it."
                : "Only who created \(address), root and the daemon's own user may drop or revert it.")
    }

    /// The state of a new store: members of the type's first state are replaced by `members`, which may be a state of an
    /// earlier version. Throws where the bus, or the session, has no room for one more.
    package func newState(
        of entry: TypeEntry, replacing members: JSONObject?, of version: Int? = nil,
        from origin: StateOrigin = .request, in session: Session?, spent: Int = 0
    ) throws(RequestError) -> JSONObject {
        operationsOfCreation = 0
        guard stores.count < limits.stores else {
            throw RequestError(
                .limit, "The bus has \(limits.stores) stores, its limit; drop what is not needed.")
        }
        if let session { try requireRoom(in: session.ephemeralStores.count) }
        try spend(forViewsOf: entry, spent)
        let state = try initialState(
            of: entry, replacing: members, of: version, from: origin, spent: spent + operationsOfCreation)
        let size = state.encodedSize
        guard size <= limits.state else {
            throw RequestError(
                .tooLarge, "The state is larger than \(limits.state) bytes; begin with less.")
        }
        guard stateMemory + size <= limits.memory else { throw memoryUsedUp }
        try requireTimers(of: entry.type, on: state)
        return state
    }

    /// Throws if an address is taken, or one of a view.
    package func requireFree(_ address: String, _ parts: AddressParts, _ entry: TypeEntry)
        throws(RequestError)
    {
        try refuseView(entry)
        if stores.find(type: entry.index, name: parts.name) != nil {
            throw RequestError(.exists, "\(address) exists already; use it, or say `ifMissing`.")
        }
    }

    /// Creates a store that belongs to no session, to be committed next.
    package func create(
        _ address: String, _ members: JSONObject?, from origin: StateOrigin = .request,
        by principal: Principal
    ) throws(RequestError) -> Int32 {
        try address.utf8Span.span.withUnsafeBytes { (bytes) throws(RequestError) in
            let parts = try requireAddress(bytes)
            let entry = try requireType(parts.type)
            try requireFree(address, parts, entry)
            let state = try newState(of: entry, replacing: members, from: origin, in: nil)
            return create(parts, of: entry, state, by: principal, in: nil)
        }
    }

    /// Creates a store, to be committed next, with a lease of so many milliseconds, if any.
    package func create(
        _ parts: AddressParts, of entry: TypeEntry, _ state: JSONObject, leased timeToLive: Int? = nil,
        by principal: Principal, in session: Session?
    ) -> Int32 {
        plan.clear()
        let store = insert(parts.name, of: entry, state, creator: principal.number, owner: session)
        if let timeToLive { lease(store, for: timeToLive) }
        beginTimers(of: store, by: principal)
        return store
    }

    /// Throws if a session has as many stores as it may.
    package func requireRoom(in ephemeralStores: Int) throws(RequestError) {
        guard ephemeralStores >= BusLimits.ephemeralStores else { return }
        throw RequestError(
            .limit,
            "A connection has at most \(BusLimits.ephemeralStores) ephemeral stores; make the others to stay, or drop some."
        )
    }

    /// Inserts a new store.
    func insert(
        _ name: UnsafeRawBufferPointer, of entry: TypeEntry, _ state: JSONObject, creator: Int32,
        owner: Session?
    ) -> Int32 {
        let index = makeRecord(name, of: entry, state, creator: creator)
        entry.add(index)
        stateBytes += Int(stores.pointer(index).pointee.size)
        if let owner { give(index, to: owner) }
        return index
    }

    /// Makes the record of a new store, which no action reaches yet.
    func makeRecord(
        _ name: UnsafeRawBufferPointer, of entry: TypeEntry, _ state: JSONObject, creator: Int32
    ) -> Int32 {
        stores.insert(
            StoreRecord(
                name: String(decoding: name, as: UTF8.self), state: state, revision: 0,
                sequence: sequence + 1, owner: -1, older: -1, newer: -1, type: entry.index, place: -1,
                size: Int32(state.encodedSize), creator: creator, write: -1))
    }

    /// A store is dropped with a session.
    func give(_ index: Int32, to owner: Session) {
        stores.pointer(index).pointee.owner = owner.id
        owner.ephemeralStores.insert(index)
    }

    /// What views do about a new store costs what it costs for one that is written.
    private func spend(forViewsOf entry: TypeEntry, _ spent: Int) throws(RequestError) {
        operationsOfCreation = entry.viewOperations
        operationsBeside &+= entry.viewOperations
        guard spent + operationsOfCreation <= creationBudget.operations else {
            throw RequestError(
                .rejected,
                "The commit's budget is used up by the views that read new stores; create fewer in one dispatch."
            )
        }
    }

    private func initialState(
        of entry: TypeEntry, replacing members: JSONObject?, of version: Int?, from origin: StateOrigin,
        spent: Int
    ) throws(RequestError) -> JSONObject {
        guard let members else { return entry.type.initial }
        var budget = creationBudget
        budget.operations = max(0, budget.operations - spent)
        do throws(PayloadFailure) {
            return try counting(budget) { (left) throws(PayloadFailure) in
                defer { operationsOfCreation += budget.operations - left.operations }
                var (members, version) = (members, version ?? entry.type.version)
                if rules < BusLimits.rulesOfPrices, version < entry.type.version {
                    members = try entry.type.migrate(members, from: version)
                    version = entry.type.version
                }
                return try entry.type.adopt(
                    members, of: version, from: rules < 2 ? .firstRules : origin, spending: &left)
            }
        } catch {
            throw .invalid("state", error.message)
        }
    }

    /// A past state as the current type has it: migrated, if it is of an earlier version, and its computed values recomputed.
    /// Throws where the state does not fit its definition, or exceeds the limits.
    package func state(
        _ old: PastState, of revision: Int, for index: Int32
    ) throws(RequestError) -> JSONObject {
        let state = try fittingState(old, of: revision, for: index)
        if rules < BusLimits.rulesOfViewStates { return state }
        let (size, before) = (state.encodedSize, Int(stores.pointer(index).pointee.size))
        guard size <= limits.state else {
            throw RequestError(
                .tooLarge,
                "\(address(of: Int(index))) can't go back: the state of revision \(revision) is larger than \(limits.state) bytes, the present limit."
            ).with("store", .string(address(of: Int(index))))
        }
        if size > before, stateMemory + size - before > limits.memory { throw memoryUsedUp }
        return state
    }

    private func fittingState(
        _ old: PastState, of revision: Int, for index: Int32
    ) throws(RequestError) -> JSONObject {
        let entry = types[Int(stores.pointer(index).pointee.type)]
        let budget = rules < BusLimits.rulesOfPrices ? Budget.unlimited : commitBudget
        do throws(PayloadFailure) {
            return try counting(budget) { (left) throws(PayloadFailure) in
                try entry.type.adopt(
                    old.state, of: old.version,
                    from: rules < 2
                        ? .firstRules
                        : old.named.origin(of: old.state, under: NamedMembers(of: entry.type.definition)),
                    spending: &left)
            }
        } catch {
            let reason =
                "\(address(of: Int(index))) can't go back: the state of revision \(revision) does not fit its definition of now"
            let store = JSON.string(address(of: Int(index)))
            throw RequestError(.rejected, "\(reason) (\(error.message)).").with("store", store)
                .withheld(by: RequestError(.rejected, "\(reason).").with("store", store))
        }
    }

    /// Removes a store that its commit drops.
    func remove(_ index: Int32) {
        let record = stores.pointer(index)
        types[Int(record.pointee.type)].delist(index)
        dropLog.note(.init(revision: revision, type: record.pointee.type, name: record.pointee.name))
        stores.hide(index)
        removeHidden(index)
    }

    /// Removes a store that has no address any more, and that no action reaches.
    func removeHidden(_ index: Int32) {
        let record = stores.pointer(index)
        if record.pointee.owner >= 0 { sessions[record.pointee.owner]?.ephemeralStores.remove(index) }
        if record.pointee.timers >= 0 { removeTimers(of: index) }
        parts?.forget(index)
        stateBytes -= Int(record.pointee.size)
        types[Int(record.pointee.type)].unlist(index)
        stores.free(index)
        nameChanges += 1
    }
}
