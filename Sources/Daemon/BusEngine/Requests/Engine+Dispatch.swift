import BusJSON
import BusLogic
import BusMachine
import BusProtocol

/// Dispatch: planned, applied, committed, answered.
extension Engine {
    func dispatch(_ connection: Connection) throws(RequestError) {
        statistics.noteDispatch()
        if request.hasOptions { return try run(.dispatch, connection) }
        if try !dispatchPlainly(connection) { try run(.dispatch, connection) }
    }

    /// Dispatches actions without any option but a key. False, and nothing is done: the access rules have to be asked about it.
    @inline(__always)
    private func dispatchPlainly(_ connection: Connection) throws(RequestError) -> Bool {
        defer { machine.endPlain(request) }
        let isLong = currentLine.count >= longLine
        var isWide = false
        var key: KeyedRequest?
        var refusal: RequestError?
        do throws(RequestError) {
            if request.present.contains(.key) {
                if connection.access.isRestricted { return false }
                key = try keyed(connection)
            }
            // Planned before the key is looked for, as what that takes is on its way from memory meanwhile.
            do throws(RequestError) { isWide = try plan(isLong: isLong) } catch { refusal = error }
            if let key, let earlier = try duplicate(of: key) {
                connection.input.noteDispatch()
                if let returned = machine.returned(byKeyed: earlier.revision) {
                    return answerReturning(connection, earlier, returned)
                }
                replies.answer(
                    connection, revision: earlier.revision, matched: earlier.matched,
                    changed: earlier.changed, isDuplicate: true)
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
        if isWide || long.knowsExpensive, try long.mustWaitForPlan(connection, currentLine) { return true }
        let commits = commits
        let outcome = connection.access.lentPrincipal!._withUnsafeGuaranteedRef { principal in
            Result { () throws(RequestError) in
                let matched = try commits.apply(by: principal, for: connection)
                commits.commit(by: principal, actions: true, key: key)
                commits.noteViews()
                return matched
            }
        }
        let matched = try outcome.get()
        if outputs.reportsCommits { outputs.reportCommit(by: connection, matched: matched, of: machine) }
        connection.input.noteDispatch()
        if let key { machine.remember(new: key, matched: matched, changed: machine.changed) }
        if machine.hasReturned { return answerReturning(connection, matched) }
        replies.answer(
            connection, revision: machine.revision, matched: matched, changed: machine.changed,
            isDuplicate: false)
        return true
    }

    @inline(never)
    private func answerReturning(
        _ connection: Connection, _ earlier: DeduplicationTable.Entry, _ returned: JSONObject
    ) -> Bool {
        replies.answer(
            connection, revision: earlier.revision, matched: earlier.matched, changed: earlier.changed,
            returned: returned, isDuplicate: true)
        return true
    }

    @inline(never)
    private func answerReturning(_ connection: Connection, _ matched: Int) -> Bool {
        replies.answer(
            connection, revision: machine.revision, matched: matched, changed: machine.changed,
            returned: machine.returned(), isDuplicate: false)
        return true
    }

    /// Plans one action, or those of a batch; true if they reach more than one store.
    @inline(__always)
    private func plan(isLong: Bool) throws(RequestError) -> Bool {
        guard request.hasBatch else { return try machine.planPlain(request, mayRepeat: !isLong) }
        machine.plan.clear()
        try planBatch(isLong: isLong)
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
        statistics.noteDuplicate()
        return earlier
    }

    private func planBatch(isLong: Bool) throws(RequestError) {
        // What was planned before a refusal costs work, too.
        defer { clock.work += Work.batchAction * machine.plan.actions.count }
        try machine.planBatch(request)
        if isLong { try admission.requireEventRoom() }
    }
}
