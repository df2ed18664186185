#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// What this thread is doing for the library right now.
///
/// It exists for two guarantees. A dispatch inside a mutation is recognised and refused, instead of waiting for itself
/// for ever. And a dispatch from an observer or a middleware takes its place in the order at once but is executed only
/// when that code has returned, so nothing recurses and no store waits for another one's turn.
///
/// Task-local values can't do this: a task that an observer starts would inherit them.
///
/// One is looked up per call into the library, which then passes it on. Its methods take no closures where a dispatch
/// passes: those would be generic, and code in other modules would pay for that.
@usableFromInline
final class ThreadContext {
    /// What has to be done when a call to user code has returned.
    @usableFromInline
    enum Stay {
        /// The call lies inside another one: nothing.
        case inside
        /// Deferred work is up to a caller further up the stack.
        case nested
        /// Deferred work follows.
        case outermost
    }

    /// Whether user code is being called: an observer, a middleware, a mutation.
    private var isBusy = false
    /// Whether a caller further up the stack will execute deferred work. One loop does, so nothing recurses, and only
    /// after an executor that was called has returned, so none is called again inside its own work.
    private var isCatchingUp = false
    private var later = FirstInFirstOut<() -> Void>()
    private(set) var isMutating = false
    /// Whether an observer is being notified of what a replay has shown. What is dispatched then is ignored.
    @usableFromInline private(set) var isReplaying = false
    private var refusedDispatch = false

    // MARK: - Calls to user code

    /// Whether work has to wait until user code that this thread has been called by returns.
    @usableFromInline var mustWait: Bool { isBusy }

    /// Keeps work for when the library's calls to user code have returned.
    @usableFromInline
    func wait(_ work: @escaping () -> Void) { later.append(work) }

    /// Calls `work` now, or, inside the library's calls to user code, when those have returned.
    @usableFromInline
    func whenFree(_ work: @escaping () -> Void) {
        if isBusy { return later.append(work) }
        guard !isCatchingUp else { return work() }
        isCatchingUp = true
        work()
        catchUp()
    }

    /// Begins a call to user code; ``leave(_:)`` ends it.
    @usableFromInline
    func enter() -> Stay {
        if isBusy { return .inside }
        isBusy = true
        if isCatchingUp { return .nested }
        isCatchingUp = true
        return .outermost
    }

    /// Ends a call to user code. Work deferred meanwhile follows when the outermost one has ended.
    @usableFromInline
    func leave(_ stay: Stay) {
        switch stay {
        case .inside: break
        case .nested: isBusy = false
        case .outermost:
            isBusy = false
            catchUp()
        }
    }

    private func catchUp() {
        while let next = later.popFirst() { next() }
        isCatchingUp = false
    }

    // MARK: - Replays

    /// Begins to tell observers of a value: one that a replay has shown, or not. Returns what ``endTelling(_:)`` takes.
    @usableFromInline
    func beginTelling(isReplay: Bool) -> Bool {
        defer { isReplaying = isReplay }
        return isReplaying
    }

    @usableFromInline
    func endTelling(_ outer: Bool) { isReplaying = outer }

    // MARK: - Mutations

    /// What was under way when a mutation began.
    @usableFromInline
    struct Mutation {
        fileprivate let wasMutating: Bool
        fileprivate let hadRefused: Bool
    }

    /// Begins a mutation; ``end(_:)`` ends it.
    @usableFromInline
    func beginMutation() -> Mutation {
        defer { (isMutating, refusedDispatch) = (true, false) }
        return Mutation(wasMutating: isMutating, hadRefused: refusedDispatch)
    }

    /// Ends a mutation. Returns whether it tried to dispatch.
    @usableFromInline
    func end(_ mutation: Mutation) -> Bool {
        defer { (isMutating, refusedDispatch) = (mutation.wasMutating, mutation.hadRefused) }
        return refusedDispatch
    }

    /// Whether a dispatch must be refused because a mutation is running on this thread. The attempt is
    /// remembered against the mutation.
    @usableFromInline
    func refusesDispatch() -> Bool {
        if isMutating { refusedDispatch = true }
        return isMutating
    }

    // MARK: - Threads

    /// That of the calling thread.
    @usableFromInline static var current: ThreadContext {
        if let known = pthread_getspecific(key) {
            return Unmanaged<ThreadContext>.fromOpaque(known).takeUnretainedValue()
        }
        let context = ThreadContext()
        pthread_setspecific(key, Unmanaged.passRetained(context).toOpaque())
        return context
    }

    private static let key: pthread_key_t = {
        var key = pthread_key_t()
        let outcome = pthread_key_create(&key) { ThreadContext.release($0) }
        precondition(outcome == 0, "The process has no thread-specific key left; free some of them.")
        return key
    }()

    /// The thread has ended.
    private static func release(_ context: UnsafeMutableRawPointer?) {
        if let context { Unmanaged<ThreadContext>.fromOpaque(context).release() }
    }
}

extension ThreadContext {
    /// Runs a mutation. The second value says whether it tried to dispatch.
    static func mutate<Result>(_ mutation: () throws -> Result) rethrows -> (Result, triedToDispatch: Bool) {
        let context = current
        let outer = context.beginMutation()
        do {
            let result = try mutation()
            return (result, context.end(outer))
        } catch {
            _ = context.end(outer)
            throw error
        }
    }
}
