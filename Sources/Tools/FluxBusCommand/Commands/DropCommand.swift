import ArgumentParser
import BusJSON
import FluxBus

/// `fluxbus drop`: the end of a store, or of all that are like something.
package struct DropCommand: BusCommand {
    package static let configuration = CommandConfiguration(
        commandName: "drop",
        abstract: "Drop a store, or the stores of a type for which an expression holds.",
        discussion: """
            Examples:
              fluxbus drop counter/kitchen
              fluxbus drop counter/main --if 'count < 100'
              fluxbus drop todo --where 'total == 0'      every list without an item
              fluxbus drop light --where true             every light

            Who created a store may drop it, and so may root and the daemon's own user. One that the \
            configuration names may be dropped by those two only. With --where all that are meant are dropped in one \
            commit, or, where one of them may not be, none.
            """)

    @Argument(
        help: "The address, TYPE/NAME; with --where a type.", completion: .custom(BusCompletion.targets))
    package var target: String

    @OptionGroup package var condition: StoreCondition

    @OptionGroup package var filter: WhereArgument

    @Option(help: "A unique key: sent again with it, the same drop is not committed twice.")
    package var key: String?

    @OptionGroup package var options: GlobalOptions

    package init() {}

    package func validate() throws {
        if filter.expression == nil {
            guard target.contains("/") else {
                throw ValidationError(
                    "Name one store, TYPE/NAME, or say in --where which stores of \(target) to drop; `fluxbus ls \(target)` lists them all."
                )
            }
        } else if target.contains("/") {
            throw ValidationError("--where needs a type as the target, as in counter; give one store --if.")
        } else if let flag = condition.flags.first {
            throw ValidationError("\(flag) needs one store as the target, as in counter/kitchen.")
        }
    }

    package func perform(in session: CommandSession) throws -> CommandStatus {
        var request = BusRequest(
            "drop",
            [
                target.contains("/") ? "store" : "type": .string(target), "where": try filter.condition(),
                "key": key.map(JSON.string),
            ])
        try condition.add(to: &request)
        let reply = try session.ask(request)
        let what = reply["matched"]?.int.map { DispatchCommand.count($0, "store") } ?? target
        try session.console.answer(
            "dropped \(what), revision \(reply["revision"]?.encoded ?? "?")", .object(reply))
        return .success
    }
}
