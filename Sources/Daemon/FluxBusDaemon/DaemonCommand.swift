import ArgumentParser
import BusProtocol
import BusServer
import BusSystem
import BusTypes
import Glibc
import Logging

/// The command line of the daemon. Everything it does is in `BusServer`; here are flags, signals and exit codes.
struct DaemonCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: ProgramName.text,
        abstract: "Hosts stores of typed state and tells everybody what changed.",
        usage:
            "\(ProgramName.text) [--config FILE] [--listen ADDRESS]... [--types DIR] [--check|--verify|--restore COPY|--compact|--rescue STEP]",
        discussion: """
            Without --config the configuration is read from /etc/fluxbus/fluxbusd.yaml, which may be absent \
            when an address to listen on is given by --listen or FLUXBUS_LISTEN.

            Flags override the environment, which overrides the file; a list replaces the list below it.

            ENVIRONMENT:
              FLUXBUS_CONFIG      the configuration file, as --config
              FLUXBUS_LISTEN      addresses, comma-separated, as --listen
              FLUXBUS_TYPES       the directory of state types, as --types
              FLUXBUS_STORES      stores, comma-separated, as --store
              FLUXBUS_TOKENS      the file of tokens, as --tokens
              FLUXBUS_LOG         the file of the action log, as --log
              FLUXBUS_SYNC        always, interval or never, as --sync
              FLUXBUS_LIMITS      limits, comma-separated, as --limit
              FLUXBUS_LOG_LEVEL   as --log-level
              FLUXBUS_IO_URING    off: io_uring is not used, though the kernel has it

            SIGNALS:
              SIGTERM, SIGINT     say goodbye to all clients, at most 5 s; a second one ends at once
              SIGHUP              read configuration, limits, tokens and state types again; what is wrong is
                                  refused, and everything stays as before
              SIGUSR1             the SIGTERM that follows is half of a restart: under systemd, clients are
                                  handed over to the next daemon instead of hearing a goodbye

            EXIT CODES:
              0    stopped by a signal; with --check: configuration OK; with --verify: log OK
              64   the command line is wrong
              65   with --verify: the log is damaged; with --restore, --import or --rescue: the file is
              70   the states of this member differ from those of the others
              71   the system refused a socket or a thread
              74   the action log can't be read or written
              75   an address or the log is in use, by a daemon that answers, or another member has this one's name, or
                   it is too old for the bus
              78   the configuration, a state type, a token file or a store is wrong
            """,
        version: (ProgramName.text == ProgramName.standard ? "" : "\(ProgramName.text), of ")
            + Version.line(of: ProgramName.standard, logForm: BusServer.logForm))

    @Option(help: ArgumentHelp("Read the configuration from this file.", valueName: "file"))
    var config: String?

    @Option(
        help: ArgumentHelp(
            "Listen here: unix:/path, tcp:host:port, or systemd:name for the sockets that systemd passes under this FileDescriptorName. May be repeated.",
            valueName: "address")
    )
    var listen: [String] = []

    @Option(help: ArgumentHelp("Read the state types (*.yaml, *.json) in this directory.", valueName: "dir"))
    var types: String?

    @Option(
        help: ArgumentHelp("Create this store at the start: type/name. May be repeated.", valueName: "store"))
    var store: [String] = []

    @Option(
        help: ArgumentHelp("Take the tokens of TCP clients from this file, mode 0600.", valueName: "file"))
    var tokens: String?

    @Option(
        help: ArgumentHelp(
            "Keep the action log in this file; without one, everything is in memory only.", valueName: "file")
    )
    var log: String?

    @Option(
        help: ArgumentHelp(
            "When the log is synced: always (before anything leaves), interval (every second) or never (by the kernel).",
            valueName: "mode"))
    var sync: String?

    @Option(
        help: ArgumentHelp(
            "Set a limit: line=64KiB, connections=100. May be repeated.", valueName: "name=value"))
    var limit: [String] = []

    @Option(
        help: ArgumentHelp(
            "Log from this level on: trace, debug, info, notice, warning, error or critical (default: info).",
            valueName: "level"))
    var logLevel: String?

    @Flag(help: "Check the configuration, all state types with their tests, and stores, and exit.")
    var check = false

    @Flag(help: "With --check: leave out the tests that files of state types have.")
    var noTests = false

    @Flag(
        help:
            "Replay the whole log, compare the states with its snapshots, and exit; also beside a running daemon."
    )
    var verify = false

    @Flag(
        help:
            "Begin the bus over several machines that cluster: names with the history of this machine's log, if it has not begun yet."
    )
    var clusterInit = false

    @Option(
        help: ArgumentHelp(
            "Replace the log by this copy, after verifying it, and exit. It becomes a history of its own; the log that it replaces is kept beside it.",
            valueName: "copy"))
    var restore: String?

    @Option(
        name: .customLong("import"),
        help: ArgumentHelp(
            "Make the log of what fluxbus export --faithful has written, where nothing was ever committed, and exit; - reads standard input. Times, authors, revisions and the epoch stay.",
            valueName: "file"))
    var importedFile: String?

    @Flag(
        help:
            "Rewrite the log while no daemon has it, in as little room as it needs, and exit; a daemon that runs does so by `fluxbus compact`."
    )
    var compact = false

    @Option(
        help: ArgumentHelp(
            "Bring a bus over several machines back, while the daemon here is stopped, and exit: look, begin or replace, as fluxbus cluster rescue.",
            valueName: "step"))
    var rescue: RescueStep?

    @Option(
        help: ArgumentHelp("With --rescue begin: begin the bus with this file.", valueName: "copy"))
    var copy: String?

    @Flag(help: "With --rescue: do it, instead of only telling what would be done.")
    var yes = false

    /// Whether it starts a daemon, and does not only check the configuration, or verify, restore, import, compact or rescue a log.
    private var isDaemon: Bool {
        !check && !verify && restore == nil && importedFile == nil && !compact && rescue == nil
    }

    func validate() throws {
        let works = [check, verify, restore != nil, importedFile != nil, compact, rescue != nil]
        if works.count(where: { $0 }) > 1 {
            throw ValidationError(
                "--check, --verify, --restore, --import, --compact and --rescue are done one at a time; choose one."
            )
        }
        if copy != nil, rescue != .begin {
            throw ValidationError("Only --rescue begin takes a copy; leave --copy out.")
        }
        if yes, rescue == nil { throw ValidationError("Only --rescue waits for --yes; leave it out.") }
        if noTests, !check { throw ValidationError("Only --check runs tests; leave --no-tests out.") }
    }

    /// Runs the daemon with these Swift states beside the declared types.
    func run(serving states: [any SharedState.Type], under manager: Result<Service, StartFailure>) throws {
        do throws(StartFailure) {
            let service = try manager.get()
            do throws(StartFailure) {
                try run(serving: states, service)
            } catch {
                report(error, to: service)
                throw error
            }
        } catch {
            if case .failure = manager { FileStream.stderr.write(error.description) }
            throw ExitCode(error.code.rawValue)
        }
    }

    private func run(serving states: [any SharedState.Type], _ service: Service) throws(StartFailure) {
        let environment = ProcessVariables.all
        let (setup, level): (ServerSetup, Logger.Level)
        do throws(StartFailure) {
            level = try self.level(environment)
            let natives = try FluxBusDaemon.compile(states)
            let flags = ConfigurationOverrides(
                config: config, listen: listen, tokens: tokens, types: types, stores: store, limits: limit,
                log: log, sync: sync)
            let variables = ConfigurationOverrides(environment: environment)
            setup =
                restore == nil && importedFile == nil && !compact && rescue == nil
                ? try ServerSetup.load(
                    flags: flags, environment: variables, natives: natives,
                    purpose: verify ? .verifying : .serving)
                : try ServerSetup.loadForLog(flags: flags, environment: variables, natives: natives)
        } catch {
            if isDaemon { service.turnAway() }
            throw error
        }
        if check {
            let tests = try setup.check(runsTests: !noTests)
            let addresses = setup.configuration.listen.map(\.text)
            for remark in setup.remarks { FileStream.stderr.write(remark) }
            FileStream.stdout.write(
                "\(ProgramName.text): configuration OK: \(setup.summary(addresses: addresses))"
                    + (tests == 0 ? "" : "; \(tests) \(tests == 1 ? "test passes" : "tests pass")"))
            return
        }
        if verify { return try verify(setup) }
        if let restore {
            let meter = ProgressLine("verifying the copy")
            defer { meter.erase() }
            return try BusServer.restore(restore, setup, progress: meter.reached) { meter.write($0) }
        }
        if let importedFile {
            let meter = ProgressLine("verifying the history")
            defer { meter.erase() }
            return try BusServer.importHistory(importedFile, setup, progress: meter.reached) {
                meter.write($0)
            }
        }
        if let rescue {
            let meter = ProgressLine("verifying the copy")
            defer { meter.erase() }
            return try BusServer.rescue(
                rescue, with: copy, isSure: yes, setup, progress: meter.reached
            ) { meter.write($0) }
        }
        if compact { return try BusServer.compact(setup) { FileStream.stdout.write($0) } }
        try serve(setup, service, logger(level, service))
    }

    private func verify(_ setup: ServerSetup) throws(StartFailure) {
        let meter = ProgressLine("verifying")
        defer { meter.erase() }
        let isRight = try BusServer.verify(setup, progress: meter.reached) { meter.write($0) }
        guard isRight else {
            throw StartFailure(
                .damaged,
                "The log is damaged; restore a backup with --restore, or run --compact if a line above says so."
            )
        }
    }

    private func serve(
        _ setup: ServerSetup, _ service: Service, _ logger: Logger
    ) throws(StartFailure) {
        try DescriptorLimit.raise(for: setup, logger)
        try ThreadLimit.check()
        do throws(StartFailure) {
            try setup.checkPlaces()
        } catch {
            service.turnAway()
            throw error
        }
        for warning in setup.warnings { logger.warning("\(warning)") }
        let server = BusServer(setup, service: service, logger: logger)
        server.watchMemory()
        server.bringsHistory = clusterInit
        Signals.take(for: server)
        let addresses = try server.start()
        server.releaseStart()
        let summary = "\(Version.text): listening on \(setup.summary(addresses: addresses))"
        if service.logsToJournal {
            logger.notice("\(summary)", metadata: LogKind.ready.metadata)
        } else {
            // An operator who starts it by hand wants to see this at every level.
            FileStream.stderr.write("\(ProgramName.text) \(summary)")
        }
        server.waitUntilStopped()
        if let failure = server.failure { throw failure }
        logger.info("stopped")
    }

    /// Into the undo log with all its fields where that is where standard error goes, else lines of text.
    private func logger(_ level: Logger.Level, _ service: Service) -> Logger {
        if service.logsToJournal,
            let undoLog = try? JournalLogHandler(level: level, identifier: ProgramName.text)
        {
            return Logger(label: ProgramName.text) { _ in undoLog }
        }
        return Logger(label: ProgramName.text) { _ in LineLogHandler(level: level) }
    }

    /// Reports why it does not start, wherever an operator may look.
    private func report(_ failure: StartFailure, to service: Service) {
        service.tellFailure(failure)
        guard service.logsToJournal, isDaemon else {
            for message in failure.messages { FileStream.stderr.write(message) }
            return
        }
        // Nothing is served any more, so this may wait.
        let undoLog = JournalLogHandler.waiting(level: .error, identifier: ProgramName.text)
        let logger = Logger(label: ProgramName.text) { _ in undoLog }
        let kind = failure.code == .configuration ? LogKind.wrongConfiguration.metadata : [:]
        for message in failure.messages { logger.error("\(message)", metadata: kind) }
    }

    private func level(_ environment: [String: String]) throws(StartFailure) -> Logger.Level {
        let named =
            logLevel.map { ($0, "--log-level") }
            ?? environment["FLUXBUS_LOG_LEVEL"].flatMap { $0.isEmpty ? nil : ($0, "FLUXBUS_LOG_LEVEL") }
        guard let (text, source) = named else { return .info }
        return try LogLevelText.read(text, from: source)
    }
}

