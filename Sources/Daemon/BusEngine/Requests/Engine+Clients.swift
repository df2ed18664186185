import BusJSON
import BusMachine
import BusProtocol

/// Who is on the bus, and the end of those who should not be.
extension Engine {
    /// Lists clients in the order in which they came: all of them to who manages the bus, to others those of their own user.
    func listClients(_ connection: Connection) throws(RequestError) {
        let after = try request.integer(.after) ?? 0
        let limit = try request.integer(.limit, least: 1) ?? DaemonLimits.clientsListed
        guard limit <= DaemonLimits.clientsListed else {
            throw .invalid(
                "limit",
                "A reply lists at most \(DaemonLimits.clientsListed) clients; ask for more with `after`.")
        }
        // What multicast groups have delivered counts for their members from here on.
        hub.endMulticasts()
        let seesAll = connection.access.grants?.mayManage ?? true
        clock.work += Work.look * connections.count
        let listed = connections.all.compactMap { $0 }
            .filter { $0.serial > after && (seesAll || $0.user === connection.user) }
            .sorted { $0.serial < $1.serial }
        var isCut = listed.count > limit
        try replies.answerWithinLine(connection, id: request.id) { writer in
            // Room for one more client, and for `next`.
            let room = limits.daemon.line - 64
            var last: Int?
            writer.append(",\"clients\":[")
            for client in listed.prefix(limit) {
                let start = writer.count
                if last != nil { writer.append(UInt8(ascii: ",")) }
                append(client, isSelf: client === connection, to: writer)
                guard writer.count + request.id.count <= room || last == nil else {
                    writer.truncate(to: start)
                    isCut = true
                    break
                }
                last = client.serial
            }
            writer.append("]")
            if isCut, let last {
                writer.append(",\"next\":", decimal: last)
            }
            return true
        }
    }

    private func append(_ client: Connection, isSelf: Bool, to writer: ByteWriter) {
        writer.append("{\"id\":", decimal: client.serial)
        if let principal = client.access.principal {
            writer.append(",\"by\":")
            principal.by.withUnsafeBytes { writer.append($0) }
        }
        var members: JSONObject = [:]
        if let name = client.access.clientName { members["client"] = .string(name) }
        switch client.peer {
        case .unix: members["address"] = "unix"
        case .tcp(let address, _): members["address"] = .string(address)
        }
        members["since"] = DurationText.seconds(client.since)
        members["idle"] = DurationText.seconds(max(0, clock.now - client.input.heardAt))
        members["subscriptions"] = .int(client.delivery.subscriptions.count)
        members["lagging"] = .int(client.lagging + client.behind)
        members["watches"] = .array(
            client.delivery.subscriptions.prefix(DaemonLimits.watches).map { .string($0.wanted.pattern.text) }
        )
        members["waiting"] = .int(client.output.outbox.count)
        members["held"] = .int(
            client.input.countedBytes + (client.deferredLine?.count ?? 0) + (client.entries?.bytes ?? 0))
        members["dispatched"] = .int(client.input.dispatched)
        members["delivered"] = .int(client.delivery.events)
        if isSelf { members["self"] = true }
        for member in members.members {
            writer.append(UInt8(ascii: ","))
            writer.append(quoted: member.key)
            writer.append(UInt8(ascii: ":"))
            writer.append(json: member.value)
        }
        writer.append(UInt8(ascii: "}"))
    }

    /// Ends a client's connection, with a goodbye that says why. Who does not manage the bus may do it to clients of its own
    /// user only.
    func kick(_ connection: Connection) throws(RequestError) {
        guard let serial = try request.integer(.client) else {
            throw .invalid("client", "Say in `client` whom to disconnect: an `id` of the reply to clients.")
        }
        let reason = try request.string(.reason) ?? ""
        guard reason.utf8.count <= DaemonLimits.kickReason else {
            throw .invalid("reason", "`reason` has at most \(DaemonLimits.kickReason) bytes; shorten it.")
        }
        let mayKickAll =
            connection.access.grants?.mayManage ?? admission.isOperator(connection.access.principal!)
        let client = connections.all.first { $0?.serial == serial } ?? nil
        clock.work += Work.look * connections.count
        guard let client, !client.isClosing, mayKickAll || seesClients(of: client.user, connection) else {
            throw RequestError(
                .unknownClient, "There is no client \(serial) on the bus; list those there are with clients.")
        }
        guard mayKickAll || client.user === connection.user else {
            throw RequestError(
                .forbidden,
                "Client \(serial) is another user's; only who manages the bus may disconnect it.")
        }
        replies.answer(connection, id: request.id) { _ in }
        outputs.report(
            Diagnostic(
                kind: .kicked, level: .notice,
                message:
                    "client \(serial) was disconnected by \(String(decoding: connection.access.principal!.by, as: UTF8.self))"
                    + (reason.isEmpty ? "" : ": \(reason)"),
                peer: client.peer))
        hub.close(
            client, .kicked, reason.isEmpty ? "An operator of the bus has ended this connection." : reason)
    }

    /// Ends the connections of clients whose tokens are no longer valid, and the sessions of those whose names have none any
    /// more; on a shared bus these linger for as long as their clients have asked for, since another member may still have the
    /// token. A client that has a new token finds what it left.
    package func endWithoutToken() {
        let isGone = { [tokenDigest = configuration.tokenDigest] (identity: Identity?) in
            if case .token(let name)? = identity { tokenDigest(name) == nil } else { false }
        }
        sessions.endAll(whoseClient: isGone)
        for case let connection? in connections.all {
            guard case .token(let name)? = connection.access.principal?.identity else { continue }
            let (shown, valid) = (connection.access.token, configuration.tokenDigest(name))
            guard valid == nil || shown != 0 && shown != valid else { continue }
            hub.close(connection, .kicked, "This token is no longer valid.")
        }
    }

    /// Whether a client may know of the clients of a user.
    private func seesClients(of user: User, _ connection: Connection) -> Bool {
        connection.access.grants.map { $0.mayManage || user === connection.user } ?? true
    }
}
