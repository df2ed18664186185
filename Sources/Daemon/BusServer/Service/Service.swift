import Glibc
import Logging
import Systemd

/// This daemon as a service: what the service manager passed to it, and what it is told.
///
/// Without a manager everything here is empty or does nothing, so the rest of the daemon needs no second way. It is
/// used on the bus queue, apart from `init`, which comes first of all in `main`.
package struct Service: Sendable {
    /// The way to the manager: what is told here never makes the bus queue wait.
    let notifications: NotificationQueue
    /// How often the manager wants to hear of us.
    let watchdog: Watchdog?
    /// Sockets and stored descriptors that nobody has taken yet.
    var passed: ListenDescriptors
    /// All that was passed, whoever has taken it meanwhile.
    private let everythingPassed: ListenDescriptors
    /// Whether standard error leads to the journal, so that entries may go there with their fields.
    package let logsToJournal: Bool

    /// How long a start and an end wait for a manager that does not read.
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

    /// The manager that this process's variables speak of; those that children could take for theirs are removed. Only
    /// before there are threads.
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

    /// For a start that fails for good: connections that wait at passed sockets see their end instead of starting us again
    /// and again. The sockets must still be open.
    package func turnAway() { _ = try? everythingPassed.turnAwayWaiting() }

    // MARK: - Telling

    /// Whether there is a manager that hears.
    var isHeard: Bool { notifications.notifier.isHeard }

    /// Tells the manager something; that it does not listen is no reason to do anything else.
    func tell(_ messages: Notifier.Message...) { notifications.tell(messages) }

    /// Why the start failed, for `systemctl status`.
    package func tellFailure(_ failure: StartFailure) {
        // A notification that is too long is read by nobody.
        tell(.status(String(failure.messages.joined(separator: " ").prefix(1024))))
        finishTelling()
    }

    func tellReloading() { notifications.tell(Notifier.reload()) }

    /// Before the process ends: waits, for a while, until the manager has been told everything.
    package func finishTelling() { notifications.flush(within: patience) }

    /// A manager that can't be told anything is worth a line, whatever else goes on.
    func report(to logger: Logger) {
        notifications.reportFailures {
            logger.warning("the service manager does not hear of this daemon: \($0)")
        }
    }

    // MARK: - Stored descriptors

    /// Hands descriptors over to the manager, each under its name: they are its when this returns. They are closed here in any
    /// case, as soon as nothing waits for the manager any more.
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
            // Some may be there, or come there yet.
            for stored in descriptors {
                guard let removal = try? Notifier.removal(ofStored: stored.name) else { continue }
                notifications.tell(removal)
            }
            throw error
        }
    }

    /// Lets go of what is stored under these names, and waits for a while until the manager has been told.
    func forget(_ names: String...) throws(SystemdError) {
        try notifications.perform(within: patience) { notifier throws(SystemdError) in
            for name in names { try notifier.removeStored(named: name) }
        }
    }
}
