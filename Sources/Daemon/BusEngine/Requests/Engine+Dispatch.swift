import BusJSON
import BusLogic
import BusMachine
import BusProtocol

/// Dispatch: planned, applied, committed, answered.
extension Engine {
    func dispatch(_ connection: Connection) throws(RequestError) {
        totals.dispatches &+= 1
        if request.hasOptions { return try run(.dispatch, connection) }
        if try !dispatchPlainly(connection) { try run(.dispatch, connection) }
    }

    /// Dispatches actions without any option but a key. False, and nothing is done: the access rules have to be asked about it.
    @inline(__always)
    private func dispatchPlainly(_ connection: Connection) throws(RequestError) -> Bool {
        defer { machine.endPlain(request) }
        let isLong = isLineLong
        var isWide = false
        var key: KeyedRequest?
        var refusal: RequestError?
        do throws(RequestError) {
            if request.present.contains(.key) {
                if connection.access.isRestricted { return false }
                key = try keyed(connection)
            }
            // Planned before the key is looked for, as what that takes is on its way from memory meanwhile.
            do throws(RequestError) { isWide = try plan(mayRepeat: !isLong) } catch { refusal = error }
            if let key, let earlier = try duplicate(of: key) {
                connection.input.noteDispatch()
                answerDispatch(
                    connection, revision: earlier.revision, earlier.matched, earlier.changed,
                    isDuplicate: true)
                return true
            }
            try admission.requireCommits()
            if let refusal { throw refusal }
        } catch {
            // Whether its client may know why is up to the rules.
            if connection.access.isRestricted { return false }
            throw error
        }
        if connection.access.isRestricted, !connection.access.permits!.isFree(machine) { return false }
        if isLong, !request.hasBatch { try admission.requireEventRoom() }
        if isWide || knowsExpensive, try mustWaitForPlan(connection) { return true }
        let outcome = connection.access.lentPrincipal!._withUnsafeGuaranteedRef { principal in
            Result { () throws(RequestError) in
                let matched = try self.apply(by: principal, for: connection)
                self.commit(by: principal, actions: true, key: key)
                return matched
            }
        }
        let matched = try outcome.get()
        if reportsCommits { reportCommit(by: connection, matched: matched) }
        connection.input.noteDispatch()
        if let key { machine.remember(new: key, matched: matched, changed: machine.changed) }
        answerDispatch(connection, revision: machine.revision, matched, machine.changed, isDuplicate: false)
        return true
    }

    /// Plans one action, or those of a batch; true if they reach more than one store.
    @inline(__always)
    private func plan(mayRepeat: Bool) throws(RequestError) -> Bool {
        guard request.hasBatch else { return try machine.planPlain(request, mayRepeat: mayRepeat) }
        machine.plan.clear()
        try planBatch()
        return machine.isPlanWide
    }

    @inline(__always)
    private func keyed(_ connection: Connection) throws(RequestError) -> KeyedRequest? {
        let outcome = connection.access.lentPrincipal!._withUnsafeGuaranteedRef { principal in
            Result { () throws(RequestError) in
                guard let key = try self.request.key else { return KeyedRequest?.none }
                return try self.machine.keyed(self.request, key, by: principal)
            }
        }
        return try outcome.get()
    }

    /// The earlier commit of a repeated request, if there was one.
    func duplicate(of key: KeyedRequest) throws(RequestError) -> DeduplicationTable.Entry? {
        guard let earlier = try machine.duplicate(of: key) else { return nil }
        totals.duplicates += 1
        return earlier
    }

    @inline(__always)
    private func answerDispatch(
        _ connection: Connection, revision: Int, _ matched: Int, _ changed: Int, isDuplicate: Bool
    ) {
        connections.reply(to: connection) { writer in
            writer.append(
                outcomeOf: request.id, revision: revision, kept: hub.revisionDigits, matched: matched,
                changed: changed, isDuplicate: isDuplicate)
        }
    }

    private func planBatch() throws(RequestError) {
        // What was planned before a refusal costs work, too.
        defer { clock.work += Work.batchAction * machine.plan.actions.count }
        try machine.planDispatch(request, expecting: nil)
        if isLineLong { try admission.requireEventRoom() }
    }

    /// Whether the values in the line may make an event longer than a line.
    @inline(__always)
    var isLineLong: Bool { currentLine.count >= longLine }

    /// The reply to a dry run: what would have changed. Everything is rolled back.
    func answerDryRun(_ connection: Connection, _ matched: Int) throws(RequestError) {
        let longest = limits.daemon.line
        let changes = machine.rehearsedChanges(room: longest, seenBy: connection.access.grants)
        clock.work += Work.dryRunStore * changes.looked
        machine.rollback()
        noteStorage()
        try answerWithinLine(connection, id: request.id) { writer in
            writer.append(revision: machine.revision)
            writer.append(",\"matched\":", decimal: matched)
            writer.append(",\"changed\":", decimal: changes.changed)
            writer.append(.changes, changes.merges.bytes)
            if !changes.states.isEmpty { writer.append(.states, changes.states.bytes) }
            return writer.count <= longest
        }
    }
}
