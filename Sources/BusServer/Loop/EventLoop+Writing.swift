import BusEngine

/// The end of a turn: what the engine has for clients is written.
extension EventLoop {
    /// Writes what the engine has for everybody, as far as one turn goes; the rest comes in the next. Closing a
    /// connection may commit its will, and so make output for others: it goes on until there is none. Who is sent little does
    /// not wait for those that are sent much.
    func flush(all: Bool = false) {
        engine.takeReady { pending.append($0) }
        flushed = all ? .min / 2 : 0
        let end = all ? Int.max : MonotonicClock.nanoseconds() + Bounds.flushNanoseconds
        while true {
            while !pending.isEmpty, flushed < Bounds.flushedPerTurn {
                let ids = pending
                pending = spareList
                var place = 0
                while place < ids.count, flushed < Bounds.flushedPerTurn {
                    if comesLater(ids[place]) {
                        putOff(ids[place])
                    } else {
                        flushed += Bounds.costOfWriting + write(ids[place])
                    }
                    place += 1
                }
                // Who was not reached comes first in the next turn.
                if place < ids.count { pending.insert(contentsOf: ids[place...], at: 0) }
                spareList = ids
                spareList.removeAll(keepingCapacity: true)
                engine.takeReady { pending.append($0) }
            }
            // However much there was for others, one of them has its turn.
            var place = 0
            while place < later.count, place == 0 || flushed < Bounds.flushedPerTurn {
                if place > 0, MonotonicClock.nanoseconds() > end { flushed = Bounds.flushedPerTurn }
                connections.update(later[place]) { $0.isPutOff = false }
                flushed += Bounds.costOfWriting + write(later[place])
                place += 1
            }
            later.removeFirst(place)
            engine.takeReady { pending.append($0) }
            if pending.isEmpty && later.isEmpty || flushed >= Bounds.flushedPerTurn { break }
        }
        if !gathersTurns { keeper?.turnEnded() }
    }

    /// Whether others are written to first: a connection is to be sent much, or its client has gone or is about to.
    private func comesLater(_ id: ConnectionID) -> Bool {
        guard let connection = connections[id] else { return false }
        return connection.inputEnded || connection.outputLost
            || engine.waitingOutput(of: id) > Bounds.heavyOutput
    }

    private func putOff(_ id: ConnectionID) {
        guard connections[id]?.isPutOff == false else { return }
        connections.update(id) { $0.isPutOff = true }
        later.append(id)
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
                    lose(id)
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
