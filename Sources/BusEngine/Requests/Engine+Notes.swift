import BusJSON

/// What the operator's log hears of ordinary requests: stores that come and go, and, for those who look closely, commits.
extension Engine {
    /// A client made or dropped a store. Those that live no longer than their connection come and go all the time, so
    /// they are told only to those who look closely.
    func noteStore(
        _ kind: EngineNote.Kind, _ address: String, _ isEphemeral: Bool, by connection: Connection
    ) {
        let level: EngineNote.Level = isEphemeral ? .debug : .info
        guard level >= configuration.reportsFrom else { return }
        configuration.report(
            EngineNote(
                kind: kind, level: level,
                message: "\(address) was \(kind == .storeCreated ? "created" : "dropped").",
                peer: connection.peer, store: address, revision: revision))
    }

    /// A dispatch was committed: one note for each action and type.
    func noteCommit(by connection: Connection, matched: Int) {
        for step in plan.steps.elements {
            let store = step.store >= 0 ? address(of: Int(step.store)) : nil
            let action = step.type.actionName(step.action)
            configuration.report(
                EngineNote(
                    kind: .committed, level: .debug,
                    message:
                        "\(action) was committed to \(store ?? "every \(step.type.name)"); the dispatch matched "
                        + "\(matched) and changed \(publication.changed).",
                    peer: connection.peer, type: step.type.name, store: store, action: action,
                    revision: revision))
        }
    }
}
