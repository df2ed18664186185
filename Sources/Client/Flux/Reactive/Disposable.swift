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
    private struct Member {
        let number: UInt64
        let disposable: Disposable
    }

    private struct Contents {
        /// nil once it has ended.
        var members: [Member]? = []
        /// The number of the last member.
        var number: UInt64 = 0
        /// How many members there may be before those that have ended by themselves are removed.
        var limit = 16
    }

    private let contents = Mutex(Contents())
    /// Whether it has ended, for those who ask often.
    private let hasEnded = Atomic<Bool>(false)

    public init() {}

    deinit { dispose() }

    /// Whether it has ended.
    public var isDisposed: Bool { hasEnded.load(ordering: .acquiring) }

    /// How many things end with it.
    package var count: Int { contents.withLock { $0.members?.count ?? 0 } }

    /// Adds something that ends with the scope; at once if the scope has ended. What is disposed of before leaves the scope.
    public func add(_ disposable: Disposable) {
        let number = contents.withLock { contents -> UInt64? in
            guard var members = contents.members.take() else { return nil }
            // Members that have ended by themselves are removed, or a long-lived scope would only grow.
            if members.count >= contents.limit {
                members.removeAll { $0.disposable.isDisposed }
                contents.limit = max(16, members.count * 2)
            }
            contents.number += 1
            members.append(Member(number: contents.number, disposable: disposable))
            contents.members = members
            return contents.number
        }
        guard let number else { return disposable.dispose() }
        if !disposable.whenDisposed({ [weak self] in self?.remove(number) }) { remove(number) }
    }

    /// Lets go of a member that has been disposed of.
    private func remove(_ number: UInt64) {
        // Released outside the lock: what it holds may do anything when it goes.
        _ = contents.withLock { contents in
            guard let members = contents.members else { return Disposable?.none }
            // Their numbers ascend.
            var (low, high) = (0, members.count)
            while low < high {
                let middle = (low + high) / 2
                if members[middle].number < number { low = middle + 1 } else { high = middle }
            }
            guard low < members.count, members[low].number == number else { return nil }
            return contents.members?.remove(at: low).disposable
        }
    }

    /// Ends all that was added, in that order. Further calls do nothing.
    public func dispose() {
        let ended = contents.withLock { contents in
            hasEnded.store(true, ordering: .releasing)
            return contents.members.take()
        }
        for member in ended ?? [] { member.disposable.dispose() }
    }
}
