/// What stands in a store's inbox: something to commit, at its place in the order.
struct Entry<State: Flux.State>: Sendable {
    enum Work: Sendable {
        /// Actions that become one commit, each through the middleware from the given one on.
        case actions([State.Action], firstMiddleware: Int = 0)
        /// A recording: this state, and then these actions, without middleware; the closure hears of success.
        case replay(from: State, actions: [State.Action], whenDone: @Sendable () -> Void)
    }

    let work: Work
    /// Told what came of it. Without, an error goes to the store's `failures`.
    let completion: (@Sendable (Result<State, any Error>) -> Void)?

    init(_ work: Work, completion: (@Sendable (Result<State, any Error>) -> Void)? = nil) {
        self.work = work
        self.completion = completion
    }

    var actions: [State.Action] {
        switch work {
        case .actions(let actions, _), .replay(_, let actions, _): actions
        }
    }
}
