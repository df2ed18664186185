import ArgumentParser
import BusJSON
import FluxBus

/// `fluxbus revert`: restores an old state, as a new commit.
package struct RevertCommand: BusCommand {
    package static let configuration = CommandConfiguration(
        commandName: "revert",
        abstract: "Make a store's state what it was at a revision or a time, as a new commit.",
        discussion: """
            Examples:
              fluxbus revert counter/kitchen --to 5                as it was at revision 5
              fluxbus revert counter/kitchen --to now-1            as it was before the newest commit
              fluxbus revert counter/kitchen --to 5 --if-revision 12

            --to also takes a time, as `fluxbus at` does: 2h, yesterday, 2026-11-21T10:00. Nothing is taken out of the log: a revert can itself be reverted. Who created a store may revert it, and \
            so may root and the daemon's own user.
            """)

    @Argument(help: "The store: TYPE/NAME.", completion: .custom(BusCompletion.stores))
    package var store: String

    @Option(
        help: ArgumentHelp("The revision or time to go back to.", valueName: "revision|time"),
        completion: RevisionArgument.completion, transform: RevisionArgument.parse)
    package var to: RevisionArgument

    @OptionGroup package var condition: StoreCondition

    @OptionGroup package var options: GlobalOptions

    package init() {}

    package func validate() throws {
        guard store.contains("/") else {
            throw ValidationError("Name one store, TYPE/NAME; `fluxbus ls \(store)` lists those of a type.")
        }
    }

    package func perform(in session: CommandSession) throws -> CommandStatus {
        let connection = try session.connect()
        let revision = try to.resolved(on: connection, in: session)
        var request = BusRequest("revert", ["store": .string(store), "revision": .int(revision)])
        try condition.add(to: &request)
        let reply = try session.ask(request, on: connection)
        try session.console.answer(
            "\(store) is as it was at revision \(revision); this is revision \(reply["revision"]?.encoded ?? "?")",
            .object(reply))
        return .success
    }
}
