import BusCommands
import BusMachine
import BusProtocol

/// What the operator's log says of commands: stores that come and go, timers and wills that are refused, and, at level
/// debug, commits.
extension Outputs {
    func report(_ report: CommandReport, of machine: StateMachine) {
        switch report {
        case .created(let address, let isEphemeral, let principal):
            reportStore(
                .storeCreated, "\(address) was created.", address, isEphemeral, principal.peer,
                machine.revision)
        case .dropped(let address, let isEphemeral, let principal):
            reportStore(
                .storeDropped, "\(address) was dropped.", address, isEphemeral, principal.peer,
                machine.revision)
        case .expired(let address, let length):
            reportStore(
                .storeDropped,
                "\(address) was dropped: no dispatch reached it for \(DurationText.seconds(length)) s.",
                address, false, nil, machine.revision)
        case .timerRejected(let timer, let action, let asker, let error):
            self.report(
                Diagnostic(
                    kind: .timerRejected, level: .warning,
                    message:
                        "The timer \(timer.name) of \(machine.name(of: timer.owner)) is gone, and \(action) "
                        + "was not committed: \(error.message)",
                    peer: asker.peer, store: error.detail("store"), action: action,
                    revision: machine.revision))
        case .willRejected(let session, let error):
            self.report(
                Diagnostic(
                    kind: .willRejected, level: .warning,
                    message: "A will was not committed: \(error.message)", peer: session.principal.peer,
                    store: error.detail("store"), action: error.detail("action")))
        }
    }

    /// Ephemeral stores come and go all the time, so they are reported at level debug only.
    private func reportStore(
        _ kind: Diagnostic.Kind, _ message: @autoclosure () -> String, _ address: String,
        _ isEphemeral: Bool, _ peer: Peer?, _ revision: Int
    ) {
        let level: Diagnostic.Level = isEphemeral ? .debug : .info
        guard level >= reportsFrom else { return }
        report(
            Diagnostic(
                kind: kind, level: level, message: message(), peer: peer, store: address,
                revision: revision))
    }

    /// A dispatch was committed: one diagnostic for each action and type.
    func reportCommit(by connection: Connection, matched: Int, of machine: StateMachine) {
        if !reportsCommits { return }
        for step in machine.plan.steps.elements {
            let store = step.store >= 0 ? machine.address(of: Int(step.store)) : nil
            let action = step.type.actionName(step.action)
            self.report(
                Diagnostic(
                    kind: .committed, level: .debug,
                    message:
                        "\(action) was committed to \(store ?? "every \(step.type.name)"); the dispatch matched "
                        + "\(matched) and changed \(machine.changed).",
                    peer: connection.peer, type: step.type.name, store: store, action: action,
                    revision: machine.revision))
        }
    }

    /// A type keeps its old definition, because the new one does not fit.
    func reportKept(_ type: String) {
        report(
            Diagnostic(
                kind: .definitionKept, level: .error,
                message:
                    "The definition of \(type) does not fit its stores, or is gone: the old one stays until a reload brings one that fits.",
                type: type))
    }
}
