import Synchronization

/// The middleware of a store, each with a number that stays its own while others come and go: so an action that one of them passes
/// on later continues behind that one.
@usableFromInline
final class MiddlewareChain<State: Flux.State>: Sendable {
    struct Link: Sendable {
        let number: Int
        let middleware: Middleware<State>
    }

    /// By their numbers.
    private let links: Mutex<[Link]>
    /// Whether there is any.
    @usableFromInline let isUsed: Atomic<Bool>

    init(_ middleware: [Middleware<State>]) {
        links = Mutex(middleware.enumerated().map { Link(number: $0.offset, middleware: $0.element) })
        isUsed = Atomic(!middleware.isEmpty)
    }

    /// Those from this number on.
    func links(from number: Int) -> ArraySlice<Link> {
        links.withLock { links in links[(links.firstIndex { $0.number >= number } ?? links.endIndex)...] }
    }

    /// Returns its number.
    func add(_ middleware: Middleware<State>, at position: MiddlewarePosition) -> Int {
        links.withLock { links in
            isUsed.store(true, ordering: .sequentiallyConsistent)
            switch position {
            case .first:
                let number = (links.first?.number ?? 0) - 1
                links.insert(Link(number: number, middleware: middleware), at: 0)
                return number
            case .last:
                let number = (links.last?.number ?? -1) + 1
                links.append(Link(number: number, middleware: middleware))
                return number
            }
        }
    }

    func remove(_ number: Int) {
        // Released outside the lock: the closure may hold anything.
        _ = links.withLock { links -> Link? in
            guard let place = links.firstIndex(where: { $0.number == number }) else { return nil }
            defer { isUsed.store(!links.isEmpty, ordering: .sequentiallyConsistent) }
            return links.remove(at: place)
        }
    }
}

/// Where a middleware stands that is added to a store.
public enum MiddlewarePosition: Sendable {
    /// Before all others: it sees each action as it was dispatched.
    case first
    /// Behind all others, before the mutations.
    case last
}

extension Store {
    /// Adds a middleware while the store is in use. It sees the actions whose commit begins after this has returned, until what is
    /// returned is disposed of; the commit under way, if there is one, is left alone.
    ///
    /// ```swift
    /// let logging = store.add(logger, at: .first)
    /// logging.dispose()
    /// ```
    ///
    /// An action that was held back by a middleware and is passed on when that has been removed continues behind its place.
    @discardableResult
    public func add(_ middleware: Middleware<State>, at position: MiddlewarePosition = .last) -> Disposable {
        let number = core.middleware.add(middleware, at: position)
        return Disposable { [weak core] in core?.middleware.remove(number) }
    }
}
