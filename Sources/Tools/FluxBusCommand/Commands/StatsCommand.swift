import ArgumentParser
import BusJSON
import FluxBus

/// `fluxbus stats`: the daemon's counters.
package struct StatsCommand: BusCommand {
    package static let configuration = CommandConfiguration(
        commandName: "stats",
        abstract: "Print the daemon's counters.",
        discussion: """
            Examples:
              fluxbus stats
              fluxbus stats --json | jq .connections
            """)

    @OptionGroup package var options: GlobalOptions

    package init() {}

    package func perform(in session: CommandSession) throws -> CommandStatus {
        let reply = try session.ask(BusRequest("stats"))
        let counters = reply["stats"] ?? .object(reply)
        guard session.console.form == .text else {
            try session.console.line(counters)
            return .success
        }
        var table = Table()
        Self.flatten(counters, name: "", into: &table)
        try session.console.table(table)
        return .success
    }

    /// One row per number, however deep it is nested.
    private static func flatten(_ value: JSON, name: String, into table: inout Table) {
        guard let object = value.object, !object.isEmpty else {
            table.add(.init(name, .faint), .init(value.string ?? value.encoded))
            return
        }
        for member in object {
            flatten(member.value, name: name.isEmpty ? member.key : "\(name).\(member.key)", into: &table)
        }
    }
}
