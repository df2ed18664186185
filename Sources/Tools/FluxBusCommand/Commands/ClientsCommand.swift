import ArgumentParser
import BusJSON
import FluxBus

/// `fluxbus clients`: who is connected.
package struct ClientsCommand: BusCommand {
    package static let configuration = CommandConfiguration(
        commandName: "clients",
        abstract: "List the connected clients: who they are, what they watch, and whether they keep up.",
        discussion: """
            Examples:
              fluxbus clients
              fluxbus clients --json | jq -c 'select(.lagging > 0)'

            LAG is how many of a client's subscriptions are behind, WAITING what was written for it and not taken yet, \
            HELD what it sent and is not executed yet, and IDLE the time since it last sent something. Your own \
            connection has a star. Where the bus has access rules, those who may manage it see all clients, and others \
            those of their own user. `fluxbus kick` ends one.
            """)

    @OptionGroup package var options: GlobalOptions

    package init() {}

    package func perform(in session: CommandSession) throws -> CommandStatus {
        var table = Table(
            "ID", "WHO", "NAME", "ADDRESS", "SINCE", "IDLE", "SUBS", "LAG", "WAITING", "HELD", "SENT",
            "RECEIVED", "WATCHES")
        try session.list("clients", of: "client", into: &table) { client in
            let isSelf = client["self"]?.bool == true
            let lagging = client["lagging"]?.int ?? 0
            return [
                .init((client["id"]?.encoded ?? "?") + (isSelf ? "*" : ""), .address),
                .init(client["by"].map(session.users.identity) ?? ""),
                .init(client["client"]?.string ?? ""),
                .init(client["address"]?.string ?? "", .faint),
                .init(client["since"].map(DispatchTimeArgument.text) ?? "", .faint),
                .init(client["idle"]?.double.map(Quantity.time) ?? ""),
                .init(client["subscriptions"]?.encoded ?? ""),
                .init("\(lagging)", lagging > 0 ? .note : .plain),
                .init(Self.size(client["waiting"])), .init(Self.size(client["held"])),
                .init(client["dispatched"]?.encoded ?? ""), .init(client["delivered"]?.encoded ?? ""),
                .init((client["watches"]?.array ?? []).compactMap(\.string).joined(separator: " ")),
            ]
        }
        return .success
    }

    private static func size(_ bytes: JSON?) -> String {
        bytes?.double.map { $0 == 0 ? "0" : Quantity.bytes($0) } ?? ""
    }
}
