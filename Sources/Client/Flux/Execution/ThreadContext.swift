import Glibc

/// What this thread is doing for the library right now.
///
/// It exists for two guarantees. A dispatch inside a mutation is recognised and refused, instead of waiting for itself
/// for ever. And a dispatch from an observer or a middleware takes its place in the order at once but is executed only
/// when that code has returned, so nothing recurses and no store waits for another one's turn.
///
/// Task-local values can't do this: a task that an observer starts would inherit them.
final class ThreadContext {
    /// Whether user code is being called: an observer, a middleware, a mutation.
    private var isBusy = false
    /// Whether a caller further up the stack will execute deferred work. One loop does, so nothing recurses, and only
    /// after an executor that was called has returned, so none is called again inside its own work.
    private var isCatchingUp = false
    private var later = FirstInFirstOut<() -> Void>()
    private var isMutating = false
    /// Whether an observer is being notified of what a replay has shown.
    private var isReplaying = false
    private var refusedDispatch = false

    /// Calls `work` now, or, inside the library's calls to user code, when those have returned.
    static func whenFree(_ work: @escaping () -> Void) {
        let context = current
        if context.isBusy {
            context.later.append(work)
        } else {
            context.catchUp(after: work)
        }
    }

    /// Like ``whenFree(_:)`` for work that calls user code itself.
    static func carryOut(_ work: @escaping () -> Void) { whenFree { enter { _ in work() } } }

    /// Calls `work`, which calls user code, at once; work deferred meanwhile follows when the
    /// outermost such call has ended.
    static func enter(_ work: (ThreadContext) -> Void) {
        let context = current
        guard !context.isBusy else { return work(context) }
        context.catchUp {
            context.isBusy = true
            work(context)
            context.isBusy = false
        }
    }

    /// Calls `notify`, which tells observers of a value: one that a replay has shown, or not.
    func tell(isReplay: Bool, _ notify: () -> Void) {
        let outer = isReplaying
        isReplaying = isReplay
        notify()
        isReplaying = outer
    }

    /// Whether this thread is notifying an observer of what a replay has shown. What is dispatched then is ignored.
    static var isReplaying: Bool { current.isReplaying }

    private func catchUp(after work: () -> Void) {
        guard !isCatchingUp else { return work() }
        isCatchingUp = true
        work()
        while let next = later.popFirst() { next() }
        isCatchingUp = false
    }

    /// Runs a mutation. The second value says whether it tried to dispatch.
    static func mutate<Result>(_ mutation: () throws -> Result) rethrows -> (Result, triedToDispatch: Bool) {
        let context = current
        let outer = (context.isMutating, context.refusedDispatch)
        context.isMutating = true
        context.refusedDispatch = false
        defer { (context.isMutating, context.refusedDispatch) = outer }
        let result = try mutation()
        return (result, context.refusedDispatch)
    }

    /// Whether a dispatch must be refused because a mutation is running on this thread. The attempt is
    /// remembered against the mutation.
    static func refusesDispatch() -> Bool {
        let context = current
        if context.isMutating { context.refusedDispatch = true }
        return context.isMutating
    }

    private static var current: ThreadContext {
        if let known = pthread_getspecific(key) {
            return Unmanaged<ThreadContext>.fromOpaque(known).takeUnretainedValue()
        }
        let context = ThreadContext()
        pthread_setspecific(key, Unmanaged.passRetained(context).toOpaque())
        return context
    }

    private static let key: pthread_key_t = {
        var key = pthread_key_t()
        let release: @convention(c) (UnsafeMutableRawPointer?) -> Void = { context in
            if let context { Unmanaged<ThreadContext>.fromOpaque(context).release() }
        }
        let outcome = pthread_key_create(&key, release)
        precondition(outcome == 0, "The process has no thread-specific key left; free some of them.")
        return key
    }()
}
