import BusJSON
import BusLogic
import BusSource
import TestSupport
import Testing

/// `let:` of a type: names for values and expressions, wherever it has expressions.
struct NamedExpressionTests {
    private static let house = """
        type: house
        version: 2
        waitFor: [user]
        state:
          doors: { values: { properties: { open: boolean }, required: [open] }, default: {} }
          target: { type: integer, default: 20 }
          log: { type: array, default: [] }
        let:
          limit: 30
          step: { up: 2, down: -1 }
          isOpen: state.doors.exists(k, d, d.open)
          openDoors: = state.doors.transformList(k, d, d.open, k)
          room: limit - state.target
          isMine: meta.uid == 1000
          first: { var: [stores.user/ada.name, nobody] }
          half: { "/": [{ var: state.target }, 2] }
        computed:
          mayHeat: "!isOpen && target < limit"
          count: size(openDoors)
          next: "[1, 2].map(x, x + step.up)"
          logic: { "+": [{ var: limit }, { val: [step, up] }, { var: half }] }
        actions:
          raise:
            when: "!isOpen"
            require: [{ if: room >= step.up, else: = "no room in " + string(limit) }]
            increment: { target: step.up }
          open: { payload: { door: string }, set: { "doors.{payload.door}": { open: = true } } }
          tell:
            append:
              log: = [isOpen, isMine, first, openDoors.filter(d, d != 'x' && room > 0)]
          logic: { when: { "!": [{ var: isOpen }] }, append: { log: { var: step.down } } }
          shut: { each: { in: openDoors, as: d, set: { "doors.{d}.open": = isOpen && room > 100 } } }
        migrate: { 1: { set: { target: = limit - 1 } } }

        """

    @Test func namesMeanTheSameInEveryExpression() throws {
        let first = try StoreBench(Self.house)
        let bench = StoreBench(try DeclaredType(definition: first.type.definition))
        #expect(bench.type.definition == first.type.definition)
        #expect(bench.state["mayHeat"] == true && bench.state["next"] == [3, 4] && bench.state["count"] == 0)
        #expect(bench.state["logic"] == 42)
        for _ in 0..<5 { try bench.dispatch("raise") }
        #expect(bench.state["mayHeat"] == false && bench.state["target"] == 30)
        #expect(try bench.rejection(of: "raise").message == "house/kitchen refused raise: no room in 30.")
        try bench.dispatch("open", ["door": "x"])
        try bench.dispatch("open", ["door": "y"])
        #expect(bench.state["count"] == 2)
        #expect(try bench.dispatch("raise") == false)
        #expect(try bench.dispatch("logic") == false)
        bench.context.uid = 1000
        bench.others = ["user/ada": ["name": "Ada"]]
        try bench.dispatch("tell")
        #expect(bench.state["log"] == [[true, true, "Ada", []]])
        try bench.dispatch("shut")
        #expect(bench.state["count"] == 0)
        try bench.dispatch("logic")
        #expect(bench.state["log"]?[1] == -1)
        #expect(try bench.type.migrate(["doors": [:]], from: 1)["target"] == 29)
    }

    /// A name costs what its expression costs where it is written out.
    @Test func aNameCostsWhatItStandsFor() throws {
        let written = "state.a > 1 && state.list.exists(x, x > state.a)"
        let head = "type: t\ninitial: { a: 2, list: [1, 2, 3], b: 0 }\n"
        let actions: (String) -> String = {
            "actions: { act: { when: \"\($0)\", set: { b: \"= [1].exists(y, \($0)) ? 1 : 2\" } } }\n"
        }
        let plain = try StoreBench(head + actions(written))
        let named = try StoreBench(
            head + "let: { isIt: \"\(written)\", unused: \"state.list.map(x, x)\" }\n" + actions("isIt"))
        try plain.dispatch("act")
        try named.dispatch("act")
        #expect(plain.state == named.state && plain.spent.operations == named.spent.operations)
        let constant = try StoreBench(
            "type: t\ninitial: { b: 0 }\nlet: { five: 2 + 3 }\nactions: { act: { set: { b: = five } } }\n")
        #expect(constant.type.precomputedWrites(of: 0) != nil)
    }

    @Test(arguments: [
        MarkedMistake(
            "let: { §a: b + 1, b: c, c: a }",
            "The names a → b → c → a of let read each other in a circle; break it."),
        MarkedMistake("let: { §a: { '+': [{ var: a }, 1] } }", "The names a → a of let"),
        MarkedMistake("let: { §n: 1 }", "n is a member of the state already; choose another name."),
        MarkedMistake("let: { §size: 1 }\ncomputed: { size: n }", "size is a computed value already"),
        MarkedMistake("let: { §state: 1 }", "state is data of every action already"),
        MarkedMistake("let: { §math: 1 }", "math is where functions come from already"),
        MarkedMistake("let: { §a.b: 1 }", "a.b can't be a name"),
        MarkedMistake(
            "let: { a: §n + 1 }", "line 1, column 1: n is not data of an action; did you mean `state.n`?"),
        MarkedMistake(
            "let: { a: §state.nn + 1 }", "state.nn is in neither initial nor state; did you mean `n`?"),
        MarkedMistake("let: { a: §payload.x }", "let is the same for all actions and reads no payload"),
        MarkedMistake(
            "let: { a: { var: §payload.x } }", "let is the same for all actions and reads no payload"),
        MarkedMistake("let: { a: §size(5) }", "size needs"),
        MarkedMistake(
            "let: { limit: 5 }\nactions: { act: { set: { n: §= limitt } } }",
            "limitt is not data of an action; did you mean `limit`?"),
        MarkedMistake(
            "let: { limit: 5 }\nactions: { act: { set: { n: §'= [1].map(limit, 2)[0]' } } }",
            "limit is a name of let; choose another here."),
        MarkedMistake(
            "let: { limit: 5 }\nactions: { act: { each: { in: '[1]', as: §limit, set: { n: 1 } } } }",
            "limit means something here already"),
        MarkedMistake(
            "let: { limit: 5 }\nactions: { act: { set: { n: §= limit.x } } }",
            "limit is an integer, which has no members"),
        MarkedMistake(
            "let: { now: §meta.time }\ncomputed: { late: now > 5.0 }",
            "meta is only there in actions, and an expression that reads the state alone reads this name"),
        MarkedMistake(
            "let: { big: state.twice > 3 }\ncomputed: { §twice: 'big ? 1 : 2' }",
            "read each other in a circle"
        ),
        MarkedMistake("§lett: { a: 1 }", "unknown key `lett` in state type; did you mean `let`?"),
        MarkedMistake("let: §5", "let must be an object"),
    ])
    func mistakesAreFoundAtLoad(_ mistake: MarkedMistake) throws {
        try mistake.expectMessage { "type: t\ninitial: { n: 1, list: [] }\n\($0)\n" }
    }

