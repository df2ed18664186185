import BusJSON
import BusLogic
import BusState
import Testing

/// Each kind of write under a schema: what it may break is refused, with the path, and nothing has changed then; what
/// can't break it is not checked at all.
struct SchemaWriteTests {
    private static let head = """
        type: thing
        state:
          n: { type: integer, minimum: 0, maximum: 10, default: 5 }
          free: { type: integer, default: 0 }
          ratio: { type: number, default: 0 }
          on: { type: boolean, default: false }
          list: { type: array, items: { type: integer, minimum: 0 }, maxItems: 3, default: [1] }
          words: { type: array, items: string, default: [] }
          map: { values: { properties: { a: integer, b: string }, required: [a] }, default: {} }
          spot: { properties: { x: integer, y: integer }, required: [x], default: { x: 1 } }
          corner: { enum: [{ x: 0, y: 0 }, { x: 1, y: 1 }], default: { x: 0, y: 0 } }
          any: { type: any, default: null }
        actions:

        """

    private func bench(_ body: String) throws -> StoreBench {
        try StoreBench(Self.head + "  act: { \(body) }\n")
    }

    @Test(arguments: [
        (
            "payload: { by: integer }, increment: { n: { var: payload.by } }", #"{"by":9}"#,
            "n must be at most 10, not 14"
        ),
        (
            "payload: { by: number }, increment: { free: { var: payload.by } }", #"{"by":0.5}"#,
            "free must be an integer"
        ),
        (
            "payload: { v: any }, append: { list: { var: payload.v } }", #"{"v":-1}"#,
            "list.1 must be at least 0, not -1"
        ),
        (
            "payload: { v: any }, append: { words: { var: payload.v } }", #"{"v":1}"#,
            "words.0 must be a string"
        ),
        (
            "payload: { v: array }, set: { list: { var: payload.v } }", #"{"v":[1,2,3,4]}"#,
            "list must have at most 3 elements"
        ),
        (
            "payload: { k: string, v: any }, set: { 'map.{payload.k}': { var: payload.v } }",
            #"{"k":"p","v":{"b":"x"}}"#, "map.p must have a member a"
        ),
        (
            "payload: { v: object }, merge: { map: { var: payload.v } }", #"{"v":{"p":{"b":"x"}}}"#,
            "map.p must have a member a"
        ),
        (
            "payload: { v: object }, merge: { spot: { var: payload.v } }", #"{"v":{"x":null}}"#,
            "spot must have a member x"
        ),
        (
            "payload: { v: object }, merge: { spot: { var: payload.v } }", #"{"v":{"z":1}}"#,
            "spot.z is not a declared property"
        ),
        ("payload: { k: string }, unset: ['spot.{payload.k}']", #"{"k":"x"}"#, "spot must have a member x"),
        (
            "payload: { k: string }, unset: ['{payload.k}']", #"{"k":"n"}"#,
            "n is a member of every state and can't be unset"
        ),
        (
            "payload: { k: string, v: any }, set: { '{payload.k}': { var: payload.v } }",
            #"{"k":"on","v":1}"#, "on must be a boolean"
        ),
        (
            "payload: { k: string, v: any }, set: { 'spot.{payload.k}': { var: payload.v } }",
            #"{"k":"z","v":1}"#, "spot.z is not a declared property"
        ),
        (
            "payload: { v: integer }, set: { corner.x: { var: payload.v } }", #"{"v":1}"#,
            "corner must be one of"
        ),
        (
            "payload: { i: integer, v: any }, set: { 'words.{payload.i}': { var: payload.v } }",
            #"{"i":0,"v":1}"#, "words.0 must be a string"
        ),
    ])
    func whatBreaksTheSchemaIsRejected(_ body: String, _ payload: String, _ reason: String) throws {
        let bench = try bench(body)
        let object = try #require(JSON(parsing: payload).object)
        let rejection = try bench.rejection(of: "act", object)
        #expect(rejection.message.hasPrefix("thing/kitchen refused act: \(reason)"), "\(rejection.message)")
        #expect(rejection.path == reason.split(separator: " ").first.map(String.init))
    }

    /// Elements are added by `append` and by `set` behind the last one.
    @Test func aFullArrayTakesNoMore() throws {
        let bench = try StoreBench(
            Self.head + "  push: { append: { list: 2 } }\n"
                + "  put: { payload: { i: integer }, set: { 'list.{payload.i}': 3 } }\n")
        try bench.dispatch("push")
        try bench.dispatch("put", ["i": 2])
        #expect(try bench.rejection(of: "push").path == "list")
        #expect(
            try bench.rejection(of: "put", ["i": 3]).message.contains(
                "list must have at most 3 elements, not 4"))
        try bench.dispatch("put", ["i": 0])
        #expect(bench.state["list"] == [3, 2, 3])
    }

