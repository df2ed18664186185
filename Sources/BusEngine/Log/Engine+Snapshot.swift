import BusJSON
import BusLogic
import BusProtocol

/// The bus without its clients, as bytes: what a log begins with, so that not all of it has to be carried out again.
///
/// The records are those of a hand-over. In place of connections there are `session`s: who has left a will, or owns
/// stores that go with it.
extension Engine {
    /// Everything that commits have made.
    package func snapshot() -> ByteWriter {
        let writer = HandOverWriter()
        writeBus(to: writer)
        let sessions = pastConnections.values.map { $0 } + connections.compactMap { $0 } + endsToCome
        for connection in sessions.sorted(by: { $0.id < $1.id })
        where !connection.will.isEmpty || !connection.ephemeralStores.isEmpty {
            writer.record("session") { record in
                record("connection", .int(connection.id))
                record("by", (try? JSON(parsing: connection.by)) ?? [:])
                if !connection.will.isEmpty { record("will", .array(connection.will.map(\.json))) }
            }
        }
        writeStores(to: writer)
        return writer.finished()
    }

    /// Takes up what a snapshot holds. The engine must be new, made with `init(replaying:)`.
    package func restore(_ bytes: UnsafeRawBufferPointer) throws(HandOverFailure) {
        precondition(types.isEmpty && stores.count == 0, "Only a new engine can take up a snapshot.")
        var records = HandOverRecords(bytes)
        try takeBus(try records.bus())
        var stored: [HandOverRecord] = []
        var drops: [HandOverRecord] = []
        let bus = try HandOverRecords.first(of: bytes)
        while let record = try records.next() {
            switch record.kind {
            case "type":
                guard let definition = record.members["definition"] else {
                    throw record.missing("definition")
                }
                try take(definition: definition)
            case "identity": try takeIdentity(record)
            case "session": try takeSession(record)
            case "store": stored.append(record)
            case "drop": drops.append(record)
            case "key": try takeKey(record)
            default: throw HandOverFailure("The snapshot holds a \(record.kind), which is unknown.")
            }
        }
        orderTypes()
        try takeStores(stored)
        try finishTaking(bus, drops)
    }

    private func takeSession(_ record: HandOverRecord) throws(HandOverFailure) {
        let note: JSONObject = [
            "will": record.members["will"] ?? [], "connection": .int(try record.integer("connection")),
            "by": .object(try record.object("by")),
        ]
        do throws(ReplayFailure) {
            try take(session: note)
        } catch {
            throw HandOverFailure(error.message)
        }
    }

    /// Ends the connections of the daemon that wrote the log: their wills, then the drops of their stores, as their own end
    /// would have done.
    package func endPastConnections() {
        for connection in pastConnections.values.sorted(by: { $0.id < $1.id }) {
            carryOutEnd(of: connection)
        }
        pastConnections = [:]
    }
}
