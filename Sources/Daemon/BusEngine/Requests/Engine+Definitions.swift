import BusLogic
import BusMachine
import BusProtocol

/// Loads definitions: at the start, and on reload.
extension Engine {
    func reload(_ connection: Connection) throws(RequestError) {
        try admission.requireOperator(connection.principal!)
        try admission.requireCommits()
        if mustWait(for: Work.reload, connection, currentLine) { return }
        clock.work += Work.reload
        queries.askReload(id: Array(request.id), connection, by: connection.principal!)
    }

    /// Definitions and limits have been read, for a client that requested a reload, or (nil) for the daemon
    /// itself: the types, and the limits, which apply once every store fits the types. True if that is so; after
    /// a failure everything stays as it was.
    package func finishReload(
        _ request: ReloadRequest?, _ loaded: Result<([any StateType], Limits), ReloadFailure>
    ) -> Bool {
        guard let request else { return (try? reload(loaded, by: .daemon)) != nil }
        guard let (connection, pending) = queries.take(request.number, of: request.connection) else {
            return (try? reload(loaded, by: request.principal)) != nil
        }
        let start = clock.work
        var isDone = false
        finish(pending.id, connection) { () throws(RequestError) in
            do throws(ReloadFailure) {
                try self.reload(loaded, by: connection.principal!)
                isDone = true
            } catch {
                throw RequestError(.rejected, error.message)
            }
        }
        // The cost is not known in advance.
        let done = clock.work - start
        connection.share.charge(done)
        if done >= DaemonLimits.longRequest { scheduler.closeGate(after: done) }
        connections.markReady(connection)
        proceed(connection)
        return isDone
    }

    private func reload(
        _ loaded: Result<([any StateType], Limits), ReloadFailure>, by principal: Principal
    ) throws(ReloadFailure) {
        do throws(ReloadFailure) {
            if let reason = log.unavailableReason { throw ReloadFailure(message: reason) }
            let (types, limits) = try loaded.get()
            let details: CommitDetails
            do throws(RequestError) { details = try machine.redefine(types) } catch {
                throw ReloadFailure(message: error.message)
            }
            adopt(limits)
            commit(details, by: principal)
        } catch {
            outputs.report(
                Diagnostic(
                    kind: .reloadRefused, level: .error, message: "Nothing was reloaded: \(error.message)"))
            throw error
        }
        outputs.report(
            Diagnostic(
                kind: .reloaded, level: .notice, message: "Definitions and limits were reloaded.",
                revision: machine.revision))
    }

    /// The daemon begins with a log or a hand-over, whose definitions may be older than those it was started with. A
    /// type whose stores do not fit the new definition keeps the old one, and the operator's log says so.
    package func begin(with loaded: [any StateType]) {
        let (details, kept) = machine.begin(with: loaded)
        for type in kept { reportKept(type.type, " (\(type.reason))") }
        if let details { commit(details, by: .daemon) }
    }

    func reportKept(_ type: String, _ reason: String = "") {
        outputs.report(
            Diagnostic(
                kind: .definitionKept, level: .error,
                message: "The definition of \(type) does not fit its stores, or is gone: the old one stays"
                    + "\(reason).",
                type: type))
    }

    private func commit(_ details: CommitDetails, by principal: Principal) {
        // Pending reads and groups that want whole types refer to types by number.
        reads.restart()
        hub.noteTypes()
        commit(by: principal, actions: false, details)
    }
}
