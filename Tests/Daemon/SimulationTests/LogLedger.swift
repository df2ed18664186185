import BusEngine
import BusJSON
import TestSupport

/// What clients asked for and what became of it, to be compared in the end with what stands in the log.
final class LogLedger {
    enum Fate: Equatable {
        /// Answered as committed, at that revision.
        case committed(Int)
        /// Wanted no answer, and none came though later ones did.
        case silentlyCommitted
        case refused
        /// Its connection went before there was an answer.
        case unknown
        case pending
    }

    /// By mark, a number that stands in the request's payload and nowhere else.
    private(set) var fates: [Int: Fate] = [:]
    private var nextMark = 1
    /// What each mark was sent with.
    var requests: [Int: Model.Action] = [:]
    /// What was answered where a mark was refused.
    var refusals: [Int: String] = [:]
    /// What was answered to dispatches: how many stores they reached and changed.
    var replies: [(revision: Int, matched: Int, changed: Int)] = []
    /// How many entries of the log stand for several commits.
    private(set) var sharedEntries = 0
    /// How many entries were replayed as one like that before.
    private(set) var entriesReadInPlace = 0
    /// Wills that must have been carried out, as nothing came between.
    var dueWills: Set<Int> = []
    /// Mirrors as clients saw them.
    var views: [(revision: Int, request: SubscriptionRequest, states: [String: JSON], after: String)] = []
    /// Actions as they were told to one subscription, after a revision.
    var tellings: [(after: Int, through: Int, told: [Int])] = []

    func mark() -> Int {
        nextMark += 1
        return nextMark
    }

    func note(_ fate: Fate, of mark: Int) throws {
        if case .committed(let old)? = fates[mark] {
            guard case .committed(let new) = fate, new == old else {
                if fate == .pending || fate == .unknown { return }
                throw Violation("Request \(mark) was committed at \(old), and then \(fate).")
            }
        }
        fates[mark] = fate
    }

    // MARK: - The end

    /// The revisions at which each mark stands in the log.
    private func found(in log: MemoryLog) throws -> (marks: [Int: [Int]], noteActions: [Int], last: Int) {
        var marks: [Int: [Int]] = [:]
        var noteActions: [Int] = []
        var last = 0
        for line in log.lines {
            let entry = try JSON(parsing: line, depthLimit: 1000)
            guard let first = entry["revision"]?.int else { continue }
            guard first == last + 1 else { throw Violation("The log goes from \(last) to \(first).") }
            last = first + (entry["times"]?.int ?? 1) - 1
            for revision in first...last {
                let actions = (entry["actions"]?.array ?? []).map { Model.Action($0) }
                for action in actions where action.types.contains("note") { noteActions.append(revision) }
                for (mark, marked) in Dictionary(grouping: actions, by: { $0.payload["mark"]?.int }) {
                    guard let mark else { continue }
                    try compare(marked, with: mark)
                    marks[mark, default: []].append(revision)
                }
            }
        }
        return (marks, noteActions, last)
    }

    /// What was sent stands in the log with its defaults.
    private func compare(_ actions: [Model.Action], with mark: Int) throws {
        guard let sent = requests[mark] else { throw Violation("Nobody sent \(actions).") }
        guard try actions == sent.accepted() else {
            throw Violation("Request \(mark) was \(sent), and stands in the log as \(actions).")
        }
    }

    func compare(with log: MemoryLog, hadTrouble: Bool) throws {
        let (marks, actions, last) = try found(in: log)
        guard last == log.lastRevision else {
            throw Violation("The log ends at \(log.lastRevision), not \(last).")
        }
        for (mark, fate) in fates {
            let places = marks[mark] ?? []
            let isRight =
                switch fate {
                case .committed(let revision): places == [revision]
                case .silentlyCommitted: places.count == 1
                case .refused, .pending: places.isEmpty
                case .unknown: places.count <= 1
                }
            if !isRight {
                throw Violation(
                    "Request \(mark) is \(fate), and stands in the log at \(places). \(refusals[mark] ?? "")")
            }
        }
        for (mark, places) in marks where fates[mark] == nil && places.count > 1 {
            throw Violation("The will \(mark) was carried out at \(places).")
        }
        for mark in dueWills where !hadTrouble && marks[mark]?.count != 1 {
            throw Violation("The will \(mark) was carried out at \(marks[mark] ?? []).")
        }
        for telling in tellings {
            let due = actions.filter { $0 > telling.after && $0 <= telling.through }
            guard telling.told == due else {
                throw Violation("Of \(due), after \(telling.after), there were told \(telling.told).")
            }
        }
    }

    /// Has the model carry out the log, and looks at everything that anybody saw.
    func compareViews(
        with log: MemoryLog, by model: inout Model, digests: [Int: String], from bus: MemoryBus
    ) throws {
        for line in log.lines {
            let entry = try JSON(parsing: line, depthLimit: 1000)
            if entry["revision"] == nil { continue }
            try model.replay(entry)
            sharedEntries += entry["times"] == nil ? 0 : 1
        }
        for view in views {
            let states = model.view(view.request, at: view.revision)
            guard states == view.states else {
                throw Violation(
                    "\(view.request) showed \(view.states) at \(view.revision), the model has \(states ?? [:]), after \(view.after)"
                )
            }
        }
        for reply in replies {
            guard let commit = model.commits[reply.revision], commit.matched == reply.matched,
                commit.changed == reply.changed
            else { throw Violation("The model reached and changed others than \(reply).") }
        }
        try compareReplay(of: log, with: model, digests: digests, from: bus)
    }

    /// The log makes the states of the model again, and those that the bus had.
    private func compareReplay(
        of log: MemoryLog, with model: Model, digests: [Int: String], from bus: MemoryBus
    ) throws {
        let replayer = try bus.replay()
        let whole = try replayer.restored(0, from: log)
        for revision in 1...log.lastRevision where digests[revision] != nil || revision == log.lastRevision {
            try replayer.advance(whole, to: revision, from: log)
            if let digest = digests[revision], digest != whole.stateDigest {
                throw Violation("The log makes other states at \(revision) than the bus had.")
            }
            var states: [String: JSON] = [:]
            for type in ModelActions.types {
                for address in whole.addresses(ofType: type) {
                    states[address] = whole.state(at: address).map(JSON.object)
                }
            }
            guard states == model.commits[revision]?.states else {
                throw Violation("The log makes other states at \(revision) than the model: \(states)")
            }
        }
        entriesReadInPlace += whole.entriesReadInPlace
        for snapshot in log.snapshotBytes.keys.sorted() {
            let engine = try replayer.restored(snapshot, from: log)
            for revision in digests.keys.sorted().filter({ $0 >= snapshot }).suffix(40) {
                try replayer.advance(engine, to: revision, from: log)
                guard engine.stateDigest == digests[revision] else {
                    throw Violation("From the snapshot of \(snapshot) the states are others at \(revision).")
                }
            }
        }
    }
}
