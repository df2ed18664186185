import ArgumentParser
import BusJSON
import BusLogic
import FluxBus

/// What a store has to be like for a request to be carried out: `--if-revision 12`, `--if 'count < 9'`.
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

    /// The flags that are given.
    var flags: [String] {
        (ifRevision == nil ? [] : ["--if-revision"]) + (condition == nil ? [] : ["--if"])
    }

    /// Adds the request's members for it.
    func add(to request: inout BusRequest) throws {
        request.set("ifRevision", ifRevision.map(JSON.int))
        request.set("if", try condition.map(Expression.condition))
    }
}
