import ArgumentParser
import BusJSON
import BusLogic
import FluxBus

/// `fluxbus eval`: the value of an expression.
package struct EvalCommand: BusCommand {
    package static let configuration = CommandConfiguration(
        commandName: "eval",
        abstract: "Print the value of an expression, on a store's state or without one.",
        discussion: """
            Examples:
              fluxbus eval '7 / 2.0'
              fluxbus eval 'state.target + 2 <= 30' thermostat/living
              fluxbus eval 'items.exists(id, items[id].done)' --state '{"items":{"milk":{"done":true}}}'

            Its names are the members of the state, and `state` for all of it; `man fluxbus-types` describes \
            expressions. An object in JSON with an operator is JsonLogic; '= {…}' is a map in any case. Only with a store a bus \
            is needed. An expression that fails, as by a division by zero, ends with code 65.
            """)

    @Argument(help: "The expression.")
    package var expression: String

    @Argument(help: "The store: TYPE/NAME.", completion: .custom(BusCompletion.stores))
    package var store: String?

    @Option(help: ArgumentHelp("A state to evaluate it on, as a JSON object.", valueName: "json"))
    package var state: String?

    @OptionGroup package var options: GlobalOptions

    package init() {}

    package func validate() throws {
        guard store?.contains("/") ?? true else {
            throw ValidationError(
                "Name one store, TYPE/NAME, as in: fluxbus eval … \(store ?? "counter")/main")
        }
        guard store == nil || state == nil else {
            throw ValidationError("Name a store or give a --state, not both.")
        }
    }

    package func perform(in session: CommandSession) throws -> CommandStatus {
        let expression = try Expression.argument(expression, isCondition: false)
        let value: JSON
        do {
            value = try expression.evaluate(on: data(in: session))
        } catch let failure as EvaluationFailure {
            throw CommandFailure(.refused, "The expression has no value: \(failure).")
        }
        if session.console.form == .lines {
            try session.console.line(value)
        } else {
            for line in IndentedJSON.lines(value, style: session.console.style) {
                try session.console.line(line)
            }
        }
        return .success
    }

    private func data(in session: CommandSession) throws -> JSON {
        if let store {
            let reader = StateReader(session, try session.connect(), StoreSelector(store))
            return try reader.next()?.state ?? .null
        }
        guard let state else { return .null }
        guard let data = try? JSON(parsing: state), data.object != nil else {
            throw CommandFailure(.usage, "--state is not a JSON object; write it as '{\"count\":2}'.")
        }
        return data
    }
}
