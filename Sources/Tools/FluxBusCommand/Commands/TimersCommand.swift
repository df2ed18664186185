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
                .init(
                    DispatchTimeArgument.text(of: timer["due"] ?? .null)
                        + (timer["every"].map { ", every \($0.encoded) s" } ?? "")),
                .init(timer["store"]?.string ?? timer["type"]?.string ?? "", .address),
                .init(timer["timer"]?.string ?? ""), .init(timer["action"]?.string ?? ""),
                .init(timer["by"].map(session.users.identity) ?? "", .faint),
                .init(timer["payload"]?.object.map { $0.isEmpty ? "" : $0.encoded } ?? "", .faint),
            ]
        }
        return .success
    }
}

/// `fluxbus cancel`: the end of a timer before its time.
package struct CancelCommand: BusCommand {
    package static let configuration = CommandConfiguration(
        commandName: "cancel",
        abstract: "Cancel a timer before it is due.",
        discussion: """
            Examples:
              fluxbus dispatch counter/kitchen reset --in 5m --timer tea
              fluxbus cancel counter/kitchen tea        the timer of one store
              fluxbus dispatch thermostat setTarget celsius=17 --at 22:30 --timer night
              fluxbus cancel thermostat night           that of a dispatch to every store of a type

            `fluxbus timers` lists what waits.
            """)

    @Argument(help: "The store or the type it belongs to.", completion: .custom(BusCompletion.targets))
    package var target: String

    @Argument(help: "The timer's name.")
    package var timer: String

    @Option(help: "A unique key: sent again with it, the same timer is not cancelled twice.")
    package var key: String?

    @OptionGroup package var options: GlobalOptions

    package init() {}

    package func perform(in session: CommandSession) throws -> CommandStatus {
        let reply = try session.ask(
            BusRequest(
                "cancel",
                [
                    target.contains("/") ? "store" : "type": .string(target), "timer": .string(timer),
                    "key": key.map(JSON.string),
                ]))
        try session.console.answer(
            "cancelled \(timer) of \(target), revision \(reply["revision"]?.encoded ?? "?")", .object(reply))
        return .success
    }
}
