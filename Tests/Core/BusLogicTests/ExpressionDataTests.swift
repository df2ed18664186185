import BusJSON
import BusLogic
import BusSource
import Testing

/// Reading data, and the operators that JsonLogic does not have.
struct ExpressionDataTests {
    private let data: JSON = [
        "a": ["b.c": 1, "list": [10, 20, ["x": .null]], "": 5], "1": "one", "n": .null,
    ]

    @Test(
        arguments: [
            (#"{"var":"a.list.1"}"#, 20), (#"{"var":"a.list.01"}"#, .null), (#"{"var":"a.list.9"}"#, .null),
            (#"{"var":["a.list.9","none"]}"#, "none"), (#"{"var":["n","none"]}"#, .null),
            (#"{"var":1}"#, "one"),
            (#"{"var":"a.list.2.x.y"}"#, .null), (#"{"var":["a.list.2.x.y",7]}"#, 7), (#"{"var":"a."}"#, 5),
            (#"{"var":{"cat":["a.","list",".0"]}}"#, 10), (#"{"var":[{"var":"1"},"gone"]}"#, "gone"),
            (#"{"val":["a","b.c"]}"#, 1), (#"{"val":["a","list",1]}"#, 20),
            (#"{"val":["a","list","1"]}"#, 20),
            (#"{"val":["a","list",{"-":[3,2]}]}"#, 20), (#"{"val":["a","list",1.0]}"#, 20),
            (#"{"val":["a",{"var":"n"}]}"#, .null), (#"{"val":[1]}"#, "one"), (#"{"val":"n"}"#, .null),
            (#"{"val":["a","list",{"var":"1"}]}"#, .null), (#"{"val":[{"var":"1"},"x"]}"#, .null),
        ] as [(String, JSON)])
    func pathsLeadToValues(_ rule: String, _ result: JSON) throws {
        try #expect(evaluate(rule, on: data) == result)
    }

    @Test(
        arguments: [
            (#"{}"#, [:]), (#"{"x":{"+":[1,2]},"y":[{"var":"n"}]}"#, ["x": 3, "y": [.null]]),
            (#"{"literal":{"var":"a"}}"#, ["var": "a"]), (#"{"literal":[1,{"+":[1]}]}"#, [1, ["+": [1]]]),
            (#"{"object":{"var":{"+":[1,2]}}}"#, ["var": 3]), (#"{"object":{}}"#, [:]),
            (#"{"log":[{"+":[1,2]}]}"#, 3),
            (#"{"map":[[1,2],{"v":{"var":""},"w":1}]}"#, [["v": 1, "w": 1], ["v": 2, "w": 1]]),
            (#"{"reduce":[[1,2,3],{"merge":[[{"var":"current"}],{"var":"accumulator"}]},[]]}"#, [3, 2, 1]),
            (#"{"reduce":[[1],{"var":""},0]}"#, ["current": 1, "accumulator": 0]),
            (#"{"reduce":[[1],{"var":{"cat":["curr","ent"]}},0]}"#, 1),
            (
                #"{"map":[[[1,2],[3]],{"reduce":[{"var":""},{"+":[{"var":"current"},{"var":"accumulator"}]},0]}]}"#,
                [3, 3]
            ),
            (
                #"{"reduce":[[[1,2],[3]],{"+":[{"var":"accumulator"},{"reduce":[{"var":"current"},"#
                    + #"{"+":[{"var":"current"},{"var":"accumulator"}]},0]}]},100]}"#, 106
            ),
            (#"{"filter":[[1,2,3],{"in":[{"val":[]},[1,3]]}]}"#, [1, 3]),
            (#"{"all":[[],true]}"#, false), (#"{"none":[[],true]}"#, true),
            (#"{"some":[[0,"",1],{"var":""}]}"#, true),
            (#"{"map":[[1],{"var":"a"}]}"#, [.null]),
        ] as [(String, JSON)])
    func valuesAreBuilt(_ rule: String, _ result: JSON) throws {
        try #expect(evaluate(rule, on: data) == result)
    }

    @Test func equalityOfContainersIsDeep() throws {
        let pair: JSON = [
            "x": ["k": [1, ["z": "é"]]], "y": ["k": [1.0, ["z": "é"]]], "w": ["k": [1, ["z": "e"]]],
        ]
        for equal in ["==", "==="] {
            try #expect(evaluate(#"{"\#(equal)":[{"var":"x"},{"var":"y"}]}"#, on: pair) == true)
            try #expect(evaluate(#"{"\#(equal)":[{"var":"x"},{"var":"w"}]}"#, on: pair) == false)
        }
    }

    @Test func aFallbackIsOnlyEvaluatedWhenItIsNeeded() throws {
        try #expect(evaluate(#"{"var":["a",{"/":[1,0]}]}"#, on: ["a": 1]) == 1)
        #expect(throws: EvaluationFailure.self) { try evaluate(#"{"var":["b",{"/":[1,0]}]}"#, on: ["a": 1]) }
    }

    @Test func constantsAreWorkedOutWhenCompiled() throws {
        let expression = try Expression.compile(
            JSON(parsing: #"{"if":[{"<":[1,2]},{"cat":["a","b"]},{"/":[1,0]}]}"#))
        // Only the condition itself is left: its last branch can't be worked out.
        try #expect(expression.evaluate(on: .null, budget: Budget(operations: 1, bytes: 0)) == "ab")
    }

    @Test(arguments: [
        (#"{"fitler":[[],1]}"#, "did you mean `filter`?"), (#"{"=":[1,1]}"#, "did you mean `==`?"),
        (#"{"==":[1]}"#, "== takes at least 2 values, not 1 (Invalid Arguments)."),
        (#"{"/":[]}"#, "/ takes at least 1 value, not 0"), (#"{"%":5}"#, "% takes at least 2 values, not 1"),
        (#"{"in":[1,2,3]}"#, "in takes 2 values, not 3"),
        (#"{"and":true}"#, "and takes its values in an array"),
        (#"{"or":{"var":"x"}}"#, "or takes its values in an array"), (#"{"if":5}"#, "if takes its values"),
        (#"{"map":[null,1]}"#, "map can't do anything with null"), (#"{"map":[[],null]}"#, "map can't do"),
        (#"{"all":[null,1]}"#, "all can't do"), (#"{"sort":[[1],null,"down"]}"#, "ascending or descending"),
        (#"{"format":[0,"hours"]}"#, "hours is not a precision of format"),
        (#"{"duration":"5x"}"#, "such as 500ms"),
        (#"{"val":[["x"],"y"]}"#, "the one integer"), (#"{"val":[[1],"index"]}"#, "can climb 0 steps"),
        (#"{"map":[[],{"val":[[3],"x"]}]}"#, "can climb 2 steps"),
        (#"{"try":[1,{"val":[[1],"index"]}]}"#, "a try, which has no index"),
        (#"{"object":[1]}"#, "must be an object"), (#"{"val":[true]}"#, "a string or an integer"),
        (#"{"reduce":[[]]}"#, "reduce takes 2 to 3 values"), (#"{"!":[1,2]}"#, "! takes 0 to 1 values"),
        (#"{"something":1}"#, "{object: {something: …}}"),
    ])
    func whatIsNoExpressionIsRefused(_ rule: String, _ message: String) throws {
        let error = try #require(
            #expect(throws: SourceError.self) { try Expression.compile(JSON(parsing: rule)) })
        #expect(error.message.contains(message), "\(error)")
    }

    @Test func expressionsNestOnlySoDeep() throws {
        let nested = String(repeating: #"{"!":["#, count: 40) + "1" + String(repeating: "]}", count: 40)
        #expect(throws: SourceError.self) { try Expression.compile(JSON(parsing: nested, depthLimit: 200)) }
    }
}
