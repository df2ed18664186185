import Glibc
import Systemd

/// This daemon as a service: what the service manager passed to it, and what it is told.
///
/// Without a manager everything here is empty or does nothing, so the rest of the daemon needs no second way. It is
/// used on the bus queue, apart from `init`, which comes first of all in `main`.
package struct Service: Sendable {
    /// What tells the manager, and how often it wants to hear of us.
    let notifier: Notifier
    let watchdog: Watchdog?
    /// Sockets and stored descriptors that nobody has taken yet.
    var passed: ListenDescriptors
    /// All that was passed, whoever has taken it meanwhile.
    private let everythingPassed: ListenDescriptors
    /// Whether standard error leads to the journal, so that entries may go there with their fields.
    package let logsToJournal: Bool

    /// No manager.
    package static var none: Service {
        guard let service = try? Service(ServiceEnvironment(variables: [:])) else {
            preconditionFailure("An empty environment says nothing that could be wrong.")
        }
        return service
    }

    /// The manager that this process's variables speak of, which are removed. Only before there are threads.
    package static func take() throws(StartFailure) -> Service { try Service(ServiceEnvironment.take()) }

    /// The manager that these variables speak of.
    package init(_ environment: ServiceEnvironment, firstDescriptor: Int32 = 3) throws(StartFailure) {
        do throws(SystemdError) {
            notifier = try Notifier(environment)
            watchdog = try Watchdog(environment)
            everythingPassed = try ListenDescriptors(environment, first: firstDescriptor)
            passed = everythingPassed
            logsToJournal = Journal.isStandardError(environment)
        } catch {
            throw StartFailure(.system, "The service manager: \(error)")
        }
    }

    /// The sockets that the manager passed under a name.
    mutating func listeners(named name: String) throws(SystemdError) -> [Int32] {
        try passed.take(named: name, as: .streamListener)
    }

    /// For a start that fails for good: connections that wait at passed sockets see their end instead of starting us again
    /// and again. The sockets must still be open.
    package func turnAway() { _ = try? everythingPassed.turnAwayWaiting() }

    // MARK: - Telling

    /// Tells the manager something; that it does not listen is no reason to do anything else.
    func tell(_ messages: Notifier.Message...) { try? notifier.send(messages, waiting: false) }

    /// Why the start failed, for `systemctl status`.
    package func tellFailure(_ failure: StartFailure) {
        // A notification that is too long is read by nobody.
        tell(.status(String(failure.messages.joined(separator: " ").prefix(1024))))
    }

    func tellReloading() { try? notifier.reloading() }
}
