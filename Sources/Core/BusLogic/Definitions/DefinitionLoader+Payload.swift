import BusJSON
import BusProtocol
import BusSource

/// Payload members: `integer`, `integer?`, or a schema with `optional`.
extension DefinitionLoader {
    func loadPayload(_ source: LocatedValue?) -> LoadedPayload {
        guard let source else { return LoadedPayload([]) }
        if case .scalar(.string(let text)) = source.content {
            mistakes.add(
                "payload must be an object, not a string; write { NAME: \(text) }.", at: source.place)
            return LoadedPayload([])
        }
        guard let object = mistakes.collect({ () throws(SourceError) in try source.object("payload") })
        else { return LoadedPayload([]) }
        var members = object.members
        if let around = schemaAround(object) {
            mistakes.add(
                "payload lists the members themselves, with no schema around them; write what is in properties right below "
                    + "payload. A member is required unless its type ends in ?.", at: around)
            if case .object(let properties)? = object["properties"]?.content { members = properties.members }
        }
        let reader = SchemaReader(mistakes: mistakes)
        return LoadedPayload(
            members.map { member in
                let found = reader.read(member.value, of: member.key, for: .payload)
                let schema = found?.schema ?? .any
                let isOptional = found?.isOptional == true || schema.fallback != nil
                return PayloadMember(name: member.key, schema: schema, isOptional: isOptional)
            })
    }

    /// Doubts members that every payload must have and nothing reads. Optional ones may be for observers alone, unless
    /// something looks like a read of them.
    func doubtUnread(
        _ payload: LoadedPayload, of action: String, _ source: LocatedValue?, _ paths: [WritePath],
        _ review: ExpressionReview
    ) {
        guard case .object(let object)? = source?.content else { return }
        for member in payload.members {
            let name = member.name
            guard !review.reads(payload: name), !paths.contains(where: { $0.reads(payload: name) }),
                let place = object.member(name)?.place
            else { continue }
            if let text = review.texts.first(where: { UTF8Order.equal($0.text, name) }) {
                mistakes.doubt(
                    "\(name) is only a text here; write = payload.\(name) to read the payload.",
                    at: text.place)
            } else if let read = review.hiddenReads.first(where: { UTF8Order.equal($0.text, name) }) {
                mistakes.doubt(
                    "Inside an iteration var reads the element, and payload.\(name) is none of its members; "
                        + "write { val: [[2], payload, \(name)] }, with 2 for each iteration around it.",
                    at: read.place)
            } else if !member.isOptional, !mistakes.isTakenElsewhere(action, name) {
                mistakes.doubt(
                    "payload.\(name) is never read; use it in a write or a condition, or leave it out. If it is "
                        + "only for observers, make it optional: \(member.schema.type.rawValue)?", at: place)
            }
        }
    }

    /// `redact`: pointers to members of the payload of which only a digest is kept. What replays the log has no more than that,
    /// so nothing but `require`, which has held, may read them.
    func loadRedacted(
        _ source: LocatedValue?, _ payload: LoadedPayload, _ paths: [WritePath], _ review: ExpressionReview
    ) throws(SourceError) -> [String] {
        guard let source else { return [] }
        var names: [String] = []
        for element in try source.array("redact") {
            let text = try element.string("each of redact")
            guard text.hasPrefix("/"), !text.dropFirst().contains("/") else {
                throw element.failure("\(text) is not a pointer to a payload member; write /NAME.")
            }
            let name = String(text.dropFirst())
            guard let member = payload.member(name) else {
                throw element.failure(
                    "The payload has no member \(name); \(suggestion(for: name, among: payload.members.map(\.name)))"
                )
            }
            guard member.schema.type == .string else {
                throw element.failure(
                    "A digest is a string, and payload.\(name) is \(member.schema.type.rawValue); make it a string."
                )
            }
            if review.readsBesidesRequirements(payload: name)
                || paths.contains(where: { $0.reads(payload: name) })
            {
                throw element.failure(
                    "payload.\(name) is read by more than require, and the log would not have it; take it out of redact, or out of what reads it."
                )
            }
            names.append(name)
        }
        return names
    }
}
