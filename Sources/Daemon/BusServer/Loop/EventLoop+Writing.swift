import BusEngine
import BusSystem
import Glibc

/// The end of a turn: the engine's output for clients is written.
extension EventLoop: SocketWriter {
    /// Writes the engine's output to all clients, as far as one turn goes; the rest is written in the next. Closing a
    /// connection may commit its will, and so make output for others.
    func flush(all: Bool = false) {
        turn.beginFlush(all: all)
        // Writing may close a connection, and its will may make the engine add outputs.
        repeat {
            performOutputs()
            order.write(with: self)
        } while engine.hasOutputs
        if !gathersTurns { coordinator?.turnEnded() }
    }

    /// Executes the engine's outputs.
    func performOutputs() {
        repeat {
            var outputs = engine.takeOutputs()
            while !outputs.isEmpty {
                for output in outputs { perform(output) }
                outputs = engine.takeOutputs()
            }
            // What clients asked for in this turn is proposed together.
        } while cluster?.turnEnded() == true
    }

    private func perform(_ output: EngineOutput) {
        switch output {
        case .query(let query): if engine.isAwaited(query) { coordinator?.ask(query) }
        case .reload(let request): reload(request)
        case .entry(let entry, let ticket, let user): cluster?.submit(entry, ticket: ticket, user: user)
        case .barrier(let ticket): cluster?.sync(ticket: ticket)
        case .cluster(let query): cluster?.answer(query)
        case .map(let output): perform(output)
        case .diagnostic(let diagnostic):
            clientLog.note(diagnostic)
            switch diagnostic.kind {
            case .reloadRefused: pulse?.note(trouble: diagnostic.message, now: MonotonicClock.milliseconds)
            case .reloaded: pulse?.note(trouble: nil, now: MonotonicClock.milliseconds)
            default: break
            }
        }
    }

    func takeReady(_ body: (ConnectionID) -> Void) { engine.takeReady(body) }

    func userNumber(of id: ConnectionID) -> Int { engine.userNumber(of: id) }

    var hasRoom: Bool {
        turn.flushed < (engine.isShared ? LoopLimits.sharedFlushedPerTurn : LoopLimits.flushedPerTurn)
    }

    /// Whether much is to be written to a connection, or its client has left or is about to.
    func comesLater(_ id: ConnectionID) -> Bool {
        guard let connection = connections[id] else { return false }
        return connection.inputEnded || connection.output == .lost
            || engine.waitingOutput(of: id) > LoopLimits.heavyOutput
    }

    func hasReply(_ id: ConnectionID) -> Bool { engine.hasReply(id) }

    func write(_ id: ConnectionID, afterOthers: Bool) {
        if !afterOthers, gather(id) { return }
        writeGathered()
        if let connection = connections[id], connection.output != .lost, engine.isFull(id) {
            // Its socket says when it takes more: trying is a system call in vain.
            turn.count(flushed: LoopLimits.costOfLooking)
            return settle(id, connection)
        }
        turn.count(flushed: LoopLimits.costOfWriting + write(id))
        if afterOthers { turn.noteLater() }
    }

    /// The usual case where there is a ring: one piece for a connection that has no special status is sent with others.
    private func gather(_ id: ConnectionID) -> Bool {
        guard let ring = buffers.ring, !ring.has(id), let connection = connections[id], connection.isAsUsual,
            connection.sated < turn.number, !engine.isFull(id),
            engine.output(of: id, into: buffers.pieces) == 1
        else { return false }
        turn.count(flushed: LoopLimits.costOfWriting + buffers.pieces[0].count)
        ring.add(buffers.pieces[0], to: connection.descriptor, of: id)
        if ring.isFull { writeGathered() }
        return true
    }

    func writeGathered() {
        guard let ring = buffers.ring, ring.count > 0 else { return }
        ring.send(&calls)
        ring.takeOutcomes { id, sent, wanted in
            guard let connection = connections[id] else { return }
            switch sent {
            case .bytes(let count):
                let isDone = engine.sent(id, count)
                if probe.follows(id) { noteReply(id) }
                if isDone { return }
                if count < wanted { engine.noteFull(id) }
            case .wouldBlock: engine.noteFull(id)
            case .failed: loseOutput(id)
            case nil: break
            }
            if engine.isFull(id) { return settle(id, connection) }
            turn.count(flushed: write(id))
        }
    }

    /// Nothing more in this turn, or through TLS, or with files.
    private func writeOtherwise(_ id: ConnectionID) -> Int {
        guard connections[id]?.sated == Connection.isWrittenOtherwise else { return 0 }
        return secured[id] == nil ? writeWithMaps(id) : writeSecured(id)
    }

    /// Something was written to the connection whose reply is measured.
    private func noteReply(_ id: ConnectionID) {
        let sent = engine.outputProgress(of: id).sent
        if let took = probe.sent(sent, now: MonotonicClock.nanoseconds) {
            engine.statistics.timings.reply.record(took)
        }
    }

    /// Sends pieces of `total` bytes, with a file if there is one; returns how many bytes are done with. Output that the client
    /// will not read is discarded as if it was sent.
    @inline(__always)
    func sendOutput(
        _ pieces: UnsafeBufferPointer<OutputPiece>, of total: Int, with file: Int32? = nil,
        to id: ConnectionID, _ connection: inout Connection
    ) -> Int {
        if connection.output == .lost { return total }
        let outcome =
            if let file {
                SystemCall.send(connection.descriptor, pieces, with: file, &calls)
            } else {
                SystemCall.send(connection.descriptor, pieces, &calls)
            }
        switch outcome {
        case .bytes(let count): return count
        case .wouldBlock: return 0
        // Too many files are on their way to others. Without it, the client asks again.
        case .failed(let error) where file != nil && error.code == ETOOMANYREFS:
            return sendOutput(pieces, of: total, to: id, &connection)
        case .failed:
            loseOutput(id)
            connection.output = .lost
            return total
        }
    }

    /// Writes to one connection; returns how many bytes.
    func write(_ id: ConnectionID) -> Int {
        guard var connection = connections[id], connection.sated < turn.number else {
            return writeOtherwise(id)
        }
        var allowance = LoopLimits.writtenPerTurn
        while allowance > 0 {
            let count = engine.output(of: id, into: buffers.pieces)
            if count == 0 { break }
            let filled = UnsafeBufferPointer(rebasing: buffers.pieces[..<count])
            let total = filled.reduce(0) { $0 + $1.count }
            let written = sendOutput(filled, of: total, to: id, &connection)
            if written > 0 {
                let isDone = engine.sent(id, written)
                if probe.follows(id) { noteReply(id) }
                // The usual case: all is sent, and the status has not changed.
                if isDone, connection.isAsUsual { return LoopLimits.writtenPerTurn - allowance + written }
                // Output that the client will not read is discarded at once.
                if connection.output != .lost { allowance -= written }
                connection.awaitsHello = false
            }
            if written < total {
                engine.noteFull(id)
                break
            }
        }
        if allowance <= 0 { connection.sated = turn.number }
        settle(id, connection)
        return LoopLimits.writtenPerTurn - allowance
    }
}
