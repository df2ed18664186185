import BusJSON
import BusMachine
import BusProtocol

/// Connections open and close; bytes come in and go out.
extension Engine {
    /// Why a client may not connect, because its user has as many connections as it may; nil if it may. TCP clients are
    /// asked when they have said who they are.
    package func refusal(of peer: Peer) -> String? {
        guard case .unix(let uid, _, _) = peer else { return nil }
        do throws(RequestError) {
            try shares.requireConnection(users.user(machine.identity(of: uid)), isCounted: false)
            return nil
        } catch {
            return error.message
        }
    }

    /// Adds a new connection. Unix peers are identified at once; TCP peers must send a hello first.
    ///
    /// - Parameter comm: The name of the peer's program, as /proc has it, for those who ask later who it was.
    package func connect(_ peer: Peer, comm: String? = nil) -> ConnectionID {
        let connection = connections.add(peer, isHeld: log.isOn)
        if case .unix(let uid, let pid, let unit) = peer {
            access.identify(connection, as: machine.principal(uid: uid, pid: pid, unit: unit, comm: comm))
        }
        scheduler.chargeConnecting(of: connection.user)
        return connection.id
    }

    /// The socket is closed, by either side: the will and the drops of ephemeral stores are applied
    /// as soon as it is their turn.
    package func disconnect(_ id: ConnectionID) {
        let connection = connections[id]
        connection.end()
        forgetRead(of: connection)
        long.forgetLine(of: connection)
        connection.endQuery()
        hub.removeAll(of: connection)
        log.maps.leave(connection)
        connections.remove(connection)
        connections.release(number: id)
        // Each ends what the connection has there.
        shared.leave(connection)
        sessions.leave(connection)
    }

    /// Executes the complete lines among new bytes, which are only borrowed. Call it while the status is `.reading`.
    package func receive(_ id: ConnectionID, _ bytes: UnsafeRawBufferPointer) {
        let connection = connections[id]
        guard !connection.isClosing else { return }
        connections.noteReceived(bytes.count)
        connection.input.hear(at: clock.now)
        scheduler.noteActivity(of: connection)
        let start = scheduler.beginSlice()
        let executed = bytesExecuted
        let logged = log.mark
        if mustWait(connection) {
            // The connection began to wait since its owner last looked.
            log.makeWait(connection)
            if connections.isFull(connection) { connection.wait(for: .output) }
            connection.input.hold(bytes)
        } else {
            connection.input.feed(bytes) { self.execute($0, for: connection) }
            // What was read without a line to execute takes its time, too: pieces of lines, and empty ones.
            let idle = bytes.count &- (bytesExecuted &- executed)
            if idle > 0 {
                clock.work &+= connection.input.heldBytes > 0 ? Work.byte &* idle : Work.emptyLine &* idle
            }
            if bytesExecuted == executed { clock.work &+= Work.piece }
        }
        settle(connection)
        noteLogged(connection, since: logged)
        let held = connections.countHeld(connection)
        scheduler.endSlice(start, connection)
        if connection.input.countedBytes > connections.pressedShare {
            if memory.isOver {
                hub.close(
                    connection, .limit,
                    "The bus holds \(memory.limit) bytes, its memory limit; send shorter lines, or later.")
            } else if !shares.isWithinShare(connection, held: held) {
                hub.close(
                    connection, .limit,
                    "Your connections hold more than your share of the bus's memory; send shorter lines, or read what waits."
                )
            }
        }
    }

    /// How much a connection has sent that was not carried out: lines that wait for their turn, and an unfinished one.
    package func waitingInput(of id: ConnectionID) -> Int {
        let connection = connections[id]
        // A line that was put off stands there without its end.
        return connection.input.heldBytes + (connection.deferredLine.map { $0.count + 1 } ?? 0)
    }

    /// The client has finished sending: complete lines are still answered, an unfinished one is dropped.
    package func endOfInput(_ id: ConnectionID) {
        let connection = connections[id]
        connection.input.end()
        proceed(connection)
    }

    /// The peer at the other end.
    package func peer(of id: ConnectionID) -> Peer { connections[id].peer }

    /// Whether the client is identified: always on Unix sockets, over TCP after a hello.
    package func isIdentified(_ id: ConnectionID) -> Bool { connections[id].access.principal != nil }

    package func status(of id: ConnectionID) -> ConnectionStatus {
        let connection = connections[id]
        if connection.isClosing { return .closing }
        // A connection that is not read because the log is full has to be called when the log has room again.
        log.makeWait(connection)
        return mustWait(connection) || connection.input.hasEnded ? .blocked : .reading
    }

    /// Whether a connection has anything to wait for before more is read from it.
    func mustWait(_ connection: Connection) -> Bool {
        !connection.waits.isEmpty || log.mustWait(connection) || connections.isFull(connection)
    }

    /// A slice has ended: what it committed counts against the connection's share of what waits for the disk. If that is
    /// filled, the connection waits.
    @inline(__always)
    func noteLogged(_ connection: Connection, since mark: BatchMark) {
        log.charge(connection, since: mark)
        log.makeWait(connection)
    }

