import BusMachine

/// The engine and the disk: batches of commits go there, and the results come back.
extension Engine {
    /// From now on commits are collected for a log, and output that reveals them waits until they are written.
    package func beginLogging() { log.begin(at: machine.revision) }

    /// The next batch to write, if there is one and none is being written. Report the result with `confirmBatch`, or
    /// `suspendCommits` and `rewind`. Call it after `takeReady`.
    ///
    /// Connections that waited for room in the next batch are queued for their turn.
    package func sealBatch() -> SealedBatch? {
        guard let batch = log.seal() else { return nil }
        for connection in log.takeWaiting() {
            connections.markReady(connection)
            scheduler.enqueue(connection)
        }
        return batch
    }

    /// The batch that was sealed is on disk.
    package func confirmBatch() { log.confirm() }

    /// The batch that was sealed could not be written: until `resumeCommits`, requests that would commit are
    /// refused with `reason`; everything else continues. `rewind` must follow: before it, nothing is sent that was
    /// written since the batch was opened.
    package func suspendCommits(reason: String) { log.suspend(reason) }

    /// After `suspendCommits`: rolls the bus back to the last durable revision; clients whose replies claimed a
    /// lost commit get a refusal instead. `past` is the bus at that revision, as read from the log; afterwards it
    /// holds what is no longer needed.
    package func rewind(to past: StateMachine) {
        hub.endMulticasts()
        let waiting = takeWaitingSessions()
        let ended = log.fail(at: past.revision) + waiting + unendedSessions
        reads.restart()
        machine.become(past)
        for case let connection? in connections.all {
            access.adopt(connection)
            connection.hold.take(connection.hold.session.map { machine.adopt($0) })
        }
        lingering.adopt { machine.adopt($0) }
        unendedSessions = ended.map { machine.adopt($0) }
        hub.rejoin()
        // The rules may have been rolled back, too.
        if machine.access != nil || connections.all.contains(where: { $0?.access.isRestricted == true }) {
            reassess()
        }
        for case let connection? in connections.all { retract(connection) }
        for case let connection? in connections.all {
            log.hold(connection)
            connections.markReady(connection)
            proceed(connection)
        }
    }

    /// The log accepts commits again: sessions that had to wait are ended.
    package func resumeCommits() {
        guard log.resume() else { return }
        let ended = unendedSessions
        unendedSessions = []
        for session in ended { end(session) }
        queueDueTimers()
        // Also a will that was cleared is logged: the log may have kept it.
        for case let connection? in connections.all {
            if let session = connection.hold.session { log.appendWill(of: session, machine) }
        }
        for waiting in lingering.inOrder { log.appendWill(of: waiting.session, machine) }
    }
}
