import BusJSON

/// A state type as a document of JSON Schema, 2020-12. The document itself is the schema of a state; the payload of an action
/// is `#/$defs/payload.ACTION`.
package enum SchemaDocument {
    static func text(of type: TypeDescription) -> String {
        var definitions: JSONObject = ["state": state(of: type)]
        for action in type.actions { definitions["payload." + action.name] = payload(of: action) }
        var document: JSONObject = [
            "$schema": "https://json-schema.org/draft/2020-12/schema", "title": .string(type.name),
            "$ref": "#/$defs/state", "$defs": .object(definitions),
            "$comment": .string(TypeLanguage.jsonSchema.origin(type.name).joined(separator: " ")),
        ]
        document["description"] = description(type.summary)
        return lines(.object(document))
    }

    /// A document on several lines, for people.
    package static func lines(_ document: JSON) -> String {
        var text = ""
        write(document, "", &text)
        return text + "\n"
    }

    /// What an action takes.
    package static func payload(of action: TypeDescription.Action) -> JSON {
        var payload = object(action.payload, isRead: false)
        payload["description"] = description(action.summary)
        return .object(payload)
    }

    /// A published state. Members that nobody declared may be anything, be missing, and have others beside them.
    package static func state(of type: TypeDescription) -> JSON {
        var state = object(type.members.filter(\.isDeclared), isRead: true)
        var properties = state["properties"]?.object ?? [:]
        for member in type.members where !member.isDeclared { properties[member.name] = [:] }
        for member in type.computed {
            var property = schema(member.schema)
            property["readOnly"] = true
            properties[member.name] = .object(property)
        }
        state["properties"] = .object(properties)
        state["additionalProperties"] = nil
        return .object(state)
    }

    private static func object(_ members: [Member], isRead: Bool) -> JSONObject {
        var properties = JSONObject()
        var required: [JSON] = []
        for member in members {
            var property = schema(member.schema)
            if !isRead { property["default"] = member.fallback }
            properties[member.name] = .object(property)
            if !(isRead ? member.mayBeAbsent : member.isOptional) { required.append(.string(member.name)) }
        }
        var object: JSONObject = [
            "type": "object", "properties": .object(properties), "additionalProperties": false,
        ]
        if !required.isEmpty { object["required"] = .array(required) }
        return object
    }

    private static func schema(_ schema: Schema) -> JSONObject {
        var result = schema.bounds
        switch schema.shape {
        case .any:
            if schema.types.count > 1 {
                result["type"] = .array(
                    (schema.types + (schema.isNullable ? ["null"] : [])).map { .string($0) })
            }
            return described(result, schema)
        case .choice(let values):
            result["enum"] = .array(values + (schema.isNullable ? [.null] : []))
            return described(result, schema)
        case .boolean: result["type"] = "boolean"
        case .integer: result["type"] = "integer"
        case .number: result["type"] = "number"
        case .string: result["type"] = "string"
        case .array(let element):
            result["type"] = "array"
            if element != .any { result["items"] = .object(self.schema(element)) }
        case .map(let value):
            result["type"] = "object"
            if value != .any { result["additionalProperties"] = .object(self.schema(value)) }
        case .structure(let members):
            for member in object(members, isRead: true) { result[member.key] = member.value }
        }
        if schema.isNullable, let type = result["type"] { result["type"] = [type, "null"] }
        return described(result, schema)
    }

    private static func described(_ result: JSONObject, _ schema: Schema) -> JSONObject {
        var result = result
        result["description"] = description(schema.summary)
        return result
    }

    private static func description(_ summary: String?) -> JSON? { summary.map(JSON.string) }

    private static func write(_ value: JSON, _ indentation: String, _ text: inout String) {
        let inner = indentation + "  "
        switch value {
        case .object(let object) where !object.isEmpty:
            text += "{\n"
            for (index, member) in object.members.enumerated() {
                text += inner + JSON.string(member.key).encoded + ": "
                write(member.value, inner, &text)
                text += index + 1 < object.count ? ",\n" : "\n"
            }
            text += indentation + "}"
        default: text += value.encoded
        }
    }
}