    /// Also where nothing else is said of its elements, in either way to say so.
    @Test(arguments: ["maxItems: 2", "maxItems: 2, items: any"])
    func aFullArrayOfAnythingTakesNoMore(_ words: String) throws {
        let bench = try StoreBench(
            """
            type: thing
            state: { list: { type: array, \(words), default: [1] } }
            actions:
              put: { payload: { i: integer, v: any }, set: { 'list.{payload.i}': { var: payload.v } } }
              second: { set: { list.2: x } }
              push: { payload: { v: any }, append: { list: { var: payload.v } } }
            """)
        try bench.dispatch("put", ["i": 1, "v": "a"])
        try bench.dispatch("put", ["i": 0, "v": ["deep"]])
        #expect(bench.state["list"] == [["deep"], "a"])
        #expect(try bench.rejection(of: "put", ["i": 2, "v": 3]).path == "list")
        #expect(try bench.rejection(of: "second").path == "list")
        #expect(try bench.rejection(of: "push", ["v": 3]).path == "list")
    }

    /// Only what an action comes to counts.
    @Test func aLaterWriteMayMendAnEarlierOne() throws {
        let bench = try bench(
            "payload: { a: integer, b: integer }, set: { n: { var: payload.a } }, increment: { n: { var: payload.b } }"
        )
        try bench.dispatch("act", ["a": 500, "b": -495])
        #expect(bench.state["n"] == 5)
        #expect(
            try bench.rejection(of: "act", ["a": 500, "b": 1]).message.contains(
                "n must be at most 10, not 501"))
        #expect(try bench.rejection(of: "act", ["a": 5, "b": 6]).path == "n")
    }

    /// Also one that may go to the same member only because the payload says so.
    @Test func aLaterWriteWhosePathThePayloadNamesMayMend() throws {
        let bench = try bench(
            "payload: { a: integer, k: string }, set: [{ n: { var: payload.a } }, { '{payload.k}': 7 }]")
        try bench.dispatch("act", ["a": 500, "k": "n"])
        #expect(bench.state["n"] == 7)
        let rejection = try bench.rejection(of: "act", ["a": 500, "k": "free"])
        #expect(rejection.message.contains("n must be at most 10, not 500"), "\(rejection.message)")
    }

    /// What was broken in between is looked for in the whole state, and that is paid for.
    @Test func mendingCostsAsMuchAsTheStateIsLarge() throws {
        func operations(_ members: Int, _ first: Int) throws -> Int {
            let bench = try bench(
                "payload: { a: integer, b: integer }, set: { n: { var: payload.a } }, increment: { n: { var: payload.b } }"
            )
            bench.state["words"] = .array(Array(repeating: "word", count: members))
            try bench.dispatch("act", ["a": .int(first), "b": .int(5 - first)])
            return bench.spent.operations
        }
        #expect(try operations(1000, 5) == operations(1, 5))
        #expect(try operations(1000, 500) == operations(1, 500) + 999)
    }

    /// Writes that can't break the schema are planned like those of a type without one.
    @Test(arguments: [
        ("increment: { free: 1 }", true),
        ("payload: { by: integer }, increment: { free: { var: payload.by } }", true),
        ("payload: { by: number }, increment: { ratio: { var: payload.by } }", true), ("toggle: [on]", true),
        ("set: { n: 10, on: true, corner: { x: 1, y: 1 } }", true), ("append: { words: hello }", true),
        ("payload: { v: { type: integer, minimum: 1, maximum: 9 } }, set: { n: { var: payload.v } }", true),
        ("payload: { v: any }, set: { any: { var: payload.v } }", true),
        ("payload: { v: any }, remove: { list: { var: payload.v } }", true),
        ("payload: { s: string }, append: { words: { var: payload.s } }", true),
        ("payload: { v: integer }, set: { n: { var: payload.v } }", false), ("increment: { n: 1 }", false),
        ("append: { list: 1 }", false),
        ("payload: { s: string? }, append: { words: { var: payload.s } }", false),
    ])
    func whatCanNotBreakTheSchemaIsNotChecked(_ body: String, _ isPlanned: Bool) throws {
        let type = try bench(body).type
        #expect((type.precomputedWrites(of: 0) != nil) == isPlanned)
    }

    /// A payload's schema makes a check needless where all that it takes fits the member.
    @Test(arguments: [
        ("{ type: integer, minimum: 1, maximum: 9 }", "{ type: number, minimum: 1, maximum: 9 }", "1", true),
        ("{ type: integer, minimum: 1 }", "{ type: integer, minimum: 1, maximum: 9 }", "1", false),
        ("{ type: integer, minimum: 0, maximum: 9 }", "{ type: integer, minimum: 1 }", "1", false),
        ("{ type: integer, maximum: 10 }", "{ type: integer, maximum: 9 }", "1", false),
        ("number", "integer", "1", false), ("{ type: integer, nullable: true }", "integer", "1", false),
        ("{ enum: [1, 9] }", "{ type: integer, maximum: 9 }", "1", true),
        ("{ enum: [1, 10] }", "{ type: integer, maximum: 9 }", "1", false),
        ("integer", "{ enum: [1, 2] }", "1", false),
        ("{ minLength: 1, maxLength: 3 }", "{ minLength: 1, maxLength: 3 }", "x", true),
        ("{ maxLength: 4 }", "{ maxLength: 3 }", "x", false),
        ("{ minLength: 1 }", "{ minLength: 2 }", "xx", false), ("string", "{ maxLength: 3 }", "x", false),
        ("{ items: integer, maxItems: 3 }", "{ items: number, maxItems: 3 }", "[]", true),
        ("{ items: integer, maxItems: 4 }", "{ items: integer, maxItems: 3 }", "[]", false),
        ("{ items: integer }", "{ items: integer, maxItems: 3 }", "[]", false),
        ("{ items: number }", "{ items: integer }", "[]", false),
        ("array", "{ items: integer }", "[]", false),
        (
            "{ properties: { a: integer }, required: [a] }", "{ properties: { a: number, b: string } }",
            "{}", true
        ),
        (
            "{ properties: { a: integer } }", "{ properties: { a: integer }, required: [a] }", "{ a: 1 }",
            false
        ),
        ("{ properties: { a: number } }", "{ properties: { a: integer } }", "{}", false),
        ("{ properties: { a: integer, b: any } }", "{ properties: { a: integer } }", "{}", false),
        ("{ values: integer }", "{ properties: { a: integer } }", "{}", false),
        ("object", "{ properties: { a: any } }", "{}", false),
        ("{ properties: { a: integer, b: integer } }", "{ values: number }", "{}", true),
        ("{ properties: { a: integer, b: string } }", "{ values: number }", "{}", false),
        ("{ values: integer }", "{ values: number }", "{}", true),
        ("{ values: number }", "{ values: integer }", "{}", false),
        ("object", "{ values: integer }", "{}", false),
    ])
    func aPayloadThatAlwaysFitsIsNotChecked(
        _ payload: String, _ member: String, _ start: String, _ isPlanned: Bool
    ) throws {
        let bench = try StoreBench(
            """
            type: thing
            state: { m: \(member) }
            initial: { m: \(start) }
            actions: { act: { payload: { v: \(payload) }, set: { m: { var: payload.v } } } }
            """)
        #expect((bench.type.precomputedWrites(of: 0) != nil) == isPlanned)
    }

    /// Every value that a check looks at counts as an operation.
    @Test func theCostGrowsWithWhatIsWrittenAndNotWithTheState() throws {
        func operations(_ body: String, members: Int, _ payload: JSONObject) throws -> Int {
            let bench = try bench(body)
            var map = JSONObject()
            for member in 0..<members { map["member\(member)"] = ["a": .int(member), "b": "text"] }
            bench.state["map"] = .object(map)
            try bench.dispatch("act", payload)
            return bench.spent.operations
        }
        let set = "payload: { k: string, v: any }, set: { 'map.{payload.k}': { var: payload.v } }"
        let merge = "payload: { v: object }, merge: { map: { var: payload.v } }"
        let member: JSONObject = ["k": "new", "v": ["a": 1]]
        let patch: JSONObject = ["v": ["new": ["a": 1], "member0": ["a": 2]]]
        for (body, payload) in [(set, member), (merge, patch)] {
            let small = try operations(body, members: 1, payload)
            #expect(try operations(body, members: 2_000, payload) == small)
        }
        let whole = "payload: { v: object }, set: { map: { var: payload.v } }"
        func map(_ count: Int) -> JSONObject {
            let members = (0..<count).map { JSONObject.Member(key: String(100 + $0), value: ["a": 1]) }
            return ["v": .object(JSONObject(sorted: members))]
        }
        let (one, hundred) = (
            try operations(whole, members: 0, map(1)), try operations(whole, members: 0, map(100))
        )
        #expect(hundred - one == 2 * 99)
    }
}
