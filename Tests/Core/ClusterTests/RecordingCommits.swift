import BusCluster
import BusCommands
import BusJSON
import BusMachine
import BusProtocol

/// Keeps what was committed, for the checker.
final class RecordingCommits: CommitSink {
    struct Commit {
        let revision: Int
        let marks: [Int]
        let isEnd: Bool
        let time: Int
    }

    private let machine: StateMachine
    private let plain: PlainCommits
    private(set) var commits: [Commit] = []

    init(_ machine: StateMachine) {
        self.machine = machine
        plain = PlainCommits(machine)
    }

    func commit(by principal: Principal, actions: Bool, key: KeyedRequest?, _ details: CommitDetails?) {
        let marks =
            actions ? machine.plan.steps.elements.compactMap { $0.payload["mark"]?.int } : []
        plain.commit(by: principal, actions: actions, key: key, details)
        commits.append(
            Commit(
                revision: machine.revision, marks: marks, isEnd: details?.ended != nil, time: machine.time))
    }

    func note(_ session: Session) { plain.note(session) }
    func note(endOf session: SessionID) { plain.note(endOf: session) }
    func report(_ report: CommandReport) {}
    func takeOutput(_ body: (UnsafeRawBufferPointer) -> Void) { plain.takeOutput(body) }
}
