import BusJSON
import BusLogic
import BusMachine
import BusProtocol

/// Clients say who they are.
extension Engine {
    func hello(_ connection: Connection) throws(RequestError) {
        let wanted = try request.integer(.protocol) ?? Version.ofProtocol
        guard wanted == Version.ofProtocol else {
            throw .invalid("protocol", "This daemon speaks protocol \(Version.ofProtocol).")
        }
        connection.access.introduce(
            as: try request.string(.client).map(shortened), via: try request.string(.via).map(shortened))
        let token = try request.string(.token)
        let session = try request.session()
        if case .tcp(_, .some) = connection.peer, connection.access.principal == nil, token == nil {
            try admission.identify(connection)
        } else if case .tcp(let address, _) = connection.peer, connection.access.principal == nil {
            guard let token, let name = configuration.tokenName(token) else {
                throw RequestError(
                    .unauthorized, "This token is not in the bus's token file; ask its operator for one.")
            }
            try admission.admit(connection, as: machine.principal(token: name, address: address))
            connection.access.show(token: configuration.tokenDigest(name) ?? 0)
        } else {
            access.reassess(connection, hub)
        }
        guard let session else {
            return replies.answer(connection, id: request.id) { greet(connection, isResumed: nil, $0) }
        }
        let reply = try make(
            .session(session.name, linger: session.linger), by: connection.access.principal!, for: connection,
            id: Array(request.id))
        if let reply { answer(reply, request.id, connection) }
    }

    private func shortened(_ name: String) -> String {
        String(String.UnicodeScalarView(name.unicodeScalars.prefix(DaemonLimits.clientName)))
    }

    /// Appends what is said to a client that says hello.
    func greet(_ connection: Connection, isResumed: Bool?, _ writer: ByteWriter) {
        writer.append(raw: ",\"protocol\":\(Version.ofProtocol),\"server\":\"fluxbusd\",\"version\":")
        writer.append(quoted: configuration.version)
        writer.append(",\"epoch\":", quoted: machine.epoch)
        writer.append(revision: machine.revision)
        writer.append(",\"identity\":")
        connection.access.principal?.by.withUnsafeBytes { writer.append($0) }
        writer.append(",\"limits\":", jsonObject: limits.object)
        if let isResumed { writer.append(isResumed ? ",\"resumed\":true" : ",\"resumed\":false") }
        replies.appendCondition(to: writer)
    }
}

extension Limits {
    /// The limits as `hello` reports them.
    var object: JSONObject {
        [
            "line": .int(daemon.line), "depth": .int(daemon.depth), "state": .int(effective.state),
            "stores": .int(bus.stores), "connections": .int(daemon.connections),
            "subscriptions": .int(daemon.subscriptions), "outbox": .int(daemon.outbox),
            "batch": .int(bus.batch), "commit": .int(bus.commit), "memory": .int(daemon.memory),
        ]
    }
}
