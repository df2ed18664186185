import Synchronization

/// Something that can be ended once: an observation, a binding, a subscription.
///
/// ```swift
/// let observation = store.signal.observe { … }
/// observation.dispose()   // from here on no call begins
/// ```
///
/// A call that another thread has begun by then may still be running. Releasing a disposable does not end anything; a
/// ``DisposableScope`` does that.
public final class Disposable: Sendable {
    private let action: Mutex<(@Sendable () -> Void)?>
    /// Whether the source has ended by itself.
    private let isOver: @Sendable () -> Bool

    /// Something that ends by `dispose`, which is called at most once.
    public init(_ dispose: @escaping @Sendable () -> Void) {
        action = Mutex(dispose)
        isOver = { false }
    }

    /// Something that ends by `dispose`, or by itself when `work` is released.
    init(endingWith work: some AnyObject & Sendable, _ dispose: @escaping @Sendable () -> Void) {
        action = Mutex(dispose)
        isOver = { [weak work] in work == nil }
    }

    /// Whether it has been ended, or its source has and no value is left to be delivered.
    public var isDisposed: Bool { isOver() || action.withLock { $0 == nil } }

    /// Ends it. Further calls do nothing.
    public func dispose() {
        let dispose = action.withLock { action in
            defer { action = nil }
            return action
        }
        dispose?()
    }

    /// Adds it to `scope`, which ends it.
    public func add(to scope: DisposableScope) { scope.add(self) }
}
