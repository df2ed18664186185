import Synchronization

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
/// It runs while the store commits, so it must not wait for another thread; work that takes time belongs in a task.
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

    /// The commit under way when the middleware was called: one object for all actions of an atomic list, and another one for
    /// every other commit.
    package var commit: any AnyObject & Sendable { transaction }

    /// Dispatches to this store. Each action is queued separately and passes through the whole middleware. Once the store
    /// has been released, dispatches do nothing.
    public var actions: Actions<State> {
        Actions { [weak core] action in
            guard let core else { return }
            core.lane.place(Entry(.action(action)), in: core)
        }
    }
}

/// The middleware of a store. Each has a number that it keeps while others come and go, so that an action which it passes on
/// later continues behind it.
@usableFromInline
final class MiddlewareChain<State: Flux.State>: Sendable {
    struct Link: Sendable {
        let number: Int
        let middleware: Middleware<State>
    }

    private struct Contents {
        /// In the order of their numbers.
        var links: [Link]
        /// The lowest number and the one after the highest, of all that there have ever been: none is used again.
        var first = 0
        var end: Int
    }

    private let contents: Mutex<Contents>
    /// Whether the store has any middleware.
    @usableFromInline let isUsed: Atomic<Bool>

    init(_ middleware: [Middleware<State>]) {
        let links = middleware.enumerated().map { Link(number: $0.offset, middleware: $0.element) }
        contents = Mutex(Contents(links: links, end: links.count))
        isUsed = Atomic(!middleware.isEmpty)
    }

    /// The middleware from this number on.
    func links(from number: Int) -> ArraySlice<Link> {
        let links = contents.withLock { $0.links }
        return links[(links.firstIndex { $0.number >= number } ?? links.endIndex)...]
    }

    /// Returns its number.
    func add(_ middleware: Middleware<State>, at position: MiddlewarePosition) -> Int {
        contents.withLock { contents in
            isUsed.store(true, ordering: .sequentiallyConsistent)
            switch position {
            case .first:
                contents.first -= 1
                contents.links.insert(Link(number: contents.first, middleware: middleware), at: 0)
                return contents.first
            case .last:
                contents.links.append(Link(number: contents.end, middleware: middleware))
                contents.end += 1
                return contents.end - 1
            }
        }
    }

    func remove(_ number: Int) {
        // Released outside the lock: the closure may hold anything.
        _ = contents.withLock { contents -> Link? in
            guard let place = contents.links.firstIndex(where: { $0.number == number }) else { return nil }
            defer { isUsed.store(!contents.links.isEmpty, ordering: .sequentiallyConsistent) }
            return contents.links.remove(at: place)
        }
    }
}

/// The place of a middleware that is added to a store.
public enum MiddlewarePosition: Sendable {
    /// Before all others: it sees each action as it was dispatched.
    case first
    /// Behind all others, before the mutations.
    case last
}

extension Store {
    /// Adds a middleware while the store is in use. It sees the actions whose commits begin after this call, until the result is
    /// disposed of; it does not see a commit that is under way.
    ///
    /// ```swift
    /// let logging = store.add(logger, at: .first)
    /// logging.dispose()
    /// ```
    ///
    /// A middleware that was removed may still pass on an action that it held back: the action continues behind its place.
    @discardableResult
    public func add(_ middleware: Middleware<State>, at position: MiddlewarePosition = .last) -> Disposable {
        let number = core.middleware.add(middleware, at: position)
        return Disposable { [weak core] in core?.middleware.remove(number) }
    }
}

/// A middleware's place in the order: it lasts while the middleware runs, on the thread that runs it.
final class Place: Sendable {
    private let isOpen = Atomic<Bool>(true)
    private let thread = ObjectIdentifier(ThreadContext.current)

    /// Whether the caller is at this place.
    var isHere: Bool {
        isOpen.load(ordering: .acquiring) && thread == ObjectIdentifier(ThreadContext.current)
    }

    func leave() { isOpen.store(false, ordering: .releasing) }
}
