import BusSystem
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
        let time = time ?? .nanoseconds(MonotonicClock.nanoseconds)
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
        let deadline = MonotonicClock.moment(after: time)
        while true {
            let left = max(.zero, Duration.nanoseconds(deadline - MonotonicClock.nanoseconds))
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

/// Messages to the manager (sd_notify(3)), as values.
extension Notifier {
    /// One message to the manager: a line `NAME=value` of a notification. Several can be sent together.
    public struct Message: Sendable, Hashable {
        let name: String
        private let value: String
        /// It is about this moment only: a newer one replaces it.
        private(set) var isOfTheMoment = false

        /// The line, without its end.
        public var line: String { "\(name)=\(value)" }

        /// Anything that systemd understands and that has no name here; `value` is put on one line.
        public init(_ name: String, _ value: String) {
            // A line's end would begin another message.
            let flat = value.utf8.contains { $0 < 0x20 }
            self.name = name
            self.value =
                flat ? String(value.unicodeScalars.map { $0.value < 0x20 ? " " : Character($0) }) : value
        }

        private static func ofTheMoment(_ name: String, _ value: String) -> Message {
            var message = Message(name, value)
            message.isOfTheMoment = true
            return message
        }

        /// The service is up (or has reloaded). Units that wait for it continue.
        public static let ready = Message("READY", "1")
        /// The service is about to end.
        public static let stopping = Message("STOPPING", "1")
        /// Feeds the watchdog: the service is alive.
        public static let watchdog = ofTheMoment("WATCHDOG", "1")
        /// Asks to be treated as one that missed its watchdog: the service found out itself that it is broken.
        public static let watchdogTrigger = Message("WATCHDOG", "trigger")

        /// What the service is doing, for people: `systemctl status` shows it.
        public static func status(_ text: String) -> Message { ofTheMoment("STATUS", text) }

        /// Asks for more time to start, reload or stop: counted from now, and only while the manager waits.
        public static func extendTimeout(_ time: Duration) -> Message {
            ofTheMoment("EXTEND_TIMEOUT_USEC", String(time.microseconds))
        }

        /// Changes the time within which the watchdog wants to be fed.
        public static func watchdogInterval(_ time: Duration) -> Message {
            Message("WATCHDOG_USEC", String(time.microseconds))
        }

        /// The service's main process is another one.
        public static func mainProcess(_ identifier: Int32) -> Message {
            Message("MAINPID", String(identifier))
        }

        /// Why the service fails: an `errno`.
        public static func errorNumber(_ number: Int32) -> Message { Message("ERRNO", String(number)) }

        /// The exit status that the service is about to have.
        public static func exitStatus(_ status: Int32) -> Message {
            Message("EXIT_STATUS", String(status))
        }
    }
}

/// The manager's descriptor store: descriptors that outlive the process and come back to the next one, by name.
///
/// The manager keeps at most `FileDescriptorStoreMax=` of them and silently drops the rest; what is stored comes back
/// through ``ListenDescriptors`` after a restart, also after a crash, but not after a stop and a start.
extension Notifier {
    /// Stores descriptors under one name. They stay open here, and belong to the caller as before.
    ///
    /// ```swift
    /// let state = try StoredState.write(bytes, name: "fluxbus-state")
    /// try notifier.store([state], name: "state")
    /// close(state)
    /// ```
    ///
    /// - Parameters:
    ///   - name: At most 255 printable ASCII characters without `:`.
    ///   - droppingDead: Whether the manager closes a descriptor by itself when its peer hangs up. False for
    ///     descriptors that are complete without a peer, such as a ``DescriptorBundle``.
    public func store(
        _ descriptors: [Int32], name: String, droppingDead: Bool = true
    ) throws(SystemdError) {
        try Self.check(name: name)
        var messages = [Message("FDSTORE", "1"), Message("FDNAME", name)]
        if !droppingDead { messages.append(Message("FDPOLL", "0")) }
        var rest = descriptors[...]
        while !rest.isEmpty {
            let part = rest.prefix(DescriptorBundle.mostPerMessage)
            try send(messages, descriptors: Array(part))
            rest = rest.dropFirst(part.count)
        }
    }

    /// Lets the manager close all descriptors of this name. Until then the peer of a stored connection sees no end,
    /// even if the service has closed it.
    public func removeStored(named name: String) throws(SystemdError) {
        try send(Self.removal(ofStored: name))
    }

    /// What ``removeStored(named:)`` sends.
    public static func removal(ofStored name: String) throws(SystemdError) -> [Message] {
        try check(name: name)
        return [Message("FDSTOREREMOVE", "1"), Message("FDNAME", name)]
    }

    private static func check(name: String) throws(SystemdError) {
        let isFine = name.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7f && $0 != UInt8(ascii: ":") }
        guard isFine, !name.isEmpty, name.utf8.count <= 255 else {
            throw SystemdError(
                .name,
                "`\(name)` can't name stored descriptors; use up to 255 printable ASCII characters without \":\"."
            )
        }
    }
}

/// How often the manager wants a watchdog notification, if it does.
///
/// Why it is no timer: a watchdog that is fed by a timer of its own only shows that the timer works. Feed it from the
/// work that must not stall; this says only how often.
///
/// ```swift
/// if let watchdog = try Watchdog() {
///     scheduleOnTheCommitQueue(every: watchdog.beat) { notifications.tell(.watchdog) }
/// }
/// ```
public struct Watchdog: Sendable, Hashable {
    /// After this time without a beat the manager ends the service (`WatchdogSec=`).
    public let interval: Duration

    /// How often to feed it: half of the interval, as systemd advises, so that one beat may be late.
    public var beat: Duration { interval / 2 }

    /// Reads it from libsystemd (`sd_watchdog_enabled`), which removes the variables, so that children do
    /// not mistake them for theirs: call it once, before there are threads. Nil without a watchdog, or
    /// when it is another process's.
    ///
    /// - Throws: `environment` if `WATCHDOG_USEC` or `WATCHDOG_PID` holds no number, or an interval of nothing.
    public init?() throws(SystemdError) {
        var microseconds: UInt64 = 0
        let answer = sd_watchdog_enabled(1, &microseconds)
        guard answer >= 0 else {
            throw SystemdError(
                .environment,
                "WATCHDOG_USEC or WATCHDOG_PID is not a valid number; correct WatchdogSec=.",
                systemCode: -answer)
        }
        guard answer > 0 else { return nil }
        interval = .microseconds(Int64(clamping: microseconds))
    }
}
