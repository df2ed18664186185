import ArgumentParser
import BusJSON
import BusLogic
import FluxBus

/// The conditions on a store under which a request is executed: `--if-revision 12`, `--if 'count < 9'`.
package struct StoreCondition: ParsableArguments {
    @Option(help: ArgumentHelp("Only if this is the store's revision.", valueName: "revision"))
    package var ifRevision: Int?

    @Option(
        name: .customLong("if"),
        help: ArgumentHelp(
            "Only if this holds for the store's state: text, or JsonLogic where it begins with {.",
            valueName: "expression"))
    package var condition: String?

    package init() {}

    /// The options that were given, as they are written.
    var flags: [String] {
        (ifRevision == nil ? [] : ["--if-revision"]) + (condition == nil ? [] : ["--if"])
    }

    /// Adds the conditions to a request.
    func add(to request: inout BusRequest) throws {
        request.set("ifRevision", ifRevision.map(JSON.int))
        request.set("if", try condition.map(Expression.condition))
    }
}