extension RescueStep: ExpressibleByArgument {}

/// The name of this program, for its help and its messages: a custom daemon has its own name.
enum ProgramName {
    static let text: String = {
        let path = CommandLine.arguments.first ?? ""
        let name = path.split(separator: "/").last.map(String.init) ?? ""
        return name.isEmpty ? standard : name
    }()

    /// The name where the process has none.
    static let standard = "fluxbusd"
}

/// Draws how far a check of a log is, where messages go to a terminal, once it takes long; it is gone at the end.
final class ProgressLine {
    private let bar: ProgressBar
    private let isTerminal = isatty(STDERR_FILENO) == 1
    private let start = ContinuousClock.now
    private var next = ProgressBar.patience
    private var isDrawn = false

    init(_ label: String) { bar = ProgressBar(label) }

    func reached(_ done: Int, of total: Int) {
        guard isTerminal else { return }
        let elapsed = (ContinuousClock.now - start).seconds
        guard elapsed >= next else { return }
        next = elapsed + ProgressBar.interval
        var size = winsize()
        let columns = ioctl(STDERR_FILENO, UInt(TIOCGWINSZ), &size) == 0 ? Int(size.ws_col) : 0
        // The last column stays free: behind it some terminals begin a new line.
        let width = (columns > 0 ? columns : 80) - 1
        FileStream.stderr.write(
            part: "\r\u{1b}[K" + bar.text(done: done, total: total, elapsed: elapsed, width: width))
        isDrawn = true
    }

