import BusJSON
import BusProtocol
import BusSource

/// Reads schemas from a definition: a type's name, or an object of words.
struct SchemaReader {
    /// What a schema is for, which decides some words.
    enum Purpose {
        /// A member of every state of the type.
        case state
        /// A member of an action's payload.
        case payload
        /// A part of either: an element, a property, a value of a map.
        case part
    }

    /// A schema, and what only payloads say of their members.
    struct Result {
        let schema: ValueSchema
        var isOptional = false
    }

    let mistakes: Mistakes

    private static let words = [
        "type", "enum", "const", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength",
        "maxLength", "items", "minItems", "maxItems", "uniqueItems", "overflow", "properties", "required",
        "values", "nullable", "default", "summary", "schema",
    ]

    /// Enough for every state: each level of an object costs a definition two.
    private static let deepest = 16

    /// The schema of what is called `name`; nil after its mistakes were added.
    func read(_ source: LocatedValue, of name: String, for purpose: Purpose) -> Result? {
        let before = mistakes.errors.count
        let result = read(source, name, purpose, levelsLeft: Self.deepest)
        return mistakes.errors.count == before ? result : nil
    }

    private func read(
        _ source: LocatedValue, _ name: String, _ purpose: Purpose, levelsLeft: Int
    ) -> Result? {
        guard levelsLeft > 0 else {
            mistakes.add(
                "Schemas nest at most \(Self.deepest) levels deep; make \(name) flatter.", at: source.place)
            return nil
        }
        guard case .object(let object) = source.content else {
            guard
                let (type, mark) = mistakes.collect({ () throws(SourceError) in
                    try self.type(source, name, purpose)
                })
            else {
                return nil
            }
            return Result(schema: ValueSchema(.init(type)), isOptional: mark)
        }
        refuseStrangers(object, purpose)
        var words = ValueSchema.Words()
        var result = Result(schema: .any)
        if let source = object["type"] {
            guard
                let mark = mistakes.collect({ () throws(SourceError) in
                    try types(source, name, purpose, &words)
                })
            else {
                return nil
            }
            result.isOptional = mark
        } else if let type = Self.impliedType(object) {
            words.type = type
        } else {
            // A JSON Schema word, refused above, may imply it.
            if object.keys.contains(where: { Self.foreign[$0] != nil }) { return nil }
            let owner = purpose == .payload ? "The payload member \(name)" : "The schema of \(name)"
            mistakes.add("\(owner) needs a member type; add it.", at: object.place)
            return nil
        }
        let reading = Reading(object: object, name: name, mistakes: mistakes)
        reading.flag("nullable") { if $0 { words.isNullable = true } }
        if purpose == .payload { reading.flag("optional") { if $0 { result.isOptional = true } } }
        mistakes.collect { () throws(SourceError) in words.summary = try object["summary"]?.string("summary")
        }
        reading.numbers(&words)
        reading.texts(&words)
        readArray(object, name, &words, levelsLeft)
        readObject(object, name, &words, levelsLeft)
        reading.choices(&words)
        reading.constant(&words)
        if let fallback = object["default"] {
            reading.fallback(fallback, isPart: purpose == .part, &words)
        } else if purpose == .state, object["const"] != nil {
            words.fallback = words.choices?.first
        }
        return Result(schema: ValueSchema(words), isOptional: result.isOptional)
    }

    // MARK: Types

    /// Reads one type, or a list of types that a value may have. Returns whether a single type has the mark `?`.
    private func types(
        _ source: LocatedValue, _ name: String, _ purpose: Purpose, _ words: inout ValueSchema.Words
    ) throws(SourceError) -> Bool {
        guard case .array(let elements) = source.content else {
            let (type, isOptional) = try type(source, name, purpose)
            words.type = type
            return isOptional
        }
        var types: [PayloadType] = []
        for element in elements {
            if element.isNull { throw element.failure("null is a value here; write \"null\", in quotes.") }
            if case .scalar(.string("null")) = element.content {
                words.isNullable = true
                continue
            }
            let (type, isOptional) = try type(element, name, .part)
            guard type != .any, !isOptional else {
                throw element.failure("any takes every value, so it stands alone; write type: any.")
            }
            if types.contains(type) { throw element.failure(FileWords.duplicate("type", type.rawValue)) }
            types.append(type)
        }
        guard !types.isEmpty else {
            throw source.failure(
                "type lists no type but null; write const: null, or add what \(name) may be.")
        }
        if types.contains(.number) { types.removeAll { $0 == .integer } }
        if types.count == 1 { words.type = types[0] } else { words.types = types }
        return false
    }

    private func type(
        _ source: LocatedValue, _ name: String, _ purpose: Purpose
    ) throws(SourceError) -> (type: PayloadType, isOptional: Bool) {
        let text = try source.string(
            purpose == .payload ? "the type of payload.\(name)" : "the type of \(name)")
        let isOptional = text.hasSuffix("?")
        let word = isOptional ? String(text.dropLast()) : text
        guard let type = PayloadType(rawValue: word) else {
            let kind = purpose == .payload ? "payload type" : "type"
            throw source.failure(
                "\(word) is not a \(kind); \(suggestion(for: word, among: PayloadType.words))")
        }
        guard isOptional else { return (type, false) }
        switch purpose {
        case .payload: return (type, true)
        case .state:
            throw source.failure(
                "A member of the state is always there, so \(text) means nothing; "
                    + "write { type: \(word), nullable: true } if \(name) may be null.")
        case .part:
            throw source.failure(
                "\(text) means nothing here; a property that is not in required may be absent, "
                    + "and { type: \(word), nullable: true } may be null.")
        }
    }

