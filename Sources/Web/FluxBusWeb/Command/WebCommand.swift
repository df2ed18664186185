import ArgumentParser
import BusProtocol
import BusSystem
import Dispatch
import FluxBus
import Glibc
import Systemd

/// `fluxbus-web`: flags, signals and exit codes around `WebServer`.
struct WebCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fluxbus-web",
        abstract: "Shows a bus in a browser, and serves its wire over WebSocket and its metrics.",
        usage: "fluxbus-web [--address BUS] [--listen ADDRESS]... [options]",
        discussion: """
            It prints the address to open, and opens it itself where it is started in a desktop's terminal. Where the bus is reached over its Unix socket, that address holds a \
            token which signs one browser in, for 12 hours, also across restarts; browsers then act as the user who \
            runs this program. Where the bus is reached over TCP or TLS, the page asks for a token of the bus.

            /metrics is for Prometheus, /health has the counters of the last hour, /healthz says whether the bus answers, \
            /bus is the wire over WebSocket, /v1 is the bus over plain HTTP, and /hooks/NAME takes what other programs post.

            ENVIRONMENT:
              FLUXBUS_ADDRESS     the bus, as --address
              FLUXBUS_CA, FLUXBUS_CERTIFICATE, FLUXBUS_KEY   as --ca, --certificate and --certificate-key
              STATE_DIRECTORY, XDG_STATE_HOME   where the key is kept that signs sessions

            SIGNALS:
              SIGTERM, SIGINT     close all connections, within 2 s; a second one ends at once
              SIGHUP              read the certificate and key of HTTPS, and the files of hooks, again; what is wrong is \
            refused, and stays as before

            EXIT CODES:
              0    stopped by a signal, or idle; with --check: all hooks OK
              64   the command line is wrong
              71   the system refused a socket or a thread
              75   an address is in use; try again
              78   an address, a certificate or a file is wrong
            """,
        version: Version.line(of: "fluxbus-web"))

    @OptionGroup var options: WebOptions
}

/// The program.
package enum WebProgram {
    package static func main() -> Never {
        // First of all, before there are threads: the service manager's variables are for this process alone.
        let passed = Result { () throws(SystemdError) in try ListenDescriptors() }
        do {
            var command = try WebCommand.parseAsRoot()
            guard let web = command as? WebCommand else {
                try command.run()
                WebCommand.exit()
            }
            try run(web.options, passed)
            WebCommand.exit()
        } catch {
            if let passed = try? passed.get(), WebCommand.exitCode(for: error) != .success {
                _ = try? passed.turnAwayWaiting()
            }
            guard let failure = error as? WebFailure else { WebCommand.exit(withError: error) }
            say(failure)
            WebCommand.exit(withError: ExitCode(failure.code.rawValue))
        }
    }

    private static func run(
        _ options: WebOptions, _ passed: Result<ListenDescriptors, SystemdError>
    ) throws(WebFailure) {
        var descriptors: ListenDescriptors
        do throws(SystemdError) {
            descriptors = try passed.get()
        } catch {
            throw WebFailure(.configuration, error.message)
        }
        let environment = ProcessVariables.all
        let setup = try options.setup(environment)
        if options.check {
            let names = try setup.checkHooks()
            return StandardStream.output.write(
                "fluxbus-web: \(names.count) hooks OK\(names.isEmpty ? "" : ": " + names.joined(separator: ", "))"
            )
        }
        let signals = ServiceSignals()
        let listeners = try WebServer.listen(setup, &descriptors)
        let server = try Waiting.result { () async throws(WebFailure) in
            try await WebServer(setup, on: listeners) { signals.end() }
        }
        for stranger in descriptors.remaining { close(stranger.descriptor) }
        announce(server)
        let page =
            options.open ?? Desktop.isThere(environment)
            ? Desktop.open(server.link, environment) { reason in
                StandardStream.errors.write(
                    "fluxbus-web: No browser was opened, because \(reason); open the link yourself.")
            } : nil
        defer { page?.remove() }
        let notifier = Notifier()
        try? notifier.send(.ready, .status("Listening on \(server.addresses.joined(separator: ", "))."))
        signals.wait {
            reload("The old certificate stays in use.") { () throws(WebFailure) in
                try server.reloadCertificate()
            }
            reload("The hooks stay as they were.") { () throws(WebFailure) in try server.reloadHooks() }
        }
        try? notifier.send(.stopping)
        try Waiting.result { () async throws(WebFailure) in await server.stop() }
    }

    /// - Parameter otherwise: What it means that it can't be done.
    private static func reload(_ otherwise: String, _ body: () throws(WebFailure) -> Void) {
        do throws(WebFailure) {
            try body()
        } catch {
            say(WebFailure(error.code, "\(error)\n\(otherwise)"))
        }
    }

    private static func say(_ failure: WebFailure) {
        for line in failure.description.split(separator: "\n") {
            StandardStream.errors.write("fluxbus-web: \(line)")
        }
    }

    /// Prints the address to open, and in a terminal what it is. What goes to the journal is there for others to read, so no
    /// token does.
    private static func announce(_ server: WebServer) {
        guard Surroundings.outputIsJournal else {
            StandardStream.output.write(server.link)
            guard isatty(STDOUT_FILENO) == 1 else { return }
            let meaning =
                server.link.contains("#")
                ? "This link signs in one browser, once, for 12 hours, and everything is done there in your name."
                : "The page asks for a token of the bus."
            return StandardStream.errors.write("fluxbus-web: \(meaning) Ctrl-C ends the server.")
        }
        StandardStream.output.write(String(server.link.prefix { $0 != "#" }))
        if server.link.contains("#") {
            StandardStream.errors.write(
                "fluxbus-web: The link that signs in is not written to the journal; let the service reach the bus over TCP with "
                    + "tokens, or start fluxbus-web in a terminal.")
        }
    }
}

/// What the process finds around it.
enum Surroundings {
    /// Whether standard output goes to the journal: systemd says which stream it is.
    static var outputIsJournal: Bool {
        guard let said = getenv("JOURNAL_STREAM").map({ String(cString: $0) }) else { return false }
        var status = stat()
        return fstat(STDOUT_FILENO, &status) == 0 && said == "\(status.st_dev):\(status.st_ino)"
    }
}

/// Why the web server does not start, with the exit code: those of `fluxbusd`.
package struct WebFailure: Error, CustomStringConvertible {
    package enum Code: Int32, Sendable {
        /// The system refuses something for which nobody here is to blame.
        case system = 71
        /// An address is in use: try again later.
        case inUse = 75
        /// What was asked for can't be, or a file is wrong.
        case configuration = 78
    }

    package let code: Code
    /// One sentence that says what to do.
    package let description: String

    package init(_ code: Code, _ description: String) {
        self.code = code
        self.description = description
    }
}