    @Test func deepNamesAreEvaluatedOnASmallStack() throws {
        let deep = { (count: Int, inner: String) in
            String(repeating: "[1].map(x, ", count: count) + inner + String(repeating: ")[0]", count: count)
        }
        let text =
            "type: t\ninitial: { n: 1 }\nlet: { a: \"\(deep(9, "state.n"))\", b: \"-(-(-(a)))\" }\n"
            + "actions: { act: { set: { n: \"= \(deep(20, "b"))\" } } }\n"
        try SmallStack.run {
            let bench = try StoreBench(text)
            try bench.dispatch("act")
            #expect(bench.state["n"] == -1)
        }
        // Names that read names can't grow without bounds.
        let names = (1...40).map { "  a\($0): a\($0 - 1) + 1\n" }.joined()
        let error = #expect(throws: SourceError.self) {
            try StoreBench("type: t\ninitial: { n: 1 }\nlet:\n  a0: state.n\n" + names)
        }
        #expect(
            error?.message.contains("nests more than 32 levels deep, with the names that it reads") == true)
    }

    /// Names that each read the one before a hundred times load at once: they are looked through once each.
    @Test(.timeLimit(.minutes(10))) func namesThatReadNamesOftenLoad() throws {
        let names = (1...7).map { level in
            let reads = [String](repeating: "{ var: a\(level - 1) }", count: 100).joined(separator: ", ")
            return "  a\(level): { \"+\": [\(reads)] }\n"
        }
        let bench = try StoreBench(
            "type: t\nstate: { n: { type: integer, default: 1 } }\nlet:\n  a0: { var: state.n }\n"
                + names.joined()
                + "computed: { first: { var: a1 } }\nactions: { act: { set: { n: { var: a1 } } } }\n")
        try bench.dispatch("act")
        #expect(bench.state["n"] == 100 && bench.state["first"] == 10_000)
    }

    /// What a circle of names says, it says once.
    @Test func aCircleIsToldOnce() throws {
        let text = "type: t\ninitial: { n: 1 }\nlet: { a: b, b: a, c: 1 }\ncomputed: { x: a, y: c }\n"
        let errors = try MarkedMistake.all(in: text)
        #expect(errors.count == 1, "\(errors)")
    }

    /// Random expressions come to the same with names for parts of them as written out.
    @Test(arguments: 0..<30 as Range<UInt64>)
    func namesStandForWhatTheySay(_ seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        func expression(_ depth: Int, _ names: [String]) -> String {
            if depth == 0 || generator.oneIn(4) {
                return (names + ["state.a", "state.b", "3", "size(state.list)"]).randomElement(
                    using: &generator) ?? "1"
            }
            let (left, right) = (expression(depth - 1, names), expression(depth - 1, names))
            switch Int.random(in: 0..<4, using: &generator) {
            case 0: return "(\(left) + \(right))"
            case 1: return "(\(left) > \(right) ? \(left) : \(right))"
            case 2: return "sum(state.list.map(x\(depth), x\(depth) + \(left)))"
            default: return "cel.bind(y\(depth), \(left), y\(depth) - \(right))"
            }
        }
        let first = expression(2, [])
        let second = expression(2, ["first"])
        let whole = expression(2, ["first", "second"])
        let expanded = whole.replacing("second", with: "(" + second + ")").replacing(
            "first", with: "(" + first + ")")
        // A name may hide another of a part that it is written into.
        let head = "type: t\ninitial: { a: 1, b: 2, list: [1, 2] , out: 0 }\n"
        let named = try StoreBench(
            head + "let: { first: \"\(first)\", second: \"\(second)\" }\ncomputed: { c: \"\(whole)\" }\n"
                + "actions: { act: { payload: { a: integer }, set: { out: \"= \(whole)\", a: = payload.a } } }\n"
        )
        let plain = try StoreBench(
            head + "computed: { c: \"\(expanded)\" }\n"
                + "actions: { act: { payload: { a: integer }, set: { out: \"= \(expanded)\", a: = payload.a } } }\n"
        )
        for value in [5, -3, 1 << 40] {
            try named.dispatch("act", ["a": .int(value)])
            try plain.dispatch("act", ["a": .int(value)])
            #expect(named.state == plain.state, "\(whole) with \(first) and \(second)")
        }
    }
}
