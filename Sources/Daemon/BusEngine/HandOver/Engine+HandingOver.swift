import BusJSON
import BusMachine

/// Writes the bus and its clients as bytes.
extension Engine {
    /// Everything this engine holds. Call it between turns. The engine must not serve clients afterwards, or they would
    /// receive things their next daemon does not know.
    package func handOver() -> ByteWriter {
        finishEnds()
        hub.endMulticasts()
        let writer = RecordWriter()
        machine.writeBus(to: writer, form: StateTransfer.form)
        machine.writeSessions(to: writer)
        for case let connection? in connections.all { write(connection, to: writer) }
        for waiting in lingering.inOrder where !waiting.session.isEmpty {
            writer.record("lingering") { record in
                record("session", .int(waiting.session.id))
                record("deadline", .int(waiting.deadline))
            }
        }
        machine.writeStores(to: writer)
        for case let connection? in connections.all {
            for subscription in connection.delivery.subscriptions { write(subscription, to: writer) }
        }
        return writer.finished()
    }

    private func write(_ connection: Connection, to writer: RecordWriter) {
        let output = ByteWriter()
        connection.output.outbox.forEachPiece { output.append($0) }
        let reply = connection.output.heldReply ?? []
        let input = connection.input.rest
        let data = ByteWriter()
        data.append(output.bytes)
        reply.withUnsafeBytes { data.append($0) }
        // A request that was begun and not finished is started again.
        if let line = connection.read?.line ?? connection.deferredLine {
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
            case .tcp(let address, let certificate):
                record("address", .string(address))
                if let certificate {
                    record("certificate", .string(certificate.subject))
                    record("names", .array(certificate.names.map { .string($0) }))
                }
            }
            if let principal = connection.access.principal {
                record("identity", .int(Int(principal.number)))
                record("by", (try? JSON(parsing: principal.by)) ?? [:])
            }
            if let session = connection.hold.session { record("session", .int(session.id)) }
            if let name = connection.hold.name {
                record("sessionName", .string(name))
                record("linger", .int(connection.hold.linger))
            }
            record("output", .int(output.count))
            if connection.output.heldReply != nil { record("reply", .int(reply.count)) }
            if input.isSkipping { record("skipping", true) }
            record("nextSubscription", .int(connection.delivery.nextNumber))
            record("willBytes", .int(connection.hold.willBytes))
            if connection.waits.contains(.turn) { record("blocked", true) }
            if connection.input.hasEnded { record("inputEnded", true) }
            if connection.isClosing { record("closing", true) }
        }
    }

    private func write(_ subscription: Subscription, to writer: RecordWriter) {
        let key = subscription.wanted
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
            if let deliveredThrough = subscription.deliveredThrough {
                record("toldThrough", .int(deliveredThrough))
            }
            guard let catchUp = subscription.catchUp else { return }
            record("lag", catchUp.json)
        }
    }
}

extension CatchUp {
    /// What the next daemon has to know of it. How far a round has got is not included: the round begins again there,
    /// and delivers some stores twice, which later parts of an event may do.
    var json: JSON {
        [
            "reset": .bool(reset), "evenIfEmpty": .bool(evenIfEmpty), "open": .bool(isOpen),
            "dropsAfter": .int(dropsAfter), "floor": .int(floor), "ceiling": .int(ceiling),
        ]
    }
}
