import Flux

/// What a ``Journal`` holds, and what every event does to it.
struct JournalContents<State: Flux.State> {
    /// The state after the last entry.
    var latest: State
    var count = 0
    /// The action that is passing the middleware.
    var open: JournaledAction<State>?
    /// What has passed, all of one commit, and is not committed yet.
    var passed: [JournaledAction<State>] = []
    /// What the test has not received yet.
    var entries: [JournalEntry<State>] = []
    var failures: [JournaledFailure] = []
    /// Those that the test has dispatched.
    var thunks: [Task<Void, any Error>] = []

    init(latest: State) { self.latest = latest }

    mutating func begin(_ action: State.Action, _ before: State, _ commit: any AnyObject & Sendable) {
        count += 1
        // The commit before would have been told of, had it succeeded.
        if let last = passed.last, last.commit !== commit { passed = [] }
        open = JournaledAction(number: count, action: action, commit: commit, before: before, after: before)
    }

    mutating func end(_ after: State) {
        guard var action = open else { return }
        open = nil
        action.after = after
        // What was dropped or delayed is nobody's commit, unless it is a part of one.
        if !action.hasReached, passed.isEmpty {
            enter(action)
        } else {
            passed.append(action)
        }
    }

    mutating func commit() {
        let committed = passed
        passed = []
        for action in committed { enter(action) }
    }

    mutating func enter(_ action: JournaledAction<State>) {
        note(action.before)
        entries.append(.action(action))
        latest = action.after
    }

    mutating func note(_ state: State) {
        guard !Comparison.areEqual(latest, state) else { return }
        entries.append(.change(before: latest, after: state))
        latest = state
    }

    mutating func takePassed(_ action: State.Action, after number: Int) -> JournaledAction<State>? {
        let place = passed.firstIndex { $0.isDispatch(of: action, after: number) }
        return place.map { passed.remove(at: $0) }
    }
}
