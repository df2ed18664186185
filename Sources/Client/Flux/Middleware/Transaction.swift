import Synchronization

/// One commit on its way through the middleware: the state it works on, until all of it is done.
final class Transaction<State: Flux.State>: Sendable {
    private struct Contents {
        var state: State
        var committed: [State.Action] = []
        var timers: [TimerChange<State>] = []
        var failure: (any Error)?
    }

    private weak let core: StoreCore<State>?
    private let contents: Mutex<Contents>
    /// The middleware that the actions pass.
    private let links: ArraySlice<MiddlewareChain<State>.Link>
    private let isRelayed: Bool

    init(
        core: StoreCore<State>, links: ArraySlice<MiddlewareChain<State>.Link>, state: State, isRelayed: Bool
    ) {
        self.core = core
        self.links = links
        self.isRelayed = isRelayed
        contents = Mutex(Contents(state: state))
    }

    /// The state that the commit has reached.
    var state: State { contents.withLock { $0.state } }

    /// What the commit does to timers.
    var timers: [TimerChange<State>] { contents.withLock { $0.timers } }

    /// Passes all actions on and returns the state after them, with the actions that reached the mutations.
    func run(_ actions: [State.Action]) throws -> (State, [State.Action]) {
        for action in actions { pass(action, to: links.startIndex) }
        let contents = contents.withLock { $0 }
        if let failure = contents.failure { throw failure }
        return (contents.state, contents.committed)
    }

    /// Passes `action` to the middleware at that place, or to the mutations after the last one.
    private func pass(_ action: State.Action, to place: Int) {
        guard let core, contents.withLock({ $0.failure == nil }) else { return }
        guard place < links.endIndex else { return apply(action, core) }
        let link = links[place]
        let here = Place()
        link.middleware.handle(
            action, MiddlewareContext(core: core, transaction: self, place: here)
        ) { [weak core] action in
            if here.isHere {
                self.pass(action, to: place + 1)
            } else if let core {
                core.lane.place(
                    [Entry(.actions([action], firstMiddleware: link.number + 1, isRelayed: self.isRelayed))],
                    in: core)
            }
        }
        here.leave()
    }

    private func apply(_ action: State.Action, _ core: StoreCore<State>) {
        // The mutation runs on a copy: it may read anything, and must not run under this lock.
        let before = state
        var state = before
        do {
            try core.mutate(&state, by: action, .current)
            // Like the mutation, the rule sees the state before the action.
            let timers = try core.timerRule?.changesPurely(by: action, in: before) ?? []
            contents.withLock { contents in
                contents.state = state
                contents.committed.append(action)
                contents.timers += timers
            }
        } catch {
            contents.withLock { $0.failure = error }
        }
    }
}
