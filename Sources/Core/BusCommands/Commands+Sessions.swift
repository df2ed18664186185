import BusJSON
import BusLogic
import BusMachine
import BusProtocol

/// Wills, and the ends of sessions.
extension Commands {
    func setWill(by caller: Caller, _ host: any CommandHost) throws(RequestError) -> CommandReply? {
        guard let actions = try request.array(.actions) else {
            throw .invalid("actions", "Give the will's `actions`; an empty list clears it.")
        }
        guard try host.admit(.proposal(.will(actions))) else { return nil }
        guard actions.count <= machine.limits.batch else {
            throw RequestError(.limit, "A will takes at most \(machine.limits.batch) actions; give fewer.")
        }
        guard try host.admit(.will(actions: actions.count)) else { return nil }
        var will: [WillAction] = []
        for (index, element) in actions.enumerated() {
            do throws(RequestError) {
                let element = try BatchElement(element, place: "actions[\(index)]")
                if let grants = caller.grants, !isEarlier { try authorize(element, grants) }
                will.append(try machine.willAction(element))
            } catch {
                throw error.at(index)
            }
        }
        guard try host.admit(.readWill(actions)) else { return nil }
        if isEarlier || !will.isEmpty || host.openSession != nil {
            let session = host.session()
            machine.setWill(will, of: session)
            host.note(session)
        }
        return CommandReply(.nothing, revision: machine.revision)
    }

    /// Ends a session: applies its will, then drops its ephemeral stores, as one commit.
    ///
    /// - Parameter grants: What the rules let its client do now.
    package func end(_ session: Session, grants: Grants?, _ host: any CommandHost) {
        let isWillDone = applyWill(of: session, grants, host)
        let drops = machine.drops(of: session)
        if isWillDone || !drops.isEmpty {
            let details = CommitDetails()
            details.dropped = drops
            details.ended = session.id
            host.commit(by: session.principal, actions: isWillDone, key: nil, details)
        } else {
            host.note(endOf: session.id)
        }
        machine.plan.clear()
        machine.closeSession(session.id)
    }

    /// Applies a will, to be committed; false if there is none, or it can't be applied any more.
    private func applyWill(of session: Session, _ grants: Grants?, _ host: any CommandHost) -> Bool {
        machine.plan.clear()
        if session.will.isEmpty { return false }
        do throws(RequestError) {
            try machine.planWill(of: session)
            if let grants { try machine.addConditions(grants) }
            try machine.requireBudget(atMost: BusLimits.willOperations)
            _ = try host.apply(by: session.principal, spending: BusLimits.willOperations)
            return true
        } catch {
            machine.plan.clear()
            host.report(.willRejected(session, error))
            return false
        }
    }
}
