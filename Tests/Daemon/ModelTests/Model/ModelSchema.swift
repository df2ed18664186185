import BusJSON

/// A schema, checked by the page about types, word by word.
struct ModelSchema {
    let words: JSON

    /// A type's name, perhaps with `?`, or an object of words.
    init(_ json: JSON) {
        guard let name = json.string else {
            words = json
            return
        }
        words =
            name.hasSuffix("?")
            ? ["type": .string(String(name.dropLast())), "optional": true] : ["type": .string(name)]
    }

    var isOptional: Bool { words["optional"] == true }

    /// The path of the first thing in `value` that does not fit, beginning with `path`; nil where all fits.
    func violation(of value: JSON, at path: [String]) -> [String]? {
        if value.isNull, words["nullable"] == true { return nil }
        guard fitsType(value) else { return path }
        if let allowed = words["enum"]?.array,
            !allowed.contains(where: { ModelExpression.areAlike($0, value) })
        {
            return path
        }
        if let number = value.double {
            if let least = words["minimum"]?.double, number < least { return path }
            if let most = words["maximum"]?.double, number > most { return path }
        }
        if let text = value.string {
            if let least = words["minLength"]?.int, text.unicodeScalars.count < least { return path }
            if let most = words["maxLength"]?.int, text.unicodeScalars.count > most { return path }
        }
        if let elements = value.array {
            if let most = words["maxItems"]?.int, elements.count > most { return path }
            if let items = words["items"].map(ModelSchema.init) {
                for (index, element) in elements.enumerated() {
                    if let found = items.violation(of: element, at: path + ["\(index)"]) { return found }
                }
            }
        }
        return value.object.flatMap { violation(of: $0, at: path) }
    }

    private func violation(of members: JSONObject, at path: [String]) -> [String]? {
        if let properties = words["properties"]?.object {
            for name in words["required"]?.array?.compactMap(\.string) ?? [] where members[name] == nil {
                return path
            }
            for member in members {
                guard let schema = properties[member.key].map(ModelSchema.init) else {
                    return path + [member.key]
                }
                if let found = schema.violation(of: member.value, at: path + [member.key]) { return found }
            }
        }
        if let values = words["values"].map(ModelSchema.init) {
            for member in members {
                if let found = values.violation(of: member.value, at: path + [member.key]) { return found }
            }
        }
        return nil
    }

    private func fitsType(_ value: JSON) -> Bool {
        let type = words["type"]?.string ?? (words["properties"] ?? words["values"] == nil ? "any" : "object")
        return switch type {
        case "any": true
        case "number": value.double != nil
        default: value.kind == type
        }
    }
}
