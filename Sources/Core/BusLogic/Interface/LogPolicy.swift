import BusJSON
import BusProtocol

/// What the log keeps of a type's stores, from the least to the most.
package enum LogPolicy: String, CaseIterable, Comparable, Sendable {
    /// Nothing: after a start its stores have their initial states.
    case none
    /// Its stores as they are, and no past.
    case latest
    /// Every commit.
    case all

    package static func < (one: LogPolicy, other: LogPolicy) -> Bool {
        allCases.firstIndex(of: one)! < allCases.firstIndex(of: other)!
    }
}

/// How far back the log keeps the past of a type, where that is less far than the bus's own retention.
package struct LogReach: Equatable, Sendable {
    /// In milliseconds; nil: as far as the bus's retention.
    package var age: Int?
    /// How many commits that concern the type; nil: however many.
    package var commits: Int?

    /// No past at all.
    package static let nothing = LogReach(age: 0)
    package static let whole = LogReach()

    package init(age: Int? = nil, commits: Int? = nil) { (self.age, self.commits) = (age, commits) }

    /// Whether it surely reaches as far back as another. Numbers of commits of two types can't be compared.
    func reaches(asFarAs other: LogReach) -> Bool {
        commits == nil && (age.map { age in other.age.map { $0 <= age } ?? false } ?? true)
    }
}

extension JSON {
    /// What a log keeps of the stores of a type with this definition.
    package var logPolicy: LogPolicy {
        self["log"]?["keep"]?.string.flatMap { LogPolicy(rawValue: $0) } ?? .all
    }

    /// How far back it keeps their past.
    package var logReach: LogReach {
        if logPolicy != .all { return .nothing }
        return LogReach(
            age: self["log"]?["for"].flatMap { DurationText.milliseconds(of: $0) },
            commits: self["log"]?["commits"]?.int)
    }
}
