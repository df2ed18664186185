import CSystemd
import Glibc

/// Notifies the service manager of the service's state: ready, reloading, stopping, alive, and in words.
///
/// Guarantees: one call is one notification, which the manager sees whole or not at all, in the order of the calls.
/// Without a manager every call does nothing and succeeds, so a daemon needs no separate path.
///
/// libsystemd sends (`sd_pid_notify_with_fds`), and reads `NOTIFY_SOCKET` each time. So the variable stays as long
/// as notifications are sent, and children inherit it; theirs are ignored where the unit says `NotifyAccess=main`,
/// which `Type=notify` implies. And a call waits while the manager's queue is full: code that must not stall sends
/// through a ``NotificationQueue``.
///
/// ```swift
/// let notifier = Notifier()
/// try notifier.send(.ready, .status("12 stores, 3 clients"))
/// try notifier.reloading()
/// try notifier.send(.ready)
/// try notifier.send(.stopping)
/// ```
public struct Notifier: Sendable {
    /// The most bytes the manager reads of one notification (its `PIPE_BUF`).
    public static let longestNotification = 4096

    /// Notifies nobody, whatever the environment says.
    public static let silent = Notifier(isHeard: false)

    /// Whether there is a manager that receives notifications.
    public let isHeard: Bool

    /// Notifies the manager that `NOTIFY_SOCKET` names, if there is one.
    public init() { self.init(isHeard: getenv("NOTIFY_SOCKET").map { $0[0] != 0 } ?? false) }

    private init(isHeard: Bool) { self.isHeard = isHeard }

    /// Sends one notification.
    ///
    /// - Throws: `tooLarge` if it is longer than the manager reads; `name` if `NOTIFY_SOCKET` is no address;
    ///   `system` if nothing listens there.
    public func send(_ messages: Message...) throws(SystemdError) { try send(messages) }

    /// Sends one notification.
    public func send(_ messages: [Message]) throws(SystemdError) { try send(messages, descriptors: []) }

    /// Sends one notification; the descriptors, no more than one message takes along, go with it.
    func send(_ messages: [Message], descriptors: [Int32]) throws(SystemdError) {
        guard isHeard, !messages.isEmpty else { return }
        let text = messages.map(\.line).joined(separator: "\n")
        guard text.utf8.count <= Self.longestNotification else {
            throw SystemdError(
                .tooLarge,
                "A notification of \(text.utf8.count) bytes is longer than the \(Self.longestNotification) that the "
                    + "service manager reads; shorten its status.")
        }
        while true {
            let answer = sd_pid_notify_with_fds(0, 0, text, descriptors, UInt32(descriptors.count))
            if answer >= 0 { return }
            if answer != -EINTR { throw Self.failure(-answer) }
        }
    }

    /// Notifies that a reload begins, at a time of the monotonic clock (now, if none is given). `send(.ready)` ends it.
    ///
    /// The manager wants both lines in one notification, so this is no message that could go out alone.
    public func reloading(at time: Duration? = nil) throws(SystemdError) {
        try send(Self.reload(at: time))
    }

    /// What ``reloading(at:)`` sends.
    public static func reload(at time: Duration? = nil) -> [Message] {
        let time = time ?? .monotonicNow()
        return [Message("RELOADING", "1"), Message("MONOTONIC_USEC", String(time.microseconds))]
    }

    /// Returns when the manager has processed every notification sent before. Without a manager at once.
    ///
    /// A process that stores descriptors and ends needs it: queued notifications of a process
    /// that is gone may not be trusted.
    ///
    /// - Throws: `timeout` if the manager did not get there in time, counted from when it has room for the request.
    public func settle(within time: Duration) throws(SystemdError) {
        guard isHeard else { return }
        let deadline = Duration.monotonicNow() + time
        while true {
            let left = max(.zero, deadline - .monotonicNow())
            let answer = sd_notify_barrier(0, UInt64(left.microseconds))
            switch answer {
            case 0...: return
            case -EINTR: continue
            case -ETIMEDOUT:
                throw SystemdError(
                    .timeout, "The service manager did not read the notifications in time; try again later.")
            default: throw Self.failure(-answer)
            }
        }
    }

    private static func failure(_ number: Int32) -> SystemdError {
        switch number {
        case EINVAL, ENAMETOOLONG, EAFNOSUPPORT:
            let text = getenv("NOTIFY_SOCKET").map { String(cString: $0) } ?? ""
            return SystemdError(
                .name,
                "NOTIFY_SOCKET is `\(text)`, which libsystemd can't send to; start the service by its unit.",
                systemCode: number)
        case ENOENT, ECONNREFUSED:
            return SystemdError.failed(
                "Sending to the service manager", number, advice: "Nobody listens there; check that it runs.")
        default: return SystemdError.failed("Sending to the service manager", number)
        }
    }
}
