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
        try session.console.answer("client \(client) is disconnected", .object(reply))
        return .success
    }
}

/// `fluxbus ping`: whether the bus answers, its version, and its revision.
package struct PingCommand: BusCommand {
    package static let configuration = CommandConfiguration(
        commandName: "ping",
        abstract: "Check that the bus answers, and show its revision.",
        discussion: """
            Examples:
              fluxbus ping
              fluxbus ping --json | jq -r .epoch
            """)

    @OptionGroup package var options: GlobalOptions

    package init() {}

    package func perform(in session: CommandSession) throws -> CommandStatus {
        let connection = try session.connect()
        let address = connection.address
        var reply =
            try connection.greeting ?? connection.hello(client: "fluxbus", until: session.replyDeadline)
        let start = ContinuousClock.now
        let pong = try connection.request(BusRequest("ping"), until: session.replyDeadline)
        let microseconds = Self.microseconds(ContinuousClock.now - start)
        reply["id"] = nil
        // The newer of the two: the greeting may have waited.
        if let cluster = pong["cluster"] { reply["cluster"] = cluster }
        guard session.console.form == .text else {
            reply["address"] = .string(address.description)
            reply["microseconds"] = .int(microseconds)
            try session.console.line(.object(reply))
            return .success
        }
        var table = Table()
        table.add(.init("address", .faint), .init(address.description, .address))
        let version = reply["version"]?.string.map { " " + $0 } ?? ""
        table.add(.init("server", .faint), .init((reply["server"]?.string ?? "") + version))
        table.add(.init("epoch", .faint), .init(reply["epoch"]?.string ?? ""))
        table.add(.init("revision", .faint), .init(reply["revision"]?.encoded ?? ""))
        if let cluster = reply["cluster"] {
            let standing = ClusterStanding(cluster, now: session.context.now())
            let role: Style.Role = standing.trouble == nil ? .plain : .failure
            table.add(.init("cluster", .faint), .init(standing.text, role))
        }
        if let identity = reply["identity"] {
            table.add(.init("you are", .faint), .init(session.users.identity(identity)))
        }
        table.add(.init("answered in", .faint), .init("\(microseconds) µs"))
        try session.console.table(table)
        return .success
    }

    private static func microseconds(_ duration: Duration) -> Int {
        let (seconds, attoseconds) = duration.components
        return Int(seconds) * 1_000_000 + Int(attoseconds / 1_000_000_000_000)
    }
}
