import BusJSON
import BusLogic
import TestSupport
import Testing

/// Writes whose number or places only data tells: paths with expressions, `patch`, `each`.
struct DynamicWriteTests {
    private static let head = """
        type: t
        initial: { n: 2, m: { a: 1, b: { c: 5 } }, l: [a, b], log: [], "a.b": 0 }
        computed: { size: size(m) }
        actions:
          act:

        """

    private func type(_ body: String) -> String {
        Self.head + body.split(separator: "\n").map { "    \($0)\n" }.joined()
    }

    private func bench(_ body: String) throws -> StoreBench {
        let bench = try StoreBench(type(body))
        // What is passed on comes to the same definition again.
        let again = try DeclaredType(definition: bench.type.definition)
        #expect(again.definition == bench.type.definition)
        return StoreBench(again)
    }

    /// Fills in what the state should be by members that differ.
    private func expect(_ bench: StoreBench, _ changed: JSONObject, _ payload: JSONObject) throws {
        var expected = bench.state
        for member in changed.members { expected[member.key] = member.value }
        try bench.dispatch("act", payload)
        #expect(bench.state == expected)
    }

    @Test(arguments: [
        ("set: { 'm.{meta.hour}': 7 }", #"{"m":{"17":7,"a":1,"b":{"c":5}},"size":3}"#),
        ("set: { 'm.{payload.at.key}': 7 }", #"{"m":{"a":1,"b":{"c":5},"x.y":7},"size":3}"#),
        ("set: { 'm.b.{\"k\" + string(state.n)}': 7 }", #"{"m":{"a":1,"b":{"c":5,"k2":7}}}"#),
        ("set: { \"m.{ {'x': '}.'}[payload.at.x] }\": 7 }", #"{"m":{"a":1,"b":{"c":5},"}.":7},"size":3}"#),
        (#"set: { "m.{ r'\\' + '}' }": 7 }"#, #"{"m":{"\\}":7,"a":1,"b":{"c":5}},"size":3}"#),
        ("set: { 'm.{1 + 1}': 7 }", #"{"m":{"2":7,"a":1,"b":{"c":5}},"size":3}"#),
        ("increment: { '{payload.at.n}': 7 }", #"{"n":9}"#),
        ("set: { 'l.{state.n - 1}': 7 }", #"{"l":["a",7]}"#),
        ("unset: ['m.{state.l[0]}']", #"{"m":{"b":{"c":5}},"size":1}"#),
        ("set: { '{\"a.b\"}': 3, 'm.{state.m.a}': 1 }", #"{"a.b":3,"m":{"1":1,"a":1,"b":{"c":5}},"size":3}"#),
        ("append: { 'log': 1, '{\"lo\" + \"g\"}': = state.n }", #"{"log":[1,2]}"#),
        ("patch: = payload.at.set", #"{"l":[],"n":null}"#),
        ("patch: { var: payload.at.set }", #"{"l":[],"n":null}"#),
        (
            "patch: { m: = payload.at.m, 'm.{\"b\"}': \"{'c': null}\" }",
            #"{"m":{"a":null,"b":{"c":null},"z":[1]},"size":3}"#
        ),
        ("each: { in: state.l, as: k, set: { 'm.{k}': = k + '!' } }", #"{"m":{"a":"a!","b":"b!"}}"#),
        ("each: { in: state.l, as: [i, k], set: { 'm.{k}': = i } }", #"{"m":{"a":0,"b":1}}"#),
        ("each: { in: state.m, as: k, unset: ['m.{k}'] }", #"{"m":{},"size":0}"#),
        (
            "each: { in: { var: state.m }, as: [k, v], append: { log: [{ var: k }, { var: v }] } }",
            #"{"log":[["a",1],["b",{"c":5}]]}"#
        ),
        (
            "each: [{ in: [1, 2], as: a, each: { in: '[a, 10 * a]', as: b, append: { log: = a + b } } }, { in: [], as: a, toggle: [n] }]",
            #"{"log":[2,11,4,22]}"#
        ),
        ("set: { n: 5 }\neach: { in: '[1, 2]', as: x, increment: { n: = x * state.n } }", #"{"n":11}"#),
        ("each: { in: '[{\"n\": 1}, {\"n\": 2, \"l\": []}]', as: x, patch: = x }", #"{"l":[],"n":2}"#),
    ])
    func writesGoWhereDataTells(_ body: String, _ changed: String) throws {
        let reads = body.contains("payload.") ? "payload: { at: object }\n" : ""
        let bench = try bench(reads + body)
        // A Wednesday evening.
        bench.context.time = 1_795_023_296.5
        let payload: JSONObject = [
            "at": [
                "key": "x.y", "x": "x", "n": "n", "set": ["l": [], "n": .null],
                "m": ["a": .null, "z": [1]],
            ]
        ]
        try expect(bench, try #require(JSON(parsing: changed).object), reads.isEmpty ? [:] : payload)
    }

    @Test(arguments: [
        (
            "set: { 'm.{payload.v}': 1 }",
            "payload.v is a number, and the path m.{payload.v} takes a string or an integer", "m.{payload.v}"
        ),
        (
            "set: { 'm.{payload.v[0]}': 1 }", "in set m.{payload.v[0]}, […] needs a list or a map",
            "m.{payload.v[0]}"
        ),
        (
            "set: { '{payload.?w.orValue(\"size\")}': = payload.v }", "size is computed and can't be written",
            "size"
        ),
        ("increment: { 'm.{\"x\" + string(payload.v)}': 1 }", "m.x1.5 does not exist", "m.x1.5"),
        ("patch: { m: = payload.v }", "in patch m, a map is needed, and it was given number", "m"),
        ("patch: = payload.v", "in patch, a map is needed, and it was given number", nil),
        (
            "patch: \"{payload.?w.orValue('nn'): payload.v}\"",
            "nn is in neither initial nor state; did you mean `n`", "nn"
        ),
        (
            "each: { in: payload.v, as: x, set: { n: = x } }",
            "in each, a list or a map is needed, and it was given number", nil
        ),
        (
            "each: { in: state.m, as: k, set: { n: = payload.v / (size(k) - 1) } }", "a number is infinite",
            "n"
        ),
    ])
    func whatCanNotBeWrittenRejects(_ body: String, _ reason: String, _ path: String?) throws {
        let bench = try bench("payload: { v: any, w: any? }\n" + body)
        let rejection = try bench.rejection(of: "act", ["v": 1.5])
        #expect(rejection.message.contains(reason), "\(rejection.message)")
        #expect(rejection.path == path)
    }

    @Test(arguments: [
        MarkedMistake(
            "set: { §'m.{payload.at + 1}': 1 }", "line 1, column 15: + can't add an integer to a text"),
        MarkedMistake(
            "set: { §'m.{statte.n}': 1 }",
            "line 1, column 4: statte is not data of an action; did you mean `state`?"),
        MarkedMistake(
            "set: { §'m.{state.l}': 1 }\nwhen: payload.at == ''",
            "line 1, column 4: a part of a path is a text or an integer, and this is a list."),
        MarkedMistake("set: { §'m.{state.n +}': 1 }", "line 1, column 13"),
        MarkedMistake("set: { §'m.{meta.hours}': 1 }", "meta has no member hours; did you mean `hour`?"),
        MarkedMistake("patch: §= payload", "at is in neither initial nor state"),
        MarkedMistake("patch: §5", "patch must be an object"),
        MarkedMistake("patch: { m: §= payload.at }", "patch needs a map, and this is a text."),
        MarkedMistake("patch: { §nope: = state.m }", "nope is in neither initial"),
        MarkedMistake("each: §{ as: x, set: { n: 1 } }", "each needs a member in; add it."),
        MarkedMistake("each: §{ in: state.l, set: { n: 1 } }", "each needs a member as; add it."),
        MarkedMistake("each: §{ in: state.l, as: x }", "each repeats nothing"),
        MarkedMistake(
            "each: { in: state.l, as: x, §sett: { n: 1 } }", "unknown key `sett` in each; did you mean `set`?"
        ),
        MarkedMistake(
            "each: { in: state.l, as: §state, set: { n: 1 } }", "state means something here already"),
        MarkedMistake("each: { in: state.l, as: §a.b, set: { n: 1 } }", "a.b can't be a name"),
        MarkedMistake(
            "each: { in: state.l, as: §[a, b, c], set: { n: 1 } }", "as is one name, such as item, or two"),
        MarkedMistake(
            "each: { in: state.l, as: x, each: { in: state.l, as: §x, set: { n: = x } } }",
            "x means something here already"),
        MarkedMistake(
            "each: { in: §payload.at, as: x, set: { n: = x } }",
            "each needs a list or a map, and this is a text."),
        MarkedMistake(
            "each: { in: state.l, as: x, set: { n: §= y } }", "line 1, column 3: y is not data of an action; "
        ),
        MarkedMistake(
            "each: { in: state.l, as: x, set: { §size: = x } }", "size is computed and can't be written"),
    ])
    func mistakesAreFoundAtLoad(_ mistake: MarkedMistake) throws {
        let initial =
            "type: t\nstate:\n  n: { type: integer, default: 1 }\n  l: { type: array, default: [] }\n"
            + "  m: { type: object, default: {} }\ncomputed: { size: size(m) }\nactions:\n  act:\n"
            + "    payload: { at: string }\n"
        try mistake.expectMessage { mistake in
            initial + mistake.split(separator: "\n").map { "    \($0)\n" }.joined()
        }
    }

    @Test func theSchemaHoldsForEveryWrite() throws {
        let bench = try StoreBench(
            """
            type: t
            state:
              n: { type: integer, maximum: 5, default: 1 }
              m: { values: { type: integer, maximum: 5 }, default: {} }
              s: { properties: { x: integer, y: string }, required: [x], default: { x: 1 } }
            actions:
              put: { payload: { k: string, v: integer }, set: { "m.{payload.k + '1'}": = payload.v } }
              any: { payload: { k: string, v: integer }, set: { "{payload.k + ''}": = payload.v } }
              all: { payload: { n: integer?, m: object? }, patch: = payload }
              part: { payload: { with: object }, patch: { s: = payload.with } }
              raise: { payload: { by: { type: array, items: integer } }, each: { in: payload.by, as: x, increment: { n: = x } } }

            """)
        try bench.dispatch("put", ["k": "a", "v": 5])
        #expect(bench.state["m"] == ["a1": 5])
        #expect(
            try bench.rejection(of: "put", ["k": "a", "v": 6]).message.contains(
                "m.a1 must be at most 5, not 6"))
        #expect(
            try bench.rejection(of: "any", ["k": "o", "v": 1]).message.contains(
                "o is in neither initial nor state"))
        #expect(try bench.rejection(of: "all", ["n": 6]).message.contains("n must be at most 5"))
        #expect(try bench.rejection(of: "all", ["m": ["x": "y"]]).message.contains("m.x must be an integer"))
        try bench.dispatch("all", ["m": ["x": 1]])
        #expect(bench.state["m"] == ["x": 1] && bench.state["n"] == 1)
        try bench.dispatch("all")
        #expect(
            try bench.rejection(of: "part", ["with": ["z": 1]]).message.contains(
                "s.z is not a declared property"))
        try bench.dispatch("part", ["with": ["y": "a"]])
        #expect(bench.state["s"] == ["x": 1, "y": "a"])
        // What a later write mends is no mistake.
        try bench.dispatch("raise", ["by": [6, -3]])
        #expect(bench.state["n"] == 4)
        #expect(
            try bench.rejection(of: "raise", ["by": [6, -3, 4]]).message.contains(
                "n must be at most 5, not 11"))
    }

    /// A step of a migration reads the names of its `each` in both languages.
    @Test(arguments: ["= x * state.n", "{ '*': [{ var: x }, { val: [state, n] }] }"])
    func aMigrationRepeatsWrites(_ value: String) throws {
        let bench = try StoreBench(
            "type: t\nversion: 2\ninitial: { n: 0 }\nmigrate: { 1: { each: { in: [1, 2], as: x, increment: { n: \(value) } } } }"
        )
        #expect(try bench.type.migrate(["n": 5], from: 1) == ["n": 20])
    }

    @Test func repetitionEndsAtTheBudget() throws {
        let bench = try bench(
            """
            payload: { count: integer }
            each: { in: lists.range(payload.count), as: a, each: { in: lists.range(payload.count), as: b, set: { n: = b } } }
            """)
        try bench.dispatch("act", ["count": 20])
        #expect(bench.state["n"] == 19)
        #expect(
            try bench.rejection(of: "act", ["count": 1000]).message.contains(
                "more operations than the budget allows"))
    }

    @Test func whatIsNotDynamicStaysPlain() throws {
        let bench = try bench("set: { n: 5, '{\"a.b\"}': 1, 'm.{\"x\"}': 2 }")
        #expect(bench.type.precomputedWrites(of: 0) == nil)
        let plain = try StoreBench(
            "type: t\ninitial: { n: 2, m: {} }\nactions: { act: { set: { n: 5, 'm.{\"x\"}': 2 } } }")
        #expect(plain.type.precomputedWrites(of: 0) != nil)
    }

    @Test(arguments: [
        (0.0, 0, 0, 4), (-1.0, 23, 59, 3), (59.9996, 0, 0, 4), (1_795_023_296.5, 17, 34, 3),
        (4_107_542_399.0, 23, 59, 0), (951_782_400.0, 0, 0, 2),
    ])
    func theClockIsThatOfUTC(_ time: Double, _ hour: Int, _ minute: Int, _ weekday: Int) throws {
        let bench = try StoreBench(
            """
            type: t
            initial: { text: [], logic: [] }
            actions:
              act:
                set:
                  text: = [meta.hour, meta.minute, meta.weekday]
                  logic: [{ var: meta.hour }, { val: [meta, minute] }, { var: meta.weekday }]

            """)
        bench.context.time = time
        try bench.dispatch("act")
        let expected: JSON = [.int(hour), .int(minute), .int(weekday)]
        #expect(bench.state["text"] == expected && bench.state["logic"] == expected)
    }

    /// A definition of before may look for these by paths that it works out, and found nothing.
    @Test func theWholeOfMetaStaysAsItWas() throws {
        let bench = try StoreBench(
            accepted: """
                type: t
                initial: { all: null, found: null, missing: null }
                actions:
                  act:
                    payload: { name: string }
                    set:
                      all: { keys: { var: meta } }
                      found: { var: [{ cat: [meta., { var: payload.name }] }, nothing] }
                      missing: { missing: [meta.hour, meta.time] }
                """)
        try bench.dispatch("act", ["name": "hour"])
        #expect(bench.state["all"] == ["revision", "time", "uid", "who"])
        #expect(bench.state["found"] == "nothing" && bench.state["missing"] == ["meta.hour"])
    }
}
