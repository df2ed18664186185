import BusCluster
import BusCommands
import BusJSON
import BusMachine
import BusProtocol

/// What has come of requests to the shared log: their clients are answered, each in the order of its requests.
extension Engine {
    /// Something has come of a request, by the ticket that it had.
    package func resolve(_ ticket: Int, _ outcome: EntryResolution) {
        guard let connection = shared.resolve(ticket, outcome, at: machine.revision) else { return }
        // All members have spent it, and here it is known whose it was.
        if case .outcome(_, let spent) = outcome {
            let work = Work.operation &* spent
            clock.work &+= work
            scheduler.charge(work, to: connection)
        }
        guard connection.entries?.hasAnswer == true else { return }
        releaseAnswers(of: connection)
        if !connection.waits.isEmpty || connection.input.hasEnded { proceed(connection) }
        connections.markReady(connection)
    }

    /// Writes the answers that are known and have no other before them. They wait while changes and actions before
    /// them are not written.
    func releaseAnswers(of connection: Connection) {
        guard let entries = connection.entries else { return }
        while entries.hasAnswer, !connection.isClosing {
            guard !connection.isLate, connection.output.heldReply == nil else {
                return connection.wait(for: .entries)
            }
            let entry = entries.takeFirst()
            entry.id.withUnsafeBytes { answer(entry, $0, connection) }
        }
    }

    /// Whether a connection with requests on their way may go on to what comes behind them.
    func mayPassEntries(_ connection: Connection) -> Bool {
        releaseAnswers(of: connection)
        if let entries = connection.entries, !entries.isEmpty {
            let isStopped =
                !connection.waits.isDisjoint(with: [.line, .barrier]) || connection.input.hasEnded
            if isStopped || !entries.hasRoom { return false }
        }
        connection.passEntries()
        // An answer may have been that of a read, which has more to wait for.
        return connection.waits.isDisjoint(with: [.query, .stores, .past, .states])
    }

    private func answer(
        _ entry: PendingEntry, _ id: UnsafeRawBufferPointer, _ connection: Connection
    ) {
        switch entry.outcome {
        case .outcome(.done(var reply), _):
            if case .reload(let restart) = entry.kind { reply.restart = restart }
            answer(reply, id, connection)
        case .outcome(.refused(let error), _): replies.refuse(error, for: connection, id: id)
        case .failed(let failure):
            switch entry.kind {
            case .read, .resumption: connection.passBarrier()
            default: break
            }
            replies.refuse(
                RequestError(.unavailable, failure.message)
                    .with("outcome", .string(failure.outcome.rawValue)), for: connection, id: id)
        case .synced:
            switch entry.kind {
            case .read(let line), .resumption(let line, _): passBarrier(line, connection)
            default: replies.answer(connection, id: id) { $0.append(revision: machine.revision) }
            }
        case nil: break
        }
    }

    /// Carries out a request that has waited for a barrier.
    private func passBarrier(_ line: [UInt8], _ connection: Connection) {
        connection.passBarrier()
        connection.input.retry(.behindBarrier) {
            line.withUnsafeBytes { _ = execute(.line($0), for: connection) }
        }
    }

    // MARK: - Questions about the bus

    /// Asks for the members, for a snapshot, for the log, or to leave.
    func askCluster(_ connection: Connection) throws(RequestError) {
        guard shared.condition != nil else {
            throw RequestError(
                .unavailable,
                "This bus is one machine's; name the etcd that it is shared by under cluster: of the configuration."
            )
        }
        let leaves = try request.flag(.leave, default: false)
        let offset = try request.integer(.offset)
        let since = try request.integer(.since)
        let isMember = try request.string(.token).map(shared.isMember) ?? false
        let subject: ClusterQuery.Subject =
            leaves
            ? .leave
            : offset.map { .replica(offset: $0) } ?? since.map { .log(since: $0) }
                ?? .members(isWhole: connection.access.grants?.mayManage ?? true)
        try requireRight(to: subject, connection, isMember: isMember)
        outputs.add(
            .cluster(
                queries.askCluster(subject, id: Array(request.id), connection, isOfMember: isMember)))
    }

    private func requireRight(
        to subject: ClusterQuery.Subject, _ connection: Connection, isMember: Bool
    ) throws(RequestError) {
        switch subject {
        case .members: break
        case .leave: try requireManager(connection, to: "make a member leave")
        case .replica where isMember, .log where isMember: break
        case .replica: try requireManager(connection, to: "take a snapshot of the bus")
        case .log: try requireManager(connection, to: "read the log of the bus")
        }
    }

    private func requireManager(_ connection: Connection, to act: String) throws(RequestError) {
        guard let grants = connection.access.grants else {
            return try admission.requireOperator(connection.access.principal!, to: act)
        }
        guard grants.mayManage else { throw Commands.forbidden("manage", "the bus") }
    }

    /// Whether a connection still waits for the answer.
    package func isAwaited(_ query: ClusterQuery) -> Bool {
        queries.isAwaited(query.number, of: query.connection)
    }

    package func isOpen(client serial: Int) -> Bool { connections.all.contains { $0?.serial == serial } }

    /// The members of the answer, each with a comma before it, or why there is none.
    package func answer(_ query: ClusterQuery, with answer: Result<[UInt8], ClusterRefusal>) {
        guard let (connection, pending) = queries.take(query.number, of: query.connection),
            !connection.isClosing
        else { return }
        respond(pending.id, connection) { id throws(RequestError) in
            switch query.subject {
            // The member leaves already.
            case .leave: break
            // The client may have lost the right while it waited.
            default: try requireRight(to: query.subject, connection, isMember: query.isOfMember)
            }
            switch answer {
            case .success(let members):
                try shares.requireOutput(members.count, for: connection)
                replies.answer(connection, id: id) { writer in
                    members.withUnsafeBytes { writer.append($0) }
                }
                return nil
            case .failure(let refusal): throw RequestError(.unavailable, refusal.message)
            }
        }
        connections.markReady(connection)
        proceed(connection)
    }
}

/// Why a question about the bus is not answered.
package struct ClusterRefusal: Error, Sendable {
    package let message: String
    package init(_ message: String) { self.message = message }
}
