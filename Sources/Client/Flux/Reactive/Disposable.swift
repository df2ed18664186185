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
    private struct Contents {
        var dispose: (@Sendable () -> Void)?
        /// What else to call: scopes that keep it no longer.
        var followers: [@Sendable () -> Void] = []
    }

    private let contents: Mutex<Contents>
    /// Whether the source has ended by itself.
    private let isOver: @Sendable () -> Bool

    /// Something that ends by `dispose`, which is called at most once.
    public init(_ dispose: @escaping @Sendable () -> Void) {
        contents = Mutex(Contents(dispose: dispose))
        isOver = { false }
    }

    /// Something that ends by `dispose`, or by itself when `work` is released.
    init(endingWith work: some AnyObject & Sendable, _ dispose: @escaping @Sendable () -> Void) {
        contents = Mutex(Contents(dispose: dispose))
        isOver = { [weak work] in work == nil }
    }

    /// Whether it has been ended, or its source has and no value is left to be delivered.
    public var isDisposed: Bool { isOver() || contents.withLock { $0.dispose == nil } }

    /// Ends it. Further calls do nothing.
    public func dispose() {
        let ended = contents.withLock { contents in
            defer { contents = Contents() }
            return contents
        }
        ended.dispose?()
        for follow in ended.followers { follow() }
    }

    /// Calls `follow` when it has been disposed of; at once if it has.
    func whenDisposed(_ follow: @escaping @Sendable () -> Void) {
        let isPending = contents.withLock { contents in
            if contents.dispose != nil { contents.followers.append(follow) }
            return contents.dispose != nil
        }
        if !isPending { follow() }
    }

    /// Adds it to `scope`, which ends it.
    public func add(to scope: DisposableScope) { scope.add(self) }
}
