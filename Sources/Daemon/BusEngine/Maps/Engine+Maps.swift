import BusCommands
import BusJSON
import BusMachine
import BusProtocol

/// `map`: a file from which a client reads the states of a type without asking again.
extension Engine {
    func map(_ connection: Connection) throws(RequestError) {
        guard case .unix = connection.peer else {
            throw RequestError(
                .unavailable,
                "A map is a file in the memory of the bus's machine, and only a Unix socket passes it on; connect to one, or use `get`."
            )
        }
        guard request.present.contains(.type) else {
            throw .invalid("type", "Say in `type` of which state type there is to be a map.")
        }
        if let grants = connection.access.grants {
            let name = String(decoding: request.type, as: UTF8.self)
            guard grants.knows(type: name) else { throw .unknown(type: name) }
        }
        let type = try machine.requireType(request.type)
        try requireAll(of: type, connection)
        let maps = log.maps
        if let map = maps.map(of: type) {
            if map.isMade { return give(map, to: connection, id: request.id) }
            return wait(for: map, connection)
        }
        guard type.count <= DaemonLimits.mapStores else {
            throw RequestError(
                .limit,
                "\(type.name) has \(type.count) stores, and a map has \(DaemonLimits.mapStores) at most; use `get` or `subscribe`."
            )
        }
        guard maps.mayMake(for: connection.user) else {
            throw RequestError(
                .limit,
                "Maps are made \(DaemonLimits.mapsMade) times in \(DaemonLimits.mapInterval / 1000) s for one user at most; use `get`, and ask again later."
            )
        }
        guard !maps.areTooManyLeft(of: connection.user) else {
            throw RequestError(
                .limit,
                "Programs keep too many files of maps that have ended: together they may take \(maps.mostBytes) bytes, and one user's half of that. Close them, or use `get`."
            )
        }
        try admission.requireMemoryForRead()
        if long.mustWait(for: Work.mapStore * type.count, connection, currentLine) { return }
        wait(for: maps.begin(type, for: connection.user), connection)
    }

    /// Maps show all of every store.
    private func requireAll(of type: TypeEntry, _ connection: Connection) throws(RequestError) {
        guard connection.access.grants?.showsAll(ofType: type.name) ?? true else {
            throw Commands.forbidden("read every store whole of", type.name)
        }
    }

    private func wait(for map: TypeMap, _ connection: Connection) {
        let query = queries.wait(id: Array(request.id), connection)
        map.waiting.append((query, connection.id))
    }

    private func give(_ map: TypeMap, to connection: Connection, id: UnsafeRawBufferPointer) {
        log.maps.give(map, to: connection)
        connections.replyAtOnce(to: connection) { writer in
            writer.append(successOf: id)
            writer.append(",\"epoch\":", quoted: machine.epoch)
            writer.appendEndOfReply()
        }
    }

    /// The owner of the engine has made the file of a map, of this size in bytes.
    package func mapMade(_ number: Int, bytes: Int) {
        guard let map = log.maps.finish(number, bytes: bytes) else { return }
        answer(map) { connection, id throws(RequestError) in
            // Its rights may have changed while it waited.
            try requireAll(of: map.type, connection)
            give(map, to: connection, id: id)
        }
        // All who wanted it may be gone.
        if map.holders.isEmpty { log.maps.end(number) }
    }

    /// A map could not be made, or can't go on: it is full, which nobody has to be told.
    package func mapFailed(_ number: Int, because reason: String) {
        guard let map = log.maps.end(number) else { return }
        answer(map) { _, _ throws(RequestError) in throw RequestError(.limit, reason) }
    }

    /// The file of a map that has ended is gone: no program has it any more.
    package func mapGone(_ number: Int) { log.maps.noteGone(number) }

    /// Ends all maps, because the connections are about to be handed over to another daemon, which makes its own.
    package func endMaps() { log.maps.endAll() }

    private func answer(
        _ map: TypeMap, _ body: (Connection, UnsafeRawBufferPointer) throws(RequestError) -> Void
    ) {
        let waiting = map.waiting
        map.waiting = []
        for (query, id) in waiting {
            guard let (connection, pending) = queries.take(query, of: id) else { continue }
            respond(pending.id, connection) { id throws(RequestError) in
                try body(connection, id)
                return nil
            }
            connections.markReady(connection)
            proceed(connection)
        }
    }

    /// The next reply for a connection that brings a map: the map, after how many bytes of its output that begins, and how many of
    /// them may be sent with it.
    package func nextMap(of id: ConnectionID) -> (map: Int, before: Int, room: Int)? {
        log.maps.next(for: connections[id])
    }

    /// The beginning of that reply was sent.
    package func mapSent(to id: ConnectionID) { log.maps.noteSent(to: id) }
}
