import BusJSON
import BusLogic
import BusMachine
import BusProtocol

/// Wills, and the ends of sessions.
extension EntryApplication {
    func setWill(by principal: Principal, _ session: () -> Session) throws(RequestError) -> EntryReply {
        guard let actions = try request.array(.actions) else {
            throw .invalid("actions", "Give the will's `actions`; an empty list clears it.")
        }
        guard actions.count <= machine.limits.batch else {
            throw RequestError(.limit, "A will takes at most \(machine.limits.batch) actions; give fewer.")
        }
        var will: [WillAction] = []
        for (index, element) in actions.enumerated() {
            do throws(RequestError) {
                will.append(
                    try machine.willAction(try BatchElement(element, place: "actions[\(index)]")))
            } catch {
                throw error.at(index)
            }
        }
        let session = session()
        machine.setWill(will, of: session)
        sink.note(session)
        return EntryReply(revision: machine.revision)
    }

    /// Ends a session: applies its will, then drops its ephemeral stores, as one commit.
    func end(_ session: Session) {
        let isWillDone = applyWill(of: session)
        let drops = machine.drops(of: session)
        if isWillDone || !drops.isEmpty {
            let details = CommitDetails()
            details.dropped = drops
            details.ended = session.id
            sink.commit(by: session.principal, actions: isWillDone, key: nil, details)
        } else {
            sink.note(endOf: session.id)
        }
        machine.plan.clear()
        machine.closeSession(session.id)
    }

    /// Applies a will, to be committed; false if there is none, or it can't be applied any more.
    private func applyWill(of session: Session) -> Bool {
        machine.plan.clear()
        if session.will.isEmpty { return false }
        do throws(RequestError) {
            try machine.planWill(of: session)
            if let grants = grants(of: session.principal) { try machine.addConditions(grants) }
            try machine.requireBudget(min(machine.limits.commit, BusLimits.willOperations))
            _ = try machine.apply(by: session.principal, spending: BusLimits.willOperations)
            return true
        } catch {
            machine.plan.clear()
            sink.noteRejection(of: session, error)
            return false
        }
    }
}
