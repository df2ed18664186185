import BusJSON
import BusLogic
import BusProtocol
import BusState

/// What a state type's file and a file of tests may say.
enum TypeFileSchema {
    typealias Part = FileSchema

    static var type: JSONObject {
        [
            "title": "A state type of FluxBus, or a view", "type": "object", "additionalProperties": false,
            "if": ["required": ["view"]], "then": view,
            "else": [
                "required": ["type"], "anyOf": [["required": ["state"]], ["required": ["initial"]]],
                "properties": .object(
                    nothing(for: viewMembers.keys).merging(["tests": Part.reference("tests")])),
            ],
            "definitions": .object(definitions.merging(testDefinitions)),
            "properties": .object(members.merging(viewMembers)),
        ]
    }

    private static var view: JSON {
        let shared = ["summary", "computed", "expressions", "tests"]
        var properties = nothing(for: members.keys.filter { !shared.contains($0) })
        properties["tests"] = Part.list(
            "What `fluxbus types test` and `fluxbusd --check` run.", of: Part.reference("viewTest"))
        return ["required": ["of", "values"], "properties": .object(properties)]
    }

    /// Members that are not there.
    private static func nothing(for names: [String]) -> JSONObject {
        var members = JSONObject()
        for name in names { members[name] = false }
        return members
    }

    private static var viewMembers: JSONObject {
        let functions = ViewFunction.allCases.map(\.rawValue).joined(separator: "|")
        return [
            "view": Part.text("The view's name: a lower-case letter, then letters, digits, _ and -.", name),
            "of": Part.either(
                "The type whose stores it is made of, or a list of types.",
                ["type": "string", "pattern": .string(name)],
                [
                    "type": "array", "items": ["type": "string", "pattern": .string(name)], "minItems": 1,
                    "maxItems": 32, "uniqueItems": true,
                ]),
            "by": Part.value(
                "An expression over each store: the view has a store for each value. Without it there is one, called all.",
                "string"),
            "where": Part.value("A condition: which stores count.", "string"),
            "values": [
                "description": "The members of the view's states: a function of all stores for each.",
                "type": "object", "minProperties": 1, "maxProperties": 64,
                "additionalProperties": [
                    "type": "string", "pattern": .string("^=?\\s*(\(functions))\\s*\\("),
                ],
            ],
        ]
    }

    static let name = "^[a-z][A-Za-z0-9_-]{0,63}$"
    static let time = "^([0-9]+(\\.[0-9]+)?(ms|s|m|h|d|w))+$"
    /// A path has no star: it leads to one place.
    private static let path = "^(?!(.*\\.)?\\*(\\.|$))."

    // MARK: The type

    private static var members: JSONObject {
        [
            "type": Part.text("The type's name: a lower-case letter, then letters, digits, _ and -.", name),
            "summary": summary,
            "version": [
                "description":
                    "The version of the definition. It is raised when states have to change; see migrate.",
                "type": "integer", "minimum": 1, "maximum": 10000,
            ],
            "state": Part.map(
                "What every state is: a schema for each member.", of: Part.reference("stateMember")),
            "initial": Part.value(
                "The state of a new store; members with a default may be left out.", "object"),
            "let": Part.map("Named values and expressions, for all expressions of the type.", of: expression),
            "computed": Part.map(
                "Members that are worked out from the others: an expression for each. Its names are those of the state.",
                of: expression),
            "schemas": Part.map(
                "Schemas for this file and the others, used as { schema: NAME }.", of: Part.reference("part")),
            "waitFor": Part.list(
                "Types that commit first, and whose stores may be read as stores[\"TYPE/NAME\"].",
                of: ["type": "string", "pattern": .string(name)]),
            "ttl": Part.reference("time"),
            "index": Part.either(
                "Members by whose values `where` finds stores without looking at all of them.",
                ["type": "string"],
                ["type": "array", "minItems": 1, "maxItems": 8, "items": ["type": "string"]]),
            "log": Part.object(
                "What the log keeps of the type's stores.",
                [
                    "keep": Part.words(
                        "all: every commit. latest: the stores as they are, and no past. none: nothing, so that stores have their initial states after a start.",
                        LogPolicy.allCases.reversed().map(\.rawValue)),
                    "for": Part.reference("time"),
                    "commits": [
                        "description": "How many commits of the type its past has.", "type": "integer",
                        "minimum": 1,
                    ],
                ], ["minProperties": 1]),
            "invariant": Part.list(
                "Conditions that hold after every action; one that does not rejects it.",
                of: Part.either(
                    "A condition, with a reason or without one.", ["type": "string"],
                    Part.reference("condition"))),
            "timers": Part.map(
                "Actions that follow when a condition has held for some time.",
                of: Part.reference("predicateTimer")),
            "actions": [
                "description": "The actions by name.", "type": "object",
                "propertyNames": ["pattern": .string(name)],
                "additionalProperties": Part.reference("action"),
            ],
            "migrate": Part.map(
                "How states of earlier versions become states of this one: writes, by the version that they start from.",
                of: Part.reference("writes"), names: "^[0-9]+$"),
            "expressions": Part.words("Texts that begin with = are expressions, as in every file.", ["cel"]),
            "tests": Part.value("Tests of it; they are no part of the definition.", "array"),
        ]
    }

