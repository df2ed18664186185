import BusJSON
import BusLogic
import BusProtocol

/// Stores come and go; each time is a commit.
extension Engine {
    /// Makes a store that the configuration lists, for the daemon itself. One that exists is left alone.
    package func createConfigured(_ address: String) throws(RequestError) {
        var address = address
        let made = address.withUTF8 { bytes in
            Result { () throws(RequestError) in
                let text = UnsafeRawBufferPointer(bytes)
                let parts = try self.requireAddress(text)
                let entry = try self.requireType(parts.type)
                guard self.stores.find(type: entry.index, name: parts.name) == nil else { return }
                try self.make(
                    parts, of: entry, state: nil, creator: StoreRecord.configured, owner: nil, by: Self.daemon
                )
            }
        }
        try made.get()
    }

    /// `by` where no client caused a commit.
    static let daemon = Array("{\"daemon\":true}".utf8)

    func create(_ connection: Connection) throws(RequestError) {
        guard request.present.contains(.store) else {
            throw .invalid("store", "Say in `store` which address the new store has.")
        }
        let parts = try requireAddress(request.store)
        let entry = try requireType(parts.type)
        let state = try request.object(.state)
        let ephemeral = try request.flag(.ephemeral, default: false)
        let ifMissing = try request.flag(.ifMissing, default: false)
        let key = try keyed(connection)
        if let key, let earlier = try duplicate(key) {
            return answerCreate(connection, revision: earlier.revision, created: true, duplicate: true)
        }
        if stores.find(type: entry.index, name: parts.name) != nil {
            guard ifMissing else {
                let address = String(decoding: request.store, as: UTF8.self)
                throw RequestError(.exists, "\(address) exists already; use it, or say `ifMissing`.")
            }
            return answerCreate(connection, revision: revision, created: false, duplicate: false)
        }
        try requireRoom()
        try make(
            parts, of: entry, state: state, creator: connection.identityIndex,
            owner: ephemeral ? connection : nil, by: connection.by, key: key)
        noteStore(.storeCreated, String(decoding: request.store, as: UTF8.self), ephemeral, by: connection)
        if let key {
            keys.remember(.init(digest: key.digest, revision: revision, matched: 1, changed: 1), as: key.id)
        }
        answerCreate(connection, revision: revision, created: true, duplicate: false)
    }

    private func answerCreate(_ connection: Connection, revision: Int, created: Bool, duplicate: Bool) {
        answer(connection) { writer in
            writer.append(",\"revision\":")
            writer.append(decimal: revision)
            writer.append(created ? ",\"created\":true" : ",\"created\":false")
            if duplicate { writer.append(",\"duplicate\":true") }
        }
    }

    private func make(
        _ parts: AddressParts, of entry: TypeEntry, state members: JSONObject?, creator: Int32,
        owner: Connection?, by: [UInt8], key: Keyed? = nil
    ) throws(RequestError) {
        guard stores.count < limits.stores else {
            throw RequestError(
                .limit, "The bus has \(limits.stores) stores, its limit; drop what is not needed.")
        }
        if let owner, owner.ephemeralStores.count >= Limits.ephemeralStores {
            throw RequestError(
                .limit,
                "A connection has at most \(Limits.ephemeralStores) ephemeral stores; make the others to stay, or drop some."
            )
        }
        let state = try initialState(of: entry, replacing: members)
        let size = state.encodedSize
        guard size <= limits.effectiveState else {
            throw RequestError(
                .tooLarge, "The state is larger than \(limits.effectiveState) bytes; begin with less.")
        }
        guard memoryInUse + size <= limits.memory else {
            throw RequestError(
                .limit, "The bus holds \(limits.memory) bytes, its memory limit; drop what is not needed.")
        }
        plan.clear()
        let index = insert(parts.name, of: entry, state, size: size, creator: creator, owner: owner)
        publish(by: by, actions: false, created: [index], facts: CommitFacts(key: key))
    }

