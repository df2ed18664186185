/// The middleware's access to its store.
public struct MiddlewareContext<State: Flux.State>: Sendable {
    private weak let core: StoreCore<State>?
    private let transaction: Transaction<State>
    private let place: Place

    init(core: StoreCore<State>, transaction: Transaction<State>, place: Place) {
        self.core = core
        self.transaction = transaction
        self.place = place
    }

    /// The current state. While the middleware runs that is the state of the commit under way: the one before the
    /// action, and after `next(action)` the one after it.
    public var state: State {
        if place.isHere { return transaction.state }
        return core?.state ?? transaction.state
    }

    /// The commit under way when the middleware was called: the same object for all actions of an atomic list, another one for
    /// each other commit.
    package var commit: any AnyObject & Sendable { transaction }

    /// Dispatches to the same store; each action takes a place of its own and passes the whole middleware. Nothing
    /// happens once the store has been released.
    public var actions: Actions<State> {
        Actions { [weak core] action in
            guard let core else { return }
            core.lane.place(Entry(.action(action)), in: core)
        }
    }
}
