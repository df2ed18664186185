import ArgumentParser
import BusJSON
import FluxBus

/// `fluxbus wait`: until the bus answers, or a store exists.
package struct WaitCommand: BusCommand {
    package static let configuration = CommandConfiguration(
        commandName: "wait",
        abstract: "Wait until the bus answers, or a store exists.",
        discussion: """
            Examples:
              fluxbus wait                                   until the bus answers
              fluxbus wait counter/kitchen --timeout 1m      until the store exists

            Made for scripts and units, as in ExecStartPre=. Nothing is polled: once connected, the bus says when it \
            is so. After --timeout the code is 75. With --timeout 0 it looks once, and the code is 1 when it is \
            not so.
            """)

    @Argument(help: "The store: TYPE/NAME.", completion: .custom(BusCompletion.targets))
    package var store: String?

    @OptionGroup package var options: GlobalOptions

    package init() {}

    package func validate() throws {
        guard store?.contains("/") ?? true else {
            throw ValidationError("Name one store, TYPE/NAME, as in: fluxbus wait \(store ?? "counter")/main")
        }
    }

    package func perform(in session: CommandSession) throws -> CommandStatus {
        try Waiter(session: session, store: store).run()
    }
}
