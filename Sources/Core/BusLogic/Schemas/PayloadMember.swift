import BusJSON
import BusProtocol

/// A member of an action's payload, as the definition says it. `schema.fallback` is its default.
package struct PayloadMember: Sendable {
    package let name: String
    package let schema: ValueSchema
    /// Whether it may be absent; one with a default is filled in.
    package let isOptional: Bool
}

/// What payload members have to be beyond their types. Only actions whose definition says so have these.
final class PayloadConstraints: Sendable {
    private let members: [PayloadMember]

    /// Nil where types say all.
    init?(_ members: [PayloadMember]) {
        self.members = members.filter(\.schema.isNarrow)
        if self.members.isEmpty { return nil }
    }

    /// A payload with the defaults inside of its members.
    func filled(_ payload: JSONObject) -> JSONObject {
        var filled = payload
        for member in members where member.schema.fillsIn {
            filled[member.name] = payload[member.name].map(member.schema.filled)
        }
        return filled
    }

    /// Refuses a payload whose members have the right types but do not fit.
    func check(_ payload: JSONObject, of action: String) throws(PayloadFailure) {
        for member in members {
            guard let value = payload[member.name] else { continue }
            if let problem = member.schema.problem(of: value, at: ["payload", member.name]) {
                throw PayloadFailure("\(action): \(problem.sentence).")
            }
        }
    }
}

/// A payload's members as an action needs them.
struct LoadedPayload {
    let members: [PayloadMember]
    /// Names and types, which most payloads are checked by alone.
    let schema: PayloadSchema
    let constraints: PayloadConstraints?

    init(_ members: [PayloadMember]) {
        self.members = members.sorted { UTF8Order.precedes($0.name, $1.name) }
        schema = PayloadSchema(
            members.map { member in
                // The type of a payload schema takes no null; the constraints do the rest.
                let type = member.schema.isNullable ? .any : member.schema.type
                return .init(
                    name: member.name, type: type, isOptional: member.isOptional,
                    fallback: member.schema.fallback)
            })
        constraints = PayloadConstraints(members)
    }

    func member(_ name: String) -> PayloadMember? { members.first { UTF8Order.equal($0.name, name) } }
}
