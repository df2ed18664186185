import ArgumentParser
import BusJSON
import BusLogic

/// `fluxbus wait`: waits until the bus answers, a store exists, or an expression holds, on one store or several.
package struct WaitCommand: BusCommand {
    package static let configuration = CommandConfiguration(
        commandName: "wait",
        abstract: "Wait until the bus answers, stores exist, or an expression holds on them.",
        discussion: """
            Examples:
              fluxbus wait                                   until the bus answers
              fluxbus wait counter/kitchen --timeout 1m      until the store exists
              fluxbus wait counter/kitchen --timeout never   however long that takes
              fluxbus wait counter/kitchen 'count > 9'
              fluxbus wait 'counter/*' --until 'count > 9'   until some counter is above 9
              fluxbus wait 'thermostat/*' --until 'target > 20' --all
              fluxbus wait 'door/*' --until isOpen --none --timeout 0 || echo 'a door is open'

            The expression is over the store's state, computed values included; `man fluxbus-types` describes \
            it. An object in JSON with an operator is JsonLogic. With a pattern it is about all stores that match \
            now, as they come and go: --any of them is the default; --all needs at least one, and --none holds \
            where there are none. Made for scripts and \
            units, as in ExecStartPre=. Nothing is polled: once connected, the bus says when it holds. After \
            --timeout the code is 75. With --timeout 0 it looks once, and the code is 1 when it does not hold.
            """)

    @Argument(
        help: "The store, TYPE/NAME, or a pattern of several, as 'light/*'.",
        completion: .custom(BusCompletion.targets))
    package var store: String?

    @Argument(help: "An expression that must hold on the store's state.")
    package var expression: String?

    @Option(help: ArgumentHelp("The same, by name.", valueName: "expression"))
    package var until: String?

    @Flag(exclusivity: .exclusive)
    package var quantifier = Quantifier.any

    @OptionGroup package var options: GlobalOptions
    package var isOpenEnded: Bool { true }

    package init() {}

    package func validate() throws {
        guard store?.contains("/") ?? true else {
            throw ValidationError(
                "Name one store, TYPE/NAME, as in: fluxbus wait \(store ?? "counter")/main; or a pattern of several, as '\(store ?? "counter")/*'."
            )
        }
        guard expression == nil || until == nil else {
            throw ValidationError("Give one expression, behind the store or as --until.")
        }
        let condition = expression ?? until
        if store == nil, condition != nil || quantifier != .any {
            throw ValidationError("--until, --all and --none need a store or a pattern, as 'light/*'.")
        }
        if quantifier == .all, condition == nil {
            throw ValidationError("--all needs an expression: --until 'isOn'.")
        }
    }

    package func perform(in session: CommandSession) throws -> CommandStatus {
        try Waiter(session: session, wanted: wanted()).run()
    }

    private func wanted() throws -> Waiter.Wanted {
        guard let store else { return .bus }
        let condition = expression ?? until
        if case .store = StoreSelector(store), quantifier != .none {
            return .store(store, try condition.map { try .argument($0, isCondition: true) })
        }
        return .stores(store, try condition.map(Expression.condition), quantifier)
    }
}

/// On how many of its stores a wait's expression must hold.
package enum Quantifier: String, EnumerableFlag {
    case any, all, none

    package static func help(for value: Quantifier) -> ArgumentHelp? {
        switch value {
        case .any: "It must hold on one of the stores."
        case .all: "It must hold on each of the stores, of which there is one at least."
        case .none: "It must hold on none of the stores; without an expression, there must be none."
        }
    }
}
