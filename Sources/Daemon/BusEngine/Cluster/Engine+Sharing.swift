import BusCluster
import BusCommands
import BusJSON
import BusMachine
import BusProtocol

/// Requests of clients of a shared bus: what would commit goes through the shared log, what only reads waits for what its
/// client has asked for before.
///
/// Here is decided what needs no state: form and access. What depends on states is decided where the log has come to the
/// request, by all members alike.
extension Engine {
    /// From now on the bus is shared: `commits` makes what the log delivers, and outputs have what clients ask for.
    ///
    /// - Parameters:
    ///   - condition: What replies tell of the member.
    ///   - isMember: Whether a token is that of a member.
    package func share(
        _ commits: SharedCommits, condition: JSONObject, isMember: @escaping (String) -> Bool
    ) {
        shared.begin(condition, isMember: isMember)
        // Members that read the same entries from a copy keep all of each type, too.
        machine.applyLogPolicies(false)
        timers.leaveToLog()
        commits.attach(self)
    }

    /// Takes a request of a client of a shared bus. True: it is on its way through the log, or waits; false: it is to be
    /// carried out here, now.
    func share(_ operation: Operation, _ connection: Connection) throws(RequestError) -> Bool {
        if connection.input.attempt == .behindBarrier { return false }
        switch operation {
        // What commits nothing is this member's to answer.
        case .command where try request.flag(.dryRun, default: false): break
        case .command(let command):
            try propose(command, connection)
            return true
        case .local(.sync):
            shared.awaitBarrier(.sync, connection, id: request.id, bytes: currentLine.count)
            return true
        case .local(.get) where try request.flag(.fresh, default: false):
            shared.awaitBarrier(
                .read(line: Array(currentLine)), connection, id: request.id, bytes: currentLine.count)
            connection.wait(for: .barrier)
            return true
        case .local(.subscribe):
            guard let since = try laterRevision() else { break }
            shared.awaitBarrier(
                .resumption(line: Array(currentLine), since: since), connection, id: request.id,
                bytes: currentLine.count)
            connection.wait(for: .barrier)
            return true
        case .local: break
        }
        // It waits for those before it.
        if !connection.hasEntries { return false }
        long.keep(currentLine, of: connection)
        return true
    }

    /// The revision that a client has come with from a member that is further than this one: what it has seen is on its way here.
    private func laterRevision() throws(RequestError) -> Int? {
        guard let since = try request.integer(.since), since > machine.revision,
            let epoch = try request.string(.epoch), UTF8Order.equal(epoch, machine.epoch)
        else { return nil }
        return since
    }

    /// Proposes the present request to all members, if it is one as far as this member can tell.
    private func propose(_ command: Operation.Command, _ connection: Connection) throws(RequestError) {
        if command == .dispatch { statistics.noteDispatch() }
        let host = local.here(for: connection, currentLine, isProposing: true)
        defer { host.finish() }
        try commands.check(command, by: caller(of: connection), host)
        try shared.submit(
            .request(Array(currentLine)), for: connection, id: Array(request.id),
            answer: request.present.contains(.return) ? PendingEntries.toldBytes : 0)
        if let bytes = host.willBytes { connections.countWill(bytes, of: connection) }
        if host.leavesSession { connection.hold.noteLeft() }
    }

    // MARK: - What the log delivers

    /// Makes a commit that the shared log has brought about.
    func commitShared(
        by principal: Principal, actions: Bool, key: KeyedRequest?, _ details: CommitDetails?
    ) {
        guard let details, !details.definitions.isEmpty || !details.undefined.isEmpty || details.access != nil
        else { return commits.commit(by: principal, actions: actions, key: key, details) }
        commits.commit(redefinition: details, by: principal, key: key)
        if machine.access != nil || details.access != nil { access.reassess(hub) }
        outputs.report(
            Diagnostic(
                kind: .reloaded, level: .notice,
                message: "Definitions, access rules or limits of the bus have changed.",
                revision: machine.revision))
    }

    /// An entry of the shared log was applied: it becomes durable together with its commits.
    package func noteApplied(_ encoded: [UInt8], at place: Int) {
        log.appendShared(encoded, at: place, machine)
    }
}
