import BusJSON
import TestSupport
import Testing

@Suite("Reading values")
struct ReaderTests {
    @Test(
        arguments: [
            ("null", .null), ("true", true), ("false", false), ("0", 0), ("\"\"", ""), ("[]", []),
            ("{}", [:]),
            (" \t\r\n[ 1 , 2 ] \n", [1, 2]), ("{ \"a\" : { } , \"b\" : [ ] }", ["a": [:], "b": []]),
            ("[null,true,false,-1,1.5,\"x\",[],{}]", [.null, true, false, -1, 1.5, "x", [], [:]]),
            ("{\"b\":1,\"a\":2,\"\":3}", ["": 3, "a": 2, "b": 1]),
            ("[[[[[]]]]]", [[[[[]]]]]), ("{\"a\":{\"a\":{\"a\":1}}}", ["a": ["a": ["a": 1]]]),
            ("\"\u{7f}\"", "\u{7f}"), ("\"\u{feff}\"", "\u{feff}"), ("{\"\\u0000\":0}", ["\u{0}": 0]),
        ] as [(String, JSON)])
    func jsonIsTaken(text: String, expected: JSON) throws {
        #expect(try readExactly(text).get() == expected)
    }

    @Test(
        arguments: [
            ("", .unexpectedEnd, 0), (" ", .unexpectedEnd, 1), ("[", .unexpectedEnd, 1),
            ("{", .unexpectedEnd, 1),
            ("[1", .unexpectedEnd, 2), ("[1,", .unexpectedEnd, 3), ("{\"a\"", .unexpectedEnd, 4),
            ("{\"a\":", .unexpectedEnd, 5), ("{\"a\":1", .unexpectedEnd, 6), ("{\"a\":1,", .unexpectedEnd, 7),
            ("\"", .unexpectedEnd, 1), ("\"abc", .unexpectedEnd, 4), ("\"abc\\", .unexpectedEnd, 5),
            ("\"abc\\\"", .unexpectedEnd, 6), ("tru", .unexpectedEnd, 0), ("-", .unexpectedEnd, 1),
            ("]", .unexpectedByte, 0), ("[,1]", .unexpectedByte, 1), ("[1,]", .unexpectedByte, 3),
            ("[1 2]", .unexpectedByte, 3), ("[1}", .unexpectedByte, 2), ("{\"a\":1]", .unexpectedByte, 6),
            ("{,}", .unexpectedByte, 1), ("{\"a\":1,}", .unexpectedByte, 7),
            ("{\"a\" 1}", .unexpectedByte, 5),
            ("{\"a\":}", .unexpectedByte, 5), ("{a:1}", .unexpectedByte, 1), ("{1:1}", .unexpectedByte, 1),
            ("{\"a\"}", .unexpectedByte, 4), ("{\"a\",1}", .unexpectedByte, 4), ("'a'", .unexpectedByte, 0),
            ("\u{feff}1", .unexpectedByte, 0), ("\u{a0}1", .unexpectedByte, 0),
            ("\u{b}1", .unexpectedByte, 0),
            ("/**/1", .unexpectedByte, 0), ("\u{0}", .unexpectedByte, 0), ("NaN", .unexpectedByte, 0),
            ("Infinity", .unexpectedByte, 0), ("[1\u{0}]", .unexpectedByte, 2),
            ("1 2", .trailingBytes, 2), ("{}}", .trailingBytes, 2), ("\"a\"b", .trailingBytes, 3),
            ("1//", .trailingBytes, 1), ("1\u{0}", .trailingBytes, 1), ("truex", .trailingBytes, 4),
            ("trux", .invalidLiteral, 0), ("nulL", .invalidLiteral, 0), ("fals ", .invalidLiteral, 0),
            ("[nul1]", .invalidLiteral, 1),
        ] as [(String, JSONError.Reason, Int)])
    func everythingElseIsRefusedAndPlaced(text: String, reason: JSONError.Reason, offset: Int) {
        #expect(readExactly(text) == .failure(JSONError(reason, at: offset)))
    }

    @Test func nestingIsBounded() {
        func nested(_ levels: Int, _ opening: String, _ closing: String) -> String {
            String(repeating: opening, count: levels) + "1" + String(repeating: closing, count: levels)
        }
        for (opening, closing) in [("[", "]"), ("{\"a\":", "}"), ("[{\"a\":", "}]")] {
            let each = opening.contains("[{") ? 2 : 1
            #expect(readExactly(nested(64 / each, opening, closing)).reason == nil)
            #expect(readExactly(nested(64 / each + 1, opening, closing)).reason == .tooDeep)
            #expect(readExactly(nested(100_000, opening, closing)).reason == .tooDeep)
            #expect(readExactly(nested(4 / each, opening, closing), depthLimit: 4).reason == nil)
        }
        #expect(readExactly(String(repeating: "[", count: 70)) == .failure(JSONError(.tooDeep, at: 64)))
        #expect(readExactly("[]", depthLimit: 0).reason == .tooDeep)
        #expect(readExactly("1", depthLimit: 0).reason == nil)
        // Levels that were closed do not count.
        let wide = "[" + String(repeating: "[[]],", count: 1000) + "0]"
        #expect(readExactly(wide, depthLimit: 3).reason == nil)
        #expect(readExactly(wide, depthLimit: 2).reason == .tooDeep)
    }

