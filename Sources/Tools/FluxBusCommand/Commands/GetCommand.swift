import ArgumentParser
import BusJSON
import FluxBus

/// `fluxbus get`: states as they are now.
package struct GetCommand: BusCommand {
    package static let configuration = CommandConfiguration(
        commandName: "get",
        abstract: "Print the states of stores.",
        discussion: """
            Examples:
              fluxbus get counter/kitchen
              fluxbus get counter                    every store of a type
              fluxbus get '*/kitchen' --select /count
              fluxbus get counter --where 'count > 3'
              fluxbus get counter/kitchen --json | jq .state.count
              fluxbus get counter/kitchen --select /count --raw      prints 13, for scripts

            In a pipe each line is one store: {"store": address, "state": {…}}. With --raw a line is the bare \
            value: with one --select that part alone; a string without quotes, anything else as compact JSON. A \
            store or a part that does not exist ends with code 1.
            """)

    @OptionGroup package var states: StateArguments

    @OptionGroup package var filter: WhereArgument

    @OptionGroup package var value: RawArgument

    @OptionGroup package var options: GlobalOptions

    package init() {}

    package func validate() throws { try value.validate(with: options) }

    package func perform(in session: CommandSession) throws -> CommandStatus {
        let reader = StateReader(
            session, try session.connect(), StoreSelector(states.target), where: try filter.condition(),
            select: states.select)
        return try value.print(reader, of: states, to: session.console)
    }
}

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

    @OptionGroup package var filter: WhereArgument

    @OptionGroup package var value: RawArgument

    @OptionGroup package var options: GlobalOptions

    package init() {}

    package func validate() throws { try value.validate(with: options) }

    package func perform(in session: CommandSession) throws -> CommandStatus {
        let connection = try session.connect()
        let revision = try revision.resolved(on: connection, in: session)
        let reader = StateReader(
            session, connection, StoreSelector(states.target), where: try filter.condition(),
            select: states.select, revision: revision)
        return try value.print(reader, of: states, to: session.console)
    }
}

/// `fluxbus ls`: the existing stores.
package struct ListCommand: BusCommand {
    package static let configuration = CommandConfiguration(
        commandName: "ls",
        abstract: "List stores.",
        discussion: """
            Examples:
              fluxbus ls
              fluxbus ls counter
              fluxbus ls '*/kitchen'
              fluxbus ls light --where isOn

            The revision is that of the last commit that changed the store.
            """)

    @Argument(help: "A type or a pattern over addresses.", completion: .custom(BusCompletion.targets))
    package var pattern: String?

    @OptionGroup package var filter: WhereArgument

    @OptionGroup package var options: GlobalOptions

    package init() {}

    package func perform(in session: CommandSession) throws -> CommandStatus {
        var table = Table("STORE", "REVISION", "")
        try session.list(
            "stores", of: "store", matching: pattern, where: try filter.condition(), into: &table
        ) { store in
            [
                .init(store["store"]?.string ?? "", .address), .init(store["revision"]?.encoded ?? ""),
                .init(store["ephemeral"]?.bool == true ? "ephemeral" : "", .faint),
            ]
        }
        return .success
    }
}
