import BusJSON

/// Whether a value fits a schema, worked out from the definition's JSON by the plainest way, to hold the fast one
/// against.
enum SchemaOracle {
    static func fits(_ value: JSON, _ schema: JSON) -> Bool {
        if let name = schema.string { return isOfType(value, name) }
        guard let words = schema.object else { return false }
        if value.isNull, words["nullable"]?.bool == true { return true }
        if let choices = words["enum"]?.array ?? words["const"].map({ [$0] }),
            !choices.contains(where: { equal($0, value) })
        {
            return false
        }
        let types = words["type"]?.array?.compactMap(\.string) ?? words["type"]?.string.map { [$0] }
        if let types, !types.contains(where: { isOfType(value, $0) }) { return false }
        switch value {
        case .int, .double:
            let number = value.double ?? 0
            if let least = words["minimum"]?.double, number < least { return false }
            if let most = words["maximum"]?.double, number > most { return false }
            if let least = words["exclusiveMinimum"]?.double, number <= least { return false }
            if let most = words["exclusiveMaximum"]?.double, number >= most { return false }
        case .string(let text):
            let length = text.unicodeScalars.count
            if let least = words["minLength"]?.int, length < least { return false }
            if let most = words["maxLength"]?.int, length > most { return false }
        case .array(let elements):
            if let most = words["maxItems"]?.int, elements.count > most { return false }
            if let least = words["minItems"]?.int, elements.count < least { return false }
            if words["uniqueItems"] == true {
                for (index, element) in elements.enumerated()
                where elements[..<index].contains(where: { equal($0, element) }) {
                    return false
                }
            }
            if let items = words["items"], !elements.allSatisfy({ fits($0, items) }) { return false }
        case .object(let object):
            for member in object.members {
                if let values = words["values"], !fits(member.value, values) { return false }
                guard let properties = words["properties"]?.object else { continue }
                guard let property = properties[member.key], fits(member.value, property) else {
                    return false
                }
            }
            for name in words["required"]?.array ?? [] where object[name.string ?? ""] == nil { return false }
        default: break
        }
        return true
    }

    static func fits(state: JSONObject, _ schemas: JSONObject) -> Bool {
        schemas.members.allSatisfy { schema in state[schema.key].map { fits($0, schema.value) } ?? false }
    }

    private static func isOfType(_ value: JSON, _ type: String) -> Bool {
        switch (type, value) {
        case ("any", _), ("boolean", .bool), ("integer", .int), ("number", .int), ("number", .double),
            ("string", .string), ("array", .array), ("object", .object), ("null", .null):
            true
        default: false
        }
    }

    private static func equal(_ left: JSON, _ right: JSON) -> Bool {
        switch (left, right) {
        case (.int, .double), (.double, .int), (.double, .double): left.double == right.double
        case (.array(let a), .array(let b)): a.count == b.count && zip(a, b).allSatisfy { equal($0, $1) }
        case (.object(let a), .object(let b)):
            a.keys == b.keys && zip(a.members, b.members).allSatisfy { equal($0.value, $1.value) }
        default: left == right
        }
    }
}
