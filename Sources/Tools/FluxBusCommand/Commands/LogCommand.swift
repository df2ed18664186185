import ArgumentParser
import BusJSON
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
              fluxbus log --since 0                          all that is kept
              fluxbus log counter --since 3 --until 5
              fluxbus log --by 1000 --action increment
              fluxbus log --follow                           and then each commit as it comes
              fluxbus log --json | jq -r '.actions[]?.action'

            --by takes a user id, a process id, the name of a token, a part of a unit's name, or “daemon”. \
            --action takes the name of an action, or create, drop, revert, reload. What --since names comes first; \
            without it, and without --limit, the newest commits are shown.
            """)

    /// How many commits are shown by default: about what fits on a screen.
    static let usualCount = 20

    @Argument(
        help: "Only commits that concern this type or store.", completion: .custom(BusCompletion.targets))
    package var target: String?

    @Option(help: ArgumentHelp("Start after this revision.", valueName: "revision"))
    package var since: RevisionArgument?

    @Option(help: ArgumentHelp("End with this revision.", valueName: "revision"))
    package var until: RevisionArgument?

    @Option(
        help: ArgumentHelp("At most so many commits, the oldest of those asked for.", valueName: "number"))
    package var limit: Int?

    @Option(
        name: [.customShort("n"), .long],
        help: ArgumentHelp("At most so many commits, the newest of those asked for.", valueName: "number"))
    package var lines: Int?

    @Option(help: ArgumentHelp("Only commits by this user, process, token or unit.", valueName: "text"))
    package var by: String?

    @Option(
        help: ArgumentHelp("Only commits with this action.", valueName: "name"),
        completion: .custom(BusCompletion.actions))
    package var action: String?

    @Flag(name: .shortAndLong, help: "Go on with each commit as it comes.")
    package var follow = false

    @OptionGroup package var options: GlobalOptions

    package init() {}

    package func validate() throws {
        if let target, target.contains("*") || target.contains("?") {
            throw ValidationError("Name a type or a store: the log is not searched by patterns.")
        }
        guard limit ?? 1 > 0, lines ?? 1 >= 0 else {
            throw ValidationError("--limit must be at least 1, and --lines at least 0.")
        }
        if limit != nil && lines != nil { throw ValidationError("Give either --limit or --lines.") }
        if follow && until != nil {
            throw ValidationError("With --follow there is no end: leave --until out.")
        }
    }

    package func perform(in session: CommandSession) throws -> CommandStatus {
        let connection = try session.connect()
        let log = CommitLog(session, filter: CommitFilter(by: by, action: action), limit: limit)
        let reader = HistoryReader(session, connection, target: target)
        let newest = try reader.newest()
        let last = try until?.resolved(newest: newest) ?? newest
        let first = try since?.resolved(newest: newest)
        if let count = lines ?? (first == nil && limit == nil ? Self.usualCount : nil) {
            try log.showNewest(count, after: first ?? 0, through: last, from: reader)
        } else {
            try log.show(after: first ?? 0, through: last, from: reader)
        }
        guard follow, !log.isComplete else { return .success }
        try CommitFollower(session, log: log, target: target, after: newest).run(over: connection)
        return .success
    }
}
