import BusCluster
import BusCommands
import BusJSON
import BusMachine
import BusProtocol

/// What has come of requests to the shared log: their clients are answered, each in the order of its requests.
extension Engine {
    /// Something has come of a request, by the ticket that it had.
    package func resolve(_ ticket: Int, _ outcome: EntryResolution) {
        if let id = shared.takeOwner(of: ticket) {
            guard let connection = connections.find(id) else { return }
            connection.resolve(ticket, outcome)
            guard connection.entries.hasAnswer else { return }
            releaseAnswers(of: connection)
            if !connection.waits.isEmpty || connection.input.hasEnded { proceed(connection) }
            connections.markReady(connection)
        } else if let end = shared.takeEnd(ticket) {
            // Where it is not known whether it came through, once more does no harm.
            if case .failed = outcome { shared.keep(failed: end) }
        } else if let what = shared.takeOwn(ticket) {
            noteOwn(what, outcome)
        }
    }

    /// Asks again for ends of sessions that have not come through. Not at once: while the shared log takes nothing, they
    /// would fail again in the same turn, for ever.
    package func submitFailedEnds() {
        for end in shared.takeFailedEnds() {
            let ticket = shared.nextTicket()
            shared.awaitEnd(ticket, end)
            outputs.add(.entry(end, ticket: ticket))
        }
    }

    private func noteOwn(_ what: String, _ outcome: EntryResolution) {
        let reason: String
        switch outcome {
        case .outcome(.done), .synced: return
        // Another member was first.
        case .outcome(.refused(let error)) where error.code == .conflict: return
        case .outcome(.refused(let error)): reason = error.message
        case .failed(let failure): reason = failure.message
        }
        outputs.report(
            Diagnostic(
                kind: .reloadRefused, level: .error, message: "The bus does not take \(what): \(reason)"))
    }

    /// Writes the answers that are known and have no other before them. They wait while changes before them are not written.
    func releaseAnswers(of connection: Connection) {
        while connection.entries.hasAnswer, !connection.isClosing {
            guard connection.lagging == 0, connection.output.heldReply == nil else {
                return connection.wait(for: .entries)
            }
            let entry = connection.takeAnswered()
            entry.id.withUnsafeBytes { answer(entry, $0, connection) }
        }
    }

    /// Whether a connection with requests on their way may go on to what comes behind them.
    func mayPassEntries(_ connection: Connection) -> Bool {
        releaseAnswers(of: connection)
        if !connection.entries.isEmpty {
            let isStopped =
                !connection.waits.isDisjoint(with: [.line, .barrier]) || connection.input.hasEnded
            if isStopped || !connection.entries.hasRoom { return false }
        }
        connection.passEntries()
        // An answer may have been that of a read, which has more to wait for.
        return connection.waits.isDisjoint(with: [.query, .stores, .past, .states])
    }

