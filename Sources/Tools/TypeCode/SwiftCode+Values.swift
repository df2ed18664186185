import BusJSON

/// Types, names and literals in Swift.
extension SwiftCode {
    // MARK: Types

    /// The type of a member: one that may be absent is optional, and once more if it may be null, too.
    func swiftType(of member: Member) -> String {
        valueType(of: member.schema) + (member.mayBeAbsent ? "?" : "")
    }

    func valueType(of schema: Schema) -> String {
        let type = shapeType(of: schema.shape)
        return schema.isNullable && type != "JSON" ? type + "?" : type
    }

    private func shapeType(of shape: Schema.Shape) -> String {
        switch shape {
        case .any: "JSON"
        case .boolean: "Bool"
        case .integer: "Int"
        case .number: "Double"
        case .string: "String"
        case .array(let element): "[\(valueType(of: element))]"
        case .map(let value): value == .any ? "JSONObject" : "[String: \(valueType(of: value))]"
        case .structure: nestedName(of: shape)
        case .choice(let values):
            if values.strings != nil {
                nestedName(of: shape)
            } else if values.allSatisfy({ $0.int != nil }) {
                "Int"
            } else if values.allSatisfy({ $0.double != nil }) {
                "Double"
            } else if values.allSatisfy({ $0.string != nil }) {
                "String"
            } else {
                "JSON"
            }
        }
    }

    private func nestedName(of shape: Schema.Shape) -> String {
        nested.first { $0.shape == shape }.map { name + "." + $0.name } ?? "JSON"
    }

    // MARK: Names

    static func parameterNames(of payload: [Member]) -> [String] {
        var table = NameTable()
        return table.claim(payload.map(\.name), member)
    }

    static func structureNames(of members: [Member]) -> [String] {
        var table = NameTable(reserved: libraryNames)
        return table.claim(members.map(\.name), member)
    }

    static func caseNames(of values: [String]) -> [String] {
        var table = NameTable(reserved: libraryNames.union(["allCases", "rawValue", "samples"]))
        return table.claim(values, member)
    }

    /// `(by: Int = 1)`; nothing without members.
    func parameters(of payload: [Member]) -> String {
        if payload.isEmpty { return "" }
        let parameters = zip(payload, Self.parameterNames(of: payload)).map { member, name in
            let fallback = member.fallback.map { literal($0, as: member.schema) }
            let value = member.isOptional ? " = " + (fallback ?? "nil") : ""
            return "\(Self.label(name)): \(swiftType(of: member))\(value)"
        }
        return "(\(parameters.joined(separator: ", ")))"
    }

    /// A name for something that is no type.
    static func member(_ text: String) -> String {
        let name = Identifier.camel(text)
        if impossible.contains(name) { return name + "_" }
        return keywords.contains(name) ? "`\(name)`" : name
    }

    /// A name before a colon, where most keywords may stand.
    static func label(_ name: String) -> String {
        ["`inout`", "`let`", "`var`"].contains(name) ? name : name.replacing("`", with: "")
    }

    /// The names that the printed code itself uses: nothing else may have them.
    static let libraryNames: Set<String> = [
        "Action", "ActionArgument", "ActionList", "Actions", "Any", "Array", "Bool", "Bus", "CaseIterable",
        "Codable",
        "CodingKey", "Computed", "Decoder", "DecodingError", "Dictionary", "Double", "Encoder", "Equatable",
        "ExpressibleByStringLiteral", "Flux", "FluxBus", "Int", "JSON", "JSONObject", "MirroredMutations",
        "Mutations", "Name", "Never", "Optional", "Protocol", "RemoteStore", "Self", "Sendable",
        "SharedState",
        "State", "Store", "String", "Swift", "Type",
    ]

    /// Names that Swift keeps for itself even in backticks.
    private static let impossible: Set<String> = ["Protocol", "Self", "Type", "init", "self"]

    private static let keywords: Set<String> = [
        "Any", "actor", "as", "associatedtype", "async", "await", "break", "case", "catch", "class",
        "continue",
        "default", "defer", "deinit", "do", "else", "enum", "extension", "fallthrough", "false",
        "fileprivate", "for", "func", "guard", "if", "import", "in", "inout", "internal", "is", "let", "nil",
        "operator", "precedencegroup", "private", "protocol", "public", "repeat", "rethrows", "return",
        "some", "static", "struct", "subscript", "super", "switch", "throw", "throws", "true", "try",
        "typealias", "var", "where", "while",
    ]

