import Glibc
import Logging
import Systemd

/// This daemon as a service: what the service manager passed to it, and the notifications to the manager.
///
/// Without a manager everything here is empty or does nothing, so the rest of the daemon needs no separate path. It is
/// used on the bus queue, apart from `init`, which comes first of all in `main`.
package struct Service: Sendable {
    /// The notifications to the manager: sending one never makes the bus queue wait.
    let notifications: NotificationQueue
    /// How often the manager wants a watchdog notification.
    let watchdog: Watchdog?
    /// From then on the manager counts on the watchdog's notifications.
    var isReady = false
    /// Sockets and stored descriptors that are not in use yet.
    var passed: ListenDescriptors
    /// All that was passed, whether or not it is in use.
    private let everythingPassed: ListenDescriptors
    /// Whether standard error leads to the journal, so that entries may go there with their fields.
    package let logsToJournal: Bool

    /// How long a start and a stop wait for a manager that does not read.
    private let patience: Duration

    /// No manager, whatever the environment says.
    package static var none: Service { Service() }

    private init() {
        notifications = NotificationQueue(.silent)
        watchdog = nil
        everythingPassed = ListenDescriptors([])
        passed = everythingPassed
        logsToJournal = false
        patience = .zero
    }

    /// The manager named by this process's variables; those that children could mistake for theirs are removed. Call it
    /// only before there are threads.
    package static func take(patience: Duration = .seconds(5)) throws(StartFailure) -> Service {
        do throws(SystemdError) {
            return try Service(watchdog: Watchdog(), passed: ListenDescriptors(), patience: patience)
        } catch {
            throw StartFailure(.system, "The service manager: \(error)")
        }
    }

    private init(watchdog: Watchdog?, passed: ListenDescriptors, patience: Duration) {
        notifications = NotificationQueue(Notifier())
        self.watchdog = watchdog
        self.patience = patience
        everythingPassed = passed
        self.passed = passed
        logsToJournal = Journal.isStandardError()
    }

    /// The sockets that the manager passed under a name.
    mutating func listeners(named name: String) throws(SystemdError) -> [Int32] {
        try passed.take(named: name, as: .streamListener)
    }

    /// For a start that fails for good: connections that wait at passed sockets see their end instead of starting us
    /// again and again. The sockets must still be open.
    package func turnAway() { _ = try? everythingPassed.turnAwayWaiting() }

    // MARK: - Notifications

    /// Whether there is a manager that receives notifications.
    var isHeard: Bool { notifications.notifier.isHeard }

    /// Notifies the manager; if it does not listen, the daemon continues as usual.
    func tell(_ messages: Notifier.Message...) { notifications.tell(messages) }

    /// What is waited for, for longer than the manager allows a start, or a turn of a service that is ready.
    func tellWaiting(for reason: String) {
        tell(.status(reason), .extendTimeout(.seconds(30)))
        if isReady, watchdog != nil { tell(.watchdog) }
    }

    /// Why the start failed, for `systemctl status`.
    package func tellFailure(_ failure: StartFailure) {
        // A notification that is too long is not read.
        tell(.status(String(failure.messages.joined(separator: " ").prefix(1024))))
        finishTelling()
    }

    func tellReloading() { notifications.tell(Notifier.reload()) }

    /// Before the process ends: waits, for a while, until the manager has all notifications.
    package func finishTelling() { notifications.flush(within: patience) }

    /// A manager that can't be notified is worth a line in the log, whatever else goes on.
    func report(to logger: Logger) {
        notifications.reportFailures {
            logger.warning("the service manager can't be notified: \($0)")
        }
    }

    // MARK: - Stored descriptors

    /// Hands descriptors over to the manager, each under its name: when this returns, the manager has them. They are
    /// closed here in any case, as soon as nothing waits for the manager any more.
    func store(_ descriptors: [(name: String, descriptor: Int32)]) throws(SystemdError) {
        do throws(SystemdError) {
            try notifications.perform(within: patience) { [patience] notifier throws(SystemdError) in
                defer { for stored in descriptors { close(stored.descriptor) } }
                for stored in descriptors {
                    try notifier.store([stored.descriptor], name: stored.name, droppingDead: false)
                }
                try notifier.settle(within: patience)
            }
        } catch {
            // Some may have arrived, or may still arrive.
            for stored in descriptors {
                guard let removal = try? Notifier.removal(ofStored: stored.name) else { continue }
                notifications.tell(removal)
            }
            throw error
        }
    }

    /// Removes what is stored under these names, and waits for a while until the manager has been notified.
    func forget(_ names: String...) throws(SystemdError) {
        try notifications.perform(within: patience) { notifier throws(SystemdError) in
            for name in names { try notifier.removeStored(named: name) }
        }
    }
}
