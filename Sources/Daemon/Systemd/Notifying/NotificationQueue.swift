import Dispatch
import Synchronization

/// Notifications to the service manager, sent by a queue of their own: the caller never waits.
///
/// Why: libsystemd waits while the manager's queue is full, and what must not stall (the queue that feeds the
/// watchdog) may not wait with it.
///
/// Guarantees: notifications are sent in the order of the calls. While the manager does not read, a newer beat or
/// status replaces the one that still waits; of the rest the newest ``mostWaiting`` are kept.
public final class NotificationQueue: Sendable {
    /// More than a manager that reads ever leaves waiting: the latest notifications matter.
    public static let mostWaiting = 64

    public let notifier: Notifier
    private let queue = DispatchQueue(label: "systemd.notifications")
    private let state = Mutex(State())

    fileprivate struct State {
        var waiting: [[Notifier.Message]] = []
        /// Reported once; then again after one that got through.
        var isBroken = false
        var report: @Sendable (SystemdError) -> Void = { _ in }
    }

    public init(_ notifier: Notifier) { self.notifier = notifier }

    /// Sets the closure that reports a notification that could not be sent: once, until one gets through again.
    public func reportFailures(to report: @escaping @Sendable (SystemdError) -> Void) {
        state.withLock { $0.report = report }
    }

    /// Sends a notification, and returns at once.
    public func tell(_ messages: Notifier.Message...) { tell(messages) }

    /// Sends several messages as one notification, and returns at once.
    public func tell(_ messages: [Notifier.Message]) {
        guard notifier.isHeard else { return }
        let isAdded = state.withLock { $0.add(messages) }
        if isAdded { queue.async { self.sendNext() } }
    }

    /// Runs `work` with the notifier after all earlier notifications, and waits for it.
    ///
    /// - Parameter time: The time limit. The work is done even if it passes, once the manager reads
    ///   again; so it owns what it uses.
    /// - Throws: what the work throws; `timeout`.
    public func perform(
        within time: Duration, _ work: @escaping @Sendable (Notifier) throws(SystemdError) -> Void
    ) throws(SystemdError) {
        let outcome = Outcome()
        queue.async { [notifier] in
            do throws(SystemdError) {
                try work(notifier)
            } catch {
                outcome.failure.withLock { $0 = error }
            }
            outcome.isThere.signal()
        }
        let deadline = DispatchTime.now() + .microseconds(Int(clamping: time.microseconds))
        guard outcome.isThere.wait(timeout: deadline) == .success else {
            throw SystemdError(
                .timeout, "The service manager does not read its notifications; try again later.")
        }
        if let failure = outcome.failure.withLock({ $0 }) { throw failure }
    }

    /// Waits until all notifications have been sent, or the time is over.
    public func flush(within time: Duration) {
        if notifier.isHeard { try? perform(within: time) { _ throws(SystemdError) in } }
    }

    private final class Outcome: Sendable {
        let isThere = DispatchSemaphore(value: 0)
        let failure = Mutex<SystemdError?>(nil)
    }

    /// On the queue.
    private func sendNext() {
        guard let messages = state.withLock({ $0.waiting.isEmpty ? nil : $0.waiting.removeFirst() }) else {
            return
        }
        do throws(SystemdError) {
            try notifier.send(messages)
            state.withLock { $0.isBroken = false }
        } catch {
            let report = state.withLock { state in
                defer { state.isBroken = true }
                return state.isBroken ? nil : state.report
            }
            report?(error)
        }
    }
}

extension NotificationQueue.State {
    /// False if it replaced another one.
    fileprivate mutating func add(_ messages: [Notifier.Message]) -> Bool {
        let older = waiting.firstIndex { $0.map(\.name) == messages.map(\.name) && Self.areOfTheMoment($0) }
        if let older, Self.areOfTheMoment(messages) {
            waiting[older] = messages
            return false
        }
        if waiting.count == NotificationQueue.mostWaiting { waiting.removeFirst() }
        waiting.append(messages)
        return true
    }

    private static func areOfTheMoment(_ messages: [Notifier.Message]) -> Bool {
        messages.allSatisfy(\.isOfTheMoment)
    }
}
