import BusJSON
import BusLogic
import BusProtocol
import BusSource
import BusYAML
import TestSupport
import Testing

/// Each word of a schema, both ways: what fits it and what does not, as a member of the state, in a payload, and where
/// a store is made.
struct SchemaTests {
    /// A schema, values that fit it, and values that do not, with the sentence about each.
    struct Word: CustomTestStringConvertible {
        let schema: String
        let good: [String]
        let bad: [(value: String, reason: String)]
        var testDescription: String { schema }
    }

    static let words: [Word] = [
        Word(schema: "any", good: ["null", "1", "[1]", "{\"a\":1}", "true"], bad: []),
        Word(
            schema: "boolean", good: ["true", "false"],
            bad: [("0", "x must be a boolean, not an integer"), ("null", "x must be a boolean, not null")]),
        Word(
            schema: "integer", good: ["0", "-5", "9223372036854775807"],
            bad: [("1.0", "x must be an integer, not a number"), ("\"1\"", "not a string")]),
        Word(schema: "number", good: ["0", "1.5"], bad: [("\"1\"", "x must be a number, not a string")]),
        Word(schema: "string", good: ["\"\"", "\"a\""], bad: [("1", "x must be a string, not an integer")]),
        Word(schema: "array", good: ["[]", "[1,\"a\"]"], bad: [("{}", "x must be an array, not an object")]),
        Word(
            schema: "object", good: ["{}", "{\"a\":1}"], bad: [("[]", "x must be an object, not an array")]),
        Word(
            schema: "{ type: string, nullable: true }", good: ["null", "\"a\""],
            bad: [("1", "x must be a string or null, not an integer")]),
        Word(
            schema: "{ enum: [auto, manual, 3, null] }", good: ["\"auto\"", "3", "3.0", "null"],
            bad: [("\"fast\"", "x must be one of auto, manual, 3, null, not fast"), ("true", "not true")]),
        Word(
            schema: "{ type: string, enum: [auto], nullable: true }", good: ["\"auto\"", "null"],
            bad: [("\"\"", "x must be auto, not an empty text"), ("[]", "x must be auto, not an array")]),
        Word(
            schema: "{ const: auto }", good: ["\"auto\""],
            bad: [("\"manual\"", "x must be auto, not manual"), ("null", "x must be auto, not null")]),
        Word(schema: "{ type: integer, const: 3 }", good: ["3"], bad: [("4", "x must be 3, not 4")]),
        Word(
            schema: "{ type: [string, integer] }", good: ["\"a\"", "5"],
            bad: [
                ("true", "x must be a string or an integer, not a boolean"), ("1.5", "not a number"),
                ("null", "not null"),
            ]),
        Word(
            schema: "{ type: [string, \"null\"] }", good: ["\"a\"", "null"],
            bad: [("5", "x must be a string or null, not an integer")]),
        Word(
            schema: "{ type: [array, boolean, object, \"null\"] }", good: ["[1]", "null", "{}", "false"],
            bad: [("5", "x must be an array, a boolean, an object or null, not an integer")]),
        Word(
            schema: "{ type: [integer, number] }", good: ["1", "1.5"],
            bad: [("\"1\"", "x must be a number, not a string")]),
        Word(
            schema: "{ exclusiveMinimum: 0, exclusiveMaximum: 1 }", good: ["0.5", "1e-9"],
            bad: [("0", "x must be more than 0, not 0"), ("1.0", "x must be less than 1, not 1.0")]),
        Word(
            schema: "{ type: integer, minimum: 0, exclusiveMinimum: 2 }", good: ["3"],
            bad: [("2", "x must be more than 2, not 2"), ("-1", "x must be at least 0, not -1")]),
        Word(
            schema: "{ items: string, minItems: 2 }", good: ["[\"a\",\"a\"]"],
            bad: [("[\"a\"]", "x must have at least 2 elements, not 1")]),
        Word(
            schema: "{ uniqueItems: true }", good: ["[]", "[1,\"1\",[1],[[1]],{\"a\":1},null,true]"],
            bad: [
                ("[2,1,1.0]", "x must have no element twice, and 1 and 2 are both 1.0"),
                ("[{\"a\":[1]},{\"a\":[1.0]}]", "and 0 and 1 are both an object"),
            ]),
        Word(
            schema: "{ items: { uniqueItems: true } }", good: ["[]", "[[1],[1]]"],
            bad: [("[[1,1]]", "x.0 must have no element twice")]),
        Word(
            schema: "{ type: integer, minimum: 0, maximum: 100 }", good: ["0", "100"],
            bad: [
                ("-1", "x must be at least 0, not -1"), ("500", "x must be at most 100, not 500"),
                ("5.5", "x must be an integer, not a number"),
            ]),
        Word(
            schema: "{ minimum: 0.5, maximum: 9007199254740993 }", good: ["0.5", "1", "9007199254740993"],
            bad: [
                ("0", "x must be at least 0.5, not 0"),
                ("9007199254740994", "x must be at most 9007199254740993, not 9007199254740994"),
            ]),
        Word(
            schema: "{ minLength: 1, maxLength: 3 }", good: ["\"a\"", "\"üüü\"", "\"👍👍👍\""],
            bad: [
                ("\"\"", "x must have at least 1 character, not 0"),
                ("\"abcd\"", "x must have at most 3 characters, not 4"),
                ("\"e\\u0301e\\u0301\"", "x must have at most 3 characters, not 4"),
            ]),
        Word(
            schema: "{ minLength: 2 }", good: ["\"ab\"", "\"üü\""],
            bad: [("\"ü\"", "x must have at least 2 characters, not 1")]),
        Word(
            schema: "{ items: { items: { items: { type: integer, maximum: 3 }, maxItems: 1 } } }",
            good: ["[]", "[[],[[]]]", "[[[3]],[[1],[]]]"],
            bad: [
                ("[1]", "x.0 must be an array, not an integer"),
                ("[[],[1]]", "x.1.0 must be an array, not an integer"),
                ("[[[1],[4]]]", "x.0.1.0 must be at most 3, not 4"),
                ("[[[1,2]]]", "x.0.0 must have at most 1 element, not 2"),
            ]),
        Word(
            schema: "{ type: array, items: { type: integer, minimum: 0 }, maxItems: 2 }",
            good: ["[]", "[0,7]"],
            bad: [
                ("[1,2,3]", "x must have at most 2 elements, not 3"),
                ("[1,-2]", "x.1 must be at least 0, not -2"),
                ("[1,\"2\"]", "x.1 must be an integer, not a string"),
            ]),
        Word(
            schema: "{ properties: { a: integer, b: { type: string, nullable: true } }, required: [a] }",
            good: ["{\"a\":1}", "{\"a\":1,\"b\":null}"],
            bad: [
                ("{}", "x must have a member a"), ("{\"a\":1,\"c\":2}", "x.c is not a declared property"),
                ("{\"a\":\"1\"}", "x.a must be an integer, not a string"),
                ("[]", "x must be an object, not an array"),
            ]),
        Word(
            schema: "{ properties: { a: integer, b: integer, c: integer }, required: [c, b] }",
            good: ["{\"b\":1,\"c\":2}", "{\"a\":0,\"b\":1,\"c\":2}"],
            bad: [
                ("{\"a\":1,\"c\":2}", "x must have a member b"), ("{\"b\":1}", "x must have a member c"),
            ]),
        Word(
            schema: "{ values: { values: { type: integer, maximum: 3 } } }",
            good: ["{}", "{\"p\":{}}", "{\"p\":{\"q\":3}}"],
            bad: [
                ("{\"p\":1}", "x.p must be an object, not an integer"),
                ("{\"p\":{\"q.r\":4}}", "x.p.q.r must be at most 3, not 4"),
            ]),
    ]

