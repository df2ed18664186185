import Dispatch

/// Where work is executed: a store's commits, or an observer's calls.
///
/// ```swift
/// let store = Store<Counter>(state: Counter(), executor: .mainThread)
/// store.signal.observe(on: .queue(.global())) { … }
/// ```
///
/// Whatever the executor does, a store commits one action after another in the order of their dispatch, and an observer
/// gets one value after another.
public struct FluxExecutor: Sendable {
    private let carryOut: @Sendable (@escaping @Sendable () -> Void) -> Void
    /// Whether the calling thread does the work at once; a dispatch then needs no closure.
    @usableFromInline let isImmediate: Bool
    private let isMainThread: Bool

    /// Whether the calling thread may hold a target, even for a moment: the last holder releases it, and a target of the main
    /// thread must not be released on another.
    @usableFromInline var mayHoldTargets: Bool { !isMainThread || MainThread.isCurrent }

    /// A custom executor: the closure receives each piece of work and has to call it once, now or later, on any thread.
    /// Work that it drops is not lost: the next piece for the same store or observer does it, too.
    ///
    /// ```swift
    /// let guarded = FluxExecutor { work in queue.sync(execute: work) }
    /// ```
    ///
    /// An executor that waits for another thread to do the work must not be used from that thread, where it would wait for
    /// itself. An observer that is notified there uses it when it dispatches.
    public init(_ carryOut: @escaping @Sendable (_ work: @escaping @Sendable () -> Void) -> Void) {
        self.init(isImmediate: false, carryOut)
    }

    private init(
        isImmediate: Bool, isMainThread: Bool = false,
        _ carryOut: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void
    ) {
        self.isImmediate = isImmediate
        self.isMainThread = isMainThread
        self.carryOut = carryOut
    }

    /// Executes `work`.
    public func execute(_ work: @escaping @Sendable () -> Void) { carryOut(work) }

    /// At once, on the calling thread.
    public static let immediate = FluxExecutor(isImmediate: true) { $0() }

    /// On the main thread: at once if that is the calling thread and nothing is waiting, else through the main queue.
    ///
    /// Something has to serve the main queue: an asynchronous `main`, a run loop, or `dispatchMain()`.
    public static let mainThread = FluxExecutor(isImmediate: false, isMainThread: true) {
        MainThread.line.run($0)
    }

    /// On `queue`, one piece of work after another, even if the queue is concurrent.
    public static func queue(_ queue: DispatchQueue) -> FluxExecutor {
        let line = DispatchQueue(label: "flux.executor", target: queue)
        return FluxExecutor { line.async(execute: $0) }
    }
}
