import BusEngine
import Systemd

/// Connections that outlive the daemon: left to the next one, and taken from the one before.
extension EventLoop {
    /// What is in the log and what is handed over must be the same: brings everything to the log. False if that can't be
    /// done; then ends may be waiting for it, which only the log can tell the next daemon of.
    func prepareToLeave() -> Bool {
        beginTurn()
        admitStrangers()
        flush(all: true)
        // Who can't hear any more ends here; who has only not heard everything yet does so from the next daemon.
        for id in connections.ids where connections[id]?.outputLost == true { close(id, .peerLost) }
        flush(all: true)
        engine.finishEnds()
        repeat {
            flush(all: true)
            _ = coordinator?.drain()
        } while engine.refuseQueries()
        flush(all: true)
        return coordinator?.drain() ?? true
    }

    /// Stops without ending a connection: what can be written is, then everything is left to the next daemon.
    /// After an error it goes on as if nothing had been asked.
    func leave(to service: Service) throws(SystemdError) {
        let own = acceptors.compactMap(\.listener).filter { !$0.isPassed }
        try Inheritance.leave(engine, connections, own, to: service)
        for acceptor in acceptors { acceptor.listener?.leave() }
        acceptors = []
        for id in connections.ids {
            if let connection = connections.remove(id) { SystemCall.close(connection.descriptor) }
        }
    }

    /// Takes over the connections of an engine that took over theirs. One whose socket is lost ends as usual.
    func adopt(_ inheritance: Inheritance) {
        for id in inheritance.summary.connections {
            guard let socket = inheritance.sockets[id] else { continue }
            let token = connections.insert(id, descriptor: socket)
            do throws(SystemError) {
                try poller.add(socket, .input, token: token, &calls)
                if !engine.isIdentified(id) {
                    connections.update(id) { $0.awaitsHello = true }
                    deadlines.addHello(token, now: MonotonicClock.read())
                }
                look(at: id)
            } catch {
                clientLog.note(.warning, "connection lost: \(error.description)", engine.peer(of: id))
                close(id, .peerLost)
            }
        }
        flush(all: true)
    }
}
