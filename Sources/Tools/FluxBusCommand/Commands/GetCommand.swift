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
              fluxbus get counter/kitchen --json | jq .state.count

            In a pipe each line is one store: {"store": address, "state": {…}}. A store that does not exist ends \
            with code 1.
            """)

    @OptionGroup package var states: StateArguments

    @OptionGroup package var options: GlobalOptions

    package init() {}

    package func perform(in session: CommandSession) throws -> CommandStatus {
        let reader = StateReader(
            session, try session.connect(), StoreSelector(states.target), select: states.select)
        try reader.printAll(to: session.console)
        return .success
    }
}
