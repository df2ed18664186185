import BusJSON
import BusMachine
import BusProtocol

/// Parses, executes and answers one line.
extension Engine {
    func execute(_ line: UnsafeRawBufferPointer, for connection: Connection) {
        if statistics.noteRequest(), let stopwatch = statistics.timings.stopwatch {
            let (began, before) = (stopwatch(), commits.count)
            executeNow(line, for: connection)
            if commits.count != before { statistics.timings.commit.record(stopwatch() - began) }
        } else {
            executeNow(line, for: connection)
        }
    }

    @inline(__always)
    private func executeNow(_ line: UnsafeRawBufferPointer, for connection: Connection) {
        currentLine = line
        do throws(RequestError) {
            try connection.input.read(line, with: request)
            guard request.id.count &+ DaemonLimits.eventOverhead <= limits.daemon.line else {
                // No reply could carry the `id`.
                return replies.refuseInTurn(
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
            replies.refuseInTurn(error, for: connection, isKnown: true)
        }
    }

    /// What the daemon that is asked does itself.
    @inline(__always)
    private func perform(_ operation: Operation.Local, _ connection: Connection) throws(RequestError) {
        switch operation {
        case .ping: replies.answerPing(connection)
        case .get: try get(connection)
        case .hello: try hello(connection)
        case .stores: try listStores(connection)
        case .types: try listTypes(connection)
        case .subscribe: try subscribe(connection)
        case .unsubscribe: try unsubscribe(connection)
        case .sync: replies.answer(connection, id: request.id) { $0.append(revision: machine.revision) }
        case .stats:
            try replies.answerWithinLine(connection, id: request.id) {
                statistics.append(to: $0, for: connection.access.grants, commits: commits.count)
                return true
            }
        case .clients: try listClients(connection)
        case .kick: try kick(connection)
        case .reload: try reload(connection)
        case .history: try history(connection)
        case .blame: try blame(connection)
        case .samples: try samples(connection)
        case .revert: try revert(connection)
        case .timers: try listTimers(connection)
        case .cluster: try askCluster(connection)
        case .backup: try backUp(connection)
        case .compact: try compact(connection)
        case .map: try map(connection)
        }
    }
}
