import BusJSON
import BusProtocol
import BusSource

/// Payload members: `integer`, `integer?`, or `{type, optional, default, summary}`.
extension DefinitionLoader {
    func loadPayload(_ source: LocatedValue?) throws(SourceError) -> PayloadSchema {
        var members: [PayloadSchema.Member] = []
        for member in try source?.object("payload").members ?? [] {
            members.append(try loadMember(member))
        }
        return PayloadSchema(members)
    }

    private func loadMember(_ member: LocatedObject.Member) throws(SourceError) -> PayloadSchema.Member {
        let name = member.key
        guard case .object(let object) = member.value.content else {
            let (type, isOptional) = try loadType(member.value, of: name)
            return .init(name: name, type: type, isOptional: isOptional, fallback: nil)
        }
        try object.refuseMembers(
            besides: ["type", "optional", "default", "summary"], of: "a payload member")
        _ = try object["summary"]?.string("summary")
        let (type, mark) = try loadType(object.required("type", of: "The payload member \(name)"), of: name)
        var isOptional = mark
        if let optional = object["optional"] { isOptional = try optional.bool("optional") || mark }
        guard let fallback = object["default"] else {
            return .init(name: name, type: type, isOptional: isOptional, fallback: nil)
        }
        guard type.admits(fallback.json) else {
            throw fallback.failure(
                "The default of \(name) must be \(type.phrase), not \(fallback.json.phrase).")
        }
        return .init(name: name, type: type, isOptional: true, fallback: fallback.json)
    }

    private func loadType(
        _ source: LocatedValue, of name: String
    ) throws(SourceError) -> (type: PayloadType, isOptional: Bool) {
        let text = try source.string("the type of payload.\(name)")
        let isOptional = text.hasSuffix("?")
        let word = isOptional ? String(text.dropLast()) : text
        guard let type = PayloadType(rawValue: word) else {
            let hint = suggestion(for: word, among: PayloadType.words)
            throw source.failure("\(word) is no payload type; \(hint)")
        }
        return (type, isOptional)
    }
}
