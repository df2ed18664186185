import BusJSON
import BusLogic
import BusProtocol

/// One line: read, carried out, answered.
extension Engine {
    func carryOut(line: UnsafeRawBufferPointer, for connection: Connection) {
        statistics.requests += 1
        lineLength = line.count
        currentLine = line
        do throws(RequestError) {
            try request.read(line, from: connection.id)
            guard request.id.count + Limits.eventOverhead <= limits.line else {
                // No reply could bear it.
                return refuse(
                    RequestError(.tooLarge, "`id` leaves no room for a reply on its line; make it shorter."),
                    for: connection, id: UnsafeRawBufferPointer(start: nil, count: 0))
            }
            let operation = request.isFamiliar ? .dispatch : try request.operation()
            if connection.identity == nil && operation != .hello {
                throw RequestError(.unauthorized, "Begin with hello and a token; this is a TCP connection.")
            }
            if connection.isLost, operation.isRead { return }
            switch operation {
            case .dispatch: try dispatch(connection)
            case .ping: answer(connection) { _ in }
            case .get: try get(connection)
            case .hello: try hello(connection)
            case .create: try create(connection)
            case .drop: try drop(connection)
            case .stores: try listStores(connection)
            case .types: try listTypes(connection)
            case .subscribe: try subscribe(connection)
            case .unsubscribe: try unsubscribe(connection)
            case .sync: answer(connection) { self.appendRevision($0) }
            case .will: try setWill(connection)
            case .stats: answer(connection) { self.appendStatistics($0) }
            case .reload: try reload(connection)
            case .history: try history(connection)
            case .revert: try revert(connection)
            }
        } catch {
            refuse(error, for: connection, id: request.id)
        }
    }

    // MARK: Replies

    /// Writes a reply; `body` adds members, each with its comma before it. It waits while changes before it
    /// have not been written.
    func answer(_ connection: Connection, _ body: (ByteWriter) -> Void) {
        reply(connection) { writer in
            writer.append(headOfReplyTo: request.id)
            writer.append("\"ok\":true")
            body(writer)
            writer.append("}\n")
        }
    }

    /// Writes a reply whose whole line `body` writes.
    @inline(__always)
    func reply(_ connection: Connection, _ body: (ByteWriter) -> Void) {
        if connection.lagging == 0 { return write(to: connection, body) }
        let writer = ByteWriter()
        body(writer)
        connection.heldReply = Array(writer.bytes)
    }

    /// Writes a reply that may prove too long; `body` gives false as soon as it has written too much.
    func answerWithinLine(
        _ connection: Connection, id: UnsafeRawBufferPointer? = nil, _ body: (ByteWriter) -> Bool
    ) throws(RequestError) {
        let id = id ?? request.id
        scratch.clear()
        defer {
            work += scratch.count * Work.encodedByte
            if scratch.reserved > 4 * limits.line { scratch.shrink() }
        }
        guard body(scratch), scratch.count + id.count + 32 <= limits.line else {
            throw RequestError(
                .tooLarge,
                "The reply would be longer than a line of \(limits.line) bytes; ask for less with limit, select or store."
            )
        }
        let bytes = scratch.bytes
        reply(connection) { writer in
            writer.reserve(bytes.count + id.count + 32)
            writer.append(headOfReplyTo: id)
            writer.append("\"ok\":true")
            writer.append(bytes)
            writer.append("}\n")
        }
    }

    /// Whether what has been put together is still within a line.
    func fits(_ writer: ByteWriter) -> Bool { writer.count <= limits.line }

    func refuse(_ refusal: RequestError, for connection: Connection, id: UnsafeRawBufferPointer) {
        // To somebody who has not said who they are, everything but hello is the same mistake.
        let error =
            connection.identity != nil || refusal.code == .unauthorized
            ? refusal
            : RequestError(.unauthorized, "Begin with hello and a token; this is a TCP connection.")
        statistics.errors[error.code.rawValue, default: 0] += 1
        work += Work.refusal
        let writer = ByteWriter()
        writer.append(headOfReplyTo: id)
        writer.append("\"ok\":false,\"error\":{\"code\":\"")
        writer.append(raw: error.code.rawValue)
        writer.append("\",\"message\":")
        // Both may quote what the client sent, and a reply must fit into a line.
        let room = max(0, (limits.line - id.count) / 2 - Limits.eventOverhead / 4)
        writer.append(quoted: error.message.shortened(to: min(Limits.message, room)))
        for detail in error.details where detail.value.encodedSize <= min(Limits.detail, room) {
            writer.append(UInt8(ascii: ","))
            writer.append(quoted: detail.name)
            writer.append(UInt8(ascii: ":"))
            writer.append(json: detail.value)
        }
        writer.append("}}\n")
        if connection.lagging > 0 {
            connection.heldReply = Array(writer.bytes)
        } else {
            write(to: connection) { $0.append(writer.bytes) }
        }
        if connection.identity == nil {
            sayGoodbye(connection, .protocol, "A TCP connection begins with hello and a token of the bus.")
        }
    }

    func appendRevision(_ writer: ByteWriter) {
        writer.append(",\"revision\":")
        writer.append(decimal: revision)
    }

    // MARK: Names

    /// The type with a name, or the error that says what there is instead.
    func requireType(_ name: UnsafeRawBufferPointer) throws(RequestError) -> TypeEntry {
        if let entry = type(named: name) { return entry }
        let text = String(decoding: name.prefix(80), as: UTF8.self)
        guard Names.isTypeName(name) else {
            throw .invalid(
                "type",
                "\"\(text)\" is no type name; it is a lower-case letter, then letters, digits, _ or -."
            )
        }
        throw RequestError(
            .unknownType,
            "There is no state type \"\(text)\"; \(suggestion(for: text, among: typesByName.keys.sorted()))")
    }

    func requireAction(_ name: UnsafeRawBufferPointer, of entry: TypeEntry) throws(RequestError) -> Int {
        if let index = entry.action(named: name) { return index }
        let text = String(decoding: name.prefix(80), as: UTF8.self)
        throw RequestError(
            .unknownAction,
            "\(entry.name) has no action \"\(text)\"; \(suggestion(for: text, among: entry.type.actionNames))"
        )
    }

    /// An address cut in two; `member` is the member it came in.
    func requireAddress(
        _ text: UnsafeRawBufferPointer, member: String = "store"
    ) throws(RequestError) -> AddressParts {
        guard let parts = AddressParts(text) else {
            let shown = String(decoding: text.prefix(200), as: UTF8.self)
            throw .invalid(
                member, "\"\(shown)\" is no address; write type/name, for example counter/kitchen.")
        }
        return parts
    }

    /// An existing store.
    func requireStore(_ text: UnsafeRawBufferPointer) throws(RequestError) -> (TypeEntry, Int32) {
        let parts = try requireAddress(text)
        let entry = try requireType(parts.type)
        guard let index = stores.find(type: entry.index, name: parts.name) else {
            throw RequestError(
                .unknownStore,
                "There is no store \(String(decoding: text, as: UTF8.self)); create it, or list what there is with stores."
            )
        }
        return (entry, index)
    }
}

extension String {
    /// At most `limit` bytes of it, so cut that whole characters stay.
    fileprivate func shortened(to limit: Int) -> String {
        if utf8.count <= limit { return self }
        var end = utf8.index(startIndex, offsetBy: max(0, limit - 3))
        while end > startIndex, end.samePosition(in: unicodeScalars) == nil { end = utf8.index(before: end) }
        return self[..<end] + "…"
    }
}
