/// Code that every action passes on its way to the mutations: it may log, change, drop, delay or multiply it, and
/// dispatch others.
///
/// ```swift
/// let limits = Middleware<Counter> { action, context, next in
///     if case .increment(let amount) = action, amount > 100 { return }   // dropped
///     next(action)                                                       // passed on, here and now
///     if context.state.count > 1000 { context.actions.reset() }          // takes its own place, later
/// }
/// let store = Store<Counter>(state: Counter(), middleware: [logger, limits])
/// ```
///
/// The middleware of a store runs in the order in which it is listed, in the store's order of commits, one action at a
/// time. A `next` that is called while the middleware runs commits at this place; called later it takes a new place and
/// continues after this middleware. Called more than once, each call counts.
///
/// It runs while the store commits, so it must not wait for another thread; work that takes time belongs into a task.
public struct Middleware<State: Flux.State>: Sendable {
    let handle:
        @Sendable (State.Action, MiddlewareContext<State>, @escaping @Sendable (State.Action) -> Void) -> Void

    /// A middleware that calls `handle` with each action.
    public init(
        _ handle:
            @escaping @Sendable (
                _ action: State.Action, _ context: MiddlewareContext<State>,
                _ next: @escaping @Sendable (State.Action) -> Void
            ) -> Void
    ) {
        self.handle = handle
    }
}
