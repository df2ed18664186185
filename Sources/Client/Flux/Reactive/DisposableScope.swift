import Synchronization

/// A lifetime: all that was added to it ends with it, by ``dispose()`` or when the scope is released.
///
/// ```swift
/// final class Screen: Sendable {
///     let scope = DisposableScope()
///
///     init(_ store: Store<Counter>) {
///         store.signal.observe(until: scope) { … }   // ends when the screen goes
///     }
/// }
/// ```
public final class DisposableScope: Sendable {
    private struct Contents {
        /// nil once it has ended.
        var members: [Disposable]? = []
        /// How many members there may be before those that have ended by themselves are removed.
        var limit = 16
    }

    private let contents = Mutex(Contents())

    public init() {}

    deinit { dispose() }

    /// Whether it has ended.
    public var isDisposed: Bool { contents.withLock { $0.members == nil } }

    /// How many things end with it.
    package var count: Int { contents.withLock { $0.members?.count ?? 0 } }

    /// Adds something that ends with the scope; at once if the scope has ended.
    public func add(_ disposable: Disposable) {
        let isAlive = contents.withLock { contents in
            guard var members = contents.members.take() else { return false }
            // Members that have ended by themselves are removed, or a long-lived scope would only grow.
            if members.count >= contents.limit {
                members.removeAll { $0.isDisposed }
                contents.limit = max(16, members.count * 2)
            }
            members.append(disposable)
            contents.members = members
            return true
        }
        if !isAlive { disposable.dispose() }
    }

    /// Ends all that was added, in that order. Further calls do nothing.
    public func dispose() {
        let ended = contents.withLock { $0.members.take() }
        for disposable in ended ?? [] { disposable.dispose() }
    }
}