    private static let summary = Part.text("What it is, in one sentence.")
    private static let expression = Part.value(
        "An expression, with or without = before it, or one in JsonLogic.")
    private static let value = Part.value(
        "A value. A text that begins with = is an expression; an object with one member is an operation in JsonLogic."
    )
    private static let condition = Part.value(
        "An expression that is true or false, with or without = before it, or one in JsonLogic.", "string",
        "object")

    private static var definitions: JSONObject {
        var definitions: JSONObject = [
            "time": Part.either(
                "A length of time: 500ms, 30s, 5m, 1h30m, 7d.", ["type": "string", "pattern": .string(time)],
                ["type": "number"]),
            "condition": Part.object(
                "A condition, and the reason where it does not hold.",
                [
                    "if": condition,
                    "else": Part.value("The reason: a text, or an expression that begins with =."),
                ],
                required: ["if"]),
            "timer": Part.either(
                "An action of the store that follows by itself, or null to take the timer away.",
                ["type": "null"],
                Part.object(
                    "An action that follows by itself.",
                    [
                        "in": Part.value("A length of time such as 5m, or an expression of seconds."),
                        "at": Part.value("An expression of seconds since 1970."),
                        "every": Part.value("A length of time such as 1h: again and again."),
                        "action": Part.text("The action.", name), "payload": payload,
                    ], required: ["action"],
                    [
                        "anyOf": [["required": ["in"]], ["required": ["at"]], ["required": ["every"]]],
                        "not": ["required": ["in", "at"]],
                    ])),
            "predicateTimer": Part.object(
                "An action that follows once the condition has held that long without a break.",
                [
                    "for": Part.value("A length of time such as 10m."), "while": condition,
                    "action": Part.text("The action.", name), "payload": payload,
                ], required: ["for", "while", "action"]),
            "action": Part.object("An action.", actionMembers),
            "writes": Part.object("Writes to the state.", writes),
            "each": Part.object(
                "Writes once for each element of a list or a map.", writes.merging(repetition),
                required: ["in", "as"], ["minProperties": 3]),
        ]
        for (name, purpose) in [("stateMember", Purpose.state), ("payloadMember", .payload), ("part", .part)]
        {
            definitions[name] = schema(for: purpose)
        }
        return definitions
    }

    private static let payload = Part.value("The payload: values and expressions by name.", "object")

    private static var actionMembers: JSONObject {
        writes.merging([
            "summary": summary,
            "payload": Part.map(
                "The data that a dispatch gives: a schema for each member. string? may be left out.",
                of: Part.reference("payloadMember")),
            "when": condition,
            "require": Part.list(
                "Conditions; the first that does not hold rejects the dispatch.",
                of: Part.reference("condition")),
            "timers": Part.map("Actions that follow by themselves.", of: Part.reference("timer")),
            "redact": Part.list(
                "Members of the payload that only require reads, and of which only a digest is kept and told: /pin.",
                of: ["type": "string", "pattern": "^/[^/]*$"]),
            "returns": Part.value("What a dispatch is answered with: an expression over the state after it."),
        ])
    }

    private static let about: [WriteKind: String] = [
        .set: "Puts values at paths: { PATH: VALUE }.", .unset: "Takes away what is at paths: [PATH].",
        .increment: "Adds numbers: { PATH: AMOUNT }.", .toggle: "Makes true false, and false true: [PATH].",
        .append: "Adds an element at the end of lists: { PATH: VALUE }.",
        .remove: "Takes every element that equals the value out of lists: { PATH: VALUE }.",
        .merge: "Merges objects into what is at paths: { PATH: OBJECT }.",
    ]

