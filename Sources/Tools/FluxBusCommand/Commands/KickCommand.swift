import ArgumentParser
import BusJSON
import FluxBus

/// `fluxbus kick`: ends a client's connection.
package struct KickCommand: BusCommand {
    package static let configuration = CommandConfiguration(
        commandName: "kick",
        abstract: "End a client's connection.",
        discussion: """
            Examples:
              fluxbus clients                                     lists the ids
              fluxbus clients --json | jq 'select(.lagging > 9).id' | xargs -r -n1 fluxbus kick

            The client is told the reason and disconnected; its wills are committed. It may connect again: what keeps \
            it out are access rules and tokens. Those who may manage the bus may kick anyone, others the clients of \
            their own user.
            """)

    @Argument(
        help: "The client's id, as `fluxbus clients` prints it.", completion: .custom(BusCompletion.clients))
    package var client: Int

    @Option(help: ArgumentHelp("What the client is told.", valueName: "text"))
    package var reason: String?

    @OptionGroup package var options: GlobalOptions

    package init() {}

    package func validate() throws {
        if let reason, reason.utf8.count > 1024 {
            throw ValidationError("--reason takes at most 1024 bytes; this one has \(reason.utf8.count).")
        }
    }

    package func perform(in session: CommandSession) throws -> CommandStatus {
        let request = BusRequest(
            "kick", ["client": .int(client), "reason": reason.map(JSON.string)])
        let reply = try session.ask(request)
        if session.console.form == .text {
            try session.console.line("client \(client) is disconnected")
        } else {
            try session.console.line(.object(reply))
        }
        return .success
    }
}
