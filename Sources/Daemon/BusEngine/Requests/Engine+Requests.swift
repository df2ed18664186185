import BusJSON
import BusMachine
import BusProtocol

/// Parses, executes and answers one line.
extension Engine {
    func execute(_ line: UnsafeRawBufferPointer, for connection: Connection) {
        totals.requests &+= 1
        if totals.requests % Timings.sampled == 0, let stopwatch = timings.stopwatch {
            let (began, commits) = (stopwatch(), totals.commits)
            executeNow(line, for: connection)
            if totals.commits != commits { timings.commit.record(stopwatch() - began) }
        } else {
            executeNow(line, for: connection)
        }
    }

    @inline(__always)
    private func executeNow(_ line: UnsafeRawBufferPointer, for connection: Connection) {
        currentLine = line
        do throws(RequestError) {
            try connection.input.read(line, with: request)
            guard request.id.count + DaemonLimits.eventOverhead <= limits.daemon.line else {
                // No reply could carry the `id`.
                return refuse(
                    RequestError(.tooLarge, "`id` leaves no room for a reply on its line; make it shorter."),
                    for: connection)
            }
            let operation = request.matchesTemplate ? .command(.dispatch) : try request.operation()
            try admission.admit(operation, from: connection)
            if connection.isLost, operation.isRead { return }
            if shared.isOn, try share(operation, connection) { return }
            switch operation {
            case .command(.dispatch): try dispatch(connection)
            case .command(let command): try run(command, connection)
            case .local(let operation): try perform(operation, connection)
            }
        } catch {
            refuseInTurn(error, for: connection, isKnown: true)
        }
    }

    /// What the daemon that is asked does itself.
    private func perform(_ operation: Operation.Local, _ connection: Connection) throws(RequestError) {
        switch operation {
        case .ping: answerPing(connection)
        case .get: try get(connection)
        case .hello: try hello(connection)
        case .stores: try listStores(connection)
        case .types: try listTypes(connection)
        case .subscribe: try subscribe(connection)
        case .unsubscribe: try unsubscribe(connection)
        case .sync: answer(connection) { $0.append(revision: machine.revision) }
        case .stats:
            try answerWithinLine(connection, id: request.id) {
                appendStatistics(to: $0, for: connection.access.grants)
                return true
            }
        case .clients: try listClients(connection)
        case .kick: try kick(connection)
        case .reload: try reload(connection)
        case .history: try history(connection)
        case .revert: try revert(connection)
        case .timers: try listTimers(connection)
        case .cluster: try askCluster(connection)
        }
    }

    // MARK: Replies

    /// Writes a reply; `body` adds members, each with a comma before it.
    func answer(_ connection: Connection, _ body: (ByteWriter) -> Void) {
        answer(connection, id: request.id, body)
    }

    func answer(_ connection: Connection, id: UnsafeRawBufferPointer, _ body: (ByteWriter) -> Void) {
        connections.reply(to: connection) { writer in
            writer.append(successOf: id)
            body(writer)
            writer.appendEndOfReply()
        }
    }

    /// Writes a reply that may prove too long; `body` returns false as soon as it has written too much.
    func answerWithinLine(
        _ connection: Connection, id: UnsafeRawBufferPointer, _ body: (ByteWriter) -> Bool
    ) throws(RequestError) {
        let longest = limits.daemon.line
        scratch.clear()
        defer {
            clock.work += scratch.count * Work.encodedByte
            if scratch.reserved > 4 * longest { scratch.shrink() }
        }
        guard body(scratch), scratch.count + id.count + 32 <= longest else {
            throw RequestError(
                .tooLarge,
                "The reply would be longer than a line of \(longest) bytes; ask for less with limit, select or store."
            )
        }
        try shares.requireOutput(scratch.count, for: connection)
        let bytes = scratch.bytes
        connections.reply(to: connection) { writer in
            writer.reserve(bytes.count + id.count + 32)
            writer.append(successOf: id)
            writer.append(bytes)
            writer.appendEndOfReply()
        }
    }

    /// `isPresent`: it is the request that was read last. Others are gone, so what they named is not looked up in it.
    func refuse(
        _ refusal: RequestError, for connection: Connection,
        id: UnsafeRawBufferPointer = UnsafeRawBufferPointer(start: nil, count: 0), isPresent: Bool = false
    ) {
        // For a client that is not identified, everything but hello is the same mistake, unless there is no room for it.
        let isKnown = connection.access.principal != nil || hasCertificate(connection, at: refusal)
        let mayBeTold = isKnown || refusal.code == .unauthorized || refusal.code == .limit
        var error = mayBeTold ? refusal : Admission.unknownClient
        if let grants = connection.access.grants {
            error = disclosed(error, to: grants, isPresent: isPresent)
            if error.code == .forbidden { noteDenial(error, of: connection, grants) }
        }
        totals.errors[error.code.rawValue, default: 0] += 1
        clock.work += Work.refusal
        // Both may quote what the client sent, and a reply must fit into a line.
        let room = max(0, (limits.daemon.line - id.count) / 2 - DaemonLimits.eventOverhead / 4)
        connections.reply(to: connection) { writer in
            writer.append(
                refusalOf: id, error, message: min(DaemonLimits.message, room),
                detail: min(DaemonLimits.detail, room))
        }
        if isKnown { return }
        if refusal.code == .limit { return hub.close(connection, .limit, refusal.message) }
        hub.close(connection, .protocol, "A TCP connection begins with hello and a token of the bus.")
    }

    /// Whether a client that is not identified yet may go on after a refusal, because its certificate will do. After a wrong
    /// token it may not: each connection is one guess.
    private func hasCertificate(_ connection: Connection, at refusal: RequestError) -> Bool {
        if case .tcp(_, .some) = connection.peer { refusal.code != .unauthorized } else { false }
    }
}
