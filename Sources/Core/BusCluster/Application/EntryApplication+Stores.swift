import BusJSON
import BusLogic
import BusMachine
import BusProtocol

/// Stores are created, dropped and reverted.
extension EntryApplication {
    func create(by principal: Principal, _ session: () -> Session) throws(RequestError) -> EntryReply {
        guard request.present.contains(.store) else {
            throw .invalid("store", "Say in `store` which address the new store has.")
        }
        let parts = try machine.requireAddress(request.store)
        let address = String(decoding: request.store, as: UTF8.self)
        try require(.create, address, by: principal, "create")
        let entry = try machine.requireType(parts.type)
        let isEphemeral = try request.flag(.ephemeral, default: false)
        let ifMissing = try request.flag(.ifMissing, default: false)
        let timeToLive = try machine.requestedTimeToLive(in: request, of: entry)
        let key = try machine.keyed(request, by: principal)
        if var earlier = try earlier(key) {
            earlier.created = true
            return earlier
        }
        if ifMissing, machine.find(address) != nil { return EntryReply(revision: machine.revision) }
        try machine.requireFree(address, parts, entry)
        let owner = isEphemeral ? session() : nil
        let state = try machine.newState(
            of: entry, replacing: request.object(.state), of: request.integer(.version, least: 1), in: owner)
        try requireConditions(forCreating: address, of: entry, parts, state, by: principal)
        let details = CommitDetails()
        let store = machine.create(parts, of: entry, state, by: principal, in: owner)
        if let timeToLive { machine.lease(store, for: timeToLive) }
        details.created = [store]
        sink.commit(by: principal, actions: false, key: key, details)
        var reply = remember(key, matched: 1, changed: 1)
        reply.created = true
        return reply
    }

    private func requireConditions(
        forCreating address: String, of entry: TypeEntry, _ parts: AddressParts, _ state: JSONObject,
        by principal: Principal
    ) throws(RequestError) {
        guard let grants = grants(of: principal) else { return }
        let rules = grants.allowing(
            .create, String(decoding: parts.name, as: UTF8.self), ofType: entry.name)
        if rules.contains(where: { $0.condition == nil }) { return }
        guard machine.holds(rules.compactMap(\.condition), forCreating: address, state, by: principal)
        else { throw Self.forbidden("create", address) }
    }

    func drop(by principal: Principal, isOperator: Bool) throws(RequestError) -> EntryReply {
        guard request.present.contains(.store) else {
            throw .invalid("store", "Say in `store` which store to drop.")
        }
        let address = String(decoding: request.store, as: UTF8.self)
        try require(.drop, address, by: principal, "drop")
        let key = try machine.keyed(request, by: principal)
        if let earlier = try earlier(key) { return earlier }
        let (_, index) = try machine.requireStore(request.store)
        try requireOwnership(of: index, by: principal, isOperator: isOperator)
        let details = CommitDetails()
        details.dropped = [index]
        sink.commit(by: principal, actions: false, key: key, details)
        return remember(key, matched: 1, changed: 1)
    }

    /// Reverts a store to a state that the origin has found in its history: see `PastState`.
    func revert(
        _ line: [UInt8], to past: [UInt8], by principal: Principal, isOperator: Bool
    ) throws(RequestError) -> EntryReply {
        let outcome = line.withUnsafeBytes { line in
            Result { () throws(RequestError) in
                var memory = SenderMemory()
                try self.request.read(line, from: &memory)
                guard try self.request.operation() == .revert, self.request.present.contains(.store),
                    let revision = try self.request.integer(.revision)
                else {
                    throw RequestError.invalid("revision", "Say in `store` and `revision` what to revert to.")
                }
                return try self.revert(to: revision, past, by: principal, isOperator: isOperator)
            }
        }
        machine.plan.clear()
        return try outcome.get()
    }

    private func revert(
        to revision: Int, _ past: [UInt8], by principal: Principal, isOperator: Bool
    ) throws(RequestError) -> EntryReply {
        let expected = try request.integer(.ifRevision)
        let address = String(decoding: request.store, as: UTF8.self)
        try require(.revert, address, by: principal, "revert")
        let (_, index) = try machine.requireStore(request.store)
        try requireOwnership(of: index, by: principal, isOperator: isOperator)
        try machine.require(expected, of: index, seenBy: grants(of: principal))
        guard let found = try? JSON(parsing: past), let old = PastState(found) else {
            throw RequestError(.internal, "The state of revision \(revision) can't be read; ask again.")
        }
        let details = CommitDetails()
        details.replaced = [(index, try machine.state(old, of: revision, for: index))]
        details.reverted = .init(store: address, to: revision)
        machine.renewLease(of: index)
        machine.plan.clear()
        sink.commit(by: principal, actions: false, key: nil, details)
        return remember(nil, matched: 1, changed: machine.changed)
    }

    // MARK: - Who may

    private func require(
        _ capability: Capability, _ address: String, by principal: Principal, _ verb: String
    ) throws(RequestError) {
        guard let grants = grants(of: principal), let slash = address.firstIndex(of: "/") else { return }
        let name = String(address[address.index(after: slash)...])
        guard grants.may(capability, name, ofType: String(address[..<slash])) else {
            throw Self.forbidden(verb, address)
        }
    }

    /// Without rules: who created it, and operators, for whom their machine vouches.
    private func requireOwnership(
        of index: Int32, by principal: Principal, isOperator: Bool
    ) throws(RequestError) {
        if machine.access != nil || isOperator || principal.identity == nil { return }
        let creator = machine.stores.pointer(index).pointee.creator
        if creator >= 0, creator == principal.number { return }
        throw machine.notOwned(index)
    }

    static func forbidden(_ verb: String, _ target: String) -> RequestError {
        RequestError(
            .forbidden,
            "The access rules do not let you \(verb) \(target.shortened(to: 200)); ask an operator of the bus for a role that may."
        ).with("store", .string(target))
    }
}
