import BusMachine

/// What the operator's log says of ordinary requests: stores that are created and dropped,
/// and, at level debug, commits.
extension Engine {
    /// A client created or dropped a store. Ephemeral stores come and go all the time, so they are
    /// reported at level debug only.
    func reportStore(
        _ kind: Diagnostic.Kind, _ address: String, isEphemeral: Bool, by connection: Connection
    ) {
        let level: Diagnostic.Level = isEphemeral ? .debug : .info
        guard level >= outputs.reportsFrom else { return }
        outputs.report(
            Diagnostic(
                kind: kind, level: level,
                message: "\(address) was \(kind == .storeCreated ? "created" : "dropped").",
                peer: connection.peer, store: address, revision: machine.revision))
    }

    /// A dispatch was committed: one diagnostic for each action and type.
    func reportCommit(by connection: Connection, matched: Int) {
        for step in machine.plan.steps.elements {
            let store = step.store >= 0 ? machine.address(of: Int(step.store)) : nil
            let action = step.type.actionName(step.action)
            outputs.report(
                Diagnostic(
                    kind: .committed, level: .debug,
                    message:
                        "\(action) was committed to \(store ?? "every \(step.type.name)"); the dispatch matched "
                        + "\(matched) and changed \(machine.changed).",
                    peer: connection.peer, type: step.type.name, store: store, action: action,
                    revision: machine.revision))
        }
    }
}
