import BusJSON
import BusMachine
import BusProtocol

/// Reads the bus and its clients from bytes.
extension Engine {
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
            case "lingering": try takeLingering(record)
            case "subscription": subscriptions.append(record)
            default:
                throw TransferFailure(
                    "The state that was handed over holds a \(record.kind), which is unknown.")
            }
        }
        let outcome = try restoration.finish()
        for type in outcome.kept { reportKept(type) }
        hub.groups.noteTypes()
        hub.noteRevision()
        for record in subscriptions { try takeSubscription(record) }
        if !outcome.replaced.isEmpty {
            let details = CommitDetails()
            details.replaced = outcome.replaced
            machine.plan.clear()
            commit(by: .daemon, actions: false, details)
        }
        if !isLogToCome {
            // Without a log the rules are those of the configuration, whatever the daemon before went by.
            if machine.access?.definition != configuration.access?.definition {
                machine.beginAccess(configuration.access)
                reassess()
            }
            endOrphanedSessions()
            goOnAfterTakeOver()
        }
    }

    /// Every connection that can continue does.
    package func goOnAfterTakeOver() {
        for case let connection? in connections.all {
            connections.markReady(connection)
            proceed(connection)
        }
    }

    /// `isSession`: in form 1 each connection was a session with its number, and had the will.
    private func takeConnection(_ record: TransferRecord, isSession: Bool) throws(TransferFailure) {
        let id = try record.integer("id")
        let peer: Peer
        if let address = record.members["address"]?.string {
            let certificate = record.members["certificate"]?.string.map {
                ClientCertificate(
                    subject: $0, names: (record.members["names"]?.array ?? []).compactMap(\.string))
            }
            peer = .tcp(address: address, certificate: certificate)
        } else {
            peer = .unix(
                uid: try record.integer("uid"), pid: try record.integer("pid"),
                unit: record.members["unit"]?.string)
        }
        guard let connection = connections.add(peer, numbered: id) else { throw record.missing("id") }
        if let number = record.members["identity"]?.int {
            guard let identity = machine.identity(number: number) else { throw record.missing("identity") }
            access.identify(
                connection,
                as: machine.principal(
                    identity, peer: peer, by: Array(try record.object("by").encoded.utf8)))
        }
        if let number = isSession ? id : record.members["session"]?.int,
            let principal = connection.access.principal
        {
            guard StateMachine.isSession(number) else { throw record.missing("session") }
            connection.hold.take(machine.session(number) ?? machine.openSession(number, principal))
        }
        let (name, linger) = (record.members["sessionName"]?.string, record.members["linger"]?.int ?? 0)
        connection.hold.name(name, linger: linger)
        if let session = connection.hold.session, let name {
            // One in which there was nothing was not handed over, and begins here.
            machine.name(session, name, linger: linger, session.principal)
        }
        noteHolder(connection, hasEnded: false)
        if isSession, let session = connection.hold.session {
            machine.setWill(
                try (record.members["will"]?.array ?? []).map { (element) throws(TransferFailure) in
                    guard let action = WillAction(element) else { throw record.missing("will") }
                    return action
                }, of: session)
        }
        connection.delivery.begin(at: try record.integer("nextSubscription"))
        connections.countWill(try record.integer("willBytes"), of: connection)
        if record.flag("blocked") { connection.wait(for: .turn) }
        if record.flag("inputEnded") { connection.input.end() }
        try takeBytes(of: record, for: connection)
        if record.flag("closing") { connection.close() }
    }

    /// The output that was not sent, a reply that waited, the input that was not executed.
    private func takeBytes(of record: TransferRecord, for connection: Connection) throws(TransferFailure) {
        let output = try record.integer("output")
        let reply = record.members["reply"]?.int
        let inputStart = output + (reply ?? 0)
        guard output >= 0, reply ?? 0 >= 0, inputStart <= record.data.count else {
            throw record.missing("output")
        }
        if output > 0 {
            connections.write(to: connection) {
                $0.append(UnsafeRawBufferPointer(rebasing: record.data[..<output]))
            }
        }
        if reply != nil { connections.hold(reply: Array(record.data[output..<inputStart]), of: connection) }
        connection.input.takeOver(
            UnsafeRawBufferPointer(rebasing: record.data[inputStart...]), isSkipping: record.flag("skipping"))
        connections.countHeld(connection)
    }

    /// A session goes on waiting for its client, no longer than it would have.
    private func takeLingering(_ record: TransferRecord) throws(TransferFailure) {
        guard let session = machine.session(try record.integer("session")) else {
            throw record.missing("session")
        }
        wait(for: session, until: try record.integer("deadline"))
    }

    private func takeSubscription(_ record: TransferRecord) throws(TransferFailure) {
        guard let connection = connections.find(try record.integer("connection")) else {
            throw record.missing("connection")
        }
        let text = Array("\(try record.string("type"))/\(try record.string("name"))".utf8)
        guard let pattern = text.withUnsafeBytes({ AddressPattern($0) }) else { throw record.missing("type") }
        guard let format = SubscriptionFilter.Format(rawValue: try record.string("format")) else {
            throw record.missing("format")
        }
        let pointers = record.members["pointers"]?.array?.map { ($0.array ?? []).compactMap(\.string) }
        let wanted = SubscriptionFilter(
            pattern: pattern, pointers: pointers, format: format, cause: record.flag("cause"),
            actions: record.flag("actions"))
        let group = hub.group(granted(wanted, to: connection.access.grants), for: connection.user)
        _ = hub.groups.search(for: group) { true }
        let subscription = Subscription(
            number: try record.integer("number"), connection: connection, group: group, wanted: wanted,
            from: try record.integer("from"))
        guard subscription.number > connection.delivery.subscriptions.last?.number ?? 0,
            subscription.number < connection.delivery.nextNumber, subscription.from <= machine.revision
        else { throw record.missing("number") }
        hub.attach(subscription)
        if let deliveredThrough = record.members["toldThrough"]?.int {
            subscription.deliveredThrough = deliveredThrough
            connection.beginPast()
        }
        if let lag = record.members["lag"] {
            guard let catchUp = CatchUp(lag) else { throw record.missing("lag") }
            hub.beginLagging(subscription, catchUp)
        }
    }
}

extension CatchUp {
    init?(_ json: JSON) {
        guard let reset = json["reset"]?.bool, let evenIfEmpty = json["evenIfEmpty"]?.bool,
            let isOpen = json["open"]?.bool, let dropsAfter = json["dropsAfter"]?.int,
            let floor = json["floor"]?.int, let ceiling = json["ceiling"]?.int
        else { return nil }
        self.init(
            reset: reset, evenIfEmpty: evenIfEmpty, dropsAfter: dropsAfter, floor: floor, ceiling: ceiling)
        self.isOpen = isOpen
    }
}
