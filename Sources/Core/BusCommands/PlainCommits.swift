import BusJSON
import BusMachine
import BusProtocol

/// Commits without subscribers.
package final class PlainCommits: CommitSink {
    private let machine: StateMachine
    private let trace = ByteWriter()

    package init(_ machine: StateMachine) { self.machine = machine }

    package func commit(
        by principal: Principal, actions: Bool, key: KeyedRequest?, _ details: CommitDetails?
    ) {
        machine.beginCommit()
        for index in details?.dropped ?? [] { machine.skipWrite(to: index) }
        for place in machine.writeSet.indices {
            machine.trace(machine.commitWrite(at: place), at: place, to: trace)
        }
        for (index, state) in details?.replaced ?? [] {
            _ = machine.commitReplacement(of: index, by: state)
        }
        for index in details?.created ?? [] { machine.commitCreation(of: index) }
        for index in details?.dropped ?? [] { machine.commitDrop(of: index) }
        machine.traceCommit(by: principal, actions: actions, key: key, details, to: trace)
        machine.endCommit(dropping: details?.dropped ?? [])
    }

    package func note(_ session: Session) { machine.traceWill(of: session, to: trace) }

    package func note(endOf session: SessionID) { StateMachine.traceEnd(of: session, to: trace) }

    package func report(_ report: CommandReport) {}

    package func takeOutput(_ body: (UnsafeRawBufferPointer) -> Void) {
        body(trace.bytes)
        trace.clear()
    }
}
