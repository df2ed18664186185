import ArgumentParser
import BusJSON
import BusLogic
import FluxBus

/// `fluxbus log`: the action log.
package struct LogCommand: BusCommand {
    package static let configuration = CommandConfiguration(
        commandName: "log",
        abstract: "Show past commits: when, by whom, which actions.",
        discussion: """
            Examples:
              fluxbus log                                    the newest 20
              fluxbus log counter/kitchen -n 5               the newest 5 that concern a store
              fluxbus log --since 0                          everything that is kept
              fluxbus log counter --since 3 --until 5
              fluxbus log --since '10 minutes ago'
              fluxbus log --by 1000 --action increment
              fluxbus log --newest --where 'by > 5'          the newest first, as far back as one reads
              fluxbus log --follow                           and then each commit as it comes
              fluxbus log --json | jq -r '.actions[]?.action'

            --by takes a user's name or id, a process id, the name of a program, a client, a token or a certificate, the \
            address that a client speaks for, a unit with or without its suffix, or `daemon`. --action takes the name of an action, or create, drop, revert, reload, schedule, cancel. \
            --where takes an expression on the members of an action's payload. One action of a commit has to be all \
            that is asked for. What --since names comes first; without it, the newest commits are shown. Of types \
            that a reload defined only the names are printed, unless --definitions is given.
            """)

    /// How many commits are shown by default: about what fits on a screen.
    static let usualCount = 20

    @Argument(
        help: "Only commits that concern this type or store.", completion: .custom(BusCompletion.targets))
    package var target: String?

    @Option(
        help: ArgumentHelp(
            "Start after this revision or time (2h, yesterday, 2026-11-21T10:00).", valueName: "revision|time"
        ),
        completion: RevisionArgument.completion, transform: RevisionArgument.parse)
    package var since: RevisionArgument?

    @Option(
        help: ArgumentHelp("End with this revision or time.", valueName: "revision|time"),
        completion: RevisionArgument.completion, transform: RevisionArgument.parse)
    package var until: RevisionArgument?

    @Option(
        help: ArgumentHelp(
            "Show at most this many commits, the newest of the range; with --follow, those that come count.",
            valueName: "number"))
    package var limit: Int?

    @Option(
        name: [.customShort("n"), .long],
        help: ArgumentHelp(
            "Show at most this many commits, the newest of the range, and with --follow all that come.",
            valueName: "number"))
    package var lines: Int?

    @Option(
        help: ArgumentHelp("Only commits by this user, program, client, token or unit.", valueName: "text"))
    package var by: String?

    @Option(
        help: ArgumentHelp("Only commits with this action.", valueName: "name"),
        completion: .custom(BusCompletion.actions))
    package var action: String?

    @Option(
        name: .customLong("where"),
        help: ArgumentHelp(
            "Only commits with an action for whose payload this holds, such as 'by > 5', or JsonLogic.",
            valueName: "expression"))
    package var condition: String?

    @Flag(help: "Show the newest commit first.")
    package var newest = false

    @Flag(help: "Print the definitions of the types that a reload defined, and not only their names.")
    package var definitions = false

    @Flag(name: .shortAndLong, help: "Continue with each commit as it comes.")
    package var follow = false

    @OptionGroup package var options: GlobalOptions
    package var isOpenEnded: Bool { follow }

    package init() {}

    package func validate() throws {
        if let target, target.contains("*") || target.contains("?") {
            throw ValidationError("Name a type or a store: the log can't be searched by pattern.")
        }
        guard limit ?? 1 > 0, lines ?? 1 >= 0 else {
            throw ValidationError("--limit must be at least 1, and --lines at least 0.")
        }
        if limit != nil && lines != nil { throw ValidationError("Give either --limit or --lines.") }
        if follow && until != nil {
            throw ValidationError("With --follow there is no end: leave --until out.")
        }
        if follow && newest {
            throw ValidationError("With --follow the newest commit comes last: leave --newest out.")
        }
    }

    package func perform(in session: CommandSession) throws -> CommandStatus {
        let connection = try session.connect()
        let filter = CommitFilter(
            by: by, action: action, where: try condition.map(Expression.condition), users: session.users)
        let log = CommitLog(
            session, filter: filter, limit: limit, target: target, isWithDefinitions: definitions)
        let reader = HistoryReader(session, connection, target: target, filter: filter)
        let newest = try reader.newest()
        let last = try until?.resolved(on: connection, in: session, newest: newest) ?? newest
        let first = try beginning(on: connection, in: session, newest: newest)
        let count = lines ?? limit ?? (first == nil && !self.newest ? Self.usualCount : nil)
        if count != nil || self.newest {
            try log.showNewest(
                count, isNewestFirst: self.newest, after: first ?? 0, through: last, from: reader)
        } else {
            try log.show(after: first ?? 0, through: last, from: reader)
        }
        if log.isEmpty { try noteNothing(on: connection, in: session) }
        guard follow, !log.isComplete else { return .success }
        try CommitFollower(session, log: log, target: target, filter: filter, after: newest).run(
            over: connection)
        return .success
    }

    /// Says that no commit was found. A target whose type does not exist is a mistake; a type that existed once has commits.
    private func noteNothing(on connection: BusConnection, in session: CommandSession) throws {
        if let type = target?.split(separator: "/").first {
            do {
                _ = try session.ask(BusRequest("types", ["type": .string(String(type))]), on: connection)
            } catch let error as BusError where error.code != .unknownType {
                // Only the note is lost: this client may not ask for types.
            }
        }
        guard session.console.form == .text else { return }
        try session.console.note(target.map { "No commit concerns \($0)." } ?? "There is no such commit.")
    }

    /// What `--since` names. For a time before what is kept it is where the log begins, which is said.
    private func beginning(
        on connection: BusConnection, in session: CommandSession, newest: Int
    ) throws -> Int? {
        do {
            return try since?.resolved(on: connection, in: session, newest: newest)
        } catch let error as BusError {
            guard let oldest = HistoryReader.oldest(in: error) else { throw error }
            if oldest > 0 { try session.console.note(CommitLog.beginning(oldest)) }
            return oldest
        }
    }
}
