import BusJSON
import BusProtocol

/// Connections come and go, bytes come in and go out.
extension Engine {
    /// Takes in a new connection. Unix peers are known at once; TCP peers must say hello first.
    package func connect(_ peer: Peer) -> ConnectionID {
        let id = freeConnections.popLast() ?? connections.count
        let connection = Connection(id: id, peer: peer, limits: limits)
        if isLogged { connection.outbox.release(through: 0) }
        if id == connections.count { connections.append(connection) } else { connections[id] = connection }
        connectionCount += 1
        statistics.connections += 1
        if case .unix(let uid, let pid, let unit) = peer {
            var by: JSONObject = ["uid": .int(uid), "pid": .int(pid)]
            if let unit { by["unit"] = .string(unit) }
            identify(connection, as: .uid(uid), by: by)
        }
        return id
    }

    func identify(_ connection: Connection, as identity: Identity, by: JSONObject) {
        connection.identity = identity
        let index = identities[identity] ?? Int32(identities.count)
        identities[identity] = index
        connection.identityIndex = index
        connection.by = Array(by.encoded.utf8)
    }

    @inline(__always)
    func connection(_ id: ConnectionID) -> Connection {
        guard connections.indices.contains(id), let connection = connections[id] else {
            preconditionFailure("Connection \(id) is not open.")
        }
        return connection
    }

    /// Carries out the complete lines among new bytes, which are only borrowed. Call while it is `.reading`.
    package func receive(_ id: ConnectionID, _ bytes: UnsafeRawBufferPointer) {
        let connection = connection(id)
        guard !connection.isClosing else { return }
        statistics.bytesIn += bytes.count
        noteActivity(of: connection)
        let start = beginSlice()
        if mustWait(connection) {
            // It came to lag since its owner last looked.
            if !connection.isPaused { connection.isBlocked = true }
            connection.lines.hold(bytes)
        } else {
            connection.lines.feed(bytes) { self.carryOut($0, for: connection) }
            // An unfinished line has been looked through, too.
            if connection.lines.heldBytes > 0 { work += Work.byte * bytes.count }
        }
        settle(connection)
        countHeld(connection)
        endSlice(start, connection)
        if connection.heldBytes > Limits.heldUnderPressure, isOverMemory {
            sayGoodbye(
                connection, .limit,
                "The bus holds \(limits.memory) bytes, its memory limit; send shorter lines, or later.")
        }
    }

    /// Keeps the sum of what connections have sent and is not carried out yet.
    func countHeld(_ connection: Connection) {
        let held = connection.lines.heldBytes
        if held == connection.heldBytes { return }
        heldBytes += held - connection.heldBytes
        connection.heldBytes = held
    }

    /// The client has finished sending: complete lines are still answered, an unfinished one is dropped.
    package func endOfInput(_ id: ConnectionID) {
        let connection = connection(id)
        connection.inputEnded = true
        proceed(connection)
    }

    /// Who is at the other end.
    package func peer(of id: ConnectionID) -> Peer { connection(id).peer }

    /// Whether it is known who that is: always on Unix sockets, over TCP after a hello.
    package func isIdentified(_ id: ConnectionID) -> Bool { connection(id).identity != nil }

    package func status(of id: ConnectionID) -> ConnectionStatus {
        let connection = connection(id)
        if connection.isClosing { return .closing }
        // Whoever is not read because of the log has to be called when it has room again.
        if isLogFull { waitForLog(connection) }
        return mustWait(connection) || connection.inputEnded ? .blocked : .reading
    }

    /// Whether a connection has to take what is written for it, or to wait for its turn, before more is read from it.
    func mustWait(_ connection: Connection) -> Bool {
        connection.isBlocked || connection.isPaused || connection.lagging > 0 || isLogFull
            || connection.outbox.count >= outboxLimit
    }

    /// Whether there are lines that wait for their turn.
    package func hasUnfinishedInput(_ id: ConnectionID) -> Bool {
        let connection = connection(id)
        return connection.isPaused || connection.isQueued
    }

