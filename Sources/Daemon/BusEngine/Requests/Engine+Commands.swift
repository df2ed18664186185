import BusCommands
import BusMachine
import BusProtocol

/// Commands on a bus of one machine: executed at once, and answered.
extension Engine {
    func caller(of connection: Connection) -> Caller {
        let principal = connection.access.principal!
        return Caller(
            principal, isOperator: admission.isOperator(principal), grants: connection.access.grants)
    }

    /// Executes the present request, and answers it. One that has to wait for its turn is kept.
    func run(_ command: Operation.Command, _ connection: Connection) throws(RequestError) {
        let host = local.here(for: connection, currentLine)
        defer { host.finish() }
        // Between entries, the time of a shared bus is that of the last one: a dry run has the time that an entry would have now.
        let time = machine.time
        machine.advance(to: clock.now)
        defer { machine.turnBack(to: time) }
        guard let reply = try commands.execute(command, by: caller(of: connection), host) else { return }
        if reply.isRehearsal {
            let changes = machine.appliedChanges(
                reply.form ?? .changes, room: limits.daemon.line, seenBy: connection.access.grants)
            clock.work += Work.dryRunStore * changes.looked
            commits.rollback()
            machine.releaseStores()
            return try replies.answerDryRun(connection, reply, changes)
        }
        if !reply.isAcknowledged {
            log.noteUnacknowledged(connection, committedAt: reply.revision, id: request.id)
        }
        answer(reply, request.id, connection)
    }

    /// Writes the reply of a command, on one machine and on a shared bus alike.
    func answer(_ reply: CommandReply, _ id: UnsafeRawBufferPointer, _ connection: Connection) {
        replies.answer(reply, id, connection) { greet(connection, isResumed: reply.isResumed, $0) }
    }
}
