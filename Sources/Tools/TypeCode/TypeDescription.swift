import BusJSON

/// The values of a state type, as its definition declares them: the members of a state, the actions and their payloads.
/// What the actions do is left out, because only the bus commits them.
///
/// It is made from any definition that a bus loads. What it does not know, such as a word of a newer daemon, is a value of
/// unknown type.
package struct TypeDescription: Sendable {
    /// One action with what it takes.
    package struct Action: Sendable {
        package let name: String
        package let summary: String?
        package let payload: [Member]
    }

    package let name: String
    package let summary: String?
    /// The members of a state, ascending by name. Their fallbacks are their values in a new store.
    package let members: [Member]
    /// The names of the computed values: members of a published state that nobody can write.
    package let computed: [String]
    package let actions: [Action]

    /// Nil when `definition` names no type.
    package init?(definition: JSON) {
        guard let name = definition["type"]?.string else { return nil }
        self.name = name
        summary = definition["summary"]?.string
        members = Self.members(definition["state"]?.object ?? [:], definition["initial"]?.object ?? [:])
        computed = definition["computed"]?.object?.keys ?? []
        actions = (definition["actions"]?.object ?? [:]).map { action in
            let payload = action.value["payload"]?.object ?? [:]
            return Action(
                name: action.key, summary: action.value["summary"]?.string,
                payload: payload.map { Member(payload: $0.key, $0.value) })
        }
    }

    /// Whoever is in `initial` or in `state` is a member. A member without a value in a new store may be absent.
    private static func members(_ schemas: JSONObject, _ initial: JSONObject) -> [Member] {
        var all = schemas
        for member in initial where all[member.key] == nil { all[member.key] = "any" }
        return all.map { member in
            let schema = Schema(member.value)
            let value = initial[member.key] ?? member.value["default"]
            let fallback = value.flatMap { schema.admits($0) ? $0 : nil }
            return Member(
                name: member.key, schema: schema, isOptional: fallback == nil, fallback: fallback,
                isDeclared: schemas[member.key] != nil)
        }
    }
}
