import ArgumentParser

/// The states, and the parts of them, for every command that shows some.
package struct StateArguments: ParsableArguments {
    @Argument(
        help:
            "A store (counter/kitchen), a type (counter) or a pattern ('counter/*'); every store without one.",
        completion: .custom(BusCompletion.targets))
    package var target: String = "*/*"

    @Option(
        help: ArgumentHelp(
            "Only this part of the states, a JSON Pointer; may be repeated.", valueName: "pointer"))
    package var select: [String] = []

    package init() {}
}
