import Glibc

/// The variables with which a service manager speaks to the processes it starts.
///
/// Why not read them where they are needed: they are meant for one process, so they must be gone before it starts
/// others; and tests stand in for the manager by writing them. Everything in this library takes them from here.
///
/// ```swift
/// let environment = ServiceEnvironment.take()        // first thing in main
/// let notifier = try Notifier(environment)
/// var sockets = try ListenDescriptors(environment)
/// ```
public struct ServiceEnvironment: Sendable {
    /// The variables by name. Those that are absent mean what systemd's manual says about their absence.
    public var variables: [String: String]
    /// The process that they should be meant for: this one.
    public var processIdentifier: Int32

    /// What a manager would have said, for tests.
    public init(variables: [String: String], processIdentifier: Int32 = getpid()) {
        self.variables = variables
        self.processIdentifier = processIdentifier
    }

    private static let own = [
        "NOTIFY_SOCKET", "LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES", "WATCHDOG_PID", "WATCHDOG_USEC",
    ]

    /// Reads the variables of this process, and removes those that its own children must not take for theirs.
    ///
    /// Changing variables is not safe beside threads that read them: call it in `main` before there are any, once.
    public static func take() -> ServiceEnvironment {
        let taken = read()
        for name in own { unsetenv(name) }
        return taken
    }

    /// Reads the variables of this process and leaves them as they are.
    public static func read() -> ServiceEnvironment {
        var variables: [String: String] = [:]
        for name in own + ["JOURNAL_STREAM", "INVOCATION_ID", "STATE_DIRECTORY", "RUNTIME_DIRECTORY"] {
            if let value = getenv(name) { variables[name] = String(cString: value) }
        }
        return ServiceEnvironment(variables: variables)
    }

    /// A variable that holds a whole number, not negative; nil if it is absent.
    func number(_ name: String) throws(SystemdError) -> UInt64? {
        guard let text = variables[name] else { return nil }
        guard let number = UInt64(text) else {
            throw SystemdError(
                .environment, "\(name) is \"\(text)\", which is no number; start the service without it.")
        }
        return number
    }

    /// Whether a variable with a process identifier names this process; true if it is absent.
    func isMeantForUs(_ name: String) throws(SystemdError) -> Bool {
        guard let number = try number(name) else { return true }
        return number == UInt64(processIdentifier)
    }
}
