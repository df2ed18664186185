import Synchronization

/// A lifetime: all that was added to it ends with it, by ``dispose()`` or when nobody holds the scope any more.
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
    /// nil once it has ended.
    private let members: Mutex<[Disposable]?> = Mutex([])

    public init() {}

    deinit { dispose() }

    /// Whether it has ended.
    public var isDisposed: Bool { members.withLock { $0 == nil } }

    /// Adds something that ends with the scope; at once if the scope has ended.
    public func add(_ disposable: Disposable) {
        let isAlive = members.withLock { members in
            guard members != nil else { return false }
            // What has ended by itself need not be kept, or a long-lived scope would only grow.
            if let count = members?.count, count > 16, count & (count - 1) == 0 {
                members?.removeAll { $0.isDisposed }
            }
            members?.append(disposable)
            return true
        }
        if !isAlive { disposable.dispose() }
    }

    /// Ends all that was added, in that order. Further calls do nothing.
    public func dispose() {
        let ended = members.withLock { members in
            defer { members = nil }
            return members
        }
        for disposable in ended ?? [] { disposable.dispose() }
    }
}
