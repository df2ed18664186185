import BusJSON
import BusLogic
import Testing
import TypeCode

/// What is taken from a definition, also from one that says things nobody here knows.
@Suite struct TypeDescriptionTests {
    private func description(_ definition: JSON) throws -> TypeDescription {
        try #require(TypeDescription(definition: definition))
    }

    private func shape(_ schema: JSON) -> Schema.Shape { Schema(schema).shape }

    @Test func wordsOfNewerDaemonsAreValuesOfAnyKind() {
        #expect(shape("money") == .any)
        #expect(shape(["type": "money", "currency": "EUR"]) == .any)
        #expect(shape([:]) == .any)
        #expect(shape(5) == .any)
        #expect(shape(["type": "array", "items": "money"]) == .array(Schema("any")))
        // Members that are named, and others beside them: neither of the two forms.
        #expect(shape(["properties": ["a": "string"], "values": "integer"]) == .map(Schema("any")))
    }

    @Test func listsOfTypesAndConstantsAreKnown() throws {
        #expect(
            shape(["type": ["string", "null"]]) == .string && Schema(["type": ["string", "null"]]).isNullable)
        #expect(shape(["type": ["integer", "number"]]) == .number)
        #expect(shape(["type": ["string", "integer"]]) == .any)
        #expect(Schema(["type": ["string", "integer"]]).types == ["string", "integer"])
        #expect(shape(["const": "a"]) == .choice(["a"]) && shape(["minItems": 1]) == .array(Schema("any")))
        let type = try description([
            "type": "a",
            "state": [
                "c": ["const": "x"],
                "o": ["properties": ["p": ["type": "integer", "default": 1]], "default": [:]],
            ],
        ])
        #expect(type.members.map(\.fallback) == ["x", [:]])
        guard case .structure(let members) = type.members[1].schema.shape else { return #expect(Bool(false)) }
        #expect(members.map(\.mayBeAbsent) == [false])
    }

    @Test func whatIsNoDefinitionIsNone() {
        #expect(TypeDescription(definition: .null) == nil)
        #expect(TypeDescription(definition: ["initial": [:]]) == nil)
    }

    /// Without `state` nothing is guessed from the first values.
    @Test func membersWithoutASchemaMayBeAnything() throws {
        let type = try description(["type": "a", "initial": ["count": 1], "state": ["on": "boolean"]])
        #expect(type.members.map(\.name) == ["count", "on"])
        #expect(type.members.map(\.schema.shape) == [.any, .boolean])
        #expect(type.members.map(\.isDeclared) == [false, true])
        #expect(type.members.map(\.mayBeAbsent) == [false, true])
    }

    @Test func valuesOfANewStoreAreThoseOfInitialBeforeDefaults() throws {
        let schema: JSON = ["type": "integer", "default": 1]
        let type = try description([
            "type": "a", "initial": ["b": 2, "c": "no integer"],
            "state": ["a": schema, "b": schema, "c": schema],
        ])
        #expect(type.members.map(\.fallback) == [1, 2, nil])
    }

    @Test func payloadsSayWhatMayBeAbsent() throws {
        let type = try description([
            "type": "a", "initial": [:],
            "actions": [
                "set": [
                    "payload": [
                        "a": "string", "b": "string?", "c": ["type": "string", "optional": true],
                        "d": ["type": "string", "default": ""], "e": ["type": "string?", "nullable": true],
                    ]
                ]
            ],
        ])
        let payload = try #require(type.actions.first).payload
        #expect(payload.map(\.isOptional) == [false, true, true, true, true])
        #expect(payload.map(\.mayBeAbsent) == [false, true, true, false, true])
        #expect(payload.map(\.schema.isNullable) == [false, false, false, false, true])
    }

    /// A view is a type without actions; its definition says what its functions give.
    @Test func aViewHasTheMembersThatItsFunctionsGive() throws {
        let source: JSON = [
            "type": "climate",
            "view": [
                "of": "room",
                "values": [
                    "any": "any(on)", "average": "avg(t)", "coldest": "argmin(t)", "modes": "counts(mode)",
                    "names": "list(store, 5)", "rooms": "count()",
                ],
            ],
            "computed": ["isCold": "average < 17"],
        ]
        let type = try description(DeclaredType(definition: source).definition)
        #expect(type.members.map(\.name) == ["any", "average", "coldest", "modes", "names", "rooms"])
        #expect(
            type.members.map(\.schema.shape)
                == [.boolean, .number, .string, .map(Schema("integer")), .array(Schema("string")), .integer])
        #expect(type.members.map(\.schema.isNullable) == [false, true, true, true, false, false])
        #expect(type.members.allSatisfy { !$0.isOptional })
        #expect(type.computed.map(\.name) == ["isCold"] && type.actions.isEmpty)
        #expect(TypeLanguage.typescript.code(for: type).contains("coldest: string | null"))
    }

    /// What is known of an expression's value, in text and in JsonLogic; nothing is guessed. Any may fail, and is null then.
    @Test func computedValuesHaveTheKindsOfTheirExpressions() throws {
        let source: JSON = [
            "type": "room", "expressions": "cel", "initial": ["free": 0],
            "state": [
                "size": ["type": "integer", "default": 1],
                "names": ["type": "array", "items": "string", "default": []],
                "title": ["type": "string", "default": ""], "warmth": ["type": "number", "default": 20],
            ],
            "computed": [
                "a": "size > 1", "b": "size + 1", "c": "warmth * 2.0", "d": "title + \"!\"", "e": "names",
                "f": "free",
                "g": "size > 1 ? title : size", "h": ["!": [["var": "free"]]],
                "i": ["cat": ["x", ["var": "size"]]],
                "j": "size(names)",
            ],
            "actions": [:],
        ]
        let declared = try DeclaredType(definition: source)
        let type = try #require(
            TypeDescription(definition: declared.definition, computed: declared.computedSchemas))
        let kinds = type.computed.map { $0.schema.isNullable ? $0.schema.shape : nil }
        #expect(type.computed.map(\.name) == ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"])
        #expect(
            kinds == [
                .boolean, .integer, .number, .string, .array(Schema("string")), nil, nil, .boolean, .string,
                .integer,
            ])
        let typescript = TypeLanguage.typescript.code(for: type)
        #expect(
            typescript.contains("readonly a: boolean | null;\n")
                && typescript.contains("readonly f: unknown;"))
    }

    @Test func namesThatAreNamesKeepThem() throws {
        let type = try description(["type": "a-b", "initial": ["a b": 1, "aB": 2, "a_b": 3, "A b": 4]])
        let code = TypeLanguage.swift.code(for: type)
        for (name, wire) in [("aB", "aB"), ("aB2", "A b"), ("aB3", "a b"), ("a_b", "a_b")] {
            #expect(
                code.contains("self.\(name) = try members.decodeIfPresent(JSON.self, forKey: \"\(wire)\")"))
        }
    }

    /// A build that prints code anew is not to be built anew.
    @Test func sameDefinitionGivesTheSameText() throws {
        for text in [Definitions.awkward, Definitions.everything] {
            for language in TypeLanguage.allCases {
                let texts = try (0..<3).map { _ in
                    language.code(for: try description(JSON(parsing: text)))
                }
                #expect(Set(texts).count == 1)
            }
        }
    }
}
