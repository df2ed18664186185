import ArgumentParser
import BusJSON
import FluxBus

/// `fluxbus log`: the action log.
package struct LogCommand: BusCommand {
    package static let configuration = CommandConfiguration(
        commandName: "log",
        abstract: "Show past commits: when, by whom, which actions.",
        discussion: """
            Examples:
              fluxbus log
              fluxbus log counter/kitchen
              fluxbus log counter --since 1000 --until 2000
              fluxbus log --json | jq -r '.actions[].action'
            """)

    @Argument(
        help: "Only commits that concern this type or store.", completion: .custom(BusCompletion.targets))
    package var target: String?

    @Option(help: ArgumentHelp("Start after this revision.", valueName: "revision"))
    package var since: Int?

    @Option(help: ArgumentHelp("End with this revision.", valueName: "revision"))
    package var until: Int?

    @Option(help: ArgumentHelp("At most so many commits.", valueName: "number"))
    package var limit: Int?

    @OptionGroup package var options: GlobalOptions

    package init() {}

    package func perform(in session: CommandSession) throws -> CommandStatus {
        var request = BusRequest(
            "history",
            ["since": since.map(JSON.int), "until": until.map(JSON.int), "limit": limit.map(JSON.int)])
        if let target { request.set(target.contains("/") ? "store" : "type", .string(target)) }
        let reply = try session.ask(request)
        let console = session.console
        var table = Table("REVISION", "TIME", "BY", "ACTIONS")
        for commit in reply["commits"]?.array ?? [] {
            if console.form == .lines {
                try console.line(commit)
            } else {
                table.add(
                    .init(commit["revision"]?.encoded ?? "", .address),
                    .init(Self.time(commit["time"]), .faint),
                    .init(commit["by"].map(ChangeText.identity) ?? "", .faint),
                    .init(Self.actions(of: commit)))
            }
        }
        if !table.isEmpty { try console.table(table) }
        if let next = reply["next"] {
            try console.note("There is more: fluxbus log --since \(next.encoded)")
        }
        return .success
    }

    private static func time(_ time: JSON?) -> String {
        time?.double.map { ClockText.dateAndTime(milliseconds: Int($0 * 1000)) } ?? ""
    }

    private static func actions(of commit: JSON) -> String {
        (commit["actions"]?.array ?? []).map { action in
            let target = action["store"]?.string ?? action["type"]?.string ?? ""
            let name = action["action"]?.string ?? action["op"]?.string ?? ""
            let payload = action["payload"]?.object.map { $0.isEmpty ? "" : " " + $0.encoded } ?? ""
            return "\(target) \(name)\(payload)"
        }.joined(separator: "; ")
    }
}
