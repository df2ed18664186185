import ArgumentParser
import BusJSON
import FluxBus

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
            table.add(.init("cluster", .faint), .init(standing.text, standing.isAttached ? .plain : .failure))
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
