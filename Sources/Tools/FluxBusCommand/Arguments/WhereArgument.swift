import ArgumentParser
import BusJSON
import BusLogic

/// `--where`: which of the stores are meant, by what they are like.
package struct WhereArgument: ParsableArguments {
    @Option(
        name: .customLong("where"),
        help: ArgumentHelp(
            "Only stores for which this holds: text such as 'count > 3', or JsonLogic where it begins with {.",
            valueName: "expression"))
    package var expression: String?

    package init() {}

    /// As a request has it; nil without one.
    func condition() throws -> JSON? { try expression.map(Expression.condition) }
}
