/// An entry of a store's inbox: something to commit, at its place in the order.
@usableFromInline
struct Entry<State: Flux.State>: Sendable {
    @usableFromInline
    enum Work: Sendable {
        /// One action, as most are.
        case action(State.Action)
        /// Actions that become one commit, each through the middleware from the given number on. Those that a relay commits
        /// set no timers.
        case actions([State.Action], firstMiddleware: Int = .min, isRelayed: Bool = false)
        /// A recording: what it begins with and holds is asked for when it is committed. Its actions pass no middleware.
        indirect case replay(_ read: @Sendable (_ now: State) throws -> Replay<State>)
        /// A timer is set or taken away. Apart from the entry, which all dispatches copy.
        indirect case timer(TimerChange<State>)
        /// The action of a timer that is due, if there is one.
        case dueTimer
    }

    @usableFromInline let work: Work
    /// Called with the outcome. Without it, an error goes to the store's `failures`.
    @usableFromInline let completion: (@Sendable (Result<State, any Error>) -> Void)?

    @inlinable
    init(_ work: Work, completion: (@Sendable (Result<State, any Error>) -> Void)? = nil) {
        self.work = work
        self.completion = completion
    }

    @usableFromInline var actions: [State.Action] {
        switch work {
        case .action(let action): [action]
        case .actions(let actions, _, _): actions
        case .timer(let change): change.setting.map { [$0.action] } ?? []
        case .replay, .dueTimer: []
        }
    }
}

/// What a store replays: this state, and then these actions. The closure is called on success.
@usableFromInline
struct Replay<State: Flux.State> {
    let start: State
    let actions: [State.Action]
    let whenDone: () -> Void
}
