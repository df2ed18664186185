import BusCluster
import BusEngine
import BusMachine
import BusSystem
import Systemd

/// Connections that outlive the daemon: handed over to the next one, and taken over from the previous one.
extension EventLoop {
    /// The log and the hand-over must match: writes everything to the log. False if that fails; then ends of sessions
    /// may be waiting for it, which only the log can pass on to the next daemon.
    func prepareToLeave() -> Bool {
        beginTurn()
        admitStrangers()
        sendSecuredAway()
        flush(all: true)
        // Their goodbye follows what waits for the log.
        _ = coordinator?.drain()
        flush(all: true)
        closeSecured()
        // A client that can't receive any more ends here; one that has only not received everything yet
        // does so from the next daemon.
        for id in connections.ids where connections[id]?.output == .lost { close(id, .peerLost) }
        flush(all: true)
        engine.sessions.finishEnds()
        let end = MonotonicClock.milliseconds + ClusterLimits.propose
        repeat {
            flush(all: true)
            _ = coordinator?.drain()
        } while engine.refuseQueries() || awaitsSharedLog(until: end)
        flush(all: true)
        return coordinator?.drain() ?? true
    }

    /// Whether something of the clients of a shared bus is still on its way through the log; then it waits a moment for that.
    private func awaitsSharedLog(until end: Int) -> Bool {
        guard let cluster, !cluster.isSuspended, MonotonicClock.milliseconds < end else { return false }
        if engine.shared.isAtRest {
            // Whoever does not read what stands before its answers comes back, and asks again.
            for id in connections.ids where engine.holdsAnswers(id) {
                endUnlessEnding(id, .restart, "The bus restarts; connect again.")
                close(id, .goodbyeTimedOut)
            }
            flush(all: true)
            if engine.shared.isAtRest, cluster.member.isAtRest { return false }
        }
        bell.wait(milliseconds: LoopLimits.lookAtSharedLog)
        beginTurn()
        cluster.hear()
        cluster.tickIfDue(now: MonotonicClock.milliseconds)
        return true
    }

    /// Stops without closing a connection: what can be written is, then everything is handed over to the next daemon.
    /// After an error the loop continues as before.
    func leave(to service: Service) throws(SystemdError) {
        // Readers keep their connections: nothing but the map tells them that it is kept no more.
        engine.endMaps()
        performOutputs()
        let own = acceptors.compactMap(\.listener).filter { !$0.isPassed }
        var member: StateTransfer.Member?
        if let cluster {
            guard engine.shared.isAtRest else {
                throw SystemdError(
                    .system,
                    "Something still waits for the shared log, and nobody but this process would hear of its answer."
                )
            }
            member = cluster.pass()
            guard member != nil else {
                throw SystemdError(
                    .system, "The shared log does not answer, so another process can't go on as this member.")
            }
        }
        do throws(SystemdError) {
            try Inheritance.leave(engine, member, connections, own, to: service)
        } catch {
            cluster?.keep()
            throw error
        }
        for acceptor in acceptors { acceptor.listener?.leave() }
        acceptors = []
        closeDescriptors()
    }

    /// Closes all connections here, without a word to their clients or to the engine.
    func closeDescriptors() {
        for id in connections.ids {
            if let connection = connections.remove(id) { SystemCall.close(connection.descriptor) }
        }
    }

    /// Takes over the sockets of connections that the engine took over. A connection whose
    /// socket is lost ends as usual.
    func adopt(_ inheritance: Inheritance) {
        for id in inheritance.summary.connections {
            guard let socket = inheritance.sockets[id] else { continue }
            let token = connections.insert(id, descriptor: socket)
            do throws(SystemError) {
                try poller.add(socket, .input, token: token, &calls)
                if !engine.isIdentified(id) {
                    connections.update(id) { $0.awaitsHello = true }
                    deadlines.addHello(token, now: MonotonicClock.milliseconds)
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
