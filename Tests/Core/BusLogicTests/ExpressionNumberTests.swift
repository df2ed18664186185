import BusJSON
import BusLogic
import TestSupport
import Testing

/// Numbers: two integers give an exact integer or a rejection.
struct ExpressionNumberTests {
    @Test(
        arguments: [
            (#"{"+":[9007199254740993,1]}"#, .int(9_007_199_254_740_994)),
            (#"{"+":[1,0.5]}"#, 1.5),
            (#"{"+":[1,1.0]}"#, 2.0),
            (#"{"+":["3.5 apples",1]}"#, 4.5),
            (#"{"+":["12px",1]}"#, 13),
            (#"{"+":[null,true,"5 px",1]}"#, 7),
            (#"{"+":["",1]}"#, 1),
            (#"{"+":[]}"#, 0),
            (#"{"-":[-9223372036854775807,1]}"#, .int(.min)),
            (#"{"-":["7",null]}"#, 7),
            (#"{"-":[true,false]}"#, 1),
            (#"{"-":[1.5]}"#, -1.5),
            (#"{"*":[3037000499,3037000499]}"#, .int(9_223_372_030_926_249_001)),
            (#"{"*":[2,0.5]}"#, 1.0),
            (#"{"*":["2"]}"#, 2),
            (#"{"*":[]}"#, 1),
            (#"{"*":[true,3]}"#, 3),
            (#"{"-":[9007199254740993,1,1]}"#, .int(9_007_199_254_740_991)),
            (#"{"/":[9007199254740992,2,2.0]}"#, 2_251_799_813_685_248.0),
            (#"{"/":[9007199254740992,2,2]}"#, .int(2_251_799_813_685_248)),
            (#"{"/":4}"#, 0.25),
            (#"{"/":-1}"#, -1),
            (#"{"%":[17,10,4]}"#, 3),
            (#"{"/":[9007199254740994,2]}"#, .int(4_503_599_627_370_497)),
            (#"{"/":[7,2]}"#, 3.5),
            (#"{"/":[-6,3]}"#, -2),
            (#"{"/":[6.0,3]}"#, 2.0),
            (#"{"%":[-7,3]}"#, -1),
            (#"{"%":[7,-3]}"#, 1),
            (#"{"%":[-9223372036854775808,-1]}"#, 0),
            (#"{"%":[5.5,2]}"#, 1.5),
            (#"{"max":[9007199254740992,9007199254740993]}"#, .int(9_007_199_254_740_993)),
            (#"{"max":[1,"3",2]}"#, 3),
            (#"{"min":[null,4]}"#, 0),
            (#"{"max":[1,1.5]}"#, 1.5),
        ] as [(String, JSON)])
    func arithmeticIsExact(_ rule: String, _ result: JSON) throws {
        try #expect(evaluate(rule) == result)
    }

    @Test(arguments: [
        #"{"+":[9223372036854775807,1]}"#, #"{"*":[9223372036854775807,2]}"#,
        #"{"-":[-9223372036854775808,1]}"#, #"{"-":[-9223372036854775808]}"#,
        #"{"/":[-9223372036854775808,-1]}"#, #"{"+":[1e308,1e308]}"#, #"{"*":[1e200,1e200]}"#,
        #"{"max":["Infinity",1]}"#, #"{"-":[-9223372036854775807,1,1]}"#, #"{"floor":1e19}"#,
        #"{"abs":-9223372036854775808}"#, #"{"round":"Infinity"}"#, #"{"format":253402300800}"#,
    ])
    func whatIsOutOfRangeFails(_ rule: String) throws {
        guard case .overflow = try failure(of: rule) else {
            Issue.record("\(rule) failed otherwise")
            return
        }
    }

    @Test(arguments: [
        #"{"/":[8,2,0]}"#, #"{"/":0}"#, #"{"%":[8,3,2,0]}"#, #"{"/":[1,0]}"#, #"{"%":[1,0]}"#,
        #"{"/":[1.5,0.0]}"#, #"{"%":[1,""]}"#, #"{"/":[0,null]}"#,
    ])
    func dividingByZeroFails(_ rule: String) throws {
        guard case .divisionByZero = try failure(of: rule) else {
            Issue.record("\(rule) failed otherwise")
            return
        }
    }

    @Test(arguments: [
        #"{"+":["x",1]}"#, #"{"+":[[5],1]}"#, #"{"-":[{"literal":{}},1]}"#, #"{"/":["1x",1]}"#,
        #"{"max":[[1,2],1]}"#, #"{"*":["x"]}"#, #"{"-":[[1],1]}"#, #"{"-":[1,2,[3]]}"#, #"{"abs":[[1]]}"#,
    ])
    func whatIsNoNumberFails(_ rule: String) throws {
        guard case .notNumber = try failure(of: rule) else {
            Issue.record("\(rule) failed otherwise")
            return
        }
    }

    @Test(arguments: [
        (#"{"===":[1,1.0]}"#, true), (#"{"==":[1,1.0]}"#, true), (#"{"===":[0.0,-0.0]}"#, true),
        (#"{"===":[9007199254740993,9007199254740992.0]}"#, false),
        (#"{"<":[9007199254740992.0,9007199254740993]}"#, true),
        (#"{"<":[9223372036854775807,9223372036854775808.0]}"#, true),
        (#"{">":[-9223372036854775808,-9223372036854777856.0]}"#, true),
        (#"{">=":[-9223372036854775808,-9223372036854775808.0]}"#, true),
        (#"{"<":[-1,-0.5]}"#, true), (#"{"<":[-0.5,-1]}"#, false),
        (#"{"<":[1,"Infinity"]}"#, true), (#"{"<":[null,1]}"#, true), (#"{"<":["x",null]}"#, false),
        (#"{">=":["x",true]}"#, false), (#"{"==":["0x10",16]}"#, true), (#"{"==":[" 16 ",16]}"#, true),
        (#"{"==":["",0]}"#, true), (#"{"==":[null,0]}"#, true), (#"{"==":[true,1]}"#, true),
        (#"{"==":[-0.0,null]}"#, true), (#"{"==":[null,false]}"#, false), (#"{"==":[null,""]}"#, false),
        (#"{"===":[null,0]}"#, false), (#"{"==":[null,"x"]}"#, false), (#"{"==":[true,"x"]}"#, false),
        (#"{"==":[true,"1"]}"#, true), (#"{"==":[[1,2],"1,2"]}"#, true),
        (#"{"<":[1,2,3,4]}"#, true), (#"{"<":[1,2,2,4]}"#, false), (#"{">=":[4,4,2,1]}"#, true),
        (#"{"==":[1,1.0,"1"]}"#, true), (#"{"===":[1,1.0,"1"]}"#, false), (#"{"!=":[1,2,1]}"#, true),
        (#"{"!=":[1,2,2]}"#, false),
    ])
    func comparisonsAreExact(_ rule: String, _ result: Bool) throws {
        try #expect(evaluate(rule) == .bool(result))
    }

    @Test(arguments: [
        #"{"<":["x",1]}"#, #"{">=":[1,"x"]}"#, #"{"==":["x",1]}"#, #"{"!=":[1.5,"x"]}"#, #"{"==":[[2],2]}"#,
        #"{"==":[[],0]}"#, #"{"<":[[1],[2]]}"#, #"{"<":[["a"],"b"]}"#, #"{">":[null,{"literal":{}}]}"#,
        #"{"<":[1,2,3,"x"]}"#,
    ])
    func whatCannotBeComparedFails(_ rule: String) throws {
        let failure = try failure(of: rule)
        guard case .notComparable = failure else {
            Issue.record("\(rule) failed otherwise: \(failure)")
            return
        }
        #expect(failure.type == "NaN")
    }

    @Test(
        arguments: [
            (#"{"round":2.5}"#, 3), (#"{"round":-2.5}"#, -3), (#"{"round":"2.4"}"#, 2), (#"{"round":7}"#, 7),
            (#"{"round":[-0.04,1]}"#, 0.0), (#"{"round":[21.46,1]}"#, 21.5), (#"{"round":[1e300,5]}"#, 1e300),
            (#"{"round":[9007199254740993,2]}"#, .int(9_007_199_254_740_993)),
            (#"{"floor":-0.5}"#, -1), (#"{"ceil":-0.5}"#, 0), (#"{"floor":[2.99,1]}"#, 2.9),
            (#"{"ceil":[2.01,1]}"#, 2.1), (#"{"abs":-3}"#, 3), (#"{"abs":-3.5}"#, 3.5), (#"{"abs":null}"#, 0),
        ] as [(String, JSON)])
    func roundingGivesIntegersWhereItCan(_ rule: String, _ result: JSON) throws {
        try #expect(evaluate(rule) == result)
    }

    @Test(arguments: [
        #"{"round":[1.5,16]}"#, #"{"round":[1.5,-1]}"#, #"{"round":[1.5,"1"]}"#,
        #"{"-":{"literal":[]}}"#, #"{"%":{"literal":[1]}}"#, #"{"max":{"literal":[]}}"#,
    ])
    func whatAnOperatorDoesNotTakeFails(_ rule: String) throws {
        try #expect(failure(of: rule).type == "Invalid Arguments")
    }

    /// A long text is shortened before it is read, and means what it means in full: to the last bit, also in the middle
    /// between two doubles.
    @Test(arguments: 0..<8) func longNumbersMeanTheSame(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        func digits(_ count: Int) -> String {
            String((0..<count).map { _ in "0123456789".randomElement(using: &generator)! })
        }
        func zeros(_ most: Int) -> String {
            String(repeating: "0", count: Int.random(in: 0...most, using: &generator))
        }
        for _ in 0..<60 {
            let middle = "9007199254740993." + zeros(1500)
            var text = [
                zeros(2000) + digits(300) + zeros(1500) + "." + digits(900),
                "0." + zeros(2000) + digits(1200),
                zeros(1200) + digits(1100) + "." + zeros(3), middle + zeros(900) + "1", middle, digits(1500),
                "." + zeros(1500), zeros(1500) + "1",
            ].randomElement(using: &generator)!
            if Bool.random(using: &generator) {
                let exponent = Int.random(in: -2600...400, using: &generator)
                text += "e" + (exponent < 0 ? "-" : "+") + zeros(1200) + String(abs(exponent))
            }
            if Bool.random(using: &generator) { text = "-" + text }
            let meant = try #require(Double(text))
            guard meant.isFinite else {
                guard case .overflow = try failure(of: #"{"-":[{"var":""},0.0]}"#, on: .string(text)) else {
                    Issue.record("\(text) failed otherwise")
                    continue
                }
                continue
            }
            let whole = try evaluate(#"{"-":[{"var":""},0.0]}"#, on: .string(text)).double
            #expect(whole == meant, "\(text)")
            let leading = try evaluate(#"{"+":[{"var":""},0.0]}"#, on: .string(text + "x")).double
            #expect(leading == meant, "\(text)")
        }
    }
}
