import ArgumentParser
import BusJSON
import BusLogic
import FluxBus

/// `fluxbus wait`: waits until the bus answers, a store exists, or an expression holds.
package struct WaitCommand: BusCommand {
    package static let configuration = CommandConfiguration(
        commandName: "wait",
        abstract: "Wait until the bus answers, a store exists, or an expression holds.",
        discussion: """
            Examples:
              fluxbus wait                                   until the bus answers
              fluxbus wait counter/kitchen --timeout 1m      until the store exists
              fluxbus wait counter/kitchen --timeout never   however long that takes
              fluxbus wait counter/kitchen '{">": [{"var": "count"}, 9]}'

            The expression is JsonLogic over the store's state, computed values included. Made for scripts and \
            units, as in ExecStartPre=. Nothing is polled: once connected, the bus says when it holds. After \
            --timeout the code is 75. With --timeout 0 it looks once, and the code is 1 when it does not hold.
            """)

    @Argument(help: "The store: TYPE/NAME.", completion: .custom(BusCompletion.targets))
    package var store: String?

    @Argument(help: "JsonLogic that must hold on the store's state.")
    package var expression: String?

    @OptionGroup package var options: GlobalOptions

    package init() {}

    package func validate() throws {
        guard store?.contains("/") ?? true else {
            throw ValidationError("Name one store, TYPE/NAME, as in: fluxbus wait \(store ?? "counter")/main")
        }
    }

    package func perform(in session: CommandSession) throws -> CommandStatus {
        try Waiter(session: session, store: store, expression: expression.map(Self.compile)).run()
    }

    private static func compile(_ text: String) throws -> Expression {
        let json: JSON
        do throws(JSONError) {
            json = try JSON(parsing: text)
        } catch {
            throw CommandFailure(.usage, "`\(text)` is not JSON: \(error).")
        }
        do {
            return try Expression.compile(json)
        } catch {
            throw CommandFailure(.usage, "`\(text)` is not an expression: \(error.message)")
        }
    }
}
