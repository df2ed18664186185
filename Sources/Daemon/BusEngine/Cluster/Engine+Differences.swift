import BusCluster
import BusJSON
import BusLogic
import BusMachine

/// What decides outcomes on the bus, compared with what a member's files say.
extension Engine {
    /// In what the files of a member differ from what is in force: types by name, the access rules, limits.
    package func differences(from loaded: LoadedDefinitions) -> [String] {
        var differing: [String] = []
        let live = machine.liveTypes.map(\.type)
        for type in loaded.types
        where live.first(where: { UTF8Order.equal($0.name, type.name) })?.definition != type.definition {
            differing.append("the type \(type.name)")
        }
        for type in live where !loaded.types.contains(where: { UTF8Order.equal($0.name, type.name) }) {
            differing.append("the type \(type.name)")
        }
        if machine.access?.definition != loaded.access?.definition { differing.append("the access rules") }
        if machine.limits != loaded.limits.effective { differing.append("the limits") }
        return differing
    }
}
