import BusJSON

/// What a definition says about one value.
package struct Schema: Sendable, Equatable {
    /// The kinds of values that all languages distinguish.
    package indirect enum Shape: Sendable, Equatable {
        case any, boolean, integer, number, string
        /// One of these.
        case choice([JSON])
        case array(Schema)
        /// An object with any member names.
        case map(Schema)
        /// An object with these members and no others.
        case structure([Member])
    }

    package let shape: Shape
    package let isNullable: Bool
    package let summary: String?
    /// The types of which a value has one, where there is a list.
    package let types: [String]
    /// The words of the definition that narrow the shape: `minimum`, `maxLength`, …
    package let bounds: JSONObject

    static let any = Schema("any")

    /// Reads a type's name or an object.
    package init(_ source: JSON) {
        let word = (source.string ?? Self.single(source["type"])).map {
            $0.hasSuffix("?") ? $0.dropLast() : $0[...]
        }
        var bounds = JSONObject()
        for name in Self.boundNames { bounds[name] = source[name] }
        self.bounds = bounds
        summary = source["summary"]?.string
        let choices = source["enum"]?.array ?? source["const"].map { [$0] } ?? []
        isNullable =
            source["nullable"]?.bool == true || choices.contains(.null)
            || source["type"]?.array?.contains("null") == true
        types = source["type"]?.array?.compactMap(\.string).filter { $0 != "null" } ?? []
        var values: [JSON] = []
        for value in choices where !value.isNull && !values.contains(value) { values.append(value) }
        shape = values.isEmpty ? Self.shape(word.map(String.init), source) : .choice(values)
    }

    private static let boundNames = [
        "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength", "maxLength", "minItems",
        "maxItems", "uniqueItems",
    ]

    /// The type of a list that has but one beside null; of an integer or a number, `number`.
    private static func single(_ type: JSON?) -> String? {
        guard let list = type?.array else { return type?.string }
        let types = list.compactMap(\.string).filter { $0 != "null" }
        let others = types.contains("number") ? types.filter { $0 != "integer" } : types
        return others.count == 1 ? others[0] : "any"
    }

    private static func shape(_ word: String?, _ source: JSON) -> Shape {
        switch word ?? implied(by: source) {
        case "boolean": .boolean
        case "integer": .integer
        case "number": .number
        case "string": .string
        case "array": .array(source["items"].map { Schema($0) } ?? any)
        case "object": object(source)
        default: .any
        }
    }

    /// The type of an object in which only the words of one make sense.
    private static func implied(by source: JSON) -> String? {
        if source["properties"] != nil || source["values"] != nil { return "object" }
        return source["items"] == nil && source["minItems"] == nil && source["maxItems"] == nil
            ? nil : "array"
    }

    private static func object(_ source: JSON) -> Shape {
        guard let properties = source["properties"]?.object, source["values"] == nil else {
            let isMixed = source["properties"] != nil
            return .map(source["values"].flatMap { isMixed ? nil : Schema($0) } ?? any)
        }
        let required = (source["required"]?.array ?? []).compactMap(\.string)
        return .structure(
            properties.map { member in
                let schema = Schema(member.value)
                return Member(
                    name: member.key, schema: schema,
                    isOptional: !required.contains { UTF8Order.equal($0, member.key) },
                    fallback: member.value["default"].flatMap { schema.admits($0) ? $0 : nil })
            })
    }

    /// Whether a value has this shape. Bounds are the bus's affair.
    package func admits(_ value: JSON) -> Bool {
        if value.isNull && isNullable { return true }
        switch (shape, value) {
        case (.any, _), (.boolean, .bool), (.integer, .int), (.number, .int), (.number, .double),
            (.string, .string):
            return true
        case (.choice(let choices), _): return choices.contains(value)
        case (.array(let schema), .array(let elements)): return elements.allSatisfy(schema.admits)
        case (.map(let schema), .object(let object)):
            return object.members.allSatisfy { schema.admits($0.value) }
        case (.structure(let members), .object(let object)):
            let isComplete = members.allSatisfy { member in
                object[member.name].map(member.schema.admits) ?? member.isOptional
            }
            return isComplete
                && object.keys.allSatisfy { key in members.contains { UTF8Order.equal($0.name, key) } }
        default: return false
        }
    }

    /// The bounds as sentences for people; empty without bounds.
    package var remarks: [String] {
        func range(_ subject: String, _ least: String, _ most: String) -> String? {
            switch (bounds[least], bounds[most]) {
            case (let least?, let most?): "\(subject)from \(least.encoded) to \(most.encoded)."
            case (let least?, nil): "\(subject)at least \(least.encoded)."
            case (nil, let most?): "\(subject)at most \(most.encoded)."
            case (nil, nil): nil
            }
        }
        return [
            range("Value: ", "minimum", "maximum"), range("Length: ", "minLength", "maxLength"),
            range("Elements: ", "minItems", "maxItems"),
            bounds["uniqueItems"] == true ? "No element twice." : nil,
            bounds["exclusiveMinimum"].map { "Value: more than \($0.encoded)." },
            bounds["exclusiveMaximum"].map { "Value: less than \($0.encoded)." },
        ].compactMap(\.self)
    }
}

extension [JSON] {
    /// All of them as strings; nil when one is none, or when Swift can't tell two of them apart.
    var strings: [String]? {
        let strings = compactMap(\.string)
        return Set(strings).count == count ? strings : nil
    }
}
