import CSystemd

/// Tells the service manager how the service is: ready, reloading, stopping, alive, and in words.
///
/// Why its own code and not `sd_notify`: that one reads the variable from the process, so a test could not stand in
/// for the manager. The protocol is small, documented (sd_notify(3)) and fixed.
///
/// What it guarantees: one call is one notification, which the manager sees whole or not at all, in the order of the
/// calls. Without a manager every call does nothing and succeeds, so a daemon needs no second way.
///
/// ```swift
/// let notifier = try Notifier(ServiceEnvironment.take())
/// try notifier.send(.ready, .status("12 stores, 3 clients"))
/// try notifier.reloading()
/// try notifier.send(.ready)
/// try notifier.send(.stopping)
/// ```
public struct Notifier: Sendable {
    /// The most bytes the manager reads of one notification (its `PIPE_BUF`).
    public static let longestNotification = 4096

    private let socket: DatagramSocket?

    /// Speaks to the manager that `NOTIFY_SOCKET` names, if there is one.
    ///
    /// - Throws: `name` if the variable can't be the address of a Unix socket.
    public init(_ environment: ServiceEnvironment) throws(SystemdError) {
        guard let text = environment.variables["NOTIFY_SOCKET"], !text.isEmpty else {
            socket = nil
            return
        }
        let name = try SocketName(text, from: "NOTIFY_SOCKET")
        socket = try DatagramSocket(to: name, receiver: "the service manager")
    }

    /// Whether there is a manager that hears.
    public var isHeard: Bool { socket != nil }

    /// Sends one notification.
    ///
    /// - Parameter waiting: Whether to wait when the manager's queue is full. A queue that must not stand still (the
    ///   one that feeds the watchdog) says false and takes `busy` as a beat that was lost.
    public func send(_ messages: Message..., waiting: Bool = true) throws(SystemdError) {
        try send(messages, waiting: waiting)
    }

    /// Sends one notification; the descriptors go along.
    public func send(
        _ messages: [Message], descriptors: [Int32] = [], waiting: Bool = true
    ) throws(SystemdError) {
        guard let socket, !messages.isEmpty else { return }
        let text = Array(messages.map(\.line).joined(separator: "\n").utf8)
        guard text.count <= Self.longestNotification else {
            throw SystemdError(
                .tooLarge,
                "A notification of \(text.count) bytes is longer than the \(Self.longestNotification) that the "
                    + "service manager reads; shorten its status.")
        }
        // A closure that throws a type of its own would have to be told so at every step.
        let outcome = text.withUnsafeBytes { bytes in
            Result { () throws(SystemdError) in
                try socket.send(bytes, descriptors: descriptors, waiting: waiting)
            }
        }
        try outcome.get()
    }

    /// Tells that a reload begins, at a time of the monotonic clock (now, if none is given). `send(.ready)` ends it.
    ///
    /// The manager wants both lines in one notification, so this is no message that could go out alone.
    public func reloading(at time: Duration? = nil) throws(SystemdError) {
        let time = time ?? .monotonicNow()
        try send(Message("RELOADING", "1"), Message("MONOTONIC_USEC", String(time.microseconds)))
    }
}
