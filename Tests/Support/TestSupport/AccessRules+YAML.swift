import BusLogic
import BusSource
import BusYAML

extension AccessRules {
    /// The rules that a file says; throws the first of its mistakes.
    package static func load(yaml: String, types: [any StateType]) throws -> AccessRules {
        var errors: [SourceError] = []
        let rules = load(try LocatedValue.read(yaml, file: "access.yaml"), types: types, &errors)
        guard let rules else { throw errors[0] }
        return rules
    }
}
