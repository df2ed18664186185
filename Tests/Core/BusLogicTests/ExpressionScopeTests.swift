import BusJSON
import BusLogic
import Testing

/// Data around other data: `val` that climbs, errors that `try` hands on.
struct ExpressionScopeTests {
    private let data: JSON = ["add": 100, "rows": [[1, 2], [3]], "word": "x", "three": [5, 6, 7]]

    @Test(
        arguments: [
            (#"{"map":[{"var":"three"},{"+":[{"val":[]},{"val":[[2],"add"]}]}]}"#, [105, 106, 107]),
            (#"{"map":[{"var":"three"},{"val":[[1],"index"]}]}"#, [0, 1, 2]),
            (#"{"map":[{"var":"three"},{"val":[[-1]]}]}"#, [["index": 0], ["index": 1], ["index": 2]]),
            (#"{"map":[{"var":"three"},{"val":[[1],{"cat":["in","dex"]}]}]}"#, [0, 1, 2]),
            (#"{"map":[{"var":"three"},{"val":[[1],"other"]}]}"#, [.null, .null, .null]),
            (#"{"map":[{"var":"three"},{"val":[[0]]}]}"#, [5, 6, 7]),
            (
                #"{"map":[{"var":"rows"},{"map":[{"val":[]},{"val":[[2],{"val":[[3],"index"]}]}]}]}"#,
                [[1, 1], [.null]]
            ),
            (
                #"{"map":[{"var":"rows"},{"map":[{"val":[]},{"cat":[{"val":[[4],"word"]},{"val":[[2],0]}]}]}]}"#,
                [["x1", "x1"], ["x3"]]
            ),
            (
                #"{"reduce":[{"var":"rows"},{"+":[{"var":"accumulator"},{"reduce":[{"var":"current"},"#
                    + #"{"+":[{"var":"accumulator"},{"var":"current"},{"val":[[3],"index"]},"#
                    + #"{"val":[[2],"accumulator"]}]},0]}]},0]}"#, 10
            ),
            (
                #"{"reduce":[[1],{"map":[[0],{"val":[[2]]}]},7]}"#,
                [["accumulator": 7, "current": 1]]
            ),
            (#"{"filter":[{"var":"three"},{"val":[[1],"index"]}]}"#, [6, 7]),
            (#"{"some":[{"var":"three"},{"==":[{"val":[]},{"val":[[2],"three",2]}]}]}"#, true),
            (#"{"sort":[{"var":"three"},{"-":{"val":[[1],"index"]}}]}"#, [7, 6, 5]),
            (#"{"group":[{"var":"three"},{"%":[{"val":[[1],"index"]},2]}]}"#, ["0": [5, 7], "1": [6]]),
            (
                #"{"map":[{"var":"three"},{"exists":[[2],"three",{"val":[[1],"index"]}]}]}"#,
                [true, true, true]
            ),
            // The scope inside goes when it ends, also by an error.
            (
                #"{"map":[["a","b"],{"cat":[{"length":{"map":[[1,2,3],0]}},{"val":[[1],"index"]}]}]}"#,
                ["30", "31"]
            ),
            (
                #"{"map":[[1,2],{"cat":[{"try":[{"map":[[8,9],{"throw":{"val":[[2]]}}]},{"val":"type"}]},{"val":[]}]}]}"#,
                ["11", "22"]
            ),
        ] as [(String, JSON)])
    func valClimbsToTheDataAround(_ rule: String, _ result: JSON) throws {
        try #expect(evaluate(rule, on: data) == result)
    }

    @Test(
        arguments: [
            (#"{"try":[{"throw":"a"},{"throw":{"cat":[{"val":"type"},"b"]}},{"val":"type"}]}"#, "ab"),
            (#"{"try":[{"throw":{"var":"e"}},{"val":[]}]}"#, ["type": "own", "level": 3]),
            (#"{"try":[{"throw":7},{"val":"type"}]}"#, "7"),
            (#"{"try":[{"throw":{"var":"e"}},{"val":[[2],"e","level"]}]}"#, 3),
            (#"{"try":[{"+":[9223372036854775807,1]},{"val":"type"}]}"#, "Overflow"),
            (#"{"try":[{"length":true},{"val":"type"}]}"#, "Invalid Arguments"),
            (#"{"try":[{"<":["x",1]},{"val":"type"}]}"#, "NaN"),
            (#"{"map":[[1,0],{"try":[{"/":[1,{"val":[]}]},{"val":[[2]]}]}]}"#, [1, 0]),
            (#"{"map":[[1,0],{"try":[{"/":[1,{"val":[]}]},{"val":[[3],"index"]}]}]}"#, [1, 1]),
            (#"{"try":["fine",{"throw":"late"}]}"#, "fine"),
        ] as [(String, JSON)])
    func tryHandsTheErrorOn(_ rule: String, _ result: JSON) throws {
        try #expect(evaluate(rule, on: ["e": ["type": "own", "level": 3]]) == result)
    }

    @Test func thrownErrorsSayWhatTheyAre() throws {
        try #expect(failure(of: #"{"throw":"too hot"}"#).description == "it throws too hot")
        try #expect(failure(of: #"{"throw":{"literal":{"code":3}}}"#).type == #"{"code":3}"#)
        try #expect(failure(of: #"{"/":[1,0]}"#).description == "/ divides by zero (NaN)")
    }

    @Test func noTryCatchesAUsedUpBudget() throws {
        let rule = #"{"try":[{"map":[{"var":""},{"cat":[{"var":""},"y"]}]},"caught"]}"#
        let list = JSON.array(Array(repeating: "x", count: 1000))
        try #expect(
            failure(of: rule, on: list, budget: Budget(operations: 100, bytes: 1 << 20)) == .operations)
        try #expect(failure(of: rule, on: list, budget: Budget(operations: 10_000, bytes: 100)) == .bytes)
    }

    @Test func expressionsOfActionsClimbToTheirData() throws {
        let bench = try StoreBench(
            """
            type: climb
            initial: { factor: 3, list: [1, 2], seen: [], found: "" }
            computed:
              scaled: { map: [{ var: list }, { "*": [{ val: [] }, { val: [[2], factor] }] }] }
            actions:
              act:
                payload: { by: integer, key: string }
                set:
                  list: { map: [{ var: state.list }, { "+": [{ val: [] }, { val: [[2], payload, by] }] }] }
                  seen: { map: [[0], { val: [[2], meta, time] }] }
                  found: { map: [[0], { val: [[2], state, { val: [[2], payload, key] }] }] }
              fail: { set: { found: { try: [{ throw: gone }, { throw: { val: [] } }] } } }
              climb: { set: { found: { map: [[0], { val: [[2]] }] } } }
              ask: { set: { found: { exists: [state, nope] }, seen: { exists: [meta, uid] } } }
            """)
        #expect(bench.state["scaled"] == [3, 6])
        try bench.dispatch("act", ["by": 10, "key": "factor"])
        #expect(bench.state["list"] == [11, 12])
        #expect(bench.state["scaled"] == [33, 36])
        #expect(bench.state["found"] == [3])
        #expect(bench.state["seen"] == [.double(bench.context.time)])
        let message = try bench.rejection(of: "fail").message
        #expect(message == "climb/kitchen refused fail: in set found, it throws gone.")
        try bench.dispatch("climb")
        #expect(
            bench.state["found"]?.array?.first?.object?.keys == [
                "meta", "payload", "state", "store", "stores",
            ])
        try bench.dispatch("ask")
        #expect(bench.state["found"] == false && bench.state["seen"] == true)
    }
}
