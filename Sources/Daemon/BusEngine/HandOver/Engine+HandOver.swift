import BusJSON
import BusMachine

/// Hands the bus and its clients over to the daemon that follows, and takes them over from the one before.
extension Engine {
    /// Everything this engine holds; of a shared bus, where nothing may be on its way, what the copy of its `member` does not
    /// have. Call it between turns. The engine must not serve clients afterwards, or they would receive things their next
    /// daemon does not know.
    package func handOver(of member: StateTransfer.Member? = nil) -> ByteWriter {
        sessions.finishEnds()
        hub.endMulticasts()
        let writer = RecordWriter()
        machine.writeBus(to: writer, form: StateTransfer.form)
        if let member {
            shared.handOver(member, to: writer)
        } else {
            machine.writeSessions(to: writer)
        }
        for case let connection? in connections.all { connection.handOver(to: writer) }
        if member == nil {
            sessions.handOver(to: writer)
            machine.writeStores(to: writer)
        }
        for case let connection? in connections.all {
            for subscription in connection.delivery.subscriptions { subscription.handOver(to: writer) }
        }
        return writer.finished()
    }

    /// Takes over everything another engine held. This one must be new: no store, no connection. Its types stay where
    /// the states fit them; a type whose stores do not fit, or that is gone, keeps the definition that was handed over.
    ///
    /// Connections keep their numbers. Sockets that were not handed over are the caller's to `disconnect`, which
    /// applies their wills. After a failure the engine must be discarded.
    ///
    /// `isLogToCome`: what clients have sent waits for `goOnAfterTakeOver`, because its commits must be logged.
    package func takeOver(
        _ bytes: UnsafeRawBufferPointer, isLogToCome: Bool = false
    ) throws(TransferFailure) {
        precondition(
            machine.storeCount == 0 && connections.count == 0,
            "Only a new engine can take over another's state.")
        var records = RecordReader(bytes)
        let bus = try records.bus()
        let restoration = try Restoration(of: bus, in: machine)
        clock.now = machine.time
        let connectionsAreSessions = try bus.integer("form") == 1
        var subscriptions: [TransferRecord] = []
        while let record = try records.next() {
            if try restoration.take(record) { continue }
            switch record.kind {
            case "connection": try takeConnection(record, isSession: connectionsAreSessions)
            case "lingering": try sessions.takeOver(record)
            case "subscription": subscriptions.append(record)
            default:
                throw TransferFailure(
                    "The state that was handed over holds a \(record.kind), which is unknown.")
            }
        }
        let outcome = try restoration.finish()
        for type in outcome.kept { outputs.reportKept(type) }
        hub.groups.noteTypes()
        hub.noteRevision()
        for record in subscriptions { try hub.takeOver(record) }
        if !outcome.isEmpty {
            commits.commit(by: .daemon, actions: false, machine.redefine(by: outcome))
        }
        if !isLogToCome {
            // Without a log the rules are those of the configuration, whatever the daemon before went by.
            if machine.access?.definition != configuration.access?.definition {
                machine.beginAccess(configuration.access)
                access.reassess(hub)
            }
            sessions.endOrphaned()
            goOnAfterTakeOver()
        }
    }

    /// Takes over the clients of the process that was this member of a shared bus before: the states are those of its copy,
    /// which has to be the same here. After a failure the engine must be discarded.
    package func takeOverClients(_ bytes: UnsafeRawBufferPointer) throws(TransferFailure) {
        precondition(connections.count == 0, "Only a new engine can take over another's clients.")
        var records = RecordReader(bytes)
        let bus = try records.bus()
        guard try bus.string("epoch") == machine.epoch, try bus.integer("revision") == machine.revision else {
            throw TransferFailure("The copy of the bus here is not that of the previous daemon.")
        }
        while let record = try records.next() {
            switch record.kind {
            case "member": try shared.takeOver(record)
            case "connection": try takeConnection(record, isSession: false)
            case "subscription": try hub.takeOver(record)
            // Of the copy, which has them, too.
            case "type", "access", "identity": break
            default:
                throw TransferFailure(
                    "The state that was handed over holds a \(record.kind), which no member hands over.")
            }
        }
    }

    /// Every connection that can continue does; those whose tokens are no longer valid can't.
    package func goOnAfterTakeOver() {
        endWithoutToken()
        for case let connection? in connections.all {
            connections.markReady(connection)
            proceed(connection)
        }
    }

    /// `isSession`: in form 1 each connection was a session with its number, and had the will.
    private func takeConnection(_ record: TransferRecord, isSession: Bool) throws(TransferFailure) {
        let connection = try connections.takeOver(record)
        if let number = record.members["identity"]?.int {
            let by = try record.object("by")
            // Members of a shared bus number only those of whom the log knows.
            let known = machine.member == nil ? machine.identity(number: number) : machine.identity(by: by)
            guard let identity = known else { throw record.missing("identity") }
            connection.access.introduce(as: by["client"]?.string, via: by["via"]?.string)
            if let token = record.members["token"]?.int { connection.access.show(token: token) }
            access.identify(
                connection,
                as: machine.principal(identity, peer: connection.peer, by: Array(by.encoded.utf8)))
        }
        try sessions.takeOver(record, of: connection, isSession: isSession)
        try connections.takeOver(record, into: connection)
    }
}
