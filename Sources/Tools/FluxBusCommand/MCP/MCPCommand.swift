import ArgumentParser
import FluxBus

/// `fluxbus mcp`: the bus for agents, over the Model Context Protocol.
package struct MCPCommand: BusCommand {
    package static let configuration = CommandConfiguration(
        commandName: "mcp",
        abstract: "Let an agent use the bus, over the Model Context Protocol on standard input and output.",
        discussion: """
            Examples:
              fluxbus mcp < /dev/null    as an agent's program starts it; it ends with its input

            An agent's configuration names it as a server: the command `fluxbus` with the argument `mcp`, and --address and \
            --token-file for a bus elsewhere.

            Every action of every state type is a tool with the schema of its payload. A call tries the action and shows \
            what it would change; with `confirm: true` it is dispatched. Stores are resources, which can be subscribed to. The \
            tools find, history and blame read. An agent may do what its user or token may, and `by` in the log names its \
            program: `fluxbus log --by` shows what it did, and `fluxbus revert` undoes it.
            """)

    @OptionGroup package var options: GlobalOptions

    package init() {}

    package var isOpenEnded: Bool { true }

    package func perform(in session: CommandSession) throws -> CommandStatus {
        let server = MCPServer(session)
        try server.run()
        return .success
    }
}
