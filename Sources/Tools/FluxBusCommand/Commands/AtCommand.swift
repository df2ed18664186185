import ArgumentParser
import BusJSON
import FluxBus

/// `fluxbus at`: states as they were.
package struct AtCommand: BusCommand {
    package static let configuration = CommandConfiguration(
        commandName: "at",
        abstract: "Print the states of stores as they were at a revision.",
        discussion: """
            Examples:
              fluxbus at 3                           every store, as it was at revision 3
              fluxbus at 3 counter/main
              fluxbus at now-1 counter               before the newest commit
              fluxbus at now 'counter/*' --select /count --json

            The bus needs an action log, and can go back as far as that is kept. In a pipe each line is one store: \
            {"store": address, "state": {…}}.
            """)

    @Argument(help: "A revision, “now”, or “now-3” for three commits before.")
    package var revision: RevisionArgument

    @OptionGroup package var states: StateArguments

    @OptionGroup package var options: GlobalOptions

    package init() {}

    package func perform(in session: CommandSession) throws -> CommandStatus {
        let connection = try session.connect()
        let revision = try revision.resolved(on: connection, in: session)
        let reader = StateReader(
            session, connection, StoreSelector(states.target), select: states.select, revision: revision)
        try reader.printAll(to: session.console)
        return .success
    }
}

extension RevisionArgument {
    /// The revision; the bus is queried only when it depends on the newest.
    func resolved(on connection: BusConnection, in session: CommandSession) throws -> Int {
        if case .revision(let revision) = self { return revision }
        return try resolved(newest: HistoryReader(session, connection).newest())
    }
}