    /// Whether lines of the connection may still wait to be processed. Each is answered in the end, if only with a refusal.
    package func hasUnfinishedInput(_ id: ConnectionID) -> Bool {
        let connection = connections[id]
        return mustWait(connection) || connection.turn.isQueued
    }

    /// The client no longer reads: its subscriptions and reads are dropped, what it has sent still counts.
    package func losePeer(of id: ConnectionID) {
        let connection = connections[id]
        guard !connection.isClosing, !connection.isLost else { return }
        connection.lose()
        hub.removeAll(of: connection)
        forgetRead(of: connection)
        if let query = connection.query, query.isRead { connection.endQuery() }
        proceed(connection)
    }

    /// Sends a goodbye; what was written before is still sent.
    package func goodbye(_ id: ConnectionID, _ code: GoodbyeCode, _ message: String) {
        hub.close(connections[id], code, message)
    }

    // MARK: Lines

    /// Executes one line; false when the connection must wait before its next one.
    func execute(_ piece: LineBuffer.Piece, for connection: Connection) -> Bool {
        guard !connection.isClosing else { return false }
        let start = clock.work
        switch piece {
        case .line(let line):
            clock.work &+= Work.request &+ Work.byte &* line.count
            bytesExecuted &+= line.count &+ 1
            if line.count <= DaemonLimits.lightLine || weigh(line, for: connection) {
                execute(line, for: connection)
            }
        case .tooLong:
            replies.refuseInTurn(
                RequestError(
                    .tooLarge,
                    "This line is longer than \(limits.daemon.line) bytes; send less at a time."),
                for: connection)
        case .tooDeep:
            replies.refuseInTurn(
                RequestError(
                    .tooLarge,
                    "This line is nested deeper than \(limits.daemon.depth) levels; flatten it."),
                for: connection)
        }
        if connections.isFull(connection) { connection.wait(for: .output) }
        if log.isFull { log.makeWait(connection) }
        if clock.isSliceUsedUp {
            connection.pause()
            // The request took longer than a slice may.
            long.noteTime(clock.work &- start)
        }
        return connection.waits.isEmpty && !connection.isClosing
    }

    /// Counts the values in a line that may hold many; false if it is refused, or has to
    /// wait because it will take long.
    private func weigh(_ line: UnsafeRawBufferPointer, for connection: Connection) -> Bool {
        let weight = LineWeight(line)
        // The first count includes brackets within texts.
        guard
            weight.containers <= DaemonLimits.containers
                || LineWeight.containers(in: line) <= DaemonLimits.containers
        else {
            replies.refuseInTurn(
                RequestError(
                    .tooLarge,
                    "This line holds more than \(DaemonLimits.containers) arrays and objects; send less at a time."
                ),
                for: connection)
            return false
        }
        let cost = Work.container * weight.containers + Work.value * weight.commas
        if long.mustWait(for: cost + Work.byte * line.count, connection, line) { return false }
        clock.work += cost
        return true
    }

    /// After lines were executed or output was sent: continues with what waits, as far as possible.
    @inline(__always)
    func settle(_ connection: Connection) {
        while !connection.isClosing, !connection.waits.contains(.slice) {
            if connection.waits.contains(.turn) {
                guard mayGoOn(connection) else { break }
                connection.input.resume { self.execute($0, for: connection) }
                continue
            }
            if connection.input.hasEnded {
                if connection.hasEntries {
                    connection.wait(for: .entries)
                    break
                }
                hub.endMulticast(with: connection)
                connections.close(connection)
            }
            break
        }
    }

    /// Whether a connection that has waited may go on, in its turn: does what it still waits for as far as that can be done
    /// now. What it missed is delivered, then the reply that waited.
    private func mayGoOn(_ connection: Connection) -> Bool {
        if connection.waits.contains(.query) {
            if connection.query?.answer != nil, log.makeWait(connection) { return false }
            if !makeRevert(for: connection) { return false }
        }
        if !connections.isHalfEmpty(connection) { return false }
        connection.noteRoom()
        if log.makeWait(connection) { return false }
        if connection.waits.contains(.stores), !continueSearching(for: connection) { return false }
        if connection.waits.contains(.past), !hub.continuePast(of: connection) { return false }
        if connection.waits.contains(.states) { hub.catchUp(connection) }
        if connection.waits.contains(.states) { return false }
        connections.releaseReply(to: connection)
        if !mayPassEntries(connection) { return false }
        if let read = connection.read, !resume(read, for: connection) { return false }
        if connection.deferredLine != nil { executeDeferredLine(of: connection) }
        if connections.isFull(connection) { connection.wait(for: .output) }
        guard connection.goOn() else { return false }
        connections.markReady(connection)
        return true
    }

    /// Executes the request that waited, if it may pass the gate.
    private func executeDeferredLine(of connection: Connection) {
        guard let line = long.takeLine(of: connection) else { return }
        connection.input.retry(.deferred) {
            line.withUnsafeBytes { _ = execute(.line($0), for: connection) }
        }
    }

