import ArgumentParser
import BusJSON
import FluxBus

/// `fluxbus drop`: the end of a store.
package struct DropCommand: BusCommand {
    package static let configuration = CommandConfiguration(
        commandName: "drop",
        abstract: "Drop a store.",
        discussion: """
            Example:
              fluxbus drop counter/kitchen

            Who created a store may drop it, and so may root and the daemon's own user. One that the \
            configuration names may be dropped by those two only.
            """)

    @Argument(help: "The address: TYPE/NAME.", completion: .custom(BusCompletion.stores))
    package var store: String

    @Option(help: "A unique key: sent again with it, the same drop is not committed twice.")
    package var key: String?

    @OptionGroup package var options: GlobalOptions

    package init() {}

    package func validate() throws {
        guard store.contains("/") else {
            throw ValidationError("Name one store, TYPE/NAME; `fluxbus ls \(store)` lists those of a type.")
        }
    }

    package func perform(in session: CommandSession) throws -> CommandStatus {
        let reply = try session.ask(
            BusRequest("drop", ["store": .string(store), "key": key.map(JSON.string)]))
        guard session.console.form == .text else {
            try session.console.line(.object(reply))
            return .success
        }
        try session.console.line("dropped \(store), revision \(reply["revision"]?.encoded ?? "?")")
        return .success
    }
}