    /// Nobody reads what is written for a connection: what it wanted to know is forgotten, what it has sent still counts.
    package func losePeer(of id: ConnectionID) {
        let connection = connection(id)
        guard !connection.isClosing, !connection.isLost else { return }
        connection.isLost = true
        for subscription in connection.subscriptions.reversed() { detach(subscription) }
        connection.subscriptions = []
        connection.searches = []
        if let scan = connection.scan { forget(scan, of: connection) }
        if let question = connection.question, question.isRead { connection.question = nil }
        proceed(connection)
    }

    /// Says goodbye; what was written before is still sent.
    package func goodbye(_ id: ConnectionID, _ code: GoodbyeCode, _ message: String) {
        sayGoodbye(connection(id), code, message)
    }

    func sayGoodbye(_ connection: Connection, _ code: GoodbyeCode, _ message: String) {
        guard !connection.isClosing else { return }
        write(to: connection) { writer in
            writer.append("{\"event\":\"goodbye\",\"code\":\"")
            writer.append(raw: code.rawValue)
            writer.append("\",\"message\":")
            writer.append(quoted: message)
            writer.append("}\n")
        }
        endCohort(with: connection)
        connection.isClosing = true
        markReady(connection)
    }

    // MARK: Lines

    /// Carries out one line; false when the connection must wait before its next one.
    func carryOut(_ piece: LineBuffer.Piece, for connection: Connection) -> Bool {
        guard !connection.isClosing else { return false }
        let start = work
        switch piece {
        case .line(let line):
            work &+= Work.request &+ Work.byte &* line.count
            if line.count <= Limits.lightLine || weigh(line, for: connection) {
                carryOut(line: line, for: connection)
            }
        case .tooLong:
            refuse(
                RequestError(
                    .tooLarge, "This line is longer than \(limits.line) bytes; send less at a time."),
                for: connection, id: UnsafeRawBufferPointer(start: nil, count: 0))
        case .tooDeep:
            refuse(
                RequestError(
                    .tooLarge, "This line is nested deeper than \(limits.depth) levels; flatten it."),
                for: connection, id: UnsafeRawBufferPointer(start: nil, count: 0))
        }
        if connection.lagging > 0 || connection.behind > 0 || connection.outbox.count >= outboxLimit {
            connection.isBlocked = true
        }
        if isLogged, connection.question != nil || isLogFull { waitForLog(connection) }
        if isSliceUsedUp {
            connection.isPaused = true
            // Longer than any slice.
            if work &- start >= Limits.longRequest { closeGate(after: work &- start) }
        }
        return !connection.isBlocked && !connection.isPaused && !connection.isClosing
    }

    /// Looks at how much is in a line that may hold much; false if it is refused, or has to wait because it will take long.
    private func weigh(_ line: UnsafeRawBufferPointer, for connection: Connection) -> Bool {
        let weight = LineWeight(line)
        guard weight.containers <= Limits.containers else {
            refuse(
                RequestError(
                    .tooLarge,
                    "This line holds more than \(Limits.containers) arrays and objects; send less at a time."),
                for: connection, id: UnsafeRawBufferPointer(start: nil, count: 0))
            return false
        }
        let cost = Work.container * weight.containers + Work.value * weight.commas
        if mustWait(for: cost + Work.byte * line.count, connection, line) { return false }
        work += cost
        return true
    }

    /// After lines were carried out or output was sent: goes on with what waits, as far as it can.
    func settle(_ connection: Connection) {
        while !connection.isClosing, !connection.isPaused {
            if connection.isBlocked {
                guard unblock(connection) else { break }
                connection.lines.resume { self.carryOut($0, for: connection) }
                continue
            }
            if connection.inputEnded {
                endCohort(with: connection)
                connection.isClosing = true
                markReady(connection)
            }
            break
        }
    }