    private func continueSearching(for connection: Connection) -> Bool {
        guard hub.groups.continueSearching(for: connection) else { return false }
        if memory.isOver, connection.delivery.subscriptions.contains(where: { !$0.group.members.isEmpty }) {
            hub.close(
                connection, .limit,
                "The bus holds \(memory.limit) bytes, its memory limit; subscribe to fewer stores, or to whole types."
            )
        }
        return true
    }

    // MARK: Output

    /// A connection's socket accepts nothing more, because its client has not read what it was sent.
    package func noteFull(_ id: ConnectionID) { connections[id].output.noteFull(at: clock.now) }

    /// A connection's socket accepts bytes again, whether or not any have been sent yet.
    package func noteRoom(_ id: ConnectionID) { connections[id].output.noteRoom() }

    /// Whether it has not said so since it was full.
    package func isFull(_ id: ConnectionID) -> Bool { connections[id].output.stuckSince != nil }

    /// Whether a connection's output is to be discarded, because it was closed for not reading.
    package func isDiscarding(_ id: ConnectionID) -> Bool { connections[id].output.isDiscarding }

    /// Passes on the connections that have new output or a new status since the last call.
    package func takeReady(_ body: (ConnectionID) -> Void) {
        hub.endMulticasts()
        let isLogged = log.isOn
        connections.takeReady { connection in
            if isLogged { log.hold(connection) }
            body(connection.id)
        }
    }

    /// The bytes that wait to be sent, without those still shared with other subscribers of a multicast group.
    package func waitingOutput(of id: ConnectionID) -> Int { connections[id].output.outbox.count }

    /// How many bytes were ever written for it, and how many of them were sent.
    package func outputProgress(of id: ConnectionID) -> (written: Int, sent: Int) {
        let outbox = connections[id].output.outbox
        return (outbox.total, outbox.total - outbox.count)
    }

    /// Whether a reply is among what was not sent yet.
    package func hasReply(_ id: ConnectionID) -> Bool {
        guard let connection = connections.find(id) else { return false }
        return connection.output.replyEnd > connection.output.outbox.total - connection.output.outbox.count
    }

    /// Whether there is something to send now.
    package func hasOutput(_ id: ConnectionID) -> Bool {
        let connection = connections[id]
        connections.takeShared(connection)
        return connection.output.outbox.ready > 0
    }

    /// Whether requests to the shared log have no answers yet, or answers that wait for what stands before them.
    package func holdsAnswers(_ id: ConnectionID) -> Bool { connections[id].hasEntries }

    /// Whether there is output that waits for the log before it can be sent.
    package func holdsOutput(_ id: ConnectionID) -> Bool {
        let outbox = connections[id].output.outbox
        return outbox.ready < outbox.count
    }

    /// Fills in the pieces to send next and returns their number; they are valid until the engine is called again.
    package func output(of id: ConnectionID, into pieces: UnsafeMutableBufferPointer<OutputPiece>) -> Int {
        connections[id].output.outbox.output(into: pieces)
    }

    /// Takes all that waits for a connection, for owners without sockets.
    package func takeOutput(of id: ConnectionID) -> [UInt8] {
        withUnsafeTemporaryAllocation(of: OutputPiece.self, capacity: 64) { pieces in
            var bytes: [UInt8] = []
            while hasOutput(id) {
                var count = 0
                for piece in pieces.prefix(output(of: id, into: pieces)) {
                    bytes += UnsafeRawBufferPointer(start: piece.base, count: piece.count)
                    count += piece.count
                }
                _ = sent(id, count)
            }
            return bytes
        }
    }

    /// Removes what was sent. What had to wait for room continues, so there may be more output now.
    /// True: there is nothing more to send, and nothing keeps the connection from being read.
    @discardableResult
    package func sent(_ id: ConnectionID, _ count: Int) -> Bool {
        Unmanaged.passUnretained(connections[id])._withUnsafeGuaranteedRef { connection in
            connections.sent(count, on: connection)
            if connection.isClosing { return false }
            // Not where its slice is merely used up: it is queued already, and its socket need not be looked at.
            if connection.waits.contains(.turn) {
                // In its turn: a caller that writes the output of others must not be held up.
                if !connection.waits.contains(.slice) { scheduler.enqueue(connection) }
                return false
            }
            return connection.output.outbox.isEmpty && !connection.input.hasEnded && !log.mustWait(connection)
        }
    }
}

/// A connection's number in the engine; reused after `disconnect`.
package typealias ConnectionID = Int

/// A piece of output, laid out as the C library's `iovec`.
package struct OutputPiece {
    package var base: UnsafeRawPointer?
    package var count: Int

    package init(base: UnsafeRawPointer?, count: Int) {
        self.base = base
        self.count = count
    }
}

/// What the owner of a socket should do with it now.
package enum ConnectionStatus: Sendable {
    /// Read more when there is more.
    case reading
    /// Its outbox is full or it has unfinished work: don't read, only write.
    case blocked
    /// Write what is left, then close the socket and call `disconnect`.
    case closing
}
