import ArgumentParser
import BusJSON
import FluxBus

/// `fluxbus timers`: the actions that wait for their time.
package struct TimersCommand: BusCommand {
    package static let configuration = CommandConfiguration(
        commandName: "timers",
        abstract: "List the actions that are scheduled for later.",
        discussion: """
            Examples:
              fluxbus timers
              fluxbus timers counter/kitchen
              fluxbus timers 'counter/*'

            They come in the order in which they are due.
            """)

    @Argument(
        help: "A store, a type or a pattern over addresses.", completion: .custom(BusCompletion.targets))
    package var pattern: String?

    @OptionGroup package var options: GlobalOptions

    package init() {}

    package func perform(in session: CommandSession) throws -> CommandStatus {
        var table = Table("DUE", "TARGET", "TIMER", "ACTION", "BY", "")
        try session.list("timers", of: "timer", matching: pattern, into: &table) { timer in
            [
                .init(DispatchTimeArgument.text(of: timer["due"] ?? .null)),
                .init(timer["store"]?.string ?? timer["type"]?.string ?? "", .address),
                .init(timer["timer"]?.string ?? ""), .init(timer["action"]?.string ?? ""),
                .init(timer["by"].map(session.users.identity) ?? "", .faint),
                .init(timer["payload"]?.object.map { $0.isEmpty ? "" : $0.encoded } ?? "", .faint),
            ]
        }
        return .success
    }
}
