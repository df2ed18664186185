import BusJSON
import BusLogic
import BusMachine
import BusProtocol

/// Stores are created, dropped and reverted.
extension Commands {
    func create(by caller: Caller, _ host: any CommandHost) throws(RequestError) -> CommandReply? {
        guard request.present.contains(.store) else {
            throw .invalid("store", "Say in `store` which address the new store has.")
        }
        let parts = try machine.requireAddress(request.store)
        let address = String(decoding: request.store, as: UTF8.self)
        try require(.create, address, caller.grants, "create")
        guard try host.admit(.proposal(.store)) else { return nil }
        let entry = try machine.requireType(parts.type)
        try machine.refuseView(entry)
        var wanted = isEarlier ? nil : try requestedState()
        let isEphemeral = try request.flag(.ephemeral, default: false)
        let ifMissing = try request.flag(.ifMissing, default: false)
        let timeToLive = try machine.requestedTimeToLive(request.value(.ttl), of: entry)
        let key = try machine.keyed(request, by: caller.principal)
        if var earlier = try earlier(key) {
            earlier.created = true
            return earlier
        }
        if ifMissing, machine.stores.find(type: entry.index, name: parts.name) != nil {
            var reply = CommandReply(revision: machine.revision)
            reply.created = false
            return reply
        }
        try machine.requireFree(address, parts, entry)
        guard try host.admit(.creation) else { return nil }
        var owner = isEphemeral ? isEarlier ? host.session() : host.openSession : nil
        if isEarlier { wanted = (try request.object(.state), try request.integer(.version, least: 1)) }
        let state = try machine.newState(of: entry, replacing: wanted?.state, of: wanted?.version, in: owner)
        try requireConditions(forCreating: address, of: entry, parts, state, by: caller)
        guard try host.admit(.state(bytes: state.encodedSize)) else { return nil }
        try machine.payForViews(of: state, of: entry, spent: machine.operationsOfCreation)
        if isEphemeral { owner = host.session() }
        let details = CommitDetails()
        let store = machine.create(
            parts, of: entry, state, leased: timeToLive, by: caller.principal, in: owner)
        details.created = [store]
        host.commit(by: caller.principal, actions: false, key: key, details)
        host.report(.created(address, isEphemeral: isEphemeral, by: caller.principal))
        var reply = remember(key, matched: 1, changed: 1)
        reply.created = true
        return reply
    }

    private func requestedState() throws(RequestError) -> (state: JSONObject?, version: Int?) {
        let state = try request.object(.state)
        let version = try request.integer(.version, least: 1)
        guard version == nil || state != nil else {
            throw .invalid("version", "`version` says which version `state` is of; give both, or neither.")
        }
        return (state, version)
    }

    /// A rule that allows to create the store has no condition, or it holds for the new state.
    func requireConditions(
        forCreating address: String, of entry: TypeEntry, _ parts: AddressParts, _ state: JSONObject,
        by caller: Caller
    ) throws(RequestError) {
        guard let grants = caller.grants else { return }
        let rules = grants.allowing(
            .create, String(decoding: parts.name, as: UTF8.self), ofType: entry.name)
        if rules.contains(where: { $0.condition == nil }) { return }
        guard
            machine.holds(
                rules.compactMap(\.condition), forCreating: address, state, by: caller.principal)
        else { throw Self.forbidden("create", address) }
    }

    func drop(by caller: Caller, _ host: any CommandHost) throws(RequestError) -> CommandReply? {
        if request.present.containsAny(of: MemberSet(.type, .where)) {
            return try dropChosen(by: caller, host)
        }
        guard request.present.contains(.store) else {
            throw .invalid(
                "store", "Say in `store` which store to drop, or in `type` and `where` which stores.")
        }
        let address = String(decoding: request.store, as: UTF8.self)
        try require(.drop, address, caller.grants, "drop")
        try requireCondition(ofStoreIn: caller.grants)
        let wanted = try machine.requestedPrecondition(in: request)
        guard try host.admit(.proposal()) else { return nil }
        let key = try machine.keyed(request, by: caller.principal)
        if let earlier = try earlier(key) { return earlier }
        let (_, index) = try machine.requireStore(request.store)
        try requireOwnership(of: index, by: caller)
        guard try host.admit(.commit) else { return nil }
        try machine.require(wanted, of: index, seenBy: caller.grants)
        machine.plan.clear()
        let isEphemeral = machine.stores.pointer(index).pointee.owner >= 0
        let details = CommitDetails()
        details.dropped = [index]
        host.commit(by: caller.principal, actions: false, key: key, details)
        host.report(.dropped(address, isEphemeral: isEphemeral, by: caller.principal))
        return remember(key, matched: 1, changed: 1)
    }

    /// Drops the stores of a type for which an expression holds in the commit.
    private func dropChosen(by caller: Caller, _ host: any CommandHost) throws(RequestError) -> CommandReply?
    {
        func text(_ member: Member, _ bytes: UnsafeRawBufferPointer) -> String? {
            request.present.contains(member) ? String(decoding: bytes, as: UTF8.self) : nil
        }
        let step = try BatchStep.choosing(
            type: text(.type, request.type), store: text(.store, request.store),
            try machine.requestedPrecondition(in: request))
        if let grants = caller.grants { try authorize(step, grants) }
        guard try host.admit(.proposal()) else { return nil }
        return try dispatchNow([step], nil, by: caller, host)
    }

    /// Reverts a store to a state that was found in the history of the member that was asked.
    ///
    /// - Parameters:
    ///   - address: UTF-8, as requested.
    ///   - revision: The revision at which the store had the state `past`.
    ///   - wanted: What the store must be like now.
    package func revert(
        _ address: String, to revision: Int, _ past: PastState, where wanted: Precondition,
        by caller: Caller, _ host: any CommandHost
    ) throws(RequestError) -> CommandReply? {
        try require(.revert, address, caller.grants, "revert")
        let (_, index) = try machine.requireStore(address)
        try requireOwnership(of: index, by: caller)
        guard try host.admit(.commit) else { return nil }
        try machine.require(wanted, of: index, seenBy: caller.grants)
        let details = CommitDetails()
        let state = try machine.state(past, of: revision, for: index)
        let growth = state.encodedSize - Int(machine.stores.pointer(index).pointee.size)
        if growth > 0, try !host.admit(.state(bytes: growth)) { return nil }
        try machine.payForViews(
            of: state, in: index, of: machine.types[Int(machine.stores.pointer(index).pointee.type)])
        try machine.turnTimers(of: index, to: state, by: caller.principal)
        details.replaced = [(index, state)]
        details.reverted = .init(store: address, to: revision)
        machine.renewLease(of: index)
        machine.plan.clear()
        host.commit(by: caller.principal, actions: false, key: nil, details)
        return remember(nil, matched: 1, changed: machine.changed)
    }
}
