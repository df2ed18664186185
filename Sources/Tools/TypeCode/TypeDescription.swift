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
    /// The computed values: members of a published state that nobody can write. One is null where its expression fails.
    package let computed: [Member]
    package let actions: [Action]

    /// Nil when `definition` names no type. `computed` has the schemas of computed values, as far as they are known.
    package init?(definition: JSON, computed: JSONObject = [:]) {
        guard let name = definition["type"]?.string else { return nil }
        self.name = name
        summary = definition["summary"]?.string
        members = Self.members(definition["state"]?.object ?? [:], definition["initial"]?.object ?? [:])
        self.computed = (definition["computed"]?.object?.keys ?? []).map { name in
            var schema = computed[name]?.object ?? [:]
            schema["summary"] = "Computed by the bus."
            return Member(name: name, schema: Schema(.object(schema)), isOptional: false, fallback: nil)
        }
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
            let value = initial[member.key] ?? member.value["default"] ?? member.value["const"]
            let fallback = value.flatMap { schema.admits($0) ? $0 : nil }
            return Member(
                name: member.key, schema: schema, isOptional: fallback == nil, fallback: fallback,
                isDeclared: schemas[member.key] != nil)
        }
    }
}

/// A language in which a state type can be printed, for programs that use it.
package enum TypeLanguage: String, CaseIterable, Sendable {
    case swift, typescript, python, c, go, rust, jsonSchema

    /// The state, the actions and their payloads as a source file, or as a document of JSON Schema. The same description
    /// always gives the same text.
    package func code(for type: TypeDescription) -> String {
        switch self {
        case .swift: SwiftCode.text(of: type)
        case .typescript: TypeScriptCode.text(of: type)
        case .python: PythonCode.text(of: type)
        case .c: CCode.text(of: type)
        case .go: GoCode.text(of: type)
        case .rust: RustCode.text(of: type)
        case .jsonSchema: SchemaDocument.text(of: type)
        }
    }

    /// What stands at the head of the file.
    func origin(_ name: String) -> [String] {
        [
            "The state type \(name), printed by `fluxbus types \(name) --\(option)`.",
            "Print it again when the definition changes; edits in here are lost then.",
        ]
    }

    private var option: String { self == .jsonSchema ? "json-schema" : rawValue }
}

/// A member of a state, of a payload or of an object inside them.
package struct Member: Sendable, Equatable {
    package let name: String
    package let schema: Schema
    /// Whether a sender may leave it out.
    package let isOptional: Bool
    /// The value that it has when it is left out.
    package let fallback: JSON?
    /// False of a member of a state that is known from `initial` alone: its type may change, and it may go.
    package let isDeclared: Bool

    init(name: String, schema: Schema, isOptional: Bool, fallback: JSON?, isDeclared: Bool = true) {
        self.name = name
        self.schema = schema
        self.isOptional = isOptional
        self.fallback = fallback
        self.isDeclared = isDeclared
    }

    /// A member of a payload: a type's name, with `?` where it may be absent, or an object.
    init(payload name: String, _ source: JSON) {
        let schema = Schema(source)
        let fallback = source["default"].flatMap { schema.admits($0) ? $0 : nil }
        let mark = (source.string ?? source["type"]?.string)?.hasSuffix("?") ?? false
        self.init(
            name: name, schema: schema,
            isOptional: mark || source["optional"]?.bool == true || source["default"] != nil,
            fallback: fallback)
    }

    /// Whether a value of it may be absent, where it is read.
    package var mayBeAbsent: Bool { isOptional && fallback == nil }
}
