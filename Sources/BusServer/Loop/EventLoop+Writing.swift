import BusEngine

/// The end of a turn: what the engine has for clients is written.
extension EventLoop {
    /// Writes what the engine has for everybody, as far as one turn goes; the rest comes in the next. Closing a
    /// connection may commit its will, and so make output for others: it goes on until there is none. Who is sent little does
    /// not wait for those that are sent much.
    func flush(all: Bool = false) {
        engine.takeReady { order.add($0) }
        flushed = all ? .min / 2 : 0
        let end = all ? Int.max : MonotonicClock.nanoseconds() + Bounds.flushNanoseconds
        var isOneServed = false
        while true {
            if flushed < Bounds.flushedPerTurn, let id = nextOfFirst() {
                flushed += Bounds.costOfWriting + write(id)
            } else if !isOneServed || flushed < Bounds.flushedPerTurn, let id = order.takeLater() {
                // However much there was for others, one of these has its turn.
                isOneServed = true
                flushed += Bounds.costOfWriting + write(id)
                if MonotonicClock.nanoseconds() > end { flushed = max(flushed, Bounds.flushedPerTurn) }
            } else {
                break
            }
        }
        // What the last ones left for others, who have their turn in the next one.
        engine.takeReady { order.add($0) }
        if !gathersTurns { keeper?.turnEnded() }
    }

    /// The next one that is sent little, also of those for whom something has come meanwhile.
    private func nextOfFirst() -> ConnectionID? {
        if let id = order.takeFirst(unless: comesLater) { return id }
        engine.takeReady { order.add($0) }
        return order.takeFirst(unless: comesLater)
    }

    /// Whether others are written to first: a connection is to be sent much, or its client has gone or is about to.
    private func comesLater(_ id: ConnectionID) -> Bool {
        guard let connection = connections[id] else { return false }
        return connection.inputEnded || connection.outputLost
            || engine.waitingOutput(of: id) > Bounds.heavyOutput
    }

    /// Writes to one connection; gives how many bytes.
    private func write(_ id: ConnectionID) -> Int {
        guard var connection = connections[id], connection.sated != turn else { return 0 }
        var allowance = Bounds.writtenPerTurn
        while allowance > 0 {
            let count = engine.output(of: id, into: pieces)
            if count == 0 { break }
            let filled = UnsafeBufferPointer(rebasing: pieces[..<count])
            let total = filled.reduce(0) { $0 + $1.count }
            var written = total
            if !connection.outputLost {
                switch SystemCall.send(connection.descriptor, filled, &calls) {
                case .bytes(let count): written = count
                case .wouldBlock: written = 0
                // What nobody reads is thrown away like something read.
                case .failed:
                    loseOutput(id)
                    connection.outputLost = true
                }
            }
            if written > 0 {
                let isDone = engine.sent(id, written)
                // So it mostly ends: all is sent, and everything is as it was before.
                if isDone, connection.isAsUsual { return Bounds.writtenPerTurn - allowance + written }
                // What nobody reads is thrown away at once.
                if !connection.outputLost { allowance -= written }
                connection.awaitsHello = false
            }
            if written < total {
                engine.noteFull(id)
                break
            }
        }
        if allowance <= 0 { connection.sated = turn }
        settle(id, connection)
        return Bounds.writtenPerTurn - allowance
    }
}