    /// Puts a new store among the others, before it is published.
    func insert(
        _ name: UnsafeRawBufferPointer, of entry: TypeEntry, _ state: JSONObject, size: Int, creator: Int32,
        owner: Connection?
    ) -> Int32 {
        let index = stores.insert(
            StoreRecord(
                name: String(decoding: name, as: UTF8.self), state: state, revision: 0,
                sequence: sequence + 1,
                shapes: [], older: -1, newer: -1, type: entry.index, place: -1, size: Int32(size),
                creator: creator, owner: Int32(owner?.id ?? -1), touch: -1))
        entry.add(index)
        stateBytes += size
        if let owner {
            owner.ephemeralStores.insert(index)
            owner.isNoted = isLogged
        }
        if !exactShapes.isEmpty || !globShapes.isEmpty { enlist(index, address: address(of: Int(index))) }
        if !activeScans.isEmpty { noteForScans(created: index) }
        work += Work.create
        return index
    }

    private func initialState(
        of entry: TypeEntry, replacing members: JSONObject?
    ) throws(RequestError) -> JSONObject {
        guard let members else { return entry.type.initial }
        do throws(PayloadFailure) {
            return try entry.type.initialState(replacing: members)
        } catch {
            throw .invalid("state", error.message)
        }
    }

    func drop(_ connection: Connection) throws(RequestError) {
        guard request.present.contains(.store) else {
            throw .invalid("store", "Say in `store` which store to drop.")
        }
        let key = try keyed(connection)
        if let key, let earlier = try duplicate(key) {
            return answer(connection) { writer in
                writer.append(",\"revision\":")
                writer.append(decimal: earlier.revision)
                writer.append(",\"duplicate\":true")
            }
        }
        let (_, index) = try requireStore(request.store)
        try permitDrop(of: index, by: connection)
        try requireRoom()
        plan.clear()
        let isEphemeral = stores.pointer(index).pointee.owner >= 0
        publish(by: connection.by, actions: false, dropped: [index], facts: CommitFacts(key: key))
        noteStore(.storeDropped, String(decoding: request.store, as: UTF8.self), isEphemeral, by: connection)
        if let key {
            keys.remember(.init(digest: key.digest, revision: revision, matched: 1, changed: 1), as: key.id)
        }
        answer(connection) { self.appendRevision($0) }
    }

    func permitDrop(of index: Int32, by connection: Connection) throws(RequestError) {
        if isOperator(connection) { return }
        let creator = stores.pointer(index).pointee.creator
        if creator >= 0, creator == connection.identityIndex { return }
        throw RequestError(
            .forbidden,
            creator == StoreRecord.configured
                ? "\(address(of: Int(index))) stands in the configuration; only root and the daemon's own user may drop it."
                : "Only who created \(address(of: Int(index))), root and the daemon's own user may drop it.")
    }

    /// Root and the daemon's own user.
    func isOperator(_ connection: Connection) -> Bool {
        guard case .uid(let uid)? = connection.identity else { return false }
        return uid == 0 || uid == configuration.ownUID
    }

    /// Forgets a store, after its drop has been encoded.
    func remove(_ index: Int32) {
        let record = stores.pointer(index)
        let entry = types[Int(record.pointee.type)]
        dropLog.note(.init(revision: revision, type: record.pointee.type, name: record.pointee.name))
        for shape in record.pointee.shapes { shape.strike(index, ofType: record.pointee.type) }
        membershipCount -= record.pointee.shapes.count
        let owner = Int(record.pointee.owner)
        if owner >= 0 {
            let table = connections.indices.contains(owner) ? connections[owner] : nil
            (table ?? pastConnections[owner])?.ephemeralStores.remove(index)
        }
        stateBytes -= Int(record.pointee.size)
        if !activeScans.isEmpty { noteForScans(dropped: index) }
        work += Work.drop + record.pointee.shapes.count * Work.membership
        entry.remove(index)
        stores.remove(index)
        nameChanges += 1
    }
}