    /// Writes a line of the result above it.
    func write(_ line: String) {
        erase()
        FileStream.stdout.write(line)
    }

    func erase() {
        guard isDrawn else { return }
        isDrawn = false
        FileStream.stderr.write(part: "\r\u{1b}[K")
    }
}

/// Whole lines to the standard streams. The reader may have stopped reading: the daemon waits no longer for it than
/// people do, and must end even if it can't report why.
enum FileStream: Int32 {
    case stdout = 1
    case stderr = 2

    /// How long a line waits for room, in milliseconds.
    private static let patience: Int32 = 1000
    /// As many bytes as a pipe with room accepts without blocking: `PIPE_BUF`.
    private static let piece = 4096

    func write(_ text: String) { write(part: text + "\n") }

    /// Writes what does not end its line.
    func write(part text: String) {
        var text = text
        text.withUTF8 { bytes in
            var rest = bytes[...]
            while !rest.isEmpty {
                var room = pollfd(fd: rawValue, events: Int16(POLLOUT), revents: 0)
                let isReady = poll(&room, 1, Self.patience)
                if isReady < 0, errno == EINTR { continue }
                if isReady == 0 { return }
                let piece = UnsafeBufferPointer(rebasing: rest.prefix(Self.piece))
                let count = Glibc.write(rawValue, piece.baseAddress, piece.count)
                if count < 0, errno == EINTR { continue }
                // The stream has no reader.
                if count <= 0 { return }
                rest = rest.dropFirst(count)
            }
        }
    }
}
