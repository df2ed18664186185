import BusJSON
import BusProtocol
import BusSource

/// Who may do what on a bus: its roles and rules, as one definition. What no rule allows is forbidden.
package final class AccessRules: Sendable {
    /// As it was written: what the log keeps.
    package let definition: JSON
    package let roles: [AccessRole]
    package let rules: [AccessRule]

    init(definition: JSON, roles: [AccessRole], rules: [AccessRule]) {
        self.definition = definition
        self.roles = roles
        self.rules = rules
    }

    /// Reads what a log holds. Throws where this version can't read it.
    package convenience init(definition: JSON) throws(SourceError) {
        try self.init(LocatedValue(definition, name: "access"))
    }

    /// Reads rules without the types that they are about; throws the first mistake.
    package convenience init(_ source: LocatedValue) throws(SourceError) {
        var loader = AccessLoader(types: nil)
        let loaded = loader.load(source)
        if let error = loader.mistakes.errors.first { throw error }
        self.init(definition: source.json, roles: loaded.roles, rules: loaded.rules)
    }

    /// Reads what a file says, and finds all mistakes in it. `types`: the types it is written for.
    package static func load(
        _ source: LocatedValue, types: [any StateType], _ errors: inout [SourceError]
    ) -> AccessRules? {
        var loader = AccessLoader(types: types)
        let loaded = loader.load(source)
        errors += loader.mistakes.inOrder
        guard loader.mistakes.isEmpty else { return nil }
        return AccessRules(definition: source.json, roles: loaded.roles, rules: loaded.rules)
    }

    /// The names of the roles that somebody has, in the order of the definition.
    package func roles(of who: Credentials) -> [String] {
        roles.filter { $0.isOf(who) }.map(\.name)
    }

    /// What those may who have these roles.
    package func grants(to names: [String]) -> Grants {
        Grants(
            roles: names, rules.filter { rule in names.contains { UTF8Order.equal($0, rule.role) } })
    }
}