    /// The type that the other words imply, if any.
    private static func impliedType(_ object: LocatedObject) -> PayloadType? {
        if object["properties"] != nil || object["values"] != nil { return .object }
        if ["items", "minItems", "maxItems", "uniqueItems"].contains(where: { object[$0] != nil }) {
            return .array
        }
        if object["minLength"] != nil || object["maxLength"] != nil { return .string }
        if bounds(of: .number).contains(where: { object[$0] != nil }) { return .number }
        return object["enum"] != nil || object["const"] != nil ? .any : nil
    }

    private func refuseStrangers(_ object: LocatedObject, _ purpose: Purpose) {
        let owner = purpose == .payload ? "a payload member" : "a schema"
        var valid = Self.words
        if purpose == .payload { valid.append("optional") }
        for member in object.strangers(besides: valid) {
            if UTF8Order.equal(member.key, "optional") {
                let hint =
                    purpose == .state
                    ? "a member of the state is always there; nullable: true lets it be null."
                    : "a property is optional where it is not in required."
                mistakes.add("optional is only for members of a payload; \(hint)", at: member.place)
            } else if let hint = Self.foreign[member.key] {
                mistakes.add("\(member.key) is JSON Schema's and no word here; \(hint)", at: member.place)
            } else {
                mistakes.add(FileWords.unknownKey(member.key, in: owner, among: valid), at: member.place)
            }
        }
    }

    /// Words of JSON Schema that have no like, and what is written instead.
    private static let foreign = [
        "additionalProperties":
            "members that are not in properties are refused; write values: SCHEMA for a map, whose names are any.",
        "pattern": "write a condition in require, such as payload.NAME.startsWith(\"a\").",
        "format": "write a condition in require, such as payload.NAME.contains(\"@\").",
        "multipleOf": "write a condition in require, such as payload.NAME % 5 == 0.",
        "anyOf": "write type: any and a condition in require, or an enum.",
        "oneOf": "write type: any and a condition in require, or an enum.",
        "allOf": "write all words in one schema.", "not": "write a condition in require.",
        "minProperties": "write a condition in require, such as size(payload.NAME) > 0.",
        "maxProperties": "write a condition in require, such as size(payload.NAME) < 10.",
        "examples": "write them in summary.",
    ]

    // MARK: Arrays and objects

    private func readArray(
        _ object: LocatedObject, _ name: String, _ words: inout ValueSchema.Words, _ levelsLeft: Int
    ) {
        let reading = Reading(object: object, name: name, mistakes: mistakes)
        if let source = object["items"], reading.expect("items", .array, words) {
            words.items = read(source, "the elements of \(name)", .part, levelsLeft: levelsLeft - 1)?.schema
        }
        reading.counts(&words)
    }

    private func readObject(
        _ object: LocatedObject, _ name: String, _ words: inout ValueSchema.Words, _ levelsLeft: Int
    ) {
        let reading = Reading(object: object, name: name, mistakes: mistakes)
        if let source = object["required"], case .scalar(.bool) = source.content {
            return mistakes.add(
                "required is the list of an object's properties that are always there, not true or false; "
                    + "a member of a payload without `?` is required.", at: source.place)
        }
        let isObject = ["properties", "required", "values"].allSatisfy {
            reading.expect($0, .object, words)
        }
        guard isObject else { return }
        if let source = object["values"] {
            words.values = read(source, "the values of \(name)", .part, levelsLeft: levelsLeft - 1)?.schema
            if let member = object.member("properties") {
                mistakes.add(
                    "\(name) has either properties or values; keep properties for names that are known, "
                        + "values for a map.", at: member.place)
            }
        }
        let properties = object["properties"]
        let required = mistakes.collect { () throws(SourceError) in
            try self.required(object, properties, name)
        }
        guard let properties, let required,
            let named = mistakes.collect({ () throws(SourceError) in try properties.object("properties") })
        else { return }
        var found: [ValueSchema.Property] = []
        for member in named.members {
            guard let part = read(member.value, "\(name).\(member.key)", .part, levelsLeft: levelsLeft - 1)
            else { continue }
            let isRequired =
                part.schema.fallback != nil || required.contains { UTF8Order.equal($0, member.key) }
            found.append(.init(name: member.key, schema: part.schema, isRequired: isRequired))
        }
        words.properties = found.sorted { UTF8Order.precedes($0.name, $1.name) }
    }

    private func required(
        _ object: LocatedObject, _ properties: LocatedValue?, _ name: String
    ) throws(SourceError) -> [String] {
        guard let source = object["required"] else { return [] }
        let elements = try source.array("required")
        guard case .object(let named)? = properties?.content else {
            throw source.failure("required needs properties beside it; name them there.")
        }
        var names: [String] = []
        for element in elements {
            let text = try element.string("each element of required")
            guard named[text] != nil else {
                throw element.failure(
                    "\(text) is not a property of \(name); \(suggestion(for: text, among: named.keys))")
            }
            names.append(text)
        }
        return names
    }
}