    private func answer(
        _ entry: PendingEntry, _ id: UnsafeRawBufferPointer, _ connection: Connection
    ) {
        switch entry.outcome {
        case .outcome(.done(let reply)): answer(reply, id, connection)
        case .outcome(.refused(let error)): refuse(error, for: connection, id: id)
        case .failed(let failure):
            // A subscription that can't go on from where its client was begins anew.
            if case .resumption(let line) = entry.kind { return passBarrier(line, connection) }
            if case .read = entry.kind { connection.passBarrier() }
            refuse(
                RequestError(.unavailable, failure.message)
                    .with("outcome", .string(failure.outcome.rawValue)), for: connection, id: id)
        case .synced:
            switch entry.kind {
            case .read(let line), .resumption(let line): passBarrier(line, connection)
            default: answer(connection, id: id) { $0.append(revision: machine.revision) }
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

    /// Writes the reply of a command, on one machine and on a shared bus alike.
    func answer(_ reply: CommandReply, _ id: UnsafeRawBufferPointer, _ connection: Connection) {
        if reply.isDuplicate { totals.duplicates += 1 }
        if reply.contents == .outcome { connection.input.noteDispatch() }
        if !reply.isAcknowledged { return }
        switch reply.contents {
        case .outcome:
            connections.reply(to: connection) { writer in
                writer.append(
                    outcomeOf: id, revision: reply.revision, kept: hub.revisionDigits,
                    matched: reply.seen?.matched ?? reply.matched,
                    changed: reply.seen?.changed ?? reply.changed, isDuplicate: reply.isDuplicate)
            }
        case .revision:
            answer(connection, id: id) { writer in
                writer.append(revision: reply.revision)
                if let timer = reply.timer { writer.append(",\"timer\":", quoted: timer) }
                if let due = reply.due { writer.append(",\"due\":", json: DurationText.seconds(due)) }
                if let created = reply.created { writer.append(created: created) }
                Self.append(reply.migrations, to: writer)
                if reply.isDuplicate { writer.appendDuplicate() }
            }
        case .greeting: answerHello(connection, id: id, isResumed: reply.isResumed)
        case .nothing: answer(connection, id: id) { _ in }
        }
    }

    /// Refuses the present request, behind the answers to those before it. `isKnown`: it could be read so far that its `id`
    /// is known.
    func refuseInTurn(_ error: RequestError, for connection: Connection, isKnown: Bool = false) {
        let none = UnsafeRawBufferPointer(start: nil, count: 0)
        if connection.entries.isEmpty {
            return refuse(error, for: connection, id: isKnown ? request.id : none, isPresent: isKnown)
        }
        connection.add(
            PendingEntry(
                ticket: 0, id: isKnown ? Array(request.id) : [], kind: .refused, bytes: 0,
                outcome: .outcome(
                    .refused(
                        connection.access.grants.map { disclosed(error, to: $0, isPresent: isKnown) } ?? error
                    ))))
    }

    // MARK: - Questions about the bus

    /// Asks for the members, for a snapshot, or to leave.
    func askCluster(_ connection: Connection) throws(RequestError) {
        guard shared.isOn else {
            throw RequestError(
                .unavailable,
                "This bus is one machine's; name the etcd that it is shared by under cluster: of the configuration."
            )
        }
        let leaves = try request.flag(.leave, default: false)
        let offset = try request.integer(.offset)
        if leaves || offset != nil {
            if let grants = connection.access.grants {
                guard grants.mayManage else { throw Self.forbidden("manage", "the bus") }
            } else {
                try admission.requireOperator(
                    connection.access.principal!,
                    to: leaves ? "make a member leave" : "take a snapshot of the bus")
            }
        }
        let subject: ClusterQuery.Subject =
            leaves ? .leave : offset.map { .replica(offset: $0) } ?? .members
        outputs.add(
            .cluster(queries.askCluster(subject, id: Array(request.id), connection)))
    }

    /// The members of the answer, each with a comma before it, or why there is none.
    package func answer(_ query: ClusterQuery, with answer: Result<[UInt8], ClusterRefusal>) {
        guard let (connection, pending) = queries.take(query.number, of: query.connection) else { return }
        pending.id.withUnsafeBytes { id in
            switch answer {
            case .success(let members):
                self.answer(connection, id: id) { writer in members.withUnsafeBytes { writer.append($0) } }
            case .failure(let refusal):
                refuse(RequestError(.unavailable, refusal.message), for: connection, id: id)
            }
        }
        connections.markReady(connection)
        proceed(connection)
    }

    // MARK: - What the log delivers

    /// Makes a commit that the shared log has brought about.
    func commitShared(
        by principal: Principal, actions: Bool, key: KeyedRequest?, _ details: CommitDetails?
    ) {
        let isRedefined =
            details.map { !$0.definitions.isEmpty || !$0.undefined.isEmpty || $0.access != nil } ?? false
        if isRedefined {
            // Pending reads and groups that want whole types refer to types by number.
            reads.restart()
            hub.groups.noteTypes()
        }
        commit(by: principal, actions: actions, key: key, details)
        guard isRedefined else { return }
        if machine.access != nil || details?.access != nil { reassess() }
        outputs.report(
            Diagnostic(
                kind: .reloaded, level: .notice,
                message: "Definitions, access rules or limits of the bus have changed.",
                revision: machine.revision))
    }

    /// An entry of the shared log was applied: it becomes durable together with its commits.
    package func noteApplied(_ encoded: [UInt8], at place: Int) {
        log.appendShared(encoded, at: place, machine)
    }
}

/// Why a question about the bus is not answered.
package struct ClusterRefusal: Error, Sendable {
    package let message: String
    package init(_ message: String) { self.message = message }
}
