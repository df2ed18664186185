import ArgumentParser
import BusJSON
import FluxBus

/// `fluxbus timers`: the actions that wait for their time.
package struct TimersCommand: BusCommand {
    package static let configuration = CommandConfiguration(
        commandName: "timers",
        abstract: "List the actions that wait for their time.",
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
        let match = pattern.map { JSON.string(StoreSelector($0).pattern) }
        let connection = try session.connect()
        var table = Table("DUE", "TARGET", "TIMER", "ACTION", "")
        var after: JSON?
        repeat {
            let request = BusRequest("timers", ["match": match, "after": after])
            let reply = try session.ask(request, on: connection)
            for timer in reply["timers"]?.array ?? [] {
                if session.console.form == .lines {
                    try session.console.line(timer)
                } else {
                    table.add(
                        .init(DispatchTimeArgument.text(of: timer["due"] ?? .null)),
                        .init(timer["store"]?.string ?? timer["type"]?.string ?? "", .address),
                        .init(timer["timer"]?.string ?? ""), .init(timer["action"]?.string ?? ""),
                        .init(timer["payload"]?.object.map { $0.isEmpty ? "" : $0.encoded } ?? "", .faint))
                }
            }
            after = reply["next"]
        } while after?.string != nil
        if !table.isEmpty { try session.console.table(table) }
        return .success
    }
}
