import BusJSON
import BusLogic
import BusMachine
import BusProtocol
import BusState

/// Requests that only read: states, lists, definitions, counters.
extension Engine {
    func get(_ connection: Connection) throws(RequestError) {
        let grants = connection.grants
        // On this machine's own bus every read is.
        _ = try request.flag(.fresh, default: false)
        try require(.read, ofStoreIn: grants, "read")
        let past = try requestedPast(grants)
        if past == nil { clock.work += Work.read }
        let pattern = try requestedPattern(required: true, ofPast: past != nil)!
        try requireKnown(pattern, grants)
        if past == nil { try machine.requireTypes(of: pattern) }
        let selected = try requestedPointers().map { Selection($0) }
        let limit = try request.integer(.limit, least: 1) ?? 1000
        let after = try requestedAfter()
        let required =
            request.present.contains(.store) ? String(decoding: request.store, as: UTF8.self) : nil
        let selection = StoreSelection(
            .states(selected), of: pattern, after: after, limit: limit, required: required,
            view: StoreView(grants, isPast: past != nil))
        if let past { return ask(.stores(revision: past, selection), connection) }
        try read(selection, connection)
    }

    func listStores(_ connection: Connection) throws(RequestError) {
        let pattern = try requestedPattern(required: false) ?? AddressPattern(type: "*")
        let limit = try request.integer(.limit, least: 1) ?? 1000
        let after = try requestedAfter()
        let view = StoreView(connection.grants, isPast: false)
        try read(StoreSelection(.list, of: pattern, after: after, limit: limit, view: view), connection)
    }

    private func requestedAfter() throws(RequestError) -> String? {
        guard let after = try request.string(.after) else { return nil }
        var text = after
        let checked = text.withUTF8 { bytes in
            Result { () throws(RequestError) in
                _ = try self.machine.requireAddress(UnsafeRawBufferPointer(bytes), member: "after")
            }
        }
        try checked.get()
        return after
    }

    func listTypes(_ connection: Connection) throws(RequestError) {
        let grants = connection.grants
        let name = request.present.contains(.type) ? String(decoding: request.type, as: UTF8.self) : nil
        if let name, let grants, !grants.knows(type: name) { throw Self.unknown(name) }
        if let past = try requestedPast(grants) {
            return ask(.types(revision: past, name, view: grants), connection)
        }
        let wanted = name == nil ? nil : try machine.requireType(request.type)
        try answerWithinLine(connection, id: request.id) { writer in
            machine.appendTypes(wanted, seenBy: grants, to: writer, room: limits.daemon.line)
        }
    }

    // MARK: A slice at a time

    /// Begins a read: most are answered at once.
    private func read(_ selection: StoreSelection, _ connection: Connection) throws(RequestError) {
        let query = try StoreQuery(selection, in: machine, room: limits.daemon.line)
        if advance(query) { return try finish(query, connection, id: request.id) }
        try admission.requireMemoryForRead()
        let read = PendingRead(query, line: Array(currentLine), id: Array(request.id))
        connection.read = read
        connection.isBlocked = true
        connection.isPaused = true
        reads.add(read)
    }

    /// Continues a read, and replies when it is done; false if it is not.
    func resume(_ read: PendingRead, for connection: Connection) -> Bool {
        guard advance(read.query) else {
            connection.isPaused = true
            reads.count(read)
            return false
        }
        forgetRead(of: connection)
        read.id.withUnsafeBytes { id in
            do throws(RequestError) {
                try finish(read.query, connection, id: id)
            } catch {
                refuse(error, for: connection, id: id)
            }
        }
        return true
    }

    /// A read is done, or its client no longer waits for it.
    func forgetRead(of connection: Connection) {
        guard let read = connection.read else { return }
        connection.read = nil
        reads.remove(read)
    }

    /// Looks for stores as long as the slice lasts; true when it is done.
    private func advance(_ query: StoreQuery) -> Bool {
        query.advance { step in
            switch step {
            case .types(let count): clock.work += count * Work.look
            case .ordered: clock.work += Work.ordering
            case .looked(let bytes): clock.work += Work.look + bytes
            }
            return !clock.isSliceUsedUp
        }
    }

    private func finish(
        _ query: StoreQuery, _ connection: Connection, id: UnsafeRawBufferPointer
    ) throws(RequestError) {
        try answerWithinLine(connection, id: id) { query.appendAnswer(to: $0) }
    }

    // MARK: Counters

    /// Who does not manage the bus is told only where it stands: counts tell what others have and do.
    func appendStatistics(to writer: ByteWriter, for grants: Grants?) {
        if let grants, !grants.mayManage {
            writer.append(",\"stats\":")
            return writer.append(
                jsonObject: ["revision": .int(machine.revision), "epoch": .string(machine.epoch)])
        }
        var counters: JSONObject = [
            "revision": .int(machine.revision), "epoch": .string(machine.epoch),
            "types": .int(machine.typeCount),
            "stores": .int(machine.storeCount), "connections": .int(connections.count),
            "subscriptions": .int(hub.subscriptionCount), "shapes": .int(hub.groupCount),
            "stateBytes": .int(machine.stateBytes), "outboxBytes": .int(connections.outboxBytes),
            "timers": .int(machine.timers.count), "leases": .int(machine.timers.leaseCount),
            "nextDue": machine.nextDue == .max ? .null : DurationText.seconds(machine.nextDue),
            "accountedMemory": .int(memory.accounted), "rememberedKeys": .int(machine.keys.count),
            "totals": .object([
                "connections": .int(connections.totalCount), "requests": .int(totals.requests),
                "commits": .int(totals.commits), "dispatches": .int(totals.dispatches),
                "duplicates": .int(totals.duplicates), "events": .int(hub.totals.events),
                "coalesced": .int(hub.totals.coalesced), "bookmarks": .int(hub.totals.bookmarks),
                "slowConsumers": .int(hub.totals.slowConsumers), "bytesIn": .int(connections.bytesIn),
                "bytesOut": .int(connections.bytesOut), "work": .int(clock.totalWork),
            ]),
            "errors": .object(totals.errors.reduce(into: JSONObject()) { $0[$1.key] = .int($1.value) }),
        ]
        if machine.access != nil {
            counters["denials"] = .object(
                access.denials.reduce(into: JSONObject()) { $0[$1.key] = .int($1.value) })
        }
        if shared.isOn { counters["cluster"] = .object(shared.condition) }
        counters["users"] = .array(users.all.compactMap(statistics(of:)))
        writer.append(",\"stats\":")
        writer.append(jsonObject: counters)
    }

    /// What one user has of what all share; nil for those that are none, and for users who have nothing now.
    private func statistics(of user: User) -> JSON? {
        guard let identity = user.identity else { return nil }
        let holdings = machine.holdings(of: identity)
        guard user.connections > 0 || holdings.stores > 0 || holdings.timers > 0 else { return nil }
        var counts: JSONObject
        switch identity {
        case .uid(let uid): counts = ["uid": .int(uid)]
        case .user(let uid, let member): counts = ["uid": .int(uid), "member": .string(member)]
        case .token(let name): counts = ["token": .string(name)]
        case .certificate(let name): counts = ["certificate": .string(name)]
        }
        let numbers: KeyValuePairs = [
            "connections": user.connections, "subscriptions": user.subscriptions, "shapes": user.shapes,
            "stores": holdings.stores, "timers": holdings.timers, "willBytes": user.willBytes,
            "work": user.work,
        ]
        for (name, number) in numbers { counts[name] = .int(number) }
        return .object(counts)
    }
}
