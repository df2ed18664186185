import BusCluster
import BusCommands
import BusJSON
import BusMachine
import BusProtocol

/// Makes the commits of a shared bus: through the engine, which notifies subscribers and writes its log, once there is one;
/// before that, while the local copy is read, without anybody who is told.
///
/// What commits come to is traced in both ways alike.
package final class SharedCommits: CommitSink {
    private let machine: StateMachine
    private let plain: PlainCommits
    private unowned var engine: Engine?

    package init(_ machine: StateMachine) {
        self.machine = machine
        plain = PlainCommits(machine)
    }

    /// From now on commits are made by the engine, which must have the same machine.
    package func attach(_ engine: Engine) {
        precondition(engine.machine === machine, "The engine stands in front of the replica's machine.")
        self.engine = engine
        engine.hub.trace = plain.trace
    }

    package func commit(
        by principal: Principal, actions: Bool, key: KeyedRequest?, _ details: CommitDetails?
    ) {
        guard let engine else { return plain.commit(by: principal, actions: actions, key: key, details) }
        engine.commitShared(by: principal, actions: actions, key: key, details)
    }

    package func note(_ session: Session) {
        plain.note(session)
        engine?.log.appendWill(of: session, machine)
    }

    package func note(endOf session: SessionID) {
        plain.note(endOf: session)
        engine?.log.appendEnd(of: session, machine)
    }

    /// Every member says so: its operator may be the one who reads it.
    package func report(_ report: CommandReport) { engine?.outputs.report(report, of: machine) }

    package func takeOutput(_ body: (UnsafeRawBufferPointer) -> Void) { plain.takeOutput(body) }
}
