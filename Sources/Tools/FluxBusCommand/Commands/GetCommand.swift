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
              fluxbus get counter/kitchen --select /count --raw      prints 13, for scripts

            In a pipe each line is one store: {"store": address, "state": {…}}. With --raw a line is the bare \
            value: with one --select that part alone; a string without quotes, anything else as compact JSON. A \
            store or a part that does not exist ends with code 1.
            """)

    @OptionGroup package var states: StateArguments

    @OptionGroup package var value: RawArgument

    @OptionGroup package var options: GlobalOptions

    package init() {}

    package func validate() throws { try value.validate(with: options) }

    package func perform(in session: CommandSession) throws -> CommandStatus {
        let reader = StateReader(
            session, try session.connect(), StoreSelector(states.target), select: states.select)
        return try value.print(reader, of: states, to: session.console)
    }
}
