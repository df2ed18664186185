import BusJSON
import BusProtocol
import BusSource

/// What types say of each other by what the log keeps of them: it can only be checked once all of them are known.
///
/// A commit is repeated from the log exactly only if everything that decides about it is in the log. Of another type that is
/// what a type waits for: its stores, or, where it is a view, those that the view reads. Conditions, invariants, timers,
/// `index` and `where` read the type's own stores; access rules, `if` and drops by `where` are decided before the commit, and
/// only their outcome is logged.
///
/// A past is made again from where it begins, so a type must not begin before one that it waits for either.
extension DeclaredType {
    package static func checkLogPolicies(_ types: [DeclaredType], _ errors: inout [SourceError]) {
        let indices = Dictionary(zip(types.map(\.name), types.indices)) { first, _ in first }
        /// One and all that it is made of.
        func parts(of type: DeclaredType, _ seen: Set<String> = []) -> [DeclaredType] {
            let sources = (type.view?.sources ?? []).filter { !seen.contains($0) }
            return [type]
                + sources.compactMap { indices[$0] }.flatMap {
                    parts(of: types[$0], seen.union([type.name]))
                }
        }
        for type in types {
            for (name, place) in zip(type.waitFor, type.waitForPlaces) {
                guard let awaited = indices[name].map({ types[$0] }),
                    let less = parts(of: awaited).filter({ $0 !== type && $0.keepsLess(than: type) })
                        .min(by: { $0.logPolicy < $1.logPolicy })
                else { continue }
                let what =
                    less === awaited
                    ? "of which the log keeps less" : "which reads \(less.name), of which the log keeps less"
                let (own, other) =
                    less.logPolicy < type.logPolicy
                    ? ("log: { keep: \(less.logPolicy.rawValue) }", "keep: \(type.logPolicy.rawValue)")
                    : ("log: { keep: latest }", "log: { keep: all }, without for and commits,")
                errors.append(
                    SourceError(
                        "\(type.name) waits for \(name), \(what): what \(type.name) does could not be repeated from the log. Write \(own) in \(type.name) too, or \(other) in \(less.name).",
                        at: place))
            }
        }
    }

    /// Whether the log keeps less of it than of another type, or may do so.
    private func keepsLess(than other: DeclaredType) -> Bool {
        if logPolicy != other.logPolicy { return logPolicy < other.logPolicy }
        return logPolicy == .all && !logReach.reaches(asFarAs: other.logReach)
    }
}
