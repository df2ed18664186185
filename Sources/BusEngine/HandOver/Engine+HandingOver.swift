import BusJSON

/// The bus becomes bytes.
extension Engine {
    /// Everything this engine holds. Call it between turns; the engine must not be used for clients any more, or they
    /// would be told things their next daemon does not know.
    package func handOver() -> ByteWriter {
        finishEnds()
        endCohorts()
        let writer = HandOverWriter()
        writeBus(to: writer)
        for connection in connections { if let connection { write(connection, to: writer) } }
        writeStores(to: writer)
        for case let connection? in connections {
            for subscription in connection.subscriptions { write(subscription, to: writer) }
        }
        return writer.finished()
    }

    /// What is known of the bus as a whole: its place in history, its types, who is known.
    func writeBus(to writer: HandOverWriter) {
        writer.record("bus") { record in
            record("form", .int(HandOver.form))
            record("epoch", .string(configuration.epoch))
            record("revision", .int(revision))
            record("sequence", .int(sequence))
            record("now", .int(now))
            record("dropsForgotten", .int(dropLog.forgottenThrough))
            record("keysForgotten", .int(keys.forgottenThrough))
        }
        for entry in types where typesByName[entry.name] === entry {
            writer.record("type") { $0("definition", entry.type.definition) }
        }
        for (identity, _) in identities.sorted(by: { $0.value < $1.value }) {
            writer.record("identity") { record in
                switch identity {
                case .uid(let uid): record("uid", .int(uid))
                case .token(let name): record("token", .string(name))
                }
            }
        }
    }

    /// The stores, those that went, and the keys of commits.
    func writeStores(to writer: HandOverWriter) {
        for entry in types { writeStores(of: entry, to: writer) }
        for number in dropLog.forgottenCount..<dropLog.count {
            let drop = dropLog[number]
            writer.record("drop") { record in
                record("revision", .int(drop.revision))
                record("type", .string(types[Int(drop.type)].name))
                record("name", .string(drop.name))
            }
        }
        keys.forEach { id, entry in write(id, entry, to: writer) }
    }

    private func write(_ connection: Connection, to writer: HandOverWriter) {
        let output = ByteWriter()
        connection.outbox.forEachPiece { output.append($0) }
        let reply = connection.heldReply ?? []
        let input = connection.lines.rest
        let data = ByteWriter()
        data.append(output.bytes)
        reply.withUnsafeBytes { data.append($0) }
        // A request that was begun and not finished is begun anew.
        if let line = connection.scan?.line ?? connection.deferredLine {
            line.withUnsafeBytes { data.append($0) }
            data.append(UInt8(ascii: "\n"))
        }
        input.bytes.withUnsafeBytes { data.append($0) }
        writer.record("connection", data: data.bytes) { record in
            record("id", .int(connection.id))
            switch connection.peer {
            case .unix(let uid, let pid, let unit):
                record("uid", .int(uid))
                record("pid", .int(pid))
                if let unit { record("unit", .string(unit)) }
            case .tcp(let address): record("address", .string(address))
            }
            if connection.identity != nil {
                record("identity", .int(Int(connection.identityIndex)))
                record("by", (try? JSON(parsing: connection.by)) ?? [:])
            }
            record("output", .int(output.count))
            if connection.heldReply != nil { record("reply", .int(reply.count)) }
            if input.isSkipping { record("skipping", true) }
            record("nextSubscription", .int(connection.nextSubscription))
            if !connection.will.isEmpty { record("will", .array(connection.will.map(\.json))) }
            record("willBytes", .int(connection.willBytes))
            if connection.isBlocked { record("blocked", true) }
            if connection.inputEnded { record("inputEnded", true) }
            if connection.isClosing { record("closing", true) }
        }
    }

    private func writeStores(of entry: TypeEntry, to writer: HandOverWriter) {
        for index in entry.members where index >= 0 {
            let store = stores.pointer(index)
            writer.record("store") { record in
                record("type", .string(entry.name))
                record("name", .string(store.pointee.name))
                record("state", .object(store.pointee.state))
                record("revision", .int(store.pointee.revision))
                record("sequence", .int(store.pointee.sequence))
                record("creator", .int(Int(store.pointee.creator)))
                if store.pointee.owner >= 0 { record("owner", .int(Int(store.pointee.owner))) }
            }
        }
    }

    private func write(_ id: KeyMemory.ID, _ entry: KeyMemory.Entry, to writer: HandOverWriter) {
        writer.record("key") { record in
            record("identity", .int(Int(id.identity)))
            record("key", .string(String(decoding: id.key, as: UTF8.self)))
            record("first", .int(Int(bitPattern: UInt(entry.digest.first))))
            record("second", .int(Int(bitPattern: UInt(entry.digest.second))))
            record("revision", .int(entry.revision))
            record("matched", .int(entry.matched))
            record("changed", .int(entry.changed))
        }
    }

    private func write(_ subscription: Subscription, to writer: HandOverWriter) {
        let key = subscription.shape.key
        writer.record("subscription") { record in
            record("connection", .int(subscription.connection.id))
            record("number", .int(subscription.number))
            record("from", .int(subscription.from))
            record("type", .string(String(decoding: key.pattern.type.pattern, as: UTF8.self)))
            record("name", .string(String(decoding: key.pattern.name.pattern, as: UTF8.self)))
            if let pointers = key.pointers {
                let tokens = pointers.map { tokens in
                    JSON.array(tokens.map { .string(String(decoding: $0, as: UTF8.self)) })
                }
                record("pointers", .array(tokens))
            }
            record("format", .string(key.format.rawValue))
            record("cause", .bool(key.cause))
            record("actions", .bool(key.actions))
            if let toldThrough = subscription.toldThrough { record("toldThrough", .int(toldThrough)) }
            guard let catchUp = subscription.catchUp else { return }
            record("lag", catchUp.json)
        }
    }
}

extension CatchUp {
    /// What has to be known of it elsewhere. How far a round has got is not: it begins anew there, and tells some stores
    /// twice, which later parts of an event may do.
    var json: JSON {
        [
            "reset": .bool(reset), "evenIfEmpty": .bool(evenIfEmpty), "open": .bool(isOpen),
            "dropsAfter": .int(dropsAfter), "floor": .int(floor), "ceiling": .int(ceiling),
        ]
    }
}

extension WillAction {
    /// As it stood in the request.
    var json: JSON {
        var object: JSONObject = ["action": .string(action), "payload": .object(payload)]
        if let store { object["store"] = .string(store) }
        if let type { object["type"] = .string(type) }
        return .object(object)
    }
}
