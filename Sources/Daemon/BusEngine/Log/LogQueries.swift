import BusMachine

/// Queries for what only the log knows; the connection waits, the others continue.
final class LogQueries {
    private let machine: StateMachine
    private let connections: Connections
    private let outputs: Outputs
    /// Counts the queries.
    private var count = 0
    /// Reloads that were refused, and whose files are still being read.
    private var refusedReloads: Set<Int> = []

    init(_ machine: StateMachine, _ connections: Connections, _ outputs: Outputs) {
        self.machine = machine
        self.connections = connections
        self.outputs = outputs
    }

    /// Sends a query for a connection; `id` is the `id` of its request, byte for byte.
    func ask(
        _ subject: LogQuery.Subject, for purpose: PendingQuery.Purpose, id: [UInt8], _ connection: Connection
    ) {
        let number = wait(for: purpose, id: id, connection)
        outputs.add(
            .query(
                LogQuery(
                    connection: connection.id, user: connection.user.number, number: number, subject: subject,
                    peer: connection.peer, needed: machine.revision, room: room(besides: id),
                    horizons: machine.horizons)))
    }

    /// What a line has left for the members of a reply.
    private func room(besides id: [UInt8]) -> Int { connections.limits.line - id.count - 64 }

    /// A connection requests a reload.
    func askReload(id: [UInt8], _ connection: Connection, by principal: Principal, isDryRun: Bool) {
        let number = wait(for: .reload, id: id, connection)
        outputs.add(
            .reload(
                ReloadRequest(
                    connection: connection.id, number: number, principal: principal, isDryRun: isDryRun)))
    }

    /// Sends a question about the members of the bus.
    func askCluster(
        _ subject: ClusterQuery.Subject, id: [UInt8], _ connection: Connection, isOfMember: Bool
    ) -> ClusterQuery {
        let number = wait(for: .reply, id: id, connection)
        return ClusterQuery(
            connection: connection.id, client: connection.serial, number: number, subject: subject,
            room: room(besides: id), isOfMember: isOfMember)
    }

    /// A connection waits for what comes of a request. Returns the number of the query.
    func wait(
        for purpose: PendingQuery.Purpose = .reply, id: [UInt8], _ connection: Connection
    ) -> Int {
        count += 1
        connection.ask(PendingQuery(number: count, id: id, purpose: purpose))
        return count
    }

    /// The request for which a connection waits is refused. A reload does not take place then once its files have been read.
    func noteRefusal(of connection: Connection) {
        if let query = connection.query, case .reload = query.purpose { refusedReloads.insert(query.number) }
    }

    /// Whether a reload whose files have been read was refused; forgets it.
    func takeRefusal(of request: ReloadRequest) -> Bool { refusedReloads.remove(request.number) != nil }

    /// Whether a connection still waits for the answer to this query.
    func isAwaited(_ number: Int, of id: ConnectionID) -> Bool {
        connections.find(id)?.query?.number == number
    }

    /// The pending query of a connection, if this is the one answered.
    func find(_ number: Int, of id: ConnectionID) -> (Connection, PendingQuery)? {
        guard let connection = connections.find(id), let pending = connection.query,
            pending.number == number
        else { return nil }
        return (connection, pending)
    }

    /// The same, and the connection waits no longer.
    func take(_ number: Int, of id: ConnectionID) -> (Connection, PendingQuery)? {
        let found = find(number, of: id)
        found?.0.endQuery()
        return found
    }
}

/// A request that waits for an answer. A class, because most connections have none.
final class PendingQuery {
    let number: Int
    /// The request's `id`, byte for byte.
    let id: [UInt8]
    let purpose: Purpose
    /// What was found for a revert, which waits for its turn.
    var answer: LogAnswer?

    init(number: Int, id: [UInt8], purpose: Purpose) {
        self.number = number
        self.id = id
        self.purpose = purpose
    }

    /// It has no effect beyond the reply or events for its connection.
    var isRead: Bool {
        switch purpose {
        case .reply, .actions: true
        case .revert, .reload: false
        }
    }

    enum Purpose {
        case reply
        case revert(store: String, to: Int, where: Precondition)
        /// The entries after a revision, for its subscriptions to actions.
        case actions(after: Int)
        case reload
    }
}
