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
        /// What ends it; nil once it has been ended.
        var action: (@Sendable () -> Void)?
        /// Called when it has been ended; mostly there is none, or one of a scope.
        var followers: [@Sendable () -> Void] = []
    }

    private let contents: Mutex<Contents>
    /// Whether the source has ended by itself.
    private let isOver: @Sendable () -> Bool

    /// Creates a disposable that `dispose` ends. The closure is called at most once.
    public init(_ dispose: @escaping @Sendable () -> Void) {
        contents = Mutex(Contents(action: dispose))
        isOver = { false }
    }

    /// Creates a disposable that `dispose` ends; it also counts as ended once `work` has been released.
    init(endingWith work: some AnyObject & Sendable, _ dispose: @escaping @Sendable () -> Void) {
        contents = Mutex(Contents(action: dispose))
        isOver = { [weak work] in work == nil }
    }

    /// Whether it has been ended, or its source has ended and no value is left to be delivered.
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

    /// Calls `follower` when ``dispose()`` has ended it. Returns false, and never calls it, if that has happened already.
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

/// A lifetime: everything added to it ends with it, by ``dispose()`` or when the scope is released.
///
/// ```swift
/// final class Screen: Sendable {
///     let scope = DisposableScope()
///
///     init(_ store: Store<Counter>) {
///         store.signal.observe(until: scope) { … }   // ends when the screen is released
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
    /// Whether it has ended, readable without the lock.
    private let hasEnded = Atomic<Bool>(false)

    public init() {}

    deinit { dispose() }

    /// Whether it has ended.
    public var isDisposed: Bool { hasEnded.load(ordering: .acquiring) }

    /// How many things end with it.
    package var count: Int { contents.withLock { $0.members?.count ?? 0 } }

    /// Adds something that ends with the scope, or at once if the scope has ended. It leaves the scope if it is disposed of.
    public func add(_ disposable: Disposable) {
        let entered = contents.withLock { contents -> (number: UInt64, isCrowded: Bool)? in
            guard contents.members != nil else { return nil }
            contents.number += 1
            contents.members?.append(Member(number: contents.number, disposable: disposable))
            return (contents.number, contents.members.map { $0.count > contents.limit } ?? false)
        }
        guard let (number, isCrowded) = entered else { return disposable.dispose() }
        if !disposable.whenDisposed({ [weak self] in self?.remove(number) }) { remove(number) }
        if isCrowded { removeEnded() }
    }

    /// Removes the members that have ended by themselves, or a long-lived scope would only grow.
    private func removeEnded() {
        // Asked outside the lock: that may be the last to hold an observer, whose deinit may do anything.
        let members = contents.withLock { $0.members } ?? []
        let ended = Set(members.lazy.filter(\.disposable.isDisposed).map(\.number))
        // Released outside the lock, too.
        _ = contents.withLock { contents -> [Member] in
            guard let former = contents.members else { return [] }
            let left = former.filter { !ended.contains($0.number) }
            contents.limit = max(16, left.count * 2)
            contents.members = left
            return former
        }
    }

    /// Removes a member that has been disposed of.
    private func remove(_ number: UInt64) {
        // Released outside the lock: what the member holds may do anything when it is released.
        _ = contents.withLock { contents in
            guard let members = contents.members else { return Disposable?.none }
            // Members are in the order of their numbers.
            var (low, high) = (0, members.count)
            while low < high {
                let middle = (low + high) / 2
                if members[middle].number < number { low = middle + 1 } else { high = middle }
            }
            guard low < members.count, members[low].number == number else { return nil }
            return contents.members?.remove(at: low).disposable
        }
    }

    /// Ends everything that was added, in the order of adding. Further calls do nothing.
    public func dispose() {
        let ended = contents.withLock { contents in
            hasEnded.store(true, ordering: .releasing)
            return contents.members.take()
        }
        for member in ended ?? [] { member.disposable.dispose() }
    }
}
