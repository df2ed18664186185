import BusJSON
import BusLogic
import BusMachine
import BusProtocol

/// Creates and drops stores; each time is a commit.
extension Engine {
    /// Creates a store that the configuration lists, for the daemon itself. One that exists is left alone.
    package func createConfigured(_ address: String) throws(RequestError) {
        if machine.find(address) != nil { return }
        let details = CommitDetails()
        details.created = [try machine.create(address, nil, by: .daemon)]
        commit(by: .daemon, actions: false, details)
    }

    func create(_ connection: Connection) throws(RequestError) {
        guard request.present.contains(.store) else {
            throw .invalid("store", "Say in `store` which address the new store has.")
        }
        let parts = try machine.requireAddress(request.store)
        try require(.create, ofStoreIn: connection.grants, "create")
        let entry = try machine.requireType(parts.type)
        let state = try request.object(.state)
        let version = try request.integer(.version, least: 1)
        guard version == nil || state != nil else {
            throw .invalid("version", "`version` says which version `state` is of; give both, or neither.")
        }
        let isEphemeral = try request.flag(.ephemeral, default: false)
        let ifMissing = try request.flag(.ifMissing, default: false)
        let timeToLive = try machine.requestedTimeToLive(in: request, of: entry)
        let principal = connection.principal!
        let key = try machine.keyed(request, by: principal)
        if let key, let earlier = try duplicate(of: key) {
            return answerCreate(connection, revision: earlier.revision, created: true, duplicate: true)
        }
        if ifMissing, machine.stores.find(type: entry.index, name: parts.name) != nil {
            return answerCreate(connection, revision: machine.revision, created: false, duplicate: false)
        }
        try machine.requireFree(String(decoding: request.store, as: UTF8.self), parts, entry)
        try admission.requireCommits()
        try shares.requireStore(users.user(principal.identity))
        if mustWait(for: connection.workOfCreation, connection, currentLine) { return }
        // Also where it comes to nothing.
        defer {
            connection.workOfCreation = Work.operation * machine.operationsOfCreation
            clock.work += connection.workOfCreation
        }
        try create(
            parts, of: entry, state: state, version, by: principal, isEphemeral ? connection : nil,
            timeToLive: timeToLive, key: key, connection.grants)
        reportStore(
            .storeCreated, String(decoding: request.store, as: UTF8.self), isEphemeral: isEphemeral,
            by: connection)
        if let key { machine.remember(key, matched: 1, changed: 1) }
        answerCreate(connection, revision: machine.revision, created: true, duplicate: false)
    }

    private func answerCreate(_ connection: Connection, revision: Int, created: Bool, duplicate: Bool) {
        answer(connection) { writer in
            writer.append(revision: revision)
            writer.append(created: created)
            if duplicate { writer.appendDuplicate() }
        }
    }

    /// `owner`: the connection with whose session the store is dropped.
    private func create(
        _ parts: AddressParts, of entry: TypeEntry, state members: JSONObject?, _ version: Int?,
        by principal: Principal, _ owner: Connection?, timeToLive: Int?, key: KeyedRequest?,
        _ grants: Grants?
    ) throws(RequestError) {
        let state = try machine.newState(of: entry, replacing: members, of: version, in: owner?.session)
        if let grants { try requireConditions(grants, forCreating: parts, of: entry, state, by: principal) }
        try admission.requireMemory(for: state.encodedSize)
        let session = owner.map { self.session(of: $0) }
        let details = CommitDetails()
        let store = machine.create(parts, of: entry, state, by: principal, in: session)
        if let timeToLive { machine.lease(store, for: timeToLive) }
        details.created = [store]
        commit(by: principal, actions: false, key: key, details)
    }

    /// A rule that allows to create the store has no condition, or it holds for the new state.
    private func requireConditions(
        _ grants: Grants, forCreating parts: AddressParts, of entry: TypeEntry, _ state: JSONObject,
        by principal: Principal
    ) throws(RequestError) {
        let name = String(decoding: parts.name, as: UTF8.self)
        let rules = grants.allowing(.create, name, ofType: entry.name)
        if rules.contains(where: { $0.condition == nil }) { return }
        let store = "\(entry.name)/\(name)"
        guard machine.holds(rules.compactMap(\.condition), forCreating: store, state, by: principal) else {
            throw Self.forbidden("create", store)
        }
    }

    /// The session of a connection, which is opened when it is first needed.
    func session(of connection: Connection) -> Session {
        if let session = connection.session { return session }
        let session = machine.openSession(connection.principal!)
        connection.session = session
        if let name = connection.sessionName {
            machine.name(session, name, linger: connection.linger, connection.principal!)
        }
        return session
    }

    func drop(_ connection: Connection) throws(RequestError) {
        guard request.present.contains(.store) else {
            throw .invalid("store", "Say in `store` which store to drop.")
        }
        try require(.drop, ofStoreIn: connection.grants, "drop")
        let principal = connection.principal!
        let key = try machine.keyed(request, by: principal)
        if let key, let earlier = try duplicate(of: key) {
            return answer(connection) { writer in
                writer.append(revision: earlier.revision)
                writer.appendDuplicate()
            }
        }
        let (_, index) = try machine.requireStore(request.store)
        if !connection.isRestricted { try admission.requireOwnership(of: index, principal) }
        try admission.requireCommits()
        machine.plan.clear()
        let isEphemeral = machine.stores.pointer(index).pointee.owner >= 0
        let details = CommitDetails()
        details.dropped = [index]
        commit(by: principal, actions: false, key: key, details)
        reportStore(
            .storeDropped, String(decoding: request.store, as: UTF8.self), isEphemeral: isEphemeral,
            by: connection)
        if let key { machine.remember(key, matched: 1, changed: 1) }
        answer(connection) { $0.append(revision: machine.revision) }
    }
}
