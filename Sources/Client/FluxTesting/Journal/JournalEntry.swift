import Flux

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
