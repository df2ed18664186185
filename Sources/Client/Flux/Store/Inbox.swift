import Synchronization

/// The queue of a store: what is still to be committed, in the order of dispatch.
final class Inbox<State: Flux.State>: Sendable {
    private struct Contents {
        var line = FirstInFirstOut<(ticket: UInt64, entry: Entry<State>)>()
        var isClosed = false
    }

    private let contents = Mutex(Contents())

    /// Appends an entry; false if the inbox is closed.
    func append(_ entry: Entry<State>, ticket: UInt64) -> Bool {
        contents.withLock { contents in
            guard !contents.isClosed else { return false }
            contents.line.append((ticket, entry))
            return true
        }
    }

    /// The next entry whose place is at most `ticket`.
    func next(through ticket: UInt64) -> Entry<State>? {
        contents.withLock { contents in
            guard let first = contents.line.first, first.ticket <= ticket else { return nil }
            return contents.line.popFirst()?.entry
        }
    }

    /// Closes the inbox, and returns the entries that will not be committed.
    func close() -> [Entry<State>] {
        contents.withLock { contents in
            contents.isClosed = true
            var left: [Entry<State>] = []
            while let (_, entry) = contents.line.popFirst() { left.append(entry) }
            return left
        }
    }
}

/// What a store replays: this state, and then these actions. The closure is called on success.
struct Replay<State: Flux.State> {
    let start: State
    let actions: [State.Action]
    let whenDone: () -> Void
}

/// An entry of a store's inbox: something to commit, at its place in the order.
struct Entry<State: Flux.State>: Sendable {
    enum Work: Sendable {
        /// Actions that become one commit, each through the middleware from the given one on. Those that a relay commits
        /// set no timers.
        case actions([State.Action], firstMiddleware: Int = 0, isRelayed: Bool = false)
        /// A recording: what it begins with and holds is asked for when it is committed. Its actions pass no middleware.
        indirect case replay(_ read: @Sendable (_ now: State) throws -> Replay<State>)
        /// A timer is set or taken away. Apart from the entry, which all dispatches copy.
        indirect case timer(TimerChange<State>)
        /// The action of a timer that is due, if there is one.
        case dueTimer
    }

    let work: Work
    /// Called with the outcome. Without it, an error goes to the store's `failures`.
    let completion: (@Sendable (Result<State, any Error>) -> Void)?

    init(_ work: Work, completion: (@Sendable (Result<State, any Error>) -> Void)? = nil) {
        self.work = work
        self.completion = completion
    }

    var actions: [State.Action] {
        switch work {
        case .actions(let actions, _, _): actions
        case .timer(let change): change.setting.map { [$0.action] } ?? []
        case .replay, .dueTimer: []
        }
    }
}
