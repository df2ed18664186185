import BusJSON
import BusProtocol
import BusSource

/// `log: { keep: none }`: what the log keeps of the type's stores.
extension DefinitionLoader {
    private static let logMembers = ["keep", "for", "commits"]
    /// The most that `commits` may say: more are in no log.
    private static let mostCommits = 1_000_000_000

    mutating func loadLog(_ root: LocatedObject) throws(SourceError) {
        guard let source = root["log"] else { return }
        if case .scalar(.string(let text)) = source.content, LogPolicy(rawValue: text) != nil {
            throw source.failure("log must be an object; write log: { keep: \(text) }.")
        }
        let log = try source.object("log")
        log.unknownKeys(besides: Self.logMembers, of: "log").forEach(mistakes.add)
        let limits = ["for", "commits"].compactMap { log.member($0) }
        let keep = limits.isEmpty ? try log.required("keep", of: "log") : log["keep"]
        if let keep {
            parts.logPolicy =
                LogPolicy(
                    rawValue: try keep.word("keep", among: LogPolicy.allCases.reversed().map(\.rawValue)))
                ?? .all
        }
        if let limit = limits.first, parts.logPolicy != .all {
            throw SourceError(
                "keep: \(parts.logPolicy.rawValue) leaves no past that \(limit.key) could limit; take \(limit.key) away, or write keep: all.",
                at: limit.place)
        }
        var reach = LogReach()
        reach.age = try log["for"].map { (value) throws(SourceError) in try Self.age(value) }
        reach.commits = try log["commits"].map { (value) throws(SourceError) in
            try value.int("commits", in: 1...Self.mostCommits)
        }
        parts.logReach = parts.logPolicy == .all ? reach : .nothing
    }

    private static func age(_ value: LocatedValue) throws(SourceError) -> Int {
        guard case .scalar(let length) = value.content, let age = DurationText.milliseconds(of: length),
            age > 0
        else {
            if case .scalar(.string) = value.content {
                throw value.failure(
                    "for must be a length of time such as 12h or 90d; the units are ms, s, m, h, d and w.")
            }
            throw value.failure("for must be a length of time such as 12h or 90d, not \(value.kind).")
        }
        return age
    }
}
