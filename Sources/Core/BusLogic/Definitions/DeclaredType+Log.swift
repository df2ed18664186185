import BusJSON
import BusProtocol
import BusSource

/// What types say of each other by what the log keeps of them: it can only be checked once all of them are known.
///
/// A commit is repeated from the log exactly only if everything that decides about it is in the log. Of another type that is
/// what a type waits for: its stores, or, where it is a view, those that the view reads. Conditions, invariants, timers,
/// `index` and `where` read the type's own stores; access rules, `if` and drops by `where` are decided before the commit, and
/// only their outcome is logged.
extension DeclaredType {
    package static func checkLogPolicies(_ types: [DeclaredType], _ errors: inout [SourceError]) {
        let indices = Dictionary(zip(types.map(\.name), types.indices)) { first, _ in first }
        /// The type of which the least is kept among one and all that it is made of.
        func least(_ type: DeclaredType, _ seen: Set<String> = []) -> DeclaredType {
            var found = type
            for name in type.view?.sources ?? [] where !seen.contains(name) {
                guard let source = indices[name] else { continue }
                let least = least(types[source], seen.union([type.name]))
                if least.logPolicy < found.logPolicy { found = least }
            }
            return found
        }
        for type in types {
            for (name, place) in zip(type.waitFor, type.waitForPlaces) {
                guard let awaited = indices[name].map({ types[$0] }) else { continue }
                let less = least(awaited)
                guard less.logPolicy < type.logPolicy else { continue }
                let what =
                    less === awaited
                    ? "of which the log keeps less" : "which reads \(less.name), of which the log keeps less"
                errors.append(
                    SourceError(
                        "\(type.name) waits for \(name), \(what): what \(type.name) does could not be repeated from the log. Write log: { keep: \(less.logPolicy.rawValue) } in \(type.name) too, or keep: \(type.logPolicy.rawValue) in \(less.name).",
                        at: place))
            }
        }
    }
}
