import BusEngine
import BusMachine
import BusProtocol
import BusTLS

/// Connections with TLS. Only what differs stands here: their bytes pass a `SecureTransport` on both ways. All else is as for
/// other connections, whose path has no branch for them.
extension EventLoop {
    /// From now on the connection's bytes are those of TLS.
    func secure(_ id: ConnectionID, _ transport: SecureTransport) {
        secured[id] = transport
        connections.update(id) {
            $0.output = .secured
            $0.sated = Connection.isWrittenOtherwise
        }
    }

    /// Bytes came on a connection that has TLS, or whose client no longer reads.
    func receiveOtherwise(_ id: ConnectionID, _ bytes: UnsafeRawBufferPointer) {
        if let transport = secured[id] {
            decrypt(bytes, of: id, transport)
        } else {
            engine.receive(id, bytes)
        }
        if connections[id]?.output == .lost { look(at: id) }
    }

    private func decrypt(_ bytes: UnsafeRawBufferPointer, of id: ConnectionID, _ transport: SecureTransport) {
        do throws(TLSFailure) {
            let (count, hasEnded) = try transport.receive(bytes, into: secured.plain)
            if count > 0 { engine.receive(id, UnsafeRawBufferPointer(rebasing: secured.plain[..<count])) }
            if hasEnded {
                connections.update(id) { $0.inputEnded = true }
                engine.endOfInput(id)
            }
            if hasEnded || transport.hasOutput { look(at: id) }
        } catch {
            clientLog.note(.warning, "a TLS connection is ended: \(error)", engine.peer(of: id))
            close(id, .peerLost)
        }
    }

    /// Writes to one connection with TLS; returns how many bytes of the engine's output.
    func writeSecured(_ id: ConnectionID) -> Int {
        guard var connection = connections[id], let transport = secured[id], transport.sated != turn.number
        else {
            return 0
        }
        var allowance = LoopLimits.writtenPerTurn
        writing: while true {
            if connection.output != .lost {
                switch transport.flush(connection.descriptor, &calls) {
                case .all: break
                case .full:
                    engine.noteFull(id)
                    break writing
                case .failed:
                    loseOutput(id)
                    connection.output = .lost
                }
            }
            if allowance <= 0 {
                transport.sated = turn.number
                break
            }
            let count = engine.output(of: id, into: buffers.pieces)
            if count == 0 { break }
            let filled = UnsafeBufferPointer(rebasing: buffers.pieces[..<count])
            var taken = filled.reduce(0) { $0 + $1.count }
            if connection.output != .lost {
                do throws(TLSFailure) {
                    taken = try transport.encrypt(filled, secured.plain)
                } catch {
                    close(id, .peerLost)
                    return 0
                }
                allowance -= taken
            }
            engine.sent(id, taken)
            connection.awaitsHello = false
        }
        settle(id, connection)
        return LoopLimits.writtenPerTurn - allowance
    }

    /// Clients whose encryption nobody else can take over come back to the next daemon.
    func sendSecuredAway() {
        for id in connections.ids where secured[id] != nil {
            endUnlessEnding(id, .restart, "The bus restarts; connect again.")
        }
    }

    func closeSecured() {
        for id in connections.ids where secured[id] != nil { close(id, .saidGoodbye) }
    }

    /// Connections that are made from now on get these certificates.
    func adopt(_ contexts: [String: TLSContext]) {
        for acceptor in acceptors {
            guard let listener = acceptor.listener, listener.context != nil else { continue }
            listener.context = contexts[listener.configured] ?? listener.context
        }
    }
}
