import BusJSON
import BusLogic
import BusSource
import BusState
import Testing

/// What an action may ask and how it writes.
struct ActionTests {
    /// One action `act` with the given lines, on a state with a bit of everything.
    private func bench(_ body: String, initial: String? = nil) throws -> StoreBench {
        let state =
            initial ?? "{ n: 1, b: false, list: [1, 2, 1.0, 3], map: { x: { y: 1 } }, text: old, other: 5 }"
        let lines = body.split(separator: "\n").map { "    \($0)" }.joined(separator: "\n")
        // Some of these write what no file may write any more, but an old log may.
        return try StoreBench(accepted: "type: thing\ninitial: \(state)\nactions:\n  act:\n\(lines)\n")
    }

    @Test(arguments: [
        ("set: { n: 2 }", #"{"n":2}"#), ("set: { fresh: { var: state.n } }", #"{"fresh":1}"#),
        ("set: { map.x.z: 3 }", #"{"map":{"x":{"y":1,"z":3}}}"#),
        ("set: { list.4: 9 }", #"{"list":[1,2,1.0,3,9]}"#),
        ("set: { list.0: 9 }", #"{"list":[9,2,1.0,3]}"#), ("unset: [map.x]", #"{"map":{}}"#),
        ("unset: [list.1]", #"{"list":[1,1.0,3]}"#),
        ("increment: { n: 2, map.x.y: -1 }", #"{"n":3,"map":{"x":{"y":0}}}"#),
        ("increment: { n: 0.5 }", #"{"n":1.5}"#), ("increment: { list.3: 1 }", #"{"list":[1,2,1.0,4]}"#),
        ("toggle: [b]", #"{"b":true}"#), ("append: { list: [4] }", #"{"list":[1,2,1.0,3,[4]]}"#),
        ("remove: { list: 1 }", #"{"list":[2,3]}"#), ("remove: { list: nothing }", "{}"),
        ("merge: { map: { x: { y: null, z: 1 }, w: 2 } }", #"{"map":{"x":{"z":1},"w":2}}"#),
        ("merge: { text: { literal: { a: null, b: 1 } } }", #"{"text":{"b":1}}"#),
    ])
    func aWriteChangesItsPlaceAndNothingElse(_ body: String, _ changed: String) throws {
        let bench = try bench(body)
        var expected = bench.state
        for member in try #require(JSON(parsing: changed).object) { expected[member.key] = member.value }
        try bench.dispatch("act")
        #expect(bench.state == expected)
    }

    @Test(arguments: [
        ("set: { nope.x: 1 }", "nope does not exist", "nope"),
        ("set: { map.q.z: 1 }", "map.q does not exist", "map.q"),
        ("set: { list.6: 1 }", "list.6 does not exist", "list.6"),
        ("set: { text.x: 1 }", "text.x leads through", "text.x"),
        ("set: { list.x: 1 }", "list.x is not an index", "list.x"),
        ("unset: [nope]", "nope does not exist", "nope"),
        ("increment: { nope: 1 }", "nope does not exist", "nope"),
        ("increment: { text: 1 }", "text is not a number", "text"),
        ("increment: { n: '1' }", "the amount for n is not a number", "n"),
        ("increment: { n: 9223372036854775807 }", "n would leave the range", "n"),
        ("toggle: [n]", "n is not a boolean", "n"), ("append: { n: 1 }", "n is not an array", "n"),
        ("remove: { map: 1 }", "map is not an array", "map"),
        ("merge: { nope: { a: 1, b: 2 } }", "nope does not exist", "nope"),
        ("set: { n: { '/': [1, { var: state.b }] } }", "in set n, / divides by zero", "n"),
        (
            "set: { n: { '+': [{ var: state.text }, 1] } }", "in set n, + needs numbers and was given string",
            "n"
        ),
    ])
    func aWriteThatCanNotBeDoneRejectsAndNamesItsPath(_ body: String, _ reason: String, _ path: String) throws
    {
        let rejection = try bench(body).rejection(of: "act")
        #expect(rejection.message.hasPrefix("thing/kitchen refused act: \(reason)"), "\(rejection.message)")
        #expect(rejection.message.hasSuffix("."))
        #expect(rejection.path == path)
        #expect(rejection.store == "thing/kitchen" && rejection.action == "act")
    }

    @Test func writesRunByKindAndThenAsWritten() throws {
        let bench = try bench(
            """
            merge: { log: [done] }
            remove: { log: b }
            append: { log: d }
            increment: { "log.0": 1 }
            unset: [log.2, log.1]
            set: { log: [1, a, b, c], "log.3": b }
            """, initial: "{ log: [] }")
        // set: [1,a,b,b] · unset: [1,b] · increment: [2,b] · append: [2,b,d] · remove: [2,d] · merge replaces it.
        try bench.dispatch("act")
        #expect(bench.state["log"] == ["done"])
        let kinds = bench.written()
        #expect(
            kinds == [["log"], ["log", "3"], ["log"], ["log"], ["log", "0"], ["log"], ["log"], ["log"]])
    }

    @Test func theWrittenOrderSurvivesTheDefinition() throws {
        let bench = try bench(#"set: { list.5: b, list.4: a }"#)
        _ = try bench.rejection(of: "act")
        let reversed = try self.bench(#"set: { list.4: a, list.5: b, n: 0 }"#)
        try reversed.dispatch("act")
        for type in [bench.type, reversed.type] {
            let again = try DeclaredType(definition: type.definition)
            #expect(again.definition == type.definition)
        }
        let again = StoreBench(try DeclaredType(definition: bench.type.definition))
        #expect(try again.rejection(of: "act").path == "list.5")
        // Where the order means nothing, the definition stays as it was written.
        #expect(
            reversed.type.definition["actions"]?["act"]?["set"] == ["list.4": "a", "list.5": "b", "n": 0])
    }

    @Test func expressionsSeeTheStateBeforeTheAction() throws {
        let bench = try bench(
            "set: { n: 10, other: { var: state.n } }\nincrement: { map.x.y: { var: state.other } }\n"
                + "append: { list: { var: state.list } }")
        try bench.dispatch("act")
        #expect(bench.state["n"] == 10)
        #expect(bench.state["other"] == 1)
        #expect(bench.state["map"] == ["x": ["y": 6]])
        #expect(bench.state["list"] == [1, 2, 1.0, 3, [1, 2, 1.0, 3]])
    }

    @Test func payloadSegmentsAreWholeKeys() throws {
        let bench = try bench(
            "payload: { id: any }\nset: { 'map.{payload.id}': { n: 1, m: 2 } }", initial: "{ map: {} }")
        for id in ["a.b", "", "{payload.id}", "ü", "0"] {
            try bench.dispatch("act", ["id": .string(id)])
            #expect(bench.state["map"]?[id] == ["n": 1, "m": 2])
        }
        try bench.dispatch("act", ["id": 7])
        #expect(bench.state["map"]?["7"] != nil)
        for bad: JSON in [.null, true, 1.0, ["a"], ["a": 1]] {
            let rejection = try bench.rejection(of: "act", ["id": bad])
            #expect(rejection.message.contains("payload.id is"))
            #expect(rejection.path == "map.{payload.id}")
        }
    }

    @Test func keysInQuotesAreWholeKeys() throws {
        let keys = ["a.b", "", "{payload.id}", "x}", "{", "\"", "\\", "\\\"}.", "ü"]
        for key in keys {
            let quoted = JSON.string(key).encoded
            let bench = try bench(
                "set: { \(JSON.string("map.{\(quoted)}.n").encoded): 1 }",
                initial: JSON.object(["map": .object([key: ["m": 2]])]).encoded)
            try bench.dispatch("act")
            #expect(bench.state == ["map": .object([key: ["n": 1, "m": 2]])], "\(key)")
        }
        for bad in [#"map.{"a"#, #"map.{"a}"#, #"map.{"a"}b"#, #"map.{"a" }x"#] {
            let error = #expect(throws: SourceError.self) {
                try bench("set: { '\(bad)': 1 }", initial: "{ map: {} }")
            }
            #expect(error?.message.contains("is not a key in quotes and braces") == true, "\(error!)")
        }
    }

    @Test func payloadSegmentsAreIndicesOnArrays() throws {
        let bench = try bench(
            "payload: { at: integer?, to: integer }\nset: { 'list.{payload.at}': { var: payload.to } }")
        try bench.dispatch("act", ["at": 1, "to": 20])
        try bench.dispatch("act", ["at": 4, "to": 50])
        #expect(bench.state["list"] == [1, 20, 1.0, 3, 50])
        #expect(
            try bench.rejection(of: "act", ["at": -1, "to": 0]).message.contains("list.-1 is not an index"))
        #expect(try bench.rejection(of: "act", ["to": 0]).message.contains("payload.at is absent"))
    }

    @Test func aFirstSegmentFromThePayloadCanNotNameAComputedValue() throws {
        let bench = try StoreBench(
            """
            type: thing
            initial: { a: 1 }
            computed: { twice: { "*": [{ var: a }, 2] } }
            actions:
              act: { payload: { name: string }, set: { "{payload.name}": 5 } }
            """)
        try bench.dispatch("act", ["name": "a"])
        #expect(bench.state == ["a": 5, "twice": 10])
        let rejection = try bench.rejection(of: "act", ["name": "twice"])
        #expect(rejection.message == "thing/kitchen refused act: twice is computed and can't be written.")
    }

    @Test func requireRejectsWithItsReason() throws {
        let bench = try bench(
            """
            payload: { celsius: number }
            require:
              - if: { "<=": [5, { var: payload.celsius }, 30] }
                else: celsius must be within 5...30
              - if: { "!=": [{ var: payload.celsius }, 13] }
                else: { cat: ["not ", { var: payload.celsius }, "!"] }
              - if: { "!=": [{ var: payload.celsius }, 14] }
            set: { n: { var: payload.celsius } }
            """)
        try bench.dispatch("act", ["celsius": 21.5])
        #expect(bench.state["n"] == 21.5)
        let rejection = try bench.rejection(of: "act", ["celsius": 31])
        #expect(rejection.message == "thing/kitchen refused act: celsius must be within 5...30.")
        #expect(rejection.path == nil)
        #expect(
            try bench.rejection(of: "act", ["celsius": 13]).message == "thing/kitchen refused act: not 13!")
        #expect(
            try bench.rejection(of: "act", ["celsius": 14]).message
                == "thing/kitchen refused act: what it requires does not hold.")
    }

    @Test func whenLeavesAStoreAloneWithoutAnError() throws {
        let bench = try bench(
            """
            when: { var: state.b }
            require: [{ if: { "<": [{ var: state.n }, 2] } }]
            increment: { n: 1 }
            """)
        bench.state["n"] = 7
        #expect(try !bench.dispatch("act"))
        bench.state["b"] = true
        _ = try bench.rejection(of: "act")
        bench.state["n"] = 1
        #expect(try bench.dispatch("act"))
        #expect(bench.state["n"] == 2)
    }

    @Test func anActionSeesTheCommit() throws {
        let bench = try StoreBench(
            """
            type: thing
            waitFor: [session]
            initial: { all: null }
            actions:
              one:
                set:
                  all:
                    time: { var: meta.time }
                    revision: { var: meta.revision }
                    uid: { var: meta.uid }
                    store: { var: store }
                    user: { var: stores.session/main.user }
                    val: { val: [stores, { var: payload.address }, user] }
                    absent: { var: stores.session/gone.user }
                payload: { address: string }
              whole: { set: { all: { var: "" } }, payload: { x: integer } }
              stores: { set: { all: { var: stores } } }
              meta: { set: { all: { var: meta } } }
            """)
        bench.context.time = 1.5
        bench.context.revision = 42
        bench.others = ["session/main": ["user": "ann"], "secret/main": ["user": "bob"]]
        try bench.dispatch("one", ["address": "secret/main"])
        let seen: JSON = [
            "time": 1.5, "revision": 42, "uid": .null, "store": "thing/kitchen", "user": "ann", "val": .null,
            "absent": .null,
        ]
        #expect(bench.state["all"] == seen)
        bench.context.uid = 1000
        let before = bench.state
        try bench.dispatch("whole", ["x": 1])
        let whole: JSON = [
            "meta": ["time": 1.5, "revision": 42, "uid": 1000, "who": bench.who], "payload": ["x": 1],
            "state": .object(before),
            "store": "thing/kitchen", "stores": ["session/main": ["user": "ann"]],
        ]
        #expect(bench.state["all"] == whole)
        try bench.dispatch("stores")
        #expect(bench.state["all"] == ["session/main": ["user": "ann"]])
        try bench.dispatch("meta")
        #expect(bench.state["all"] == ["time": 1.5, "revision": 42, "uid": 1000, "who": bench.who])
    }

    @Test func statesNestOnlySoDeep() throws {
        let bench = try bench("set: { map.x: { a: { var: state.map } , b: 1 } }")
        var commits = 0
        while commits < 100 {
            do { try bench.dispatch("act") } catch { break }
            commits += 1
        }
        // The value goes two levels deep and brings two levels each time: 2 + 2 · 28 + 1 < 60.
        #expect(commits == 28)
        #expect(try bench.rejection(of: "act").message.contains("the value for map.x is nested too deeply"))
    }

    @Test func anActionWithoutWritesIsAPureEvent() throws {
        let bench = try bench("summary: Nothing.")
        let before = bench.state
        #expect(try bench.dispatch("act"))
        #expect(bench.state == before)
        #expect(bench.undoLog.count == 0)
    }
}
