import ArgumentParser

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
              fluxbus wait counter/kitchen '{">": [{"var": "count"}, 9]}' --timeout 1m

            On a terminal results are tables; in a pipe, or with --json, they are one JSON object per line.

            Exit codes: 0 success; 1 unknown store, timer or client, exists already, conflict, a condition is false, or \
            something differs; 64 wrong \
            usage; 65 refused data; 69 the bus can't be reached; 70 internal error; 75 time-out, unavailable or \
            over a limit; 77 not allowed.
            """,
        version: "0.1.0",
        subcommands: [],
        groupedSubcommands: [
            CommandGroup(
                name: "Action",
                subcommands: [DispatchCommand.self, TimersCommand.self, CancelCommand.self]),
            CommandGroup(
                name: "Store",
                subcommands: [
                    WatchCommand.self, GetCommand.self, ListCommand.self, CreateCommand.self,
                    DropCommand.self,
                    WaitCommand.self,
                ]),
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
                    WhoAmICommand.self, AccessCommand.self, WebCommand.self,
                ]),
        ])

    @OptionGroup package var options: GlobalOptions

    package init() {}
}
