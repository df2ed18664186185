import BusCluster
import BusCommands
import BusJSON
import BusLogic
import BusMachine
import BusProtocol

/// Requests of clients of a shared bus: what would commit goes through the shared log, what only reads waits for what its
/// client has asked for before.
///
/// Here is decided what needs no state: form and access. What depends on states is decided where the log has come to the
/// request, by all members alike.
extension Engine {
    /// From now on the bus is shared: `commits` makes what the log delivers, and outputs have what clients ask for.
    ///
    /// - Parameter condition: What replies tell of the member.
    package func share(_ commits: SharedCommits, condition: JSONObject) {
        shared.begin()
        shared.condition = condition
        commits.attach(self)
    }

    /// What replies tell of the member has changed.
    package func noteCondition(_ condition: JSONObject) { shared.condition = condition }

    /// Takes a request of a client of a shared bus. True: it is on its way through the log, or waits; false: it is to be
    /// carried out here, now.
    func share(_ operation: Operation, _ connection: Connection) throws(RequestError) -> Bool {
        if connection.input.attempt == .behindBarrier { return false }
        switch operation {
        // What commits nothing is this member's to answer.
        case .command where try request.flag(.dryRun, default: false): break
        case .command(let command):
            try propose(command, connection)
            return true
        case .local(.sync):
            awaitBarrier(.sync, connection)
            return true
        case .local(.get) where try request.flag(.fresh, default: false):
            awaitBarrier(.read(line: Array(currentLine)), connection)
            connection.wait(for: .barrier)
            return true
        case .local(.subscribe) where try goesOnFromLater():
            awaitBarrier(.resumption(line: Array(currentLine)), connection)
            connection.wait(for: .barrier)
            return true
        case .local: break
        }
        return waitsForEntries(connection)
    }

    /// Whether a client has come from a member that is further than this one: what it has seen is on its way here.
    private func goesOnFromLater() throws(RequestError) -> Bool {
        guard let since = try request.integer(.since), since > machine.revision,
            let epoch = try request.string(.epoch)
        else { return false }
        return UTF8Order.equal(epoch, machine.epoch)
    }

    /// Whether a request has to wait for those before it; then its line is kept.
    func waitsForEntries(_ connection: Connection) -> Bool {
        if connection.entries.isEmpty { return false }
        keep(currentLine, of: connection)
        return true
    }

    // MARK: - Requests

    /// Proposes the present request to all members, if it is one as far as this member can tell.
    private func propose(_ command: Operation.Command, _ connection: Connection) throws(RequestError) {
        if command == .dispatch { totals.dispatches &+= 1 }
        let host = local.here(for: connection, isProposing: true)
        try commands.check(command, by: caller(of: connection), host)
        try submit(.command, connection)
        if let bytes = host.willBytes { connections.countWill(bytes, of: connection) }
        if host.leavesSession { connection.hold.noteLeft() }
    }

    /// A client wants a session with a name, which another member may have.
    func shareSession(
        named name: String, linger: Int, _ connection: Connection
    ) throws(RequestError) {
        if let known = connection.hold.name, !UTF8Order.equal(known, name) {
            throw .invalid(
                "session", "This connection has the session \(known); open another one for \(name).")
        }
        connection.hold.name(name, linger: linger)
        connection.hold.noteLeft()
        try submit(.command, connection, .sessionNamed(name, linger: linger))
    }

    /// The state that a store is to be reverted to has been found in the history of this member.
    func shareRevert(
        _ store: String, to past: Int, _ expected: Int?, _ answer: LogAnswer, _ id: [UInt8],
        _ connection: Connection
    ) throws(RequestError) {
        guard case .state(let old) = answer else {
            guard case .refused(let code, let message, let details) = answer else { return }
            throw Self.error(code, message, details)
        }
        var line: JSONObject = ["op": "revert", "store": .string(store), "revision": .int(past)]
        if let expected { line["ifRevision"] = .int(expected) }
        try submit(
            .command, connection,
            .revert(Array(line.encoded.utf8), past: Array(old.json.encoded.utf8)), id: id)
    }

