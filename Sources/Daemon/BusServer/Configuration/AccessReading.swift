import BusLogic
import BusSource
import BusSystem
import BusYAML

/// Reads the access rules, which stand in the configuration or in a file that it names.
enum AccessReading {
    /// Nil where there are none, or errors in them. What may be right on another day is in `doubts`: users, groups and tokens
    /// come and go without the rules.
    static func rules(
        _ configuration: ServerConfiguration, types: [any StateType], tokens: TokenTable,
        _ errors: inout ConfigurationErrors, doubts: inout ConfigurationErrors
    ) -> AccessRules? {
        guard let source = configuration.access, let value = value(source, configuration, &errors) else {
            return nil
        }
        var found: [SourceError] = []
        let rules = AccessRules.load(value, types: types, &found)
        for error in found { errors.add(error) }
        for role in rules?.roles ?? [] where !isPossible(role, tokens, configuration) {
            doubts.add(
                "Nobody can have the role \(role.name): this machine has no such user, group or token; correct its lines, or take it out.",
                at: role.place)
        }
        return rules
    }

    private static func value(
        _ source: LocatedValue, _ configuration: ServerConfiguration, _ errors: inout ConfigurationErrors
    ) -> LocatedValue? {
        guard case .scalar = source.content else { return source }
        return errors.collect { () throws(SourceError) in
            let path = try PathText.check(try source.string("access"), "access", at: source.place)
            let file = Located(PathText.resolve(path, beside: source.place.file), at: source.place)
            let bytes = try FileBytes.read(file, what: "the file of access rules")
            return try LocatedValue.read(bytes, file: file.value)
        }
    }

    private static func isPossible(
        _ role: AccessRole, _ tokens: TokenTable, _ configuration: ServerConfiguration
    ) -> Bool {
        role.isPossible { member, name in
            switch member {
            case "user": Accounts.user(named: name) != nil
            case "group": Accounts.group(named: name) != nil
            case "token": tokens.names.contains(name)
            default: true
            }
        }
    }
}
