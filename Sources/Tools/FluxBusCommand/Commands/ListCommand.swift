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
        let match = pattern.map { JSON.string(StoreSelector($0).pattern) }
        let connection = try session.connect()
        var table = Table("STORE", "REVISION", "")
        var after: JSON?
        repeat {
            let request = BusRequest("stores", ["match": match, "after": after])
            let reply = try session.ask(request, on: connection)
            for store in reply["stores"]?.array ?? [] {
                if session.console.form == .lines {
                    try session.console.line(store)
                } else {
                    table.add(
                        .init(store["store"]?.string ?? "", .address),
                        .init(store["revision"]?.encoded ?? ""),
                        .init(store["ephemeral"]?.bool == true ? "ephemeral" : "", .faint))
                }
            }
            after = reply["next"]
        } while after?.string != nil
        if !table.isEmpty { try session.console.table(table) }
        return .success
    }
}
