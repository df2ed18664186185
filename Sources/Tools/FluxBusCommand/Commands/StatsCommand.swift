import ArgumentParser
import BusJSON
import BusMetrics
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
              fluxbus stats --json | jq .histograms.turn.p99
              fluxbus stats --openmetrics            what Prometheus reads

            With --json it is what the bus sends: see fluxbus-protocol(7). Latencies are those since the start; \
            `fluxbus top` shows the current ones. Where the bus has access rules, only those who may manage it see more \
            than its revision.
            """)

    @Flag(name: .customLong("openmetrics"), help: "Print them in the OpenMetrics text format.")
    package var openMetrics = false

    @OptionGroup package var options: GlobalOptions

    package init() {}

    package func validate() throws {
        if openMetrics && (options.json || options.human) {
            throw ValidationError("--openmetrics is a form of its own: leave --json and --human out.")
        }
    }

    package func perform(in session: CommandSession) throws -> CommandStatus {
        let reply = try session.ask(BusRequest("stats"))
        let stats = reply["stats"]?.object ?? reply
        let console = session.console
        if openMetrics {
            try console.output.write(
                BusMetrics.text(
                    of: BusMetrics.statistics { (op, members) throws in
                        try session.ask(BusRequest(op, object: members))
                    }))
        } else if console.form == .lines {
            try console.line(.object(stats))
        } else {
            for (index, section) in StatisticsText(stats, users: session.users).sections.enumerated() {
                if index > 0 { try console.line("") }
                try console.line(console.style.paint(section.title, .heading))
                try console.table(section.table)
            }
        }
        return .success
    }
}
