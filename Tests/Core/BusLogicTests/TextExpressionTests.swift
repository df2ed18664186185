import BusJSON
import BusLogic
import BusSource
import BusState
import BusYAML
import TestSupport
import Testing

/// Expressions in text where types have them.
struct TextExpressionTests {
    private static let thermostat = """
        type: thermostat
        state:
          target: { type: number, minimum: 5, maximum: 30, default: 20 }
          mode: { enum: [auto, "off"], default: auto }
          names: { type: array, items: string, default: [] }
          spots: { type: object, values: { properties: { x: integer }, required: [x] }, default: {} }
          due: { type: any, default: null }
        computed:
          isWarm: target > 22
          longest: names.sortBy(n, -size(n)).first().orValue("none")
          whole: size(state.names) + size(names)
        waitFor: [user]
        actions:
          setTarget:
            payload: { celsius: number }
            set: { target: = payload.celsius }
          boost:
            when: = state.mode == "auto"
            require:
              - if: state.target + 2 <= 30
                else: = "already at " + string(state.target)
            increment: { target: "= math.least(payload.by, 5)" }
            payload: { by: { type: integer, default: 2 } }
          name:
            payload: { name: string, note: string? }
            append:
              names: = payload.name + payload.?note.optMap(n, " (" + n + ")").orValue("")
          place:
            payload: { at: string, x: integer }
            merge: { spots: "= {payload.at: {'x': payload.x}}" }
          ask:
            payload: { who: string }
            set:
              due: = stores["user/" + payload.who].?age.orValue(0)
          mix:
            set: { due: { one: = 1 + 1, list: [= meta.revision, "= 2", { literal: "= 3" }], alone: { object: { in: = store } } } }
          wait:
            timers: { later: { in: state.target * 2, action: boost } }
            set: { due: { one: = 5 } }

        """

    private func bench() throws -> StoreBench { try StoreBench(Self.thermostat) }

