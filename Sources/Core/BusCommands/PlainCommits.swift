import BusJSON
import BusMachine
import BusProtocol

/// Commits without subscribers.
package final class PlainCommits: CommitSink {
    private let machine: StateMachine
    /// The bytes of all commits and notes; see `CommitSink.takeOutput`.
    package let trace = ByteWriter()

    package init(_ machine: StateMachine) { self.machine = machine }

    package func commit(
        by principal: Principal, actions: Bool, key: KeyedRequest?, _ details: CommitDetails?
    ) {
        _ = machine.commit(by: principal, actions: actions, key: key, details, to: self)
    }

    package func note(_ session: Session) { machine.traceWill(of: session, to: trace) }

    package func note(endOf session: SessionID) { StateMachine.traceEnd(of: session, to: trace) }

    package func report(_ report: CommandReport) {}

    package func takeOutput(_ body: (UnsafeRawBufferPointer) -> Void) {
        body(trace.bytes)
        trace.clear()
    }
}

extension PlainCommits: CommitObserver {
    package func began(actions: Bool, _ details: CommitDetails?) {}
    package func replaced(_ store: Int32, before: JSONObject) {}
    package func created(_ store: Int32) {}
    package func dropped(_ store: Int32) {}

    package func wrote(at place: Int, _ change: StoreChange, isAlone: Bool) {
        machine.trace(change, at: place, to: trace)
    }

    package func ends(
        by principal: Principal, actions: Bool, key: KeyedRequest?, _ details: CommitDetails?
    ) {
        machine.traceCommit(by: principal, actions: actions, key: key, details, to: trace)
    }
}