    /// Tries to let a waiting connection go on: tells it what it missed, then gives the reply that waited.
    private func unblock(_ connection: Connection) -> Bool {
        if connection.question != nil || connection.outbox.count > outboxLimit / 2 { return false }
        if isLogFull {
            waitForLog(connection)
            return false
        }
        if !connection.searches.isEmpty, !goOnSearching(for: connection) { return false }
        if connection.behind > 0, !goOnWithPast(of: connection) { return false }
        if connection.lagging > 0 {
            catchUp(connection)
            if connection.lagging > 0 { return false }
        }
        if let scan = connection.scan, !goOn(with: scan, for: connection) { return false }
        if connection.deferredLine != nil, !carryOutDeferredLine(of: connection) { return false }
        if let reply = connection.heldReply {
            connection.heldReply = nil
            write(to: connection) { writer in reply.withUnsafeBytes { writer.append($0) } }
        }
        if connection.outbox.count >= outboxLimit { return false }
        connection.isBlocked = false
        markReady(connection)
        return true
    }

    // MARK: Output

    /// Writes into the connection's own bytes.
    @inline(__always)
    func write(to connection: Connection, _ body: (ByteWriter) -> Void) {
        if connection.cohort != nil { takeFromCohort(connection) }
        connection.outbox.begin(spareWriters)._withUnsafeGuaranteedRef { writer in
            let start = writer.count
            body(writer)
            let written = writer.count &- start
            connection.outbox.finish(written)
            outboxBytes &+= written
            turnOutput &+= written
            work &+= written
        }
        if !connection.isReady { markReady(connection) }
    }

    @inline(__always)
    func markReady(_ connection: Connection) {
        if connection.isReady { return }
        connection.isReady = true
        readyConnections.append(connection.id)
    }

    /// Hands on the connections that have new output or a new status since the last call.
    package func takeReady(_ body: (ConnectionID) -> Void) {
        endCohorts()
        if readyConnections.isEmpty { return }
        var ready: [ConnectionID] = []
        swap(&ready, &readyConnections)
        swap(&readyConnections, &spareReadyList)
        for id in ready {
            // It may be gone, and its number in use again by one that is not ready.
            if connections[id] == nil { continue }
            let isReady = Unmanaged.passUnretained(connections[id]!)._withUnsafeGuaranteedRef { connection in
                guard connection.isReady else { return false }
                connection.isReady = false
                if isLogged { release(connection) }
                return true
            }
            if isReady { body(id) }
        }
        ready.removeAll(keepingCapacity: true)
        swap(&ready, &spareReadyList)
    }

    /// The bytes that wait to be sent, without those that are still shared with others who are told the same.
    package func waitingOutput(of id: ConnectionID) -> Int { connection(id).outbox.count }

    /// Whether there is something to send now.
    package func hasOutput(_ id: ConnectionID) -> Bool {
        let connection = connection(id)
        takeFromCohort(connection)
        return connection.outbox.ready > 0
    }

    /// Whether there is something that waits for the log before it can be sent.
    package func holdsOutput(_ id: ConnectionID) -> Bool {
        let outbox = connection(id).outbox
        return outbox.ready < outbox.count
    }

    /// Fills in the pieces to send next and gives their number; they hold until the engine is called again.
    package func output(of id: ConnectionID, into pieces: UnsafeMutableBufferPointer<OutputPiece>) -> Int {
        connection(id).outbox.output(into: pieces)
    }

    /// Takes away what was sent. What had to wait for room goes on, so there may be more output now.
    /// True: there is nothing more to send, and nothing keeps it from being read on.
    @discardableResult
    package func sent(_ id: ConnectionID, _ count: Int) -> Bool {
        Unmanaged.passUnretained(connection(id))._withUnsafeGuaranteedRef { connection in
            let shared = connection.outbox.sharedCount
            connection.outbox.sent(count, spareWriters)
            sharedOutboxBytes &-= shared &- connection.outbox.sharedCount
            if count > 0 { connection.stuckSince = nil }
            outboxBytes -= count
            statistics.bytesOut += count
            if connection.isClosing { return false }
            if connection.isBlocked {
                // In its turn: who writes what there is for others must not be kept.
                if !connection.isPaused { enqueue(connection) }
                return false
            }
            return connection.outbox.isEmpty && connection.lagging == 0 && !connection.inputEnded
                && !isLogFull
        }
    }
}
