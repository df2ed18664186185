import BusCluster
import BusJSON
import BusLogic
import BusMachine

/// What a reload has read.
package struct LoadedDefinitions: Sendable {
    package let types: [any StateType]
    package let limits: Limits
    /// Who may do what; nil: everybody may do all but what is kept for operators.
    package let access: AccessRules?
    /// Settings that were read, too, but only a restart takes, by name: the reply tells them.
    package let restart: [String]

    package init(
        types: [any StateType], limits: Limits, access: AccessRules? = nil, restart: [String] = []
    ) {
        self.types = types
        self.limits = limits
        self.access = access
        self.restart = restart
    }

    /// Types, access rules and limits as an entry of the shared log has them.
    package func entry(beginning: BusBeginning? = nil) -> [UInt8] {
        var members: JSONObject = [
            "types": .array(types.map(\.definition)), "access": access?.definition ?? .null,
            "limits": limits.effective.json,
        ]
        if let beginning { members["begin"] = beginning.json }
        return Array(members.encoded.utf8)
    }

    /// In what the files of a member differ from what is in force: types by name, the access rules, limits.
    func differences(from machine: StateMachine) -> [String] {
        var differing: [String] = []
        let live = machine.liveTypes.map(\.type)
        for type in types
        where live.first(where: { UTF8Order.equal($0.name, type.name) })?.definition != type.definition {
            differing.append("the type \(type.name)")
        }
        for type in live where !types.contains(where: { UTF8Order.equal($0.name, type.name) }) {
            differing.append("the type \(type.name)")
        }
        if machine.access?.definition != access?.definition { differing.append("the access rules") }
        if machine.limits != limits.effective { differing.append("the limits") }
        return differing
    }
}

/// Why definitions could not be reloaded; the old ones stay.
package struct ReloadFailure: Error {
    package var message: String
    package init(message: String) { self.message = message }
}
