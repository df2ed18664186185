import BusJSON
import BusProtocol
import BusSource

/// `log: { keep: none }`: what the log keeps of the type's stores.
extension DefinitionLoader {
    private static let logMembers = ["keep"]

    mutating func loadLog(_ root: LocatedObject) throws(SourceError) {
        guard let source = root["log"] else { return }
        if case .scalar(.string(let text)) = source.content, LogPolicy(rawValue: text) != nil {
            throw source.failure("log must be an object; write log: { keep: \(text) }.")
        }
        let log = try source.object("log")
        for member in log.strangers(besides: Self.logMembers) {
            mistakes.add(
                FileWords.unknownKey(member.key, in: "log", among: Self.logMembers), at: member.place)
        }
        let keep = try log.required("keep", of: "log")
        parts.logPolicy =
            LogPolicy(rawValue: try keep.word("keep", among: LogPolicy.allCases.reversed().map(\.rawValue)))
            ?? .all
    }
}
