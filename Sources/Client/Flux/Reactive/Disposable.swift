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
        /// How it is ended; nil once it is.
        var action: (@Sendable () -> Void)?
        /// Who wants to know when it is, most often nobody or one scope.
        var followers: [@Sendable () -> Void] = []
    }

    private let contents: Mutex<Contents>
    /// Whether the source has ended by itself.
    private let isOver: @Sendable () -> Bool

    /// Something that ends by `dispose`, which is called at most once.
    public init(_ dispose: @escaping @Sendable () -> Void) {
        contents = Mutex(Contents(action: dispose))
        isOver = { false }
    }

    /// Something that ends by `dispose`, or by itself when `work` is released.
    init(endingWith work: some AnyObject & Sendable, _ dispose: @escaping @Sendable () -> Void) {
        contents = Mutex(Contents(action: dispose))
        isOver = { [weak work] in work == nil }
    }

    /// Whether it has been ended, or its source has and no value is left to be delivered.
    public var isDisposed: Bool { isOver() || contents.withLock { $0.action == nil } }

    /// Ends it. Further calls do nothing.
    public func dispose() {
        let ended = contents.withLock { contents in
            defer { contents = Contents() }
            return contents
        }
        ended.action?()
        for follower in ended.followers { follower() }
    }

    /// Calls `follower` when it has been ended by ``dispose()``; false if it has been already.
    func whenDisposed(_ follower: @escaping @Sendable () -> Void) -> Bool {
        contents.withLock { contents in
            guard contents.action != nil else { return false }
            contents.followers.append(follower)
            return true
        }
    }

    /// Adds it to `scope`, which ends it.
    public func add(to scope: DisposableScope) { scope.add(self) }
}