    /// A type whose member `x` has the schema and can be set to anything.
    private func bench(_ schema: String, start: String) throws -> StoreBench {
        try StoreBench(
            """
            type: thing
            state: { x: \(schema) }
            initial: { x: \(start) }
            actions:
              put: { payload: { x: any }, set: { x: { var: payload.x } } }
              take: { payload: { x: \(schema) }, set: { x: { var: payload.x } } }
            """)
    }

    @Test(arguments: words)
    func aCommitIsHeldAgainstEachWord(_ word: Word) throws {
        let bench = try bench(word.schema, start: #require(word.good.first))
        for good in word.good {
            let value = try JSON(parsing: good)
            try bench.dispatch("put", ["x": value])
            #expect(bench.state["x"] == value)
        }
        for bad in word.bad {
            let rejection = try bench.rejection(of: "put", ["x": JSON(parsing: bad.value)])
            #expect(rejection.message.contains(bad.reason), "\(rejection.message)")
            #expect(rejection.message.hasPrefix("thing/kitchen refused put: x"))
            #expect(rejection.path?.hasPrefix("x") == true)
            #expect(rejection.store == "thing/kitchen" && rejection.action == "put")
        }
    }

    @Test(arguments: words)
    func aPayloadTakesTheSameWords(_ word: Word) throws {
        let bench = try bench(word.schema, start: #require(word.good.first))
        for good in word.good {
            try bench.dispatch("take", ["x": JSON(parsing: good)])
        }
        // What fits the payload's schema fits the state's, so nothing is checked twice.
        #expect(bench.planned == word.good.count)
        for bad in word.bad {
            let payload: JSONObject = try ["x": JSON(parsing: bad.value)]
            let failure = #expect(throws: PayloadFailure.self) { try bench.dispatch("take", payload) }
            let message = try #require(failure?.message)
            #expect(message.hasPrefix("take") && message.contains("payload.x"), "\(message)")
        }
    }

    @Test(arguments: words)
    func aNewStoreIsHeldAgainstEachWord(_ word: Word) throws {
        let type = try bench(word.schema, start: #require(word.good.first)).type
        for good in word.good {
            let value = try JSON(parsing: good)
            #expect(try type.state(["x": value], from: .request) == ["x": value])
        }
        for bad in word.bad {
            let members: JSONObject = try ["x": JSON(parsing: bad.value)]
            let failure = #expect(throws: PayloadFailure.self) { try type.state(members, from: .request) }
            #expect(failure?.message.contains(bad.reason) == true, "\(failure?.message ?? "")")
        }
    }

    @Test(arguments: words)
    func initialIsHeldAgainstEachWord(_ word: Word) throws {
        for bad in word.bad {
            let error = #expect(throws: SourceError.self) { try bench(word.schema, start: bad.value) }
            #expect(
                error?.message.contains(bad.reason) == true && error?.line == 3,
                "\(error.map(String.init) ?? "")")
        }
    }

    @Test func defaultsStandInForInitial() throws {
        let bench = try StoreBench(
            """
            type: light
            state:
              on: { type: boolean, default: false }
              level: { type: integer, default: 30, minimum: 0 }
              note: { type: string, nullable: true, default: null, summary: What is said. }
            initial: { level: 50 }
            computed: { isBright: { ">": [{ var: level }, 40] } }
            """)
        #expect(bench.state == ["on": false, "level": 50, "note": .null, "isBright": true])
        let none = try StoreBench("type: light\nstate: { on: { type: boolean, default: true } }")
        #expect(none.state == ["on": true])
        #expect(
            none.type.definition == ["type": "light", "state": ["on": ["type": "boolean", "default": true]]])
        let again = try DeclaredType(definition: none.type.definition)
        #expect(again.initial == none.state)
    }

    @Test func payloadDefaultsAndOptionalMembersStay() throws {
        let bench = try StoreBench(
            """
            type: thing
            state: { x: { type: integer, maximum: 9, default: 0 }, s: { type: string, nullable: true, default: a } }
            actions:
              add: { payload: { by: { type: integer, maximum: 5, default: 2 } }, increment: { x: { var: payload.by } } }
              say: { payload: { s: { type: string, maxLength: 3, optional: true } }, set: { s: { var: payload.s } } }
            """)
        try bench.dispatch("add")
        #expect(bench.state["x"] == 2)
        #expect(throws: PayloadFailure.self) { try bench.dispatch("add", ["by": 6]) }
        try bench.dispatch("say", ["s": "abc"])
        #expect(throws: PayloadFailure.self) { try bench.dispatch("say", ["s": "abcd"]) }
        try bench.dispatch("say")
        #expect(bench.state["s"] == .null)
    }

    /// What a generator of code sees.
    @Test func schemasCanBeLookedAt() throws {
        let type = try StoreBench(
            """
            type: thing
            state:
              people: { values: { properties: { since: number, name: string }, required: [since] }, default: {} }
              mode: { enum: [auto, manual], default: auto, summary: How. }
            actions:
              go: { payload: { mode: { enum: [auto] }, note: string?, by: { type: integer, default: 1 } } }
            """
        ).type
        let people = try #require(type.schema?["people"])
        let properties = try #require(people.values?.properties)
        #expect(properties.map(\.name) == ["name", "since"])
        #expect(properties.map(\.isRequired) == [false, true])
        #expect(type.schema?["mode"]?.choices == ["auto", "manual"])
        #expect(type.schema?["mode"]?.summary == "How." && type.schema?["mode"]?.fallback == "auto")
        let members = type.payloadMembers(of: 0)
        #expect(members.map(\.name) == ["by", "mode", "note"])
        #expect(members.map(\.isOptional) == [true, false, true])
        #expect(members.map(\.schema.type) == [.integer, .any, .string])
    }

    /// They are found by their order, and are what they are: a number is its value, a text its bytes.
    @Test func valuesOfAnEnumAreFoundAmongMany() throws {
        let words = (0..<300).map { "\"w\(($0 * 7919) % 300)\"" }.joined(separator: ", ")
        let type = try DeclaredType(
            LocatedValue.read(
                """
                type: choice
                initial: { x: w1 }
                state: { x: { enum: [\(words), 3, 1.5, -2, 1000, null, true, [1, a], { k: 1 }, é] } }
                """, file: "choice.yaml"))
        func takes(_ value: JSON) -> Bool { (try? type.state(["x": value], from: .request)) != nil }
        for number in 0..<300 { #expect(takes(.string("w\(number)"))) }
        let fitting: [JSON] = [
            3, 3.0, 1.5, -2, 1000.0, .null, true, [1, "a"], [1.0, "a"], ["k": 1], ["k": 1.0], "é",
        ]
        for value in fitting { #expect(takes(value), "\(value)") }
        let others: [JSON] = [
            "w300", "w", "", 2, 1.25, "3", false, [1], [1, "b"], ["k": 2], [:], "e\u{301}",
        ]
        for value in others { #expect(!takes(value), "\(value)") }
    }

    /// And in the same time as among few: looking through all of them would take five hundred times as long.
    @Test func anEnumOfManyWordsCostsNoMoreThanOneOfFew() throws {
        /// The least time that a thousand values took of this thread.
        func time(_ count: Int) throws -> Duration {
            let words = (0..<count).map { "word\($0)" }
            let type = try DeclaredType(
                LocatedValue.read(
                    "type: choice\ninitial: { x: word1 }\nstate: { x: { enum: [\(words.joined(separator: ", "))] } }\n",
                    file: "choice.yaml"))
            let values = (0..<1000).map { ["x": .string(words[($0 * 7919) % count])] as JSONObject }
            return try (0..<7).map { _ in
                let start = ThreadTime.now
                for value in values { _ = try type.state(value, from: .request) }
                return ThreadTime.now - start
            }.min()!
        }
        #expect(try time(50_000) < time(100) * 20)
    }
}
