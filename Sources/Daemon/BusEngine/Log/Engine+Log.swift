import BusMachine

/// The engine and the disk: batches of commits go there, and the results come back.
extension Engine {
    /// From now on commits are collected for a log, and output that reveals them waits until they are written.
    /// Definitions decide what it keeps of their types, but not on a shared bus, whose copies keep everything: see `share`.
    package func beginLogging() {
        machine.applyLogPolicies(!shared.isOn)
        log.begin(at: machine.revision)
    }

    /// A new log is about to begin with a snapshot: of each type it keeps what the definition says.
    package func keepAsDefined() { machine.keepAsDefined() }

    /// A start without what the daemon before has handed over: commits that are not in the log may have had revisions through
    /// this one, and what the log does not keep is forgotten.
    package func forgetUnkept(through revision: Int) {
        machine.pass(through: revision)
        machine.forgetUnkept()
        hub.noteRevision()
    }

    /// The next batch to write, if there is one and none is being written. Report the result with `confirmBatch`, or
    /// `suspendCommits` and `rewind`. Call it after `takeReady`.
    ///
    /// Connections that waited for room in the next batch are queued for their turn.
    ///
    /// - Parameter whole: Also a batch of commits without entries alone, so that the log ends with the last revision.
    package func sealBatch(whole: Bool = false) -> SealedBatch? {
        guard let batch = log.seal(whole: whole) else { return nil }
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
    ///
    /// - Parameter showing: Instead of being rewound, the bus shows what it holds, and the same batch is written again. For
    ///   what the shared log has on its disks.
    package func suspendCommits(reason: String, showing: Bool = false) {
        log.suspend(reason)
        if showing { log.show() }
    }

    /// After `suspendCommits`: rolls the bus back to the last durable revision; clients whose replies claimed a
    /// lost commit get a refusal instead. `past` is the bus at that revision, as read from the log; afterwards it
    /// holds what is no longer needed.
    package func rewind(to past: StateMachine) {
        hub.endMulticasts()
        log.maps.rewind()
        sessions.keep(ended: log.fail(at: past.revision))
        reads.restart()
        machine.become(past)
        // What the log does not keep can't be read from it.
        if machine.keepsLess { machine.forgetUnkept() }
        for case let connection? in connections.all { access.adopt(connection) }
        sessions.adopt()
        hub.rejoin()
        // The rules may have been rolled back, too.
        if machine.access != nil || connections.all.contains(where: { $0?.access.isRestricted == true }) {
            access.reassess(hub)
        }
        for case let connection? in connections.all {
            queries.noteRefusal(of: connection)
            let retraction = Retraction(
                from: connection, connections, to: machine.revision, because: log.unavailableReason ?? "")
            log.maps.takeBack(from: connection)
            statistics.count(.unavailable, times: retraction.refusals)
            hub.rewind(connection, retraction)
        }
        for case let connection? in connections.all {
            log.hold(connection)
            connections.markReady(connection)
            proceed(connection)
        }
    }

    /// The log accepts commits again: sessions that had to wait are ended.
    package func resumeCommits() {
        guard log.resume() else { return }
        sessions.endUnended()
        timers.queueDue()
        sessions.appendWills()
    }
}
