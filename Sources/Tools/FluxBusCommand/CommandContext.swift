import BusJSON
import BusSystem
import FluxBus
import Glibc

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
    /// The number of a user of this machine.
    package var userNumber: @Sendable (String) -> Int?

    package init(
        environment: [String: String], input: Int32, output: Channel, messages: Channel,
        now: @escaping () -> Int = CommandContext.systemTime, calendar: LocalCalendar = .system,
        userName: @escaping @Sendable (Int) -> String? = { _ in nil },
        userNumber: @escaping @Sendable (String) -> Int? = { _ in nil }
    ) {
        self.environment = environment
        self.input = input
        self.output = output
        self.messages = messages
        self.now = now
        self.calendar = calendar
        self.userName = userName
        self.userNumber = userNumber
    }

    /// The context of this process.
    package static func process() -> CommandContext {
        CommandContext(
            environment: processEnvironment(), input: STDIN_FILENO,
            output: Channel(descriptor: STDOUT_FILENO),
            messages: Channel(descriptor: STDERR_FILENO),
            userName: { uid_t(exactly: $0).flatMap(Accounts.user)?.name },
            userNumber: { Accounts.user(named: $0).map { Int($0.number) } })
    }

    package static func systemTime() -> Int { SystemClock.milliseconds }

    /// The variables that matter to this command; nothing else of the environment is read.
    private static func processEnvironment() -> [String: String] {
        let names =
            [
                "FLUXBUS_ADDRESS", "FLUXBUS_TOKEN", "XDG_RUNTIME_DIR", "NO_COLOR", "TERM", "COLUMNS",
                "LC_ALL", "LC_CTYPE", "LANG", "TRACEPARENT",
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

/// One run of a command: its options resolved against the environment, its console, its connection to the bus.
package struct CommandSession {
    package let options: GlobalOptions
    package let context: CommandContext
    package let console: Console
    /// The names of the users of the machine where the bus is; empty when that is another one.
    package let users: UserNames

    /// When the command must be done; nil for one that goes on as long as somebody wants.
    private let end: Deadline?

    package init(options: GlobalOptions, context: CommandContext, isOpenEnded: Bool = true) {
        self.options = options
        end = isOpenEnded ? nil : Deadline(after: options.timeout.duration)
        self.context = context
        console = Console(context: context, options: options)
        let addresses = try? BusAddress.list(options.address, environment: context.environment)
        let isHere = addresses?.contains(where: \.isRemote) == false
        users = isHere ? UserNames(lookUp: context.userName, lookUpNumber: context.userNumber) : .none
    }

    /// Where the bus may be, in the order in which that is tried.
    package func addresses() throws(BusError) -> [BusAddress] {
        try BusAddress.list(options.address, environment: context.environment)
    }

    /// When the reply to a request sent now must have come.
    package var replyDeadline: Deadline { end ?? Deadline(after: options.timeout.duration) }

    package func connect(until deadline: Deadline? = nil) throws -> BusConnection {
        let addresses = try addresses()
        var token: String?
        let tls = TLSOptions(ca: options.ca, certificate: options.certificate, key: options.key)
            .filled(from: context.environment)
        if addresses.contains(where: \.isRemote) {
            token = try TokenSource(file: options.tokenFile, environment: context.environment).token()
            guard token != nil || addresses.allSatisfy({ !$0.isRemote || $0.takesCertificate(of: tls) })
            else {
                throw CommandFailure(
                    .forbidden,
                    "A bus on TCP asks for a token: give it with --token-file or $FLUXBUS_TOKEN; on TLS a certificate may do, "
                        + "with --certificate and --certificate-key.")
            }
        }
        return try BusConnection(
            to: addresses, token: token, client: "fluxbus", tls: tls, until: deadline ?? replyDeadline)
    }

    /// Connects, sends one request, and returns the reply without the members that only matter on the wire.
    package func ask(_ request: BusRequest) throws -> JSONObject {
        try ask(request, on: connect())
    }

    package func ask(_ request: BusRequest, on connection: BusConnection) throws -> JSONObject {
        do throws(BusError) {
            var reply = try connection.request(request, until: replyDeadline)
            reply["id"] = nil
            return reply
        } catch {
            throw CommandFailure.unanswered(request, error)
        }
    }
}

/// How a command ends, for scripts and units. The numbers are a contract (those from 64 on are sysexits).
package enum CommandStatus: Int32, Sendable, CaseIterable {
    case success = 0
    /// `unknown_store`, `unknown_timer`, `unknown_client`, `exists`, `conflict`, `gone`, or a condition that is false.
    case no = 1
    /// The command line is wrong.
    case usage = 64
    /// The bus, or this command, refuses the data: `rejected`, `invalid_…`, unknown names, `parse_error`, `too_large`.
    case refused = 65
    /// Nothing answers, or the connection ended.
    case unreachable = 69
    case `internal` = 70
    /// `unavailable`, `limit`, or the time allowed has passed: try again later.
    case temporary = 75
    /// `forbidden`, `unauthorized`, or the bus can't prove that it is the one.
    case forbidden = 77

    /// The status for an error of the bus. A code that this version does not know counts as internal.
    package init(_ code: BusError.Code) {
        self =
            switch code {
            case .unknownStore, .unknownTimer, BusError.Code(rawValue: "unknown_client"), .exists, .conflict,
                .gone:
                .no
            case .invalidAddress, .invalidOptions: .usage
            case .rejected, .invalidPayload, .invalidRequest, .unknownType, .unknownAction, .unknownOperation,
                .parseError, .tooLarge:
                .refused
            case .unreachable, .closed: .unreachable
            case .timedOut, .unavailable, .limit: .temporary
            case .forbidden, .unauthorized, .untrusted: .forbidden
            default: .internal
            }
    }

    /// The worse of two results: the higher number.
    package func worse(_ other: CommandStatus) -> CommandStatus { rawValue >= other.rawValue ? self : other }
}

/// Why a command ends without success: the sentence for standard error, and the status for the caller.
package struct CommandFailure: Error, Equatable {
    package let status: CommandStatus
    package let message: String

    package init(_ status: CommandStatus, _ message: String) {
        self.status = status
        self.message = message
    }

    /// The bus's error, with advice for a command line.
    package init(_ error: BusError) {
        status = CommandStatus(error.code)
        message = CommandWords.sentence(error.message).endingSentence(with: Self.advice(for: error))
    }

    /// Whatever a command has thrown.
    init(of error: any Error) {
        self =
            switch error {
            case let failure as CommandFailure: failure
            case let error as BusError: CommandFailure(error)
            default: CommandFailure(.internal, "Unexpected error: \(error).")
            }
    }

    /// Why there is no reply to a request. Nobody knows then whether the bus has committed what it commits.
    static func unanswered(_ request: BusRequest, _ error: BusError) -> any Error {
        guard mayCommit(request) else { return error }
        let way =
            request["key"] == nil ? "look before you send it again" : "send it again with the same key"
        return unanswered("it may have been committed or not; \(way)", error)
    }

    static func unanswered(_ consequence: String, _ error: BusError) -> any Error {
        guard error.code == .timedOut || error.code == .closed else { return error }
        return CommandFailure(
            CommandStatus(error.code), CommandWords.sentence(error.message).endingSentence(with: consequence))
    }

    static func mayCommit(_ request: BusRequest) -> Bool {
        commits.contains(request.op) && request["dryRun"] != true
    }

    private static let commits: Set<String> = ["dispatch", "create", "drop", "revert", "cancel", "reload"]

    private static func advice(for error: BusError) -> String? {
        switch error.code {
        case .unreachable: "start fluxbusd, or name another bus with --address or $FLUXBUS_ADDRESS"
        case .timedOut: "try a longer --timeout"
        default: nil
        }
    }
}

extension String {
    /// This sentence with advice after a colon, as one sentence; unchanged without advice.
    func endingSentence(with advice: String?) -> String {
        guard let advice else { return self }
        let trunk = hasSuffix(".") ? String(dropLast()) : self
        return "\(trunk): \(advice)."
    }
}
