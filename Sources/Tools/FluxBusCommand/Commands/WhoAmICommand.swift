import ArgumentParser
import BusJSON
import FluxBus

/// `fluxbus whoami`: who the bus takes its client for, and with which roles.
package struct WhoAmICommand: BusCommand {
    package static let configuration = CommandConfiguration(
        commandName: "whoami",
        abstract: "Show your identity on the bus, and your roles.",
        discussion: """
            Examples:
              fluxbus whoami
              fluxbus whoami --json | jq -r '.roles // [] | join(" ")'

            Roles are there where the bus has access rules; without them everybody may do everything but what the bus reserves \
            for root and for its own user.
            """)

    @OptionGroup package var options: GlobalOptions

    package init() {}

    package func perform(in session: CommandSession) throws -> CommandStatus {
        let connection = try session.connect()
        let greeting =
            try connection.greeting ?? connection.hello(client: "fluxbus", until: session.replyDeadline)
        let identity = greeting["identity"] ?? [:]
        guard session.console.form == .text else {
            try session.console.line(identity)
            return .success
        }
        var table = Table()
        table.add(.init("you are", .faint), .init(session.users.identity(identity)))
        if let roles = identity["roles"]?.array?.compactMap(\.string) {
            table.add(.init("roles", .faint), .init(roles.isEmpty ? "none" : roles.joined(separator: ", ")))
        }
        try session.console.table(table)
        return .success
    }
}
