import Flux
import Synchronization

/// What happens in a store, in its order: written by a middleware before all others and one behind them, and by the store's
/// commits.
///
/// The first middleware sees actions as they were dispatched; the last one sees what reaches the mutations, also what a
/// middleware in between passes on later. Only a commit tells that the mutations have succeeded: what has passed becomes entries
/// then. If another commit begins before, it has failed.
final class Journal<State: Flux.State>: Sendable {
    private let contents: Mutex<JournalContents<State>>
    /// Told of everything that is new here.
    let news = News()

    init(_ state: State) { contents = Mutex(JournalContents(latest: state)) }

    // MARK: - What happens

    /// Before all other middleware.
    var first: Middleware<State> {
        Middleware { [self] action, context, next in
            let before = context.state
            contents.withLock { $0.begin(action, before, context.commit) }
            next(action)
            let after = context.state
            contents.withLock { $0.end(after) }
            news.tell()
        }
    }

    /// Behind all other middleware.
    var last: Middleware<State> {
        Middleware { [self] action, context, next in
            let before = context.state
            let isLate = contents.withLock { contents in
                let isLate = contents.open == nil
                if isLate { contents.begin(action, before, context.commit) }
                contents.open?.hasReached = true
                return isLate
            }
            next(action)
            guard isLate else { return }
            let after = context.state
            contents.withLock { $0.end(after) }
        }
    }

    /// The commit under way has succeeded.
    func committed() {
        contents.withLock { $0.commit() }
        news.tell()
    }

    func failed(_ failure: ActionFailure<State>) {
        let actions = failure.actions.map(ValueText.of).joined(separator: ", ")
        contents.withLock { contents in
            contents.failures.append(
                JournaledFailure(
                    actions: failure.actions.isEmpty ? nil : actions, error: failure.error))
        }
        news.tell()
    }

    /// The test has dispatched a thunk.
    func follow(_ thunk: Task<Void, any Error>) {
        contents.withLock { $0.thunks.append(thunk) }
    }

    /// Cancels the thunks that the test has dispatched.
    func cancelThunks() {
        for thunk in contents.withLock({ $0.thunks }) { thunk.cancel() }
    }

    // MARK: - What is asked

    /// The number of the latest action.
    var count: Int { contents.withLock { $0.count } }

    /// What nobody has received yet.
    var entries: [JournalEntry<State>] { contents.withLock { $0.entries } }

    /// Takes the first entry, if it is as it should be; else returns it and leaves it there.
    func takeFirst(
        if isRight: (JournalEntry<State>) -> Bool
    ) -> (entry: JournalEntry<State>, isTaken: Bool)? {
        contents.withLock { contents in
            guard let first = contents.entries.first else { return nil }
            guard isRight(first) else { return (first, false) }
            contents.entries.removeFirst()
            return (first, true)
        }
    }

    /// Takes the first entry that is as it should be, with all before it.
    func skip(to isRight: (JournalEntry<State>) -> Bool) -> JournalEntry<State>? {
        contents.withLock { contents in
            guard let place = contents.entries.firstIndex(where: isRight) else { return nil }
            defer { contents.entries.removeFirst(place + 1) }
            return contents.entries[place]
        }
    }

    /// Takes all entries but the first so many.
    func takeEntries(after count: Int) -> [JournalEntry<State>] {
        contents.withLock { contents in
            let taken = Array(contents.entries.dropFirst(count))
            contents.entries.removeLast(taken.count)
            return taken
        }
    }

    /// Takes an action after that number, which was dispatched by the test and has been committed.
    func take(_ action: State.Action, after number: Int) -> JournaledAction<State>? {
        contents.withLock { contents in
            for (place, entry) in contents.entries.enumerated() {
                guard case .action(let found) = entry, found.isDispatch(of: action, after: number) else {
                    continue
                }
                contents.entries.remove(at: place)
                return found
            }
            return contents.takePassed(action, after: number)
        }
    }

    /// Makes an entry of a change that no action has made, if `state` is one.
    func note(_ state: State) {
        contents.withLock { $0.note(state) }
    }

    /// `state` is known to the test.
    func know(_ state: State) {
        contents.withLock { $0.latest = state }
    }

    /// Takes the first failure that is as it should be.
    func takeFailure(if isRight: (any Error) -> Bool) -> JournaledFailure? {
        contents.withLock { contents in
            contents.failures.firstIndex { isRight($0.error) }.map { contents.failures.remove(at: $0) }
        }
    }

    /// What nobody has received of failures.
    var failures: [JournaledFailure] { contents.withLock { $0.failures } }

    /// Forgets all that nobody has received.
    func clear() {
        contents.withLock { contents in
            contents.entries = []
            contents.failures = []
        }
    }
}
