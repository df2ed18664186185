import ArgumentParser
import BusJSON
import FluxBus

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

            The revision is that of the last commit that changed the store.
            """)

    @Argument(help: "A type or a pattern over addresses.", completion: .custom(BusCompletion.targets))
    package var pattern: String?

    @OptionGroup package var options: GlobalOptions

    package init() {}

    package func perform(in session: CommandSession) throws -> CommandStatus {
        var table = Table("STORE", "REVISION", "")
        try session.list("stores", of: "store", matching: pattern, into: &table) { store in
            [
                .init(store["store"]?.string ?? "", .address), .init(store["revision"]?.encoded ?? ""),
                .init(store["ephemeral"]?.bool == true ? "ephemeral" : "", .faint),
            ]
        }
        return .success
    }
}