    @Test func valuesConditionsAndReasonsAreComputed() throws {
        let bench = try bench()
        try bench.dispatch("setTarget", ["celsius": 25.5])
        #expect(bench.state["target"] == 25.5 && bench.state["isWarm"] == true)
        try bench.dispatch("boost")
        #expect(bench.state["target"] == 27.5)
        try bench.dispatch("boost", ["by": 1])
        #expect(
            try bench.rejection(of: "boost").message == "thermostat/kitchen refused boost: already at 28.5.")
        try bench.dispatch("name", ["name": "Ada"])
        try bench.dispatch("name", ["name": "Bo", "note": "new"])
        #expect(bench.state["names"] == ["Ada", "Bo (new)"] && bench.state["whole"] == 4)
        #expect(bench.state["longest"] == "Bo (new)")
        try bench.dispatch("place", ["at": "a b", "x": 1])
        #expect(bench.state["spots"] == ["a b": ["x": 1]])
        bench.others = ["user/ada": ["age": 36]]
        try bench.dispatch("ask", ["who": "ada"])
        #expect(bench.state["due"] == 36)
        #expect(try bench.rejection(of: "ask", ["who": "bo"]).message.contains("there is no such store"))
    }

    @Test func textsStandInObjectsAndListsAndNotInOperations() throws {
        let bench = try bench()
        try bench.dispatch("mix")
        #expect(bench.state["due"]?["one"] == 2 && bench.state["due"]?["list"]?[1] == 2)
        #expect(
            bench.state["due"]?["list"]?[2] == "= 3"
                && bench.state["due"]?["alone"] == ["in": "thermostat/kitchen"])
    }

    @Test func anObjectWithOneMemberIsBuiltWhereItsValueIsAnExpression() throws {
        let bench = try StoreBench(
            "type: t\ninitial: { a: 0 }\nactions: { act: { set: { a: { text: = 1 + 1 } } } }\n")
        try bench.dispatch("act")
        #expect(bench.state["a"] == ["text": 2])
    }

    @Test func whatFailsRejectsAndComputedValuesBecomeNull() throws {
        let bench = try StoreBench(
            """
            type: t
            initial: { a: 1, map: {} }
            computed: { b: 10 / a, c: 10.0 / a, d: map.x }
            actions:
              act: { payload: { by: integer }, set: { a: = 10 / payload.by } }
              float: { payload: { by: number }, set: { a: = 10.0 / payload.by } }
              zero: { set: { a: 0 } }
              maybe: { when: state.map.x > 1, set: { a: 5 } }
              long: { when: "lists.range(1000).all(x, lists.range(1000).all(y, y >= 0))", set: { a: 5 } }

            """)
        #expect(bench.state["b"] == 10 && bench.state["c"] == 10.0 && bench.state["d"] == .null)
        #expect(
            try bench.rejection(of: "act", ["by": 0]).message
                == "t/kitchen refused act: in set a, / divides by zero (NaN).")
        #expect(try bench.rejection(of: "float", ["by": 0]).message.contains("infinite or undefined"))
        // A store that a condition can't be told of is left alone.
        try bench.dispatch("maybe")
        #expect(bench.state["a"] == 1)
        #expect(try bench.rejection(of: "long").message.contains("in when, "))
        try bench.dispatch("zero")
        #expect(bench.state["b"] == .null && bench.state["c"] == .null)
    }

    @Test func aLogsTextsStayTexts() throws {
        let yaml = """
            type: t
            initial: { a: x }
            computed: { b: a }
            actions:
              act: { when: a, set: { a: "= 1 + 1" } }

            """
        // As a bus before expressions in text wrote it into its log.
        let old = try StoreBench(accepted: yaml)
        try old.dispatch("act")
        #expect(old.state["a"] == "= 1 + 1" && old.state["b"] == "a")
        #expect(old.type.definition["expressions"] == nil)
    }

    @Test func aDefinitionThatIsPassedOnSaysThatItHasExpressions() throws {
        let type = try DeclaredType(LocatedValue.read(Self.thermostat, file: "thermostat.yaml"))
        #expect(type.definition["expressions"] == "cel")
        let again = try DeclaredType(definition: type.definition)
        #expect(again.definition == type.definition)
        let bench = StoreBench(again)
        try bench.dispatch("mix")
        #expect(bench.state["due"]?["one"] == 2)
        let plain = try DeclaredType(LocatedValue.read("type: t\ninitial: { a: 0 }\n", file: "t.yaml"))
        #expect(plain.definition["expressions"] == nil)
    }

    @Test(arguments: [
        "lists.range(100000000)",
        "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10].map(a, lists.range(1000).map(b, lists.range(1000)))",
        "cel.bind(a, lists.range(1000), a.map(x, a.map(y, x * y)))",
        "cel.bind(a, 'xxxxxxxxxxxxxxxx', cel.bind(b, lists.range(3000).map(i, a).join(), lists.range(3000).map(i, b).join()))",
        "lists.range(1000).map(i, -i).map(i, [i]).distinct()", "lists.range(90000).sort().sortBy(x, -x)",
        "lists.range(9999).map(i, '%.100f'.format([1e300])).join()",
        "lists.range(40000).exists(x, 1 / 0 == x) || [1].exists(y, y == 1)",
        "lists.range(20000).all(x, [1].all(y, y > 0 || x > 0)) && true",
    ])
    func everyExpressionEndsAtItsBudget(_ text: String) throws {
        let expression = try Expression.compile(text: text)
        let failure = #expect(throws: EvaluationFailure.self) {
            try expression.evaluate(on: .null, budget: .init(operations: 100_000, bytes: 1 << 20))
        }
        #expect(failure == .operations || failure == .bytes, "\(failure.map { "\($0)" } ?? "")")
    }

    @Test func anExpressionLeavesNoNamesBehindWhenItFails() throws {
        let text = "[1, 2].exists(x, [3].all(y, cel.bind(z, y, z / (x - 1) > 5))) || [4].all(x, x == 4)"
        #expect(try Expression.compile(text: text).evaluate(on: .null) == true)
    }

    @Test func deepExpressionsAreEvaluatedOnASmallStack() throws {
        try SmallStack.run {
            for (opening, closing) in [
                ("[", "]"), ("-(", ")"), ("f ? g : (", ")"), ("[a].map(x, ", ")[0]"),
                ("cel.bind(x, a, ", ")"),
            ] {
                let count = opening.count > 4 ? 29 : 58
                let text =
                    String(repeating: opening, count: count) + "a" + String(repeating: closing, count: count)
                let data: JSON = ["a": 1, "f": false, "g": 2]
                _ = try Expression.compile(text: text).evaluate(on: data)
            }
        }
    }
}
