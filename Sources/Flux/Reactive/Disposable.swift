import Synchronization

/// Something that can be ended once: an observation, a binding, a subscription.
///
/// ```swift
/// let observation = store.signal.observe { … }
/// observation.dispose()   // from here on no call begins
/// ```
///
/// Letting go of it does not end anything; a ``DisposableScope`` does that.
public final class Disposable: Sendable {
    private let action: Mutex<(@Sendable () -> Void)?>

    /// Something that ends by `dispose`, which is called at most once.
    public init(_ dispose: @escaping @Sendable () -> Void) { action = Mutex(dispose) }

    /// Whether it has been ended.
    public var isDisposed: Bool { action.withLock { $0 == nil } }

    /// Ends it. Further calls do nothing.
    public func dispose() {
        let dispose = action.withLock { action in
            defer { action = nil }
            return action
        }
        dispose?()
    }

    /// Leaves ending it to `scope`.
    public func add(to scope: DisposableScope) { scope.add(self) }
}
