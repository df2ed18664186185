import BusCommands
import BusJSON
import BusLogic
import BusMachine
import BusProtocol

/// Loads definitions: at the start, and on reload.
extension Engine {
    /// An operator does not wait at the gate: somebody looks at what a dry run says, and then wants it done.
    func reload(_ connection: Connection) throws(RequestError) {
        if let grants = connection.access.grants {
            guard grants.mayManage else { throw Commands.forbidden("reload", "the bus") }
        } else {
            try admission.requireOperator(connection.access.principal!)
        }
        let isDryRun = try request.flag(.dryRun, default: false)
        if !isDryRun { try admission.requireCommits() }
        clock.work += Work.reload
        queries.askReload(
            id: Array(request.id), connection, by: connection.access.principal!, isDryRun: isDryRun)
    }

    /// Definitions and limits have been read, for a client that requested a reload, or (nil) for the daemon
    /// itself: the types, and the limits, which apply once every store fits the types. True if they are in force; after
    /// a failure, and after a dry run, everything stays as it was.
    package func finishReload(
        _ request: ReloadRequest?, _ loaded: Result<LoadedDefinitions, ReloadFailure>
    ) -> Bool {
        guard let request, let (connection, pending) = queries.take(request.number, of: request.connection)
        else {
            // A client that has left still wanted it; one that was refused has been told that it did not happen.
            if let request, queries.takeRefusal(of: request) || request.isDryRun { return false }
            do throws(RequestError) {
                _ = try reload(loaded, by: request?.principal ?? .daemon, for: nil, id: [])
                return true
            } catch {
                return false
            }
        }
        var isDone = false
        let start = clock.work
        respond(pending.id, connection) { id throws(RequestError) in
            if request.isDryRun {
                try answer(id, connection, withRehearsalOf: loaded)
                return nil
            }
            let reply = try reload(
                loaded, by: connection.access.principal!, for: connection, id: pending.id)
            isDone = true
            return reply
        }
        // The cost is not known in advance.
        let done = clock.work - start
        scheduler.charge(done, to: connection)
        long.noteTime(done)
        connections.markReady(connection)
        proceed(connection)
        return isDone
    }

    private func reload(
        _ loaded: Result<LoadedDefinitions, ReloadFailure>, by principal: Principal,
        for connection: Connection?, id: [UInt8]
    ) throws(RequestError) -> CommandReply? {
        switch loaded {
        case .success(let loaded):
            return try make(.definitions(loaded), by: principal, for: connection, id: id)
        case .failure(let failure): throw refuseReload(failure)
        }
    }

    /// Puts definitions and limits in force, on a bus of one machine.
    func reload(
        _ loaded: LoadedDefinitions, by principal: Principal
    ) throws(RequestError) -> [Redefinition.Migration] {
        let planned: Redefinition
        do throws(ReloadFailure) {
            if let reason = log.unavailableReason { throw ReloadFailure(message: reason) }
            planned = try redefinition(with: loaded)
        } catch {
            throw refuseReload(error)
        }
        adopt(loaded.limits)
        machine.limits = loaded.limits.effective
        let details = machine.redefine(by: planned)
        commits.commit(redefinition: details, by: principal)
        if machine.access != nil || details.access != nil { access.reassess(hub) }
        let migrated = planned.migrations.map { ", \($0.type) went from version \($0.from) to \($0.to)" }
            .joined()
        outputs.report(
            Diagnostic(
                kind: .reloaded, level: .notice,
                message: "Definitions and limits were reloaded\(migrated).",
                revision: machine.revision))
        return planned.migrations
    }

    /// Each mistake is an entry of the operator's log, which has one line for each.
    private func refuseReload(_ failure: ReloadFailure) -> RequestError {
        for reason in failure.message.split(separator: "\n") {
            outputs.report(
                Diagnostic(
                    kind: .reloadRefused, level: .error, message: "Nothing was reloaded: \(reason)"))
        }
        return RequestError(.rejected, failure.message)
    }

    private func redefinition(with loaded: LoadedDefinitions) throws(ReloadFailure) -> Redefinition {
        do throws(Redefinition.Refusal) {
            return try machine.redefinition(with: loaded.types, access: loaded.access)
        } catch {
            throw ReloadFailure(message: "The old definitions stay. \(error.message)")
        }
    }

    /// The reply to a dry run: what would be migrated, and the stores that would differ, as many as a line holds.
    private func answer(
        _ id: UnsafeRawBufferPointer, _ connection: Connection,
        withRehearsalOf loaded: Result<LoadedDefinitions, ReloadFailure>
    ) throws(RequestError) {
        let planned: Redefinition
        let restart: [String]
        do throws(ReloadFailure) {
            let loaded = try loaded.get()
            (planned, restart) = (try redefinition(with: loaded), loaded.restart)
        } catch {
            throw RequestError(.rejected, error.message)
        }
        let views = machine.rehearsedViews(of: planned)
        let room = limits.daemon.line - id.count - Self.restOfRehearsal
        try replies.answerWithinLine(connection, id: id) { writer in
            writer.append(revision: machine.revision)
            writer.append(",\"types\":")
            writer.append(
                jsonArray: planned.definitions.map { $0["type"] ?? .null }
                    + planned.undefined.map(JSON.string))
            writer.append(planned.migrations)
            writer.append(restart: restart)
            let count = planned.states.count + views.count
            writer.append(",\"changed\":", decimal: count)
            writer.append(",\"states\":{")
            var shown = 0
            func show(_ address: String, _ state: JSONObject) -> Bool {
                let mark = writer.count
                if shown > 0 { writer.append(UInt8(ascii: ",")) }
                writer.append(quoted: address)
                writer.append(UInt8(ascii: ":"))
                writer.append(jsonObject: state)
                guard writer.count <= room else {
                    writer.truncate(to: mark)
                    return false
                }
                shown += 1
                return true
            }
            if planned.states.allSatisfy({ show(machine.address(of: Int($0.store)), $0.state) }) {
                _ = views.allSatisfy { show($0.address, $0.state) }
            }
            writer.append(UInt8(ascii: "}"))
            if shown < count { writer.append(",\"more\":true") }
            return true
        }
    }

    /// Beside the states and the `id`, what a reply to a dry run holds in bytes, with room for a few migrations.
    private static let restOfRehearsal = 64

    /// Creates a store that the configuration lists, for the daemon itself. One that exists is left alone.
    ///
    /// - Parameter unkeptOnly: Only if the log keeps nothing of its type, which a bus that is rewound to the log forgets.
    package func createConfigured(_ address: String, unkeptOnly: Bool = false) throws(RequestError) {
        if machine.find(address) != nil || unkeptOnly && !machine.keepsNothing(of: address) { return }
        let details = CommitDetails()
        details.created = [try machine.create(address, nil, by: .daemon)]
        commits.commit(by: .daemon, actions: false, details)
    }

    /// The daemon begins with a log, whose definitions may be older than those it was started with. Throws, with nothing
    /// changed, where these do not fit.
    package func begin(with loaded: [any StateType]) throws(Redefinition.Refusal) {
        let details = try machine.begin(with: loaded, access: configuration.access)
        if let details { commits.commit(redefinition: details, by: .daemon) }
        if machine.access != nil || details?.access != nil { access.reassess(hub) }
    }

    /// Throws why a start with these definitions is refused. `isWithConnected`: the stores of connections stay,
    /// because these do.
    package func requireFit(
        _ loaded: [any StateType], isWithConnected: Bool
    ) throws(Redefinition.Refusal) {
        _ = try machine.redefinition(
            with: loaded, access: configuration.access, isWithConnected: isWithConnected)
    }
}
