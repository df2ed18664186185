import Dispatch
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
        take { seen in
            seen.entries.first.map { ($0, isRight($0)) }
        } removing: { contents, found in
            if found.isTaken { contents.entries.removeFirst() }
        }
    }

    /// Takes the first entry that is as it should be, with all before it.
    func skip(to isRight: (JournalEntry<State>) -> Bool) -> JournalEntry<State>? {
        take { seen in
            seen.entries.firstIndex(where: isRight).map { (place: $0, entry: seen.entries[$0]) }
        } removing: { contents, found in
            contents.entries.removeFirst(found.place + 1)
        }?.entry
    }

    /// Takes all entries but the first so many.
    func takeEntries(after count: Int) -> [JournalEntry<State>] {
        contents.withLock { contents in
            let taken = Array(contents.entries.dropFirst(count))
            contents.entries.removeLast(taken.count)
            contents.removals += 1
            return taken
        }
    }

    /// Takes an action after that number, which was dispatched by the test and has been committed.
    func take(_ action: State.Action, after number: Int) -> JournaledAction<State>? {
        take { seen in
            seen.dispatch(of: action, after: number)
        } removing: { contents, found in
            contents.remove(found)
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
        take { seen in
            seen.failures.firstIndex { isRight($0.error) }.map { (place: $0, failure: seen.failures[$0]) }
        } removing: { contents, found in
            contents.failures.remove(at: found.place)
        }?.failure
    }

    /// What nobody has received of failures.
    var failures: [JournaledFailure] { contents.withLock { $0.failures } }

    /// Forgets all that nobody has received.
    func clear() {
        contents.withLock { contents in
            contents.entries = []
            contents.failures = []
            contents.removals += 1
        }
    }

    /// Takes what `look` finds. That is the test's code, which may use the store, and runs outside the lock; where others have
    /// taken something meanwhile, it looks again.
    private func take<Found>(
        _ look: (JournalContents<State>) -> Found?,
        removing remove: (inout JournalContents<State>, Found) -> Void
    ) -> Found? {
        while true {
            let seen = contents.withLock { $0 }
            guard let found = look(seen) else { return nil }
            let isTaken = contents.withLock { contents in
                guard contents.removals == seen.removals else { return false }
                contents.removals += 1
                remove(&contents, found)
                return true
            }
            if isTaken { return found }
        }
    }
}

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
    /// How often something was taken from these.
    var removals = 0
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

    /// The dispatch of an action that the test has made after that number, whether or not it is committed.
    func dispatch(of action: State.Action, after number: Int) -> JournaledAction<State>? {
        for case .action(let entered) in entries where entered.isDispatch(of: action, after: number) {
            return entered
        }
        return passed.first { $0.isDispatch(of: action, after: number) }
    }

    /// Removes an action, which may have been committed since it was found.
    mutating func remove(_ action: JournaledAction<State>) {
        entries.removeAll { entry in
            if case .action(let other) = entry { other.number == action.number } else { false }
        }
        passed.removeAll { $0.number == action.number }
    }
}

/// What the journal tells of, in the order of the store.
enum JournalEntry<State: Flux.State>: Sendable {
    /// An action that was committed, or that a middleware dropped or delayed.
    case action(JournaledAction<State>)
    /// The state became another one without an action, most often in a replay.
    case change(before: State, after: State)

    /// In words, for lists.
    var text: String {
        switch self {
        case .action(let action): action.name
        case .change: "a change without an action"
        }
    }
}

/// One action as it was dispatched, and what it did.
struct JournaledAction<State: Flux.State>: Sendable {
    /// Counts the actions of the store, from 1.
    let number: Int
    let action: State.Action
    /// The commit that it was a part of.
    let commit: any AnyObject & Sendable
    let before: State
    var after: State
    /// Whether anything reached the mutations; not so if a middleware dropped or delayed it.
    var hasReached = false

    /// The action in words.
    var name: String { ValueText.of(action) }

    /// Whether it may be the dispatch of `other` that the test has made after that number. Of equal ones it does not matter
    /// which it is. One that does not even equal itself is known by its text.
    func isDispatch(of other: State.Action, after number: Int) -> Bool {
        guard self.number > number else { return false }
        return Comparison.areEqual(action, other) || name == ValueText.of(other)
    }
}

/// An error that nobody waited for.
struct JournaledFailure: Sendable {
    /// The actions that failed, in words; nil: a thunk.
    let actions: String?
    let error: any Error

    var text: String { "\(actions.map { "\($0) failed" } ?? "a thunk failed"): \(error)" }
}

/// Lets tests wait until there is something new to look at, or for so long.
final class News: Sendable {
    private struct Contents {
        var version = 0
        var waiting: [Int: CheckedContinuation<Void, Never>] = [:]
        var count = 0
    }

    private let contents = Mutex(Contents())

    /// Counts what was told.
    var version: Int { contents.withLock { $0.version } }

    func tell() {
        let waiting = contents.withLock { contents in
            contents.version += 1
            defer { contents.waiting = [:] }
            return contents.waiting.values
        }
        for continuation in waiting { continuation.resume() }
    }

    /// Returns when something has been told after `version`, at `deadline`, or when the task is cancelled.
    func wait(after version: Int, until deadline: ContinuousClock.Instant) async {
        let number = contents.withLock { contents in
            contents.count += 1
            return contents.count
        }
        let alarm = DispatchWorkItem { [self] in giveUp(number) }
        let rest = (deadline - .now).roundedUpToNanoseconds
        DispatchQueue.global().asyncAfter(deadline: .now() + .nanoseconds(rest), execute: alarm)
        defer { alarm.cancel() }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isOver = contents.withLock { contents in
                    guard contents.version == version, !Task.isCancelled, ContinuousClock.now < deadline
                    else { return true }
                    contents.waiting[number] = continuation
                    return false
                }
                if isOver { continuation.resume() }
            }
        } onCancel: {
            giveUp(number)
        }
    }

    private func giveUp(_ number: Int) {
        contents.withLock { $0.waiting.removeValue(forKey: number) }?.resume()
    }
}
