import BusJSON
import BusProtocol

/// Connections end: what they wanted to read is forgotten at once, and what they promised is done in its turn.
extension Engine {
    /// The socket is closed, whoever closed it: the will and the drops of ephemeral stores are carried out, as soon as it is
    /// their turn.
    package func disconnect(_ id: ConnectionID) {
        let connection = connection(id)
        connection.isClosing = true
        connection.isGone = true
        if let scan = connection.scan { forget(scan, of: connection) }
        forgetDeferredLine(of: connection)
        connection.question = nil
        for subscription in connection.subscriptions.reversed() { detach(subscription) }
        connection.subscriptions = []
        outboxBytes -= connection.outbox.count
        sharedOutboxBytes -= connection.outbox.sharedCount
        connection.lines.clear()
        connection.outbox = Outbox()
        countHeld(connection)
        connections[id] = nil
        connectionCount -= 1
        guard leavesSomething(connection) else {
            forgetWill(of: connection)
            freeConnections.append(id)
            return
        }
        // Its number stays its own until then, as the log tells of it.
        pastConnections[id] = connection
        if isUncontended {
            end(connection)
        } else {
            // At the place where it will end: whoever has little to do is not held up by the ends of many.
            let cost =
                connection.will.count * Work.batchAction
                + connection.ephemeralStores.count * Work.drop
            queue.add(.end(connection), &connection.share, expecting: cost)
        }
    }

    private func leavesSomething(_ connection: Connection) -> Bool {
        !connection.will.isEmpty || !connection.ephemeralStores.isEmpty || connection.isNoted
    }

    /// It is the turn of a connection that is gone. Its share, with which it waited for this, ends with it: those who have
    /// gone and are still to be read have nothing to do with it.
    func end(_ connection: Connection) {
        _ = beginSlice()
        defer { (sliceEnd, deliveredWork) = (0, 0) }
        if isEndLong(connection), isGateClosed(to: connection.id) {
            waitingAtGate.append(.end(connection))
        } else {
            finishEnd(of: connection)
        }
    }

    private func finishEnd(of connection: Connection) {
        pastConnections[connection.id] = nil
        freeConnections.append(connection.id)
        let start = work
        carryOutEnd(of: connection)
        forgetWill(of: connection)
        if work - start >= Limits.longRequest { closeGate(after: work - start) }
    }

    /// A will takes memory until it is carried out.
    private func forgetWill(of connection: Connection) {
        willBytes -= connection.willBytes
        connection.willBytes = 0
    }

    /// Whether the commit with which a connection ends is a long one.
    private func isEndLong(_ connection: Connection) -> Bool {
        plan.clear()
        defer { plan.clear() }
        // What can't be planned is no commit.
        for action in connection.will {
            do throws(RequestError) { try planElement(BatchElement(action)) } catch { break }
        }
        return plannedWork() + connection.ephemeralStores.count * Work.drop >= Limits.longRequest
    }

    /// Carries out all ends that wait, for a daemon that leaves: whoever follows does not know of them.
    package func finishEnds() {
        for connection in takeWaitingEnds() { finishEnd(of: connection) }
    }

    /// The ends that wait, which are the caller's now.
    func takeWaitingEnds() -> [Connection] {
        let isEnd = { (errand: Errand) in if case .end = errand { true } else { false } }
        let errands = queue.removeAll(where: isEnd) + waitingAtGate.filter(isEnd)
        waitingAtGate.removeAll(where: isEnd)
        return errands.compactMap { if case .end(let connection) = $0 { connection } else { nil } }
    }

    /// Stores by type, and in the order in which they were made. Each is looked up once, and not for every comparison.
    private func inOrderOfCreation(_ indices: Set<Int32>) -> [Int32] {
        var places = indices.map { index in
            let record = stores.pointer(index)
            return (Int(record.pointee.type) << 32 | Int(record.pointee.place), index)
        }
        places.sort { $0.0 < $1.0 }
        return places.map(\.1)
    }

    /// After a connection's end: its will, then the drops of its ephemeral stores, as one commit.
    func carryOutEnd(of connection: Connection) {
        guard !connection.will.isEmpty || !connection.ephemeralStores.isEmpty || connection.isNoted else {
            return
        }
        guard trouble == nil else { return endsToCome.append(connection) }
        if isLogged { gathering.ends.append(connection) }
        work += Work.request
        plan.clear()
        var willDone = false
        if !connection.will.isEmpty {
            do throws(RequestError) {
                for action in connection.will { try planElement(BatchElement(action)) }
                try requireBudget(min(limits.commit, Limits.willOperations))
                _ = try perform(by: connection, spending: Limits.willOperations)
                willDone = true
            } catch {
                plan.clear()
                configuration.report(
                    EngineNote(
                        kind: .willRejected, level: .warning,
                        message: "A will was not carried out: \(error.message)",
                        peer: connection.peer, store: error.detail("store"),
                        action: error.detail("action")))
            }
        }
        let drops = inOrderOfCreation(connection.ephemeralStores)
        connection.ephemeralStores = []
        if willDone || !drops.isEmpty {
            publish(
                by: connection.by, actions: willDone, dropped: drops, facts: CommitFacts(ended: connection.id)
            )
        } else {
            logEnd(of: connection)
        }
    }
}
