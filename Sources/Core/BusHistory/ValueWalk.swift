import BusJSON
import BusLogic
import BusMachine

extension StoreQuestion {
    /// The store's state; nil where there is no such store.
    func state(in machine: StateMachine) -> JSON? { machine.state(at: store).map(JSON.object) }
}

/// What a store was after each commit that may have changed some parts of it.
///
/// The index and the store's definition say which commits these are. The log is replayed from the nearest snapshot before the
/// first of them, and the store is looked at only there, so the cost does not grow with the number of its other commits.
struct ValueWalk<Source: PastSource> {
    let question: StoreQuestion
    let source: Source
    /// Makes the bus of a revision.
    let machine: (Int) throws(PastFailure) -> StateMachine
    let replayer: Replayer

    /// The last revision that redefined the store's type. Only for later commits does the current definition say which actions
    /// may have changed what.
    func lastDefinition(after since: Int, through until: Int) throws(PastFailure) -> Int? {
        try source.lastDefinition(of: question.subject.type, after: since, through: until)
    }

    /// The query for commits that may have changed one of these parts. `isDefined`: the current definition was in force.
    func query(for paths: [[String]], isDefined: Bool) -> IndexQuery {
        let concerning = CommitStep.lookUp(question.subject)
        let writers = isDefined ? paths.map { path in question.type?.writers(of: path) } : [nil]
        guard !writers.contains(where: { $0 == nil }) else { return concerning }
        let others = ["create", "drop", "revert", "reload"].map { IndexQuery.term(.action($0)) }
        let actions = writers.flatMap { $0! }.map { writer in
            IndexQuery.all(
                [.term(.action(writer.action))]
                    + writer.payload.filter { IndexTerm.takes($0.value) }
                    .map { .term(.payload($0.name, $0.value)) })
        }
        return .all([concerning, .any(others + actions)])
    }

    /// Calls `look` with the state before the first of these revisions, then with the state after each; nil where there is no
    /// store.
    func walk(
        _ revisions: [ClosedRange<Int>],
        _ look: (_ revision: Int, _ time: Int, _ state: JSON?) throws(PastFailure) -> Void
    ) throws(PastFailure) {
        guard let first = revisions.first?.lowerBound, let last = revisions.last?.upperBound else { return }
        let machine = try machine(first - 1)
        var (begin, unknown) = (machine.revision, machine.forgotten)
        func visit() throws(PastFailure) {
            try look(machine.revision, machine.time, question.state(in: machine))
        }
        try visit()
        var due = revisions[...]
        try source.forEachGroup(after: machine.revision) { (group) throws(PastFailure) in
            guard replayer.isWanted() else { throw Replayer.abandoned }
            // Where the entries begin that are not replayed yet. Notes are replayed with the commits next to them.
            var start = 0
            var lines = LogLines.Cursor(group.entries)
            while let next = due.first, next.lowerBound <= group.last, let line = lines.next() {
                guard let revisions = LogLines.revisions(of: line), revisions.overlaps(next) else { continue }
                let end = min(lines.offset, group.entries.count)
                let entries = UnsafeRawBufferPointer(rebasing: group.entries[start..<end])
                for revision in revisions.clamped(to: next) {
                    try replay(entries, on: machine, through: revision)
                    try visit()
                }
                due.removeFirst()
                start = end
            }
            try replay(UnsafeRawBufferPointer(rebasing: group.entries[start...]), on: machine, through: last)
            if machine.mayHaveHoles { machine.pass(through: min(group.last, last)) }
            if try replayer.recollection(of: machine, through: machine.revision, from: source) != nil {
                try replayer.requireUnthinned(behind: begin, leavingOut: unknown, in: source)
                try replayer.recollect(machine, from: source)
                (begin, unknown) = (machine.revision, machine.forgotten)
            }
            return machine.revision < last
        }
        try replayer.requireUnthinned(behind: begin, leavingOut: unknown, in: source)
    }

    private func replay(
        _ entries: UnsafeRawBufferPointer, on machine: StateMachine, through revision: Int
    ) throws(PastFailure) {
        do throws(ReplayFailure) { try machine.replay(entries, through: revision) } catch {
            throw PastFailure(.damaged, error.message)
        }
    }
}