    /// What decides outcomes is to change on all members.
    func shareConfiguration(_ loaded: LoadedDefinitions, _ connection: Connection?, id: [UInt8]) {
        let text = Self.configuration(loaded)
        guard let connection else {
            return submitOwn(.configure(text), "what is configured")
        }
        do throws(RequestError) {
            try submit(.command, connection, .configure(text), id: id)
        } catch {
            id.withUnsafeBytes { refuse(error, for: connection, id: $0) }
        }
    }

    /// Types, access rules and limits as an entry of the shared log has them.
    package static func configuration(_ loaded: LoadedDefinitions, beginning: BusBeginning? = nil) -> [UInt8]
    {
        var members: JSONObject = [
            "types": .array(loaded.types.map(\.definition)), "access": loaded.access?.definition ?? .null,
            "limits": loaded.limits.effective.json,
        ]
        if let beginning { members["begin"] = beginning.json }
        return Array(members.encoded.utf8)
    }

    // MARK: - On their way

    private func submit(
        _ kind: PendingEntry.Kind, _ connection: Connection, _ command: ClusterEntry.Command? = nil,
        id: [UInt8]? = nil
    ) throws(RequestError) {
        try admission.requireCommits()
        let principal = connection.access.principal!
        connection.hold.begin(shared.nextSession)
        let entry = ClusterEntry(
            session: connection.hold.number, by: principal.by,
            isOperator: admission.isOperator(principal), command ?? .request(Array(currentLine)))
        guard entry.size + ClusterEntry.overhead <= ClusterLimits.proposal else {
            throw RequestError(
                .tooLarge,
                "A request to a bus of several machines has at most \(ClusterLimits.proposal - ClusterEntry.overhead) bytes with what says who asks; send less at once."
            )
        }
        let ticket = wait(for: kind, connection, id: id ?? Array(request.id), bytes: entry.size)
        outputs.add(.entry(entry, ticket: ticket))
    }

    private func awaitBarrier(_ kind: PendingEntry.Kind, _ connection: Connection) {
        let ticket = wait(for: kind, connection, id: Array(request.id), bytes: currentLine.count)
        outputs.add(.barrier(ticket: ticket))
    }

    private func wait(
        for kind: PendingEntry.Kind, _ connection: Connection, id: [UInt8], bytes: Int
    ) -> Int {
        let ticket = shared.nextTicket()
        shared.own(ticket, by: connection)
        connection.add(PendingEntry(ticket: ticket, id: id, kind: kind, bytes: bytes))
        return ticket
    }

    /// The daemon itself wants something: a configured store, types.
    package func submitOwn(_ command: ClusterEntry.Command, _ what: String) {
        let ticket = shared.nextTicket()
        shared.awaitOwn(ticket, what)
        outputs.add(
            .entry(
                ClusterEntry(session: 0, by: ClusterEntry.daemon, isOperator: true, command), ticket: ticket))
    }

    /// Creates a store of the configuration where it is missing. It stays, also where its type gives stores a lease.
    package func submitConfigured(_ store: String) {
        let request: JSONObject = [
            "op": "create", "store": .string(store), "ifMissing": true, "ttl": .null,
        ]
        submitOwn(.request(Array(request.encoded.utf8)), "the store \(store)")
    }

    /// Whether something that the daemon itself has asked for is still on its way.
    package var awaitsOwnEntries: Bool { shared.awaitsOwn }

    /// A connection has ended: so does its session, if it has left something there.
    func endShared(_ connection: Connection) {
        shared.forget(connection)
        guard connection.hold.hasLeft, let principal = connection.access.principal else { return }
        connections.countWill(0, of: connection)
        submitEnd(ClusterEntry(session: connection.hold.number, by: principal.by, .sessionEnded))
    }

    private func submitEnd(_ entry: ClusterEntry) {
        let ticket = shared.nextTicket()
        shared.awaitEnd(ticket, entry)
        outputs.add(.entry(entry, ticket: ticket))
    }
}
