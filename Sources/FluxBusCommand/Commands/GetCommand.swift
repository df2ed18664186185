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

    @Argument(
        help:
            "A store (counter/kitchen), a type (counter) or a pattern ('counter/*'); every store without one.",
        completion: .custom(BusCompletion.targets))
    package var target: String = "*/*"

    @Option(
        help: ArgumentHelp(
            "Only this part of the states, a JSON Pointer; may be repeated.", valueName: "pointer"))
    package var select: [String] = []

    @OptionGroup package var options: GlobalOptions

    package init() {}

    package func perform(in session: CommandSession) throws -> CommandStatus {
        let selector = StoreSelector(target)
        let connection = try session.connect()
        var table = Table("STORE", "STATE")
        var after: JSON?
        repeat {
            let reply = try session.ask(request(selector, after: after), on: connection)
            for member in reply["states"]?.object ?? [:] {
                if session.console.form == .lines {
                    try session.console.row(["store": .string(member.key), "state": member.value])
                } else if case .store = selector {
                    try printOne(member.value, in: session.console)
                } else {
                    table.add(.init(member.key, .address), .init(member.value.encoded))
                }
            }
            after = reply["next"]
        } while after?.string != nil
        if !table.isEmpty { try session.console.table(table) }
        return .success
    }

    private func request(_ selector: StoreSelector, after: JSON?) -> BusRequest {
        BusRequest(
            "get",
            [
                selector.member.name: selector.member.value,
                "select": select.isEmpty ? nil : .array(select.map(JSON.string)),
                "after": after,
            ])
    }

    private func printOne(_ state: JSON, in console: Console) throws {
        for line in IndentedJSON.lines(state, style: console.style) { try console.line(line) }
    }
}
