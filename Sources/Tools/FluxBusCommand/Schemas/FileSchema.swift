import BusJSON
import Glibc
import TypeCode

/// The JSON Schemas, draft 07, of the files that people write: editors complete, explain and underline by them. A file that the bus
/// takes is valid; what a schema can't see, such as a name that nothing has, the bus says when it reads the file.
package enum FileSchema: String, CaseIterable, Sendable {
    case type, test, config, access, effect, hook

    /// Where the package installs them: beside the folder of this program, or where a package of the system does.
    package static let directory: String = {
        let own = WebCommand.ownPath()?.split(separator: "/").dropLast(2).joined(separator: "/")
        let beside = own.map { "/\($0)/share/fluxbus/schemas" }
        return beside.flatMap { Glibc.access($0, F_OK) == 0 ? $0 : nil } ?? "/usr/share/fluxbus/schemas"
    }()

    package var fileName: String { "\(rawValue).schema.json" }

    /// The first line of a file, by which an editor with yaml-language-server finds the schema.
    package var comment: String { "# yaml-language-server: $schema=\(Self.directory)/\(fileName)" }

    package var text: String {
        var document = content
        document["$schema"] = "http://json-schema.org/draft-07/schema#"
        return SchemaDocument.lines(.object(document))
    }

    private var content: JSONObject {
        switch self {
        case .type: TypeFileSchema.type
        case .test: TypeFileSchema.tests
        case .config: ConfigurationSchema.configuration
        case .access: ConfigurationSchema.access
        case .effect: EffectSchema.effect
        case .hook: HookSchema.hook
        }
    }

    // MARK: Parts

    /// An object that has these members and no others.
    static func object(
        _ about: String, _ members: JSONObject, required: [String] = [], _ more: JSONObject = [:]
    ) -> JSON {
        var schema: JSONObject = [
            "description": .string(about), "type": "object", "properties": .object(members),
            "additionalProperties": false,
        ]
        if !required.isEmpty { schema["required"] = .array(required.map(JSON.string)) }
        for member in more { schema[member.key] = member.value }
        return .object(schema)
    }

    /// An object of any names that fit a pattern.
    static func map(_ about: String, of element: JSON, names: String? = nil) -> JSON {
        var schema: JSONObject = [
            "description": .string(about), "type": "object", "additionalProperties": element,
        ]
        if let names { schema["propertyNames"] = ["pattern": .string(names)] }
        return .object(schema)
    }

    static func list(_ about: String, of element: JSON, isEmpty: Bool = true) -> JSON {
        var schema: JSONObject = ["description": .string(about), "type": "array", "items": element]
        if !isEmpty { schema["minItems"] = 1 }
        return .object(schema)
    }

    static func text(_ about: String, _ pattern: String? = nil) -> JSON {
        var schema: JSONObject = ["description": .string(about), "type": "string"]
        if let pattern { schema["pattern"] = .string(pattern) }
        return .object(schema)
    }

    /// A value of one of these types.
    static func value(_ about: String, _ types: String...) -> JSON {
        var schema: JSONObject = ["description": .string(about)]
        if !types.isEmpty { schema["type"] = .array(types.map(JSON.string)) }
        return .object(schema)
    }

    static func words(_ about: String, _ words: [String]) -> JSON {
        ["description": .string(about), "enum": .array(words.map(JSON.string))]
    }

    /// One of several forms.
    static func either(_ about: String, _ forms: JSON...) -> JSON {
        ["description": .string(about), "anyOf": .array(forms)]
    }

    static func reference(_ name: String) -> JSON { ["$ref": .string("#/definitions/\(name)")] }

    /// One element, or a list of them.
    static func oneOrMore(_ about: String, _ element: JSON) -> JSON {
        either(about, element, ["type": "array", "items": element, "minItems": 1])
    }
}
