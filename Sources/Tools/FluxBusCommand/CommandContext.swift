import FluxBus

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// The surroundings of a command: those of the process, or of a test.
package struct CommandContext {
    package var environment: [String: String]
    /// The descriptor of standard input.
    package var input: Int32
    package var output: Channel
    package var messages: Channel
    /// The time of day, in milliseconds since 1970.
    package var now: () -> Int
    /// The time zone in which people write and read times.
    package var calendar: LocalCalendar
    /// The name of a user of this machine.
    package var userName: @Sendable (Int) -> String?

    package init(
        environment: [String: String], input: Int32, output: Channel, messages: Channel,
        now: @escaping () -> Int = CommandContext.systemTime, calendar: LocalCalendar = .system,
        userName: @escaping @Sendable (Int) -> String? = { _ in nil }
    ) {
        self.environment = environment
        self.input = input
        self.output = output
        self.messages = messages
        self.now = now
        self.calendar = calendar
        self.userName = userName
    }

    /// The context of this process.
    package static func process() -> CommandContext {
        CommandContext(
            environment: processEnvironment(), input: STDIN_FILENO,
            output: Channel(descriptor: STDOUT_FILENO),
            messages: Channel(descriptor: STDERR_FILENO), userName: AccountTable.name)
    }

    package static func systemTime() -> Int {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return time.tv_sec * 1000 + time.tv_nsec / 1_000_000
    }

    /// The variables that matter to this command; nothing else of the environment is read.
    private static func processEnvironment() -> [String: String] {
        let names =
            [
                "FLUXBUS_ADDRESS", "FLUXBUS_TOKEN", "XDG_RUNTIME_DIR", "NO_COLOR", "TERM", "COLUMNS",
                "LC_ALL", "LC_CTYPE", "LANG",
            ]
            + TLSOptions.variables
        var environment: [String: String] = [:]
        for name in names {
            if let value = getenv(name) { environment[name] = String(cString: value) }
        }
        return environment
    }

    /// Prepares the process for writing: descriptors 0 to 2 are open (so that no socket takes the place of a closed
    /// standard output), and writing to a closed reader ends it quietly.
    package static func prepareProcess() {
        for descriptor in Int32(0)...2 where fcntl(descriptor, F_GETFD) == -1 {
            _ = open("/dev/null", O_RDWR)
        }
        signal(SIGPIPE, SIG_DFL)
    }
}