    @Test(arguments: [
        "{\"a\":1,\"a\":2}", "{\"a\":1,\"b\":2,\"a\":3}", "{\"\":1,\"\":1}", "{\"a\":1,\"\\u0061\":2}",
        "{\"\\u00e9\":1,\"\u{e9}\":2}", "{\"x\":{\"a\":1,\"a\":2}}", "[{\"/\":1,\"\\/\":2}]",
        "{\"a key longer than fifteen bytes\":1,\"a key longer than fifteen bytes\":2}",
    ])
    func aKeyThatStandsTwiceIsRefused(text: String) {
        #expect(readExactly(text).reason == .duplicateKey)
    }

    @Test func keysAreTheirBytes() throws {
        // The same letter, composed and decomposed: two keys.
        let object = try #require(try readExactly("{\"\u{e9}\":1,\"e\u{301}\":2}").get().object)
        #expect(object.count == 2)
        #expect(object["\u{e9}"] == 1)
        #expect(object["e\u{301}"] == 2)
        #expect(object["e"] == nil)
    }

    @Test(arguments: [2, 3, 15, 16, 17, 18, 40, 64, 65, 1000])
    func objectsOfAnySizeAreSortedAndCheckedForDuplicates(count: Int) throws {
        var generator = SeededGenerator(seed: UInt64(count))
        let keys = (0..<count).map { "key \($0)" }.shuffled(using: &generator)
        let text = "{" + keys.map { "\"\($0)\":\"\($0)\"" }.joined(separator: ",")
        let object = try #require(try readExactly(text + "}").get().object)
        #expect(object.keys == keys.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) })
        for key in keys { #expect(object[key] == .string(key)) }
        for key in [keys[0], keys[count / 2], keys[count - 1]] {
            #expect(readExactly(text + ",\"\(key)\":0}").reason == .duplicateKey)
        }
        #expect(readExactly(text + ",").reason == .unexpectedEnd)
        #expect(readExactly(text + ",\"x\":[1,").reason == .unexpectedEnd)
    }

    @Test(arguments: [0, 1, 15, 16, 17, 18, 64, 65, 500])
    func arraysOfAnySizeKeepTheirOrder(count: Int) {
        let text = (0..<count).map { "\"\($0)\"" }.joined(separator: ",")
        #expect(readExactly("[" + text + "]") == .success(.array((0..<count).map { .string("\($0)") })))
        #expect(readExactly("[" + text).reason == .unexpectedEnd)
    }

    @Test func aReaderGoesOnBehindAValue() throws {
        let text = Array(" {\"a\" : [1, 2]} \"x\" 7 ".utf8)
        try text.withUnsafeBytes { bytes in
            var reader = JSONReader(bytes)
            let opening = reader.peek()
            #expect(opening == UInt8(ascii: "{"))
            try reader.expect(UInt8(ascii: "{"))
            let key = try reader.scanString()
            #expect(key.plain && key.bytes.elementsEqual("a".utf8))
            let hasComma = reader.take(UInt8(ascii: ","))
            let hasColon = reader.take(UInt8(ascii: ":"))
            #expect(!hasComma && hasColon)
            let first = reader.offset
            let list = try reader.value()
            #expect(list == [1, 2])
            #expect(reader.bytes(from: first, to: reader.offset).elementsEqual(" [1, 2]".utf8))
            try reader.expect(UInt8(ascii: "}"))
            let string = try reader.string()
            let number = try reader.number()
            #expect(string == "x")
            #expect(number == 7)
            try reader.expectEnd()
        }
    }

    @Test func everyCutOfATextIsRefusedAsEndedEarly() throws {
        let text = Array(
            #"{"op":"dispatch","list":[1.5e3,-20,"\u00e9\n",true,null],"name":"é and more of it"}"#.utf8)
        #expect(readExactly(text).reason == nil)
        for length in 0..<text.count {
            #expect(readExactly(Array(text[..<length])).reason != nil, "cut to \(length) bytes")
        }
    }

    @Test func errorsSayWhatAndWhere() {
        #expect(JSONError(.duplicateKey, at: 7).description == "an object has the same key twice (byte 7)")
    }
}
