import BusMachine

/// The engine and the disk: batches of commits go there, and what came of them comes back.
extension Engine {
    /// From now on commits are gathered for a log, and what tells of them waits until they are written.
    package func beginLogging() { log.begin(at: machine.revision) }

    /// The next batch to write, if there is one and none is being written. What came of it must be told with
    /// `confirmBatch`, or `suspendCommits` and `rewind`. Call after `takeReady`.
    package func sealBatch() -> SealedBatch? { log.seal() }

    /// The batch that was sealed stands on disk.
    package func confirmBatch() {
        for connection in log.confirm() {
            connections.markReady(connection)
            proceed(connection)
        }
    }

    /// The batch that was sealed could not be written: until `resumeCommits`, what would commit is refused with `reason`;
    /// everything else goes on. `rewind` must follow: before it nothing leaves that was written since the batch was opened.
    package func suspendCommits(reason: String) { log.suspend(reason) }

    /// After `suspendCommits`: the bus is what it was at the last durable revision, and whoever was about to be told otherwise
    /// hears that it was not done. `past` is the bus at that revision, as the log gives it, and afterwards holds what is not
    /// needed any more.
    package func rewind(to past: StateMachine) {
        hub.endMulticasts()
        let waiting = takeWaitingSessions()
        let ended = log.fail(at: past.revision) + waiting + unendedSessions
        reads.restart()
        machine.become(past)
        for case let connection? in connections.all {
            connection.principal = connection.principal.map { machine.principal(known: $0) }
            connection.session = connection.session.map { machine.adopt($0) }
        }
        unendedSessions = ended.map { machine.adopt($0) }
        hub.rejoin()
        for case let connection? in connections.all { retract(connection) }
        for case let connection? in connections.all {
            log.hold(connection)
            connections.markReady(connection)
            proceed(connection)
        }
    }

    /// The log takes commits again: what had to wait is carried out.
    package func resumeCommits() {
        guard log.resume() else { return }
        let ended = unendedSessions
        unendedSessions = []
        for session in ended { end(session) }
        // Also a will that was cleared is noted: the log may have kept it.
        for case let connection? in connections.all {
            if let session = connection.session { log.appendWill(of: session, machine) }
        }
    }
}