    // MARK: Literals

    /// A value that the schema admits.
    func literal(_ value: JSON, as schema: Schema) -> String {
        if value.isNull, shapeType(of: schema.shape) != "JSON" { return "nil" }
        switch (schema.shape, value) {
        case (.array(let element), .array(let elements)):
            return "[\(elements.map { literal($0, as: element) }.joined(separator: ", "))]"
        case (.map(let schema), .object(let object)): return dictionary(object, of: schema)
        case (.structure(let members), .object(let object)):
            let arguments = zip(members, Self.structureNames(of: members)).compactMap { member, name in
                object[member.name].map { value in
                    let text = literal(value, as: member.schema)
                    // Null where it may also be absent.
                    return "\(Self.label(name)): \(text == "nil" && member.mayBeAbsent ? ".some(nil)" : text)"
                }
            }
            return "\(nestedName(of: schema.shape))(\(arguments.joined(separator: ", ")))"
        case (.choice(let values), .string(let text)):
            guard let strings = values.strings, let place = values.firstIndex(of: value) else {
                return Self.quoted(text)
            }
            return "." + Self.caseNames(of: strings)[place]
        default: return Self.literal(value)
        }
    }

    /// Keys that Swift can't tell apart would stop the program: of several the last is kept.
    private func dictionary(_ object: JSONObject, of schema: Schema) -> String {
        var values: [String: JSON] = [:]
        for member in object { values[member.key] = member.value }
        let members = object.members.filter { values[$0.key] == $0.value }.map {
            "\(Self.quoted($0.key)): \(literal($0.value, as: schema))"
        }
        return members.isEmpty ? "[:]" : "[\(members.joined(separator: ", "))]"
    }

    /// A literal for `JSON`, or for a scalar type.
    static func literal(_ value: JSON) -> String {
        switch value {
        case .null: ".null"
        case .bool, .int, .double: value.encoded
        case .string(let text): quoted(text)
        case .array(let elements): "[\(elements.map { literal($0) }.joined(separator: ", "))]"
        case .object(let object):
            object.isEmpty
                ? "[:]"
                : "[\(object.map { "\(quoted($0.key)): \(literal($0.value))" }.joined(separator: ", "))]"
        }
    }

    static func quoted(_ text: String) -> String {
        SourceText.quoted(text) { "\\u{\(SourceText.hexadecimal($0))}" }
    }

    /// What an action takes, as a type file says it. The bus checks the rest.
    static func declaration(of member: Member) -> String {
        let word =
            switch member.schema.shape {
            case _ where member.schema.isNullable: "any"
            case .any, .choice: "any"
            case .boolean: "boolean"
            case .integer: "integer"
            case .number: "number"
            case .string: "string"
            case .array: "array"
            case .map, .structure: "object"
            }
        guard let fallback = member.fallback else { return quoted(member.isOptional ? word + "?" : word) }
        return "[\"type\": \"\(word)\", \"default\": \(literal(fallback))]"
    }

    // MARK: Comments

    static func comment(_ summary: String?, _ remarks: [String] = []) -> [String] {
        let lines = SourceText.lines(of: summary)
        let gap = lines.isEmpty || remarks.isEmpty ? [] : [""]
        return (lines + gap + remarks).map { $0.isEmpty ? "///" : "/// " + $0 }
    }

    static func comment(_ member: Member) -> [String] {
        comment(member.schema.summary, remarks(on: member))
    }

    /// What the Swift type does not say.
    private static func remarks(on member: Member) -> [String] {
        var remarks = member.schema.remarks
        if case .choice(let values) = member.schema.shape, values.strings == nil {
            remarks.append("One of \(values.map(\.encoded).joined(separator: ", ")).")
        }
        if member.schema.types.count > 1 {
            remarks.append("Type: \(member.schema.types.joined(separator: " or ")).")
        }
        if member.schema.isNullable && member.mayBeAbsent {
            remarks.append("`nil` leaves it out; `.some(nil)` is null.")
        }
        return remarks.flatMap { SourceText.lines(of: $0) }
    }

    /// What is known of the parameters, as a list.
    static func remarks(on payload: [Member]) -> [String] {
        zip(payload, parameterNames(of: payload)).compactMap { member, name in
            let text = SourceText.lines(of: member.schema.summary) + remarks(on: member)
            return text.isEmpty ? nil : "- Parameter \(label(name)): \(text.joined(separator: " "))"
        }
    }
}
