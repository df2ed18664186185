import ArgumentParser
import BusJSON
import FluxBus

/// `fluxbus at`: states as they were.
package struct AtCommand: BusCommand {
    package static let configuration = CommandConfiguration(
        commandName: "at",
        abstract: "Print the states of stores as they were at a revision or a time.",
        discussion: """
            Examples:
              fluxbus at 3                           every store, as it was at revision 3
              fluxbus at 3 counter/main
              fluxbus at now-1 counter               before the newest commit
              fluxbus at now 'counter/*' --select /count --json
              fluxbus at now-1 counter/kitchen --select /count --raw
              fluxbus at '2 hours ago'
              fluxbus at yesterday

            Times are, in the time zone of this machine (TZ): 2h or '2 hours ago' (s, m, h, d, w); 09:30, of today; \
            today, yesterday and monday, which are the beginning of the day, and 'yesterday 18:00'; 2026-11-21, \
            2026-11-21T10:00, '2026-11-21 10:00:05', 2026-11-21T10:00Z; and @1763877000, in seconds since 1970. \
            What is shown is the last commit at or before that time.

            The bus needs an action log, and can go back as far as that is kept. In a pipe each line is one store: \
            {"store": address, "state": {…}}; with --raw the bare value.
            """)

    @Argument(
        help: ArgumentHelp(
            "A revision (3, now, now-3 for three commits before) or a time.", valueName: "revision|time"),
        completion: RevisionArgument.completion, transform: RevisionArgument.parse)
    package var revision: RevisionArgument

    @OptionGroup package var states: StateArguments

    @OptionGroup package var value: RawArgument

    @OptionGroup package var options: GlobalOptions

    package init() {}

    package func validate() throws { try value.validate(with: options) }

    package func perform(in session: CommandSession) throws -> CommandStatus {
        let connection = try session.connect()
        let revision = try revision.resolved(on: connection, in: session)
        let reader = StateReader(
            session, connection, StoreSelector(states.target), select: states.select, revision: revision)
        return try value.print(reader, of: states, to: session.console)
    }
}
