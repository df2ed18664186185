import BusJSON
import BusLogic
import BusMachine
import BusProtocol

/// Loads definitions: at the start, and on reload.
extension Engine {
    /// An operator does not wait at the gate: somebody looks at what a dry run says, and then wants it done.
    func reload(_ connection: Connection) throws(RequestError) {
        if let grants = connection.access.grants {
            guard grants.mayManage else { throw Self.forbidden("reload", "the bus") }
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
        if shared.isOn, case .success(let loaded) = loaded, !(request?.isDryRun ?? false) {
            return shareReload(request, loaded)
        }
        guard let request else { return (try? reload(loaded, by: .daemon)) != nil }
        guard let (connection, pending) = queries.take(request.number, of: request.connection) else {
            return !request.isDryRun && (try? reload(loaded, by: request.principal)) != nil
        }
        let start = clock.work
        var isDone = false
        pending.id.withUnsafeBytes { id in
            do throws(RequestError) {
                if request.isDryRun {
                    try answer(id, connection, withRehearsalOf: loaded)
                } else {
                    let migrations = try reload(for: connection, loaded)
                    isDone = true
                    answer(connection, id: id) {
                        $0.append(revision: machine.revision)
                        Self.append(migrations, to: $0)
                    }
                }
            } catch {
                refuse(error, for: connection, id: id)
            }
        }
        // The cost is not known in advance.
        let done = clock.work - start
        scheduler.charge(done, to: connection)
        if done >= DaemonLimits.longRequest { scheduler.closeGate(after: done) }
        connections.markReady(connection)
        proceed(connection)
        return isDone
    }

    /// What is this daemon's alone is in force at once, what decides outcomes when the shared log has come to it.
    private func shareReload(_ request: ReloadRequest?, _ loaded: LoadedDefinitions) -> Bool {
        adopt(loaded.limits)
        guard let request else {
            shareConfiguration(loaded, nil, id: [])
            return true
        }
        if let (connection, pending) = queries.take(request.number, of: request.connection) {
            shareConfiguration(loaded, connection, id: pending.id)
            connections.markReady(connection)
            proceed(connection)
        }
        return true
    }

    private func reload(
        for connection: Connection, _ loaded: Result<LoadedDefinitions, ReloadFailure>
    ) throws(RequestError) -> [Redefinition.Migration] {
        do throws(ReloadFailure) {
            return try reload(loaded, by: connection.access.principal!)
        } catch {
            throw RequestError(.rejected, error.message)
        }
    }

    private func reload(
        _ loaded: Result<LoadedDefinitions, ReloadFailure>, by principal: Principal
    ) throws(ReloadFailure) -> [Redefinition.Migration] {
        let migrations: [Redefinition.Migration]
        do throws(ReloadFailure) {
            if let reason = log.unavailableReason { throw ReloadFailure(message: reason) }
            let loaded = try loaded.get()
            let planned = try redefinition(with: loaded)
            migrations = planned.migrations
            adopt(loaded.limits)
            let details = machine.redefine(by: planned)
            commit(details, by: principal)
            if machine.access != nil || details.access != nil { reassess() }
        } catch {
            // Each mistake is an entry of the operator's log, which has one line for each.
            for reason in error.message.split(separator: "\n") {
                outputs.report(
                    Diagnostic(
                        kind: .reloadRefused, level: .error, message: "Nothing was reloaded: \(reason)"))
            }
            throw error
        }
        let migrated = migrations.map { ", \($0.type) went from version \($0.from) to \($0.to)" }.joined()
        outputs.report(
            Diagnostic(
                kind: .reloaded, level: .notice,
                message: "Definitions and limits were reloaded\(migrated).",
                revision: machine.revision))
        return migrations
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
        do throws(ReloadFailure) {
            planned = try redefinition(with: loaded.get())
        } catch {
            throw RequestError(.rejected, error.message)
        }
        let room = limits.daemon.line - id.count - Self.restOfRehearsal
        try answerWithinLine(connection, id: id) { writer in
            writer.append(revision: machine.revision)
            writer.append(",\"types\":")
            writer.append(
                jsonArray: planned.definitions.map { $0["type"] ?? .null }
                    + planned.undefined.map(JSON.string))
            Self.append(planned.migrations, to: writer)
            writer.append(",\"changed\":", decimal: planned.states.count)
            writer.append(",\"states\":{")
            var shown = 0
            for (store, state) in planned.states {
                let mark = writer.count
                if shown > 0 { writer.append(UInt8(ascii: ",")) }
                writer.append(quoted: machine.address(of: Int(store)))
                writer.append(UInt8(ascii: ":"))
                writer.append(jsonObject: state)
                guard writer.count <= room else {
                    writer.truncate(to: mark)
                    break
                }
                shown += 1
            }
            writer.append(UInt8(ascii: "}"))
            if shown < planned.states.count { writer.append(",\"more\":true") }
            return true
        }
    }

    /// Beside the states and the `id`, what a reply to a dry run holds in bytes, with room for a few migrations.
    private static let restOfRehearsal = 64

    static func append(_ migrations: [Redefinition.Migration], to writer: ByteWriter) {
        if migrations.isEmpty { return }
        writer.append(",\"migrated\":")
        writer.append(
            jsonArray: migrations.map {
                [
                    "type": .string($0.type), "from": .int($0.from), "to": .int($0.to),
                    "stores": .int($0.stores),
                ]
            })
    }

    /// The daemon begins with a log, whose definitions may be older than those it was started with. Throws, with nothing
    /// changed, where these do not fit.
    package func begin(with loaded: [any StateType]) throws(Redefinition.Refusal) {
        let details = try machine.begin(with: loaded, access: configuration.access)
        if let details { commit(details, by: .daemon) }
        if machine.access != nil || details?.access != nil { reassess() }
    }

    /// Throws why a start with these definitions is refused. `isWithEphemeral`: ephemeral stores stay, because their
    /// connections do.
    package func requireFit(
        _ loaded: [any StateType], isWithEphemeral: Bool
    ) throws(Redefinition.Refusal) {
        _ = try machine.redefinition(
            with: loaded, access: configuration.access, isWithEphemeral: isWithEphemeral)
    }

    func reportKept(_ type: String) {
        outputs.report(
            Diagnostic(
                kind: .definitionKept, level: .error,
                message:
                    "The definition of \(type) does not fit its stores, or is gone: the old one stays until a reload brings one that fits.",
                type: type))
    }

    private func commit(_ details: CommitDetails, by principal: Principal) {
        // Pending reads and groups that want whole types refer to types by number.
        reads.restart()
        hub.groups.noteTypes()
        commit(by: principal, actions: false, details)
    }
}
