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
        /// By numbers that ascend; nil once it has ended.
        var members: [Int: Disposable]? = [:]
        var lastNumber = 0
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

    /// Adds something that ends with the scope; at once if the scope has ended. The scope keeps it until it is disposed of.
    public func add(_ disposable: Disposable) {
        let number = contents.withLock { contents -> Int? in
            guard var members = contents.members.take() else { return nil }
            // What ended because its source did tells nobody, and a long-lived scope would only grow.
            if members.count >= contents.limit {
                members = members.filter { !$0.value.isDisposed }
                contents.limit = max(16, members.count * 2)
            }
            contents.lastNumber += 1
            members[contents.lastNumber] = disposable
            contents.members = members
            return contents.lastNumber
        }
        guard let number else { return disposable.dispose() }
        disposable.whenDisposed { [weak self] in self?.remove(number) }
    }

    private func remove(_ number: Int) {
        // Released outside the lock: its deinit may do anything.
        _ = contents.withLock { $0.members?.removeValue(forKey: number) }
    }

    /// Ends all that was added, in that order. Further calls do nothing.
    public func dispose() {
        let ended = contents.withLock { $0.members.take() }
        for (_, disposable) in (ended ?? [:]).sorted(by: { $0.key < $1.key }) { disposable.dispose() }
    }
}
