import BusJSON
import BusLogic
import Foundation
import TestSupport
import Testing

/// What state needs beyond JsonLogic's standard: objects as maps, order, texts, times.
struct ExpressionStateTests {
    private let data: JSON = [
        "map": ["b": 2, "a": [1], "ä": .null],
        "list": [["n": 2, "t": "x"], ["n": 1, "t": "y"], ["n": 2, "t": "z"]],
        "mixed": ["b", 2, true, .null, "a", 1.5, false, -1], "text": "Straße,Ǆ,",
    ]

    @Test(
        arguments: [
            (#"{"keys":{"var":"map"}}"#, ["a", "b", "ä"]), (#"{"values":{"var":"map"}}"#, [[1], 2, .null]),
            (
                #"{"entries":{"var":"map"}}"#,
                [["key": "a", "value": [1]], ["key": "b", "value": 2], ["key": "ä", "value": .null]]
            ),
            (#"{"keys":{"var":"none"}}"#, []), (#"{"length":{"var":"none"}}"#, 0), (#"{"length":"a😀é"}"#, 3),
            (#"{"length":{"var":"map"}}"#, 3), (#"{"length":[[1,2]]}"#, 2),
            (#"{"map":[{"sort":[{"var":"list"},{"var":"n"}]},{"var":"t"}]}"#, ["y", "x", "z"]),
            (#"{"map":[{"sort":[{"var":"list"},{"var":"n"},"descending"]},{"var":"t"}]}"#, ["x", "z", "y"]),
            (#"{"sort":{"var":"mixed"}}"#, [.null, false, true, -1, 1.5, 2, "a", "b"]),
            (#"{"sort":[{"var":"mixed"},null,"descending"]}"#, ["b", "a", 2, 1.5, -1, true, false, .null]),
            (#"{"sort":[[3,2,1],{"var":""},"ascending"]}"#, [1, 2, 3]), (#"{"sort":{"var":"none"}}"#, []),
            // U+FF5E sorts before U+1F600 by UTF-8, and é differs from e with an accent.
            (
                #"{"sort":[["\ud83d\ude00","\uff5e","z","é","e\u0301"]]}"#,
                ["e\u{301}", "z", "é", "\u{ff5e}", "😀"]
            ),
            (#"{"group":[["é","e\u0301","é"],{"var":""}]}"#, ["é": ["é", "é"], "e\u{301}": ["e\u{301}"]]),
            (
                #"{"group":[[1,"1",1.0,true,null],{"var":""}]}"#,
                ["1": [1, "1", 1.0], "true": [true], "null": [.null]]
            ),
            (#"{"group":[{"var":"none"},{"var":""}]}"#, [:]),
        ] as [(String, JSON)])
    func mapsAndListsAreTakenApart(_ rule: String, _ result: JSON) throws {
        try #expect(evaluate(rule, on: data) == result)
    }

    @Test(
        arguments: [
            (#"{"split":[{"var":"text"},","]}"#, ["Straße", "Ǆ", ""]), (#"{"split":["","," ]}"#, [""]),
            (#"{"split":["e\u0301x",""]}"#, ["e", "\u{301}", "x"]), (#"{"split":[125,2]}"#, ["1", "5"]),
            (#"{"split":["aaa","aa"]}"#, ["", "a"]), (#"{"join":[["a",null,1.0,[2,3]],"-"]}"#, "a--1-2,3"),
            (#"{"join":[[],"-"]}"#, ""), (#"{"join":[null,"-"]}"#, ""),
            (#"{"upper":{"var":"text"}}"#, "STRASSE,Ǆ,"), (#"{"lower":"İIΣ"}"#, "i̇iσ"),
            (#"{"lower":null}"#, ""),
            (#"{"trim":"\u00a0\t a b\u2003\n"}"#, "a b"), (#"{"trim":" \n "}"#, ""),
            (#"{"replace":["aaaa","aa","b"]}"#, "bb"), (#"{"replace":["abc","","x"]}"#, "abc"),
            (#"{"replace":["a.b.c",".",""]}"#, "abc"), (#"{"replace":["e\u0301","\u0301","!"]}"#, "e!"),
            (#"{"replace":[101,0,"oh"]}"#, "1oh1"),
        ] as [(String, JSON)])
    func textsAreRewritten(_ rule: String, _ result: JSON) throws {
        try #expect(evaluate(rule, on: data) == result)
    }

    @Test(
        arguments: [
            (#"{"duration":"5m"}"#, 300), (#"{"duration":"1h30m"}"#, 5400), (#"{"duration":"500ms"}"#, 0.5),
            (#"{"duration":"1.5h"}"#, 5400), (#"{"duration":"2w"}"#, 1_209_600), (#"{"duration":"90"}"#, 90),
            (#"{"duration":"0.0001s"}"#, 0), (#"{"duration":7}"#, 7), (#"{"duration":2.5}"#, 2.5),
            (#"{"duration":"1d1ms"}"#, 86400.001), (#"{"duration":{"cat":[3,"s"]}}"#, 3),
        ] as [(String, JSON)])
    func durationsAreSeconds(_ rule: String, _ result: JSON) throws {
        try #expect(evaluate(rule) == result)
    }

    @Test(arguments: [
        "", "m", "5", "5x", "5m ", "-5m", "1.m", ".5m", "1m5", "5 m", "1e3s", "5M", "99999999999999999999s",
        "9223372036854775807s", "1.0000000001s",
    ])
    func whatIsNoDurationFails(_ text: String) throws {
        if text == "5" { return try #expect(evaluate(#"{"duration":{"var":""}}"#, on: "5") == 5) }
        try #expect(failure(of: #"{"duration":{"var":""}}"#, on: .string(text)).type == "Invalid Arguments")
    }

    @Test(arguments: [
        ("0", "1970-01-01T00:00:00Z"), ("1795219985.072", "2026-11-21T00:13:05Z"),
        ("[1795219985.072,\"milliseconds\"]", "2026-11-21T00:13:05.072Z"),
        ("[-0.001,\"milliseconds\"]", "1969-12-31T23:59:59.999Z"), ("[951782400,\"date\"]", "2000-02-29"),
        ("[-2203977600,\"date\"]", "1900-02-28"), ("[-2203891200,\"date\"]", "1900-03-01"),
        ("[-62167219200,\"minutes\"]", "0000-01-01T00:00Z"), ("253402300799", "9999-12-31T23:59:59Z"),
        ("null", "1970-01-01T00:00:00Z"),
    ])
    func timesAreWrittenInUTC(_ operand: String, _ text: String) throws {
        try #expect(evaluate(#"{"format":\#(operand)}"#) == .string(text))
    }

    @Test(arguments: ["253402300800", "-62167219201", "1e300", "9223372036854775807"])
    func timesOutsideOfTheCalendarFail(_ operand: String) throws {
        guard case .overflow = try failure(of: #"{"format":\#(operand)}"#) else {
            Issue.record("\(operand) failed otherwise")
            return
        }
    }

    /// The C library's calendar is the oracle.
    @Test func timesAgreeWithTheSystemsCalendar() throws {
        var generator = SeededGenerator(seed: 7)
        let expression = try Expression.compile(JSON(parsing: #"{"format":{"var":""}}"#))
        for _ in 0..<20_000 {
            let seconds = Int.random(in: -62_167_219_200..<253_402_300_800, using: &generator)
            var time = time_t(seconds)
            var parts = tm()
            gmtime_r(&time, &parts)
            let expected = String(
                format: "%04d-%02d-%02dT%02d:%02d:%02dZ", parts.tm_year + 1900, parts.tm_mon + 1,
                parts.tm_mday,
                parts.tm_hour, parts.tm_min, parts.tm_sec)
            try #expect(expression.evaluate(on: .int(seconds)) == .string(expected))
        }
    }

    @Test func sortingAgreesWithTheStandardLibrary() throws {
        var generator = SeededGenerator(seed: 3)
        let expression = try Expression.compile(
            JSON(parsing: #"{"sort":[{"var":""},{"var":"k"}]}"#))
        for count in 0..<70 {
            let rows = (0..<count).map { (key: Int.random(in: 0...9, using: &generator), place: $0) }
            let sorted = rows.sorted { ($0.key, $0.place) < ($1.key, $1.place) }
            func json(_ rows: [(key: Int, place: Int)]) -> JSON {
                .array(rows.map { ["k": .int($0.key), "p": .int($0.place)] })
            }
            try #expect(expression.evaluate(on: json(rows)) == json(sorted))
        }
    }

    @Test(arguments: [
        #"{"keys":[[1]]}"#, #"{"values":"x"}"#, #"{"entries":1}"#, #"{"length":5}"#, #"{"sort":"x"}"#,
        #"{"sort":[[[1],[2]]]}"#, #"{"group":[[[1]],{"var":""}]}"#, #"{"group":[5,{"var":""}]}"#,
        #"{"split":[[1],","]}"#, #"{"join":["x",","]}"#, #"{"join":[["x"],[1]]}"#, #"{"upper":[["x"]]}"#,
        #"{"replace":["x",{"literal":{}},"y"]}"#, #"{"some":[{"var":"none"},true]}"#, #"{"none":[5,true]}"#,
        #"{"duration":{"var":""}}"#,
    ])
    func whatAnOperatorDoesNotTakeFails(_ rule: String) throws {
        try #expect(failure(of: rule).type == "Invalid Arguments")
    }
}
