import BusJSON
import BusLogic
import Testing

/// Texts are their UTF-8 bytes, counted in Unicode scalars.
struct ExpressionTextTests {
    @Test(arguments: [
        (#"{"cat":[1.0]}"#, "1"), (#"{"cat":[-2.0," ",0.5]}"#, "-2 0.5"), (#"{"cat":[1e21]}"#, "1e+21"),
        (#"{"cat":[123456789012345680000.0]}"#, "123456789012345680000"),
        (#"{"cat":[1e16]}"#, "10000000000000000"),
        (#"{"cat":[0.000001]}"#, "0.000001"), (#"{"cat":[1.5e-7]}"#, "1.5e-7"), (#"{"cat":[-0.0]}"#, "0"),
        (#"{"cat":[1e300]}"#, "1e+300"), (#"{"cat":[12.25]}"#, "12.25"), (#"{"cat":[5e-324]}"#, "5e-324"),
        (#"{"cat":[true,null,false]}"#, "truefalse"), (#"{"cat":[[1,[2.0,null],"x"]]}"#, "1,2,,x"),
        (#"{"cat":[{"literal":{}}]}"#, "[object Object]"),
        (#"{"cat":[]}"#, ""), (#"{"cat":[9007199254740993]}"#, "9007199254740993"),
    ])
    func catPrintsAsJsonLogicDoes(_ rule: String, _ text: String) throws {
        try #expect(evaluate(rule) == .string(text))
    }

    @Test(arguments: [
        (#"{"substr":["a😀é",1]}"#, "😀é"), (#"{"substr":["a😀é",-1]}"#, "é"),
        (#"{"substr":["e\u0301x",1,1]}"#, "\u{301}"), (#"{"substr":["abc",0,-5]}"#, ""),
        (#"{"substr":["abc",9]}"#, ""), (#"{"substr":["abc",-9,2]}"#, "ab"),
        (#"{"substr":["abc",1.9]}"#, "bc"),
        (#"{"substr":["abc","x"]}"#, "abc"), (#"{"substr":["abc",0,null]}"#, ""),
        (#"{"substr":[1234,1,2]}"#, "23"),
        (#"{"substr":["abc",-9223372036854775808,9223372036854775807]}"#, "abc"),
        (#"{"substr":["abc",1e300]}"#, ""),
    ])
    func substrCountsScalars(_ rule: String, _ text: String) throws {
        try #expect(evaluate(rule) == .string(text))
    }

    @Test(arguments: [
        // U+FF5E sorts behind U+1F600 by UTF-16 and before it by UTF-8.
        (#"{"<":["\uff5e","\ud83d\ude00"]}"#, true), (#"{"<":["Z","a"]}"#, true),
        (#"{"<":["a","ab"]}"#, true),
        (#"{"<":["10","9"]}"#, true), (#"{"<":["10",9]}"#, false), (#"{"==":["é","e\u0301"]}"#, false),
        (#"{"===":["é","é"]}"#, true), (#"{"<=":["a","a","b"]}"#, true),
        (#"{"in":["é","cafe\u0301"]}"#, false), (#"{"in":["fé","café"]}"#, true), (#"{"in":["","x"]}"#, true),
        (#"{"in":["x",""]}"#, false), (#"{"in":[1,"a1"]}"#, true), (#"{"in":["abc","abd abc"]}"#, true),
        (#"{"in":["aab","aaab"]}"#, true), (#"{"in":["x",null]}"#, false),
        (#"{"in":[1.0,[3,1]]}"#, true), (#"{"in":["1",[3,1]]}"#, false),
        (#"{"in":[[1,{"literal":{"a":2}}],[[1,{"literal":{"a":2.0}}]]]}"#, true),
    ])
    func textsAreTheirBytes(_ rule: String, _ result: Bool) throws {
        try #expect(evaluate(rule) == .bool(result))
    }
}
