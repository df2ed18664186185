import BusMachine

/// Asks the log what only it knows; the connection waits, the others go on.
final class LogQueries {
    private let machine: StateMachine
    private let connections: Connections
    private let outputs: Outputs
    /// Counts what was asked.
    private var count = 0

    init(_ machine: StateMachine, _ connections: Connections, _ outputs: Outputs) {
        self.machine = machine
        self.connections = connections
        self.outputs = outputs
    }

    /// Asks for a connection; `id` is that of its request, as it stood there.
    func ask(
        _ subject: LogQuery.Subject, for purpose: PendingQuery.Purpose, id: [UInt8], _ connection: Connection
    ) {
        let number = wait(for: purpose, id: id, connection)
        outputs.add(
            .query(
                LogQuery(
                    connection: connection.id, number: number, subject: subject, peer: connection.peer,
                    needed: machine.revision, room: connections.limits.line - id.count - 64)))
    }

    /// A connection wants everything to be read anew.
    func askReload(id: [UInt8], _ connection: Connection, by principal: Principal) {
        let number = wait(for: .reload, id: id, connection)
        outputs.add(.reload(ReloadRequest(connection: connection.id, number: number, principal: principal)))
    }

    private func wait(for purpose: PendingQuery.Purpose, id: [UInt8], _ connection: Connection) -> Int {
        count += 1
        connection.query = PendingQuery(number: count, id: id, purpose: purpose)
        connection.isBlocked = true
        return count
    }

    /// Whether somebody still waits for an answer.
    func isAwaited(_ query: LogQuery) -> Bool {
        connections.find(query.connection)?.query?.number == query.number
    }

    /// What a connection waits for, if it is what has been answered; it waits no longer.
    func take(_ number: Int, of id: ConnectionID) -> (Connection, PendingQuery)? {
        guard let connection = connections.find(id), let pending = connection.query,
            pending.number == number
        else { return nil }
        connection.query = nil
        return (connection, pending)
    }
}

/// An answer that a connection waits for.
struct PendingQuery {
    let number: Int
    /// The request's `id`, as it stood there.
    let id: [UInt8]
    let purpose: Purpose

    /// Nothing comes of it but what its connection is told.
    var isRead: Bool {
        switch purpose {
        case .reply, .actions: true
        case .revert, .reload: false
        }
    }

    enum Purpose {
        case reply
        case revert(store: String, to: Int, expected: Int?)
        case actions(Subscription)
        case reload
    }
}
