import ArgumentParser
import BusLog
import BusProtocol
import BusSystem
import FluxBus

/// `fluxbus`, the command line of the bus.
package struct RootCommand: ParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "fluxbus",
        abstract: "Talk to a FluxBus daemon: dispatch actions, read stores, watch them change.",
        discussion: """
            Examples:
              fluxbus dispatch counter increment by=2        every counter
              fluxbus dispatch counter/kitchen increment     one store
              fluxbus watch 'counter/*'                      what changes, as it changes
              fluxbus get counter/kitchen
              fluxbus wait counter/kitchen 'count > 9' --timeout 1m

            On a terminal results are tables; in a pipe, or with --json, they are one JSON object per line.

            Exit codes: 0 success; 1 unknown store, timer or client, exists already, conflict, a condition is false, or \
            something differs; 64 wrong \
            usage; 65 refused data; 69 the bus can't be reached; 70 internal error; 75 time-out, unavailable or \
            over a limit; 77 not allowed.
            """,
        version: Version.line(of: "fluxbus", logForm: LogFile.form),
        subcommands: [],
        groupedSubcommands: [
            CommandGroup(
                name: "Action",
                subcommands: [DispatchCommand.self, TimersCommand.self, CancelCommand.self]),
            CommandGroup(
                name: "Store",
                subcommands: [
                    WatchCommand.self, GetCommand.self, ListCommand.self, CreateCommand.self,
                    DropCommand.self, WaitCommand.self, EvalCommand.self,
                ]),
            CommandGroup(name: "Automation", subcommands: [OnCommand.self, LockCommand.self]),
            CommandGroup(
                name: "Time travel",
                subcommands: [
                    LogCommand.self, AtCommand.self, DiffCommand.self, BlameCommand.self, RevertCommand.self,
                    ExportCommand.self, ImportCommand.self, ReplayCommand.self,
                ]),
            CommandGroup(
                name: "Bus",
                subcommands: [
                    TypesCommand.self, ClientsCommand.self, KickCommand.self, StatsCommand.self,
                    TopCommand.self, PingCommand.self, ClusterCommand.self, ReloadCommand.self,
                    BackupCommand.self, CompactCommand.self, MCPCommand.self,
                    WhoAmICommand.self, AccessCommand.self, WebCommand.self, DevCommand.self,
                    EffectsCommand.self, SchemaCommand.self,
                ]),
        ])

    @OptionGroup package var options: GlobalOptions

    package init() {}
}

/// A subcommand that talks to a bus. Its work is `perform`; running it in the process, or in a test's context, is
/// the same code.
package protocol BusCommand: ParsableCommand {
    var options: GlobalOptions { get }
    /// Whether it goes on as long as somebody wants, or as there is something to carry over: then `--timeout` is of each
    /// exchange with the bus, and else of the whole command.
    var isOpenEnded: Bool { get }
    /// Whether it makes files; when a signal ends it before they are whole, nothing of them stays.
    var makesFiles: Bool { get }
    /// Does the work. Throws `CommandFailure` or `BusError`; a status other than success may also be returned.
    func perform(in session: CommandSession) throws -> CommandStatus
}

extension BusCommand {
    package var isOpenEnded: Bool { false }
    package var makesFiles: Bool { false }

    package func run() throws {
        if makesFiles { Leftovers.removeAtSignals() }
        let status = end(in: .process())
        if status != CommandStatus.success.rawValue { throw ExitCode(status) }
    }

    /// Runs the command, reports errors on the context's messages, and returns the exit status.
    package func execute(in context: CommandContext) -> CommandStatus {
        CommandStatus(rawValue: end(in: context)) ?? .internal
    }

    /// The same, where the status may be that of a program that it ran.
    private func end(in context: CommandContext) -> Int32 {
        let session = CommandSession(options: options, context: context, isOpenEnded: isOpenEnded)
        do {
            let status = try perform(in: session)
            try session.console.flush()
            return status.rawValue
        } catch let end as ProgramEnd {
            return end.status
        } catch {
            // What was written before the failure belongs to the result.
            try? session.console.flush()
            let failure = CommandFailure(of: error)
            session.console.report(failure)
            return failure.status.rawValue
        }
    }
}

/// A command ends as a program that it ran has ended, or as the number of a signal says.
struct ProgramEnd: Error { let status: Int32 }

/// The bus's errors in the words of a command line: they speak of operations and members of the protocol, and who typed a
/// command knows commands and flags.
enum CommandWords {
    /// What a sentence of the bus says about an operation, and the command that stands for it.
    private static let commands: [(protocol: String, command: String)] = [
        (
            "; create it, or list what there is with stores.",
            "; make it with `fluxbus create`, or list what there is with `fluxbus ls`."
        ),
        ("; use it, or say `ifMissing`.", "; use it, or add --if-missing."),
        ("; see what there is with types.", "; `fluxbus types` lists what there is."),
        ("; types lists them.", "; `fluxbus types` lists them."),
        ("; list those there are with clients.", "; `fluxbus clients` lists those there are."),
        ("; configure log: for one.", "; `log:` in its configuration makes it keep one."),
    ]

    /// Members that a flag gives.
    private static let flags = [
        "after": "--after", "at": "--at", "epoch": "--epoch", "ifMissing": "--if-missing",
        "ifRevision": "--if-revision", "in": "--in", "key": "--key", "reason": "--reason",
        "select": "--select", "since": "--since", "timer": "--timer", "ttl": "--ttl",
        "where": "--where",
    ]

    static func sentence(_ message: String) -> String {
        var text = message
        for (words, command) in commands where text.hasSuffix(words) {
            text = String(text.dropLast(words.count)) + command
        }
        // Behind that stand names of the type, the file or the store, such as a payload's member `key`.
        let end = text.firstRange(of: #/; (did you mean|valid here:) /#)?.lowerBound ?? text.endIndex
        let sentence = String(text[..<end]).replacing(/`([A-Za-z]+)`/) { match in
            flags[String(match.1)] ?? String(match.0)
        }
        return sentence + text[end...]
    }
}
