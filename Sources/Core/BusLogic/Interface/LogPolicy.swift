import BusJSON

/// What the log keeps of a type's stores, from the least to the most.
package enum LogPolicy: String, CaseIterable, Comparable, Sendable {
    /// Nothing: after a start its stores begin anew.
    case none
    /// Every commit.
    case all

    package static func < (one: LogPolicy, other: LogPolicy) -> Bool { one != other && one == .none }
}

extension JSON {
    /// What a log keeps of the stores of a type with this definition.
    package var logPolicy: LogPolicy {
        self["log"]?["keep"]?.string.flatMap { LogPolicy(rawValue: $0) } ?? .all
    }
}