    private static var writes: JSONObject {
        var writes: JSONObject = [
            "patch": Part.either(
                "Writes only the members that a map has: = payload, or { PATH: MAP }.", ["type": "string"],
                assignments(
                    "Maps by the paths of what they go into.", of: ["type": ["string", "array", "object"]])),
            "each": Part.oneOrMore(
                "Writes once for each element of a list or a map.", Part.reference("each")),
        ]
        for kind in WriteKind.allCases {
            let about = about[kind] ?? ""
            let element: JSON =
                kind == .increment ? Part.value("The amount.", "number", "string", "object") : value
            writes[kind.rawValue] =
                kind.takesValue
                ? assignments(about, of: element)
                : Part.list(about, of: ["type": "string", "pattern": .string(path)])
        }
        return writes
    }

    /// Values by their paths, as an object or a list of objects.
    private static func assignments(_ about: String, of element: JSON) -> JSON {
        Part.oneOrMore(about, Part.map(about, of: element, names: path))
    }

    private static var repetition: JSONObject {
        let local = Part.text("A name for the element.", "^[A-Za-z_][A-Za-z0-9_]*$")
        return [
            "in": Part.value("An expression: the list or the map.", "string", "array", "object"),
            "as": Part.either(
                "The name of an element, or two names: of its index or key, and of the element.", local,
                ["type": "array", "items": local, "minItems": 1, "maxItems": 2]),
        ]
    }

    // MARK: Schemas

    private enum Purpose { case state, payload, part }

    /// The words that only values of some types have.
    private static let wordsByType: [(types: [PayloadType], words: [String])] = [
        ([.integer, .number], ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"]),
        ([.string], ["minLength", "maxLength"]),
        ([.array], ["items", "minItems", "maxItems", "uniqueItems", "overflow"]),
        ([.object], ["properties", "required", "values"]), ([.boolean], []),
    ]

    private static func schema(for purpose: Purpose) -> JSON {
        let marks = purpose == .payload ? ["", "?"] : [""]
        let names = PayloadType.words.flatMap { word in marks.map { word + $0 } }
        let single = Part.words("A type; with ? it may be left out.", names)
        let several: JSON = [
            "type": "array", "items": ["enum": .array((PayloadType.words + ["null"]).map(JSON.string))],
        ]
        var words: JSONObject = [
            "type": Part.either("The type, or a list of types one of which it has.", single, several),
            "schema": Part.text("The name of a schema of schemas."), "summary": summary,
            "enum": Part.list("The only values.", of: [:], isEmpty: false),
            "const": Part.value("The only value."),
            "minimum": Part.value("The least number.", "number"),
            "maximum": Part.value("The greatest number.", "number"),
            "exclusiveMinimum": Part.value("What the number is more than.", "number"),
            "exclusiveMaximum": Part.value("What the number is less than.", "number"),
            "minLength": count("The fewest characters."), "maxLength": count("The most characters."),
            "items": Part.reference("part"), "minItems": count("The fewest elements."),
            "maxItems": count("The most elements."),
            "uniqueItems": Part.value("Whether no element may be there twice.", "boolean"),
            "overflow": Part.words("What becomes of elements past maxItems.", ["reject", "dropOldest"]),
            "properties": Part.map(
                "The members of the object; others are refused.", of: Part.reference("part")),
            "required": Part.list("Which of the properties are always there.", of: ["type": "string"]),
            "values": Part.reference("part"), "nullable": Part.value("Whether null fits, too.", "boolean"),
            "default": Part.value("The value where none is given."),
        ]
        if purpose == .payload { words["optional"] = Part.value("Whether it may be left out.", "boolean") }
        let common = words.keys.filter { word in !wordsByType.contains { $0.words.contains(word) } }
        let rules = wordsByType.map { types, own -> JSON in
            let forms = types.flatMap { type in marks.map { JSON.string(type.rawValue + $0) } }
            return [
                "if": ["required": ["type"], "properties": ["type": ["enum": .array(forms)]]],
                "then": [
                    "propertyNames": ["enum": .array((common + own).map(JSON.string))],
                    "properties": ["default": ["type": [.string(types[types.count - 1].rawValue), "null"]]],
                ],
            ]
        }
        let object = Part.object(
            "A schema.", words,
            [
                "allOf": .array(rules),
                "anyOf": .array(
                    (["type", "schema", "enum", "const"]
                        + wordsByType.flatMap(\.words).filter { $0 != "required" })
                        .map { ["required": [.string($0)]] }),
            ])
        return Part.either("The name of a type, or an object of words.", single, object)
    }

    private static func count(_ about: String) -> JSON {
        ["description": .string(about), "type": "integer", "minimum": 0]
    }
}

extension JSONObject {
    /// This object with the members of another.
    fileprivate func merging(_ other: JSONObject) -> JSONObject {
        var merged = self
        for member in other { merged[member.key] = member.value }
        return merged
    }
}
