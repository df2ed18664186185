import BusJSON
import BusSource
import BusYAML
import Testing

/// What YAML can say and the bus does not take is refused where it stands.
struct RefusalTests {
    @Test(arguments: [
        ("a: &x 1\nb: *x", 1, 4, "Anchors are not supported"),
        ("a: &x [1]", 1, 4, "Anchors are not supported"),
        ("&x a: 1", 1, 1, "Anchors are not supported"), ("a: 1\nb: *x", 2, 4, "Aliases are not supported"),
        ("*x : 1", 1, 1, "Aliases are not supported"), ("a: !!int 1", 1, 4, "Tags are not supported"),
        ("a: !!str \"x\"", 1, 4, "Tags are not supported"), ("a: ! x", 1, 4, "Tags are not supported"),
        ("a: !mine {}", 1, 4, "Tags are not supported"), ("!!map\na: 1", 1, 1, "Tags are not supported"),
        ("a:\n  <<: { b: 1 }", 2, 3, "Merge keys are not supported"),
        ("a: 1\nb: 2\na: 3", 3, 1, "duplicate key `a`; keep one of them."),
        ("{ 'a': 1, a: 2 }", 1, 11, "duplicate key `a`; keep one of them."),
        ("1: a", 1, 1, "write it in quotes: \"1\""),
        ("true: a", 1, 1, "write it in quotes: \"true\""), ("null: a", 1, 1, "write it in quotes: \"null\""),
        ("?\n: 1", 1, 2, "A key is missing here"), ("1.5: a", 1, 1, "write it in quotes: \"1.5\""),
        ("? [a]\n: 1", 1, 3, "A key must be a string, not a list"),
        ("{ {}: 1 }", 1, 3, "A key must be a string"),
        ("a: 1\n---\nb: 2", 2, 1, "A second document"), ("a: .inf", 1, 4, "JSON has no .inf"),
        ("- -.INF", 1, 3, "JSON has no -.INF"), ("- .nan", 1, 3, "JSON has no .nan"),
        ("a: 9223372036854775808", 1, 4, "outside 64 bits"),
        ("a: -9223372036854775809", 1, 4, "outside 64 bits"),
        ("a: 0xFFFFFFFFFFFFFFFF", 1, 4, "outside 64 bits"),
        ("a: 0o7777777777777777777777", 1, 4, "outside 64 bits"),
        ("a: 1e400", 1, 4, "too large for a double"), ("a: [1, 2", 2, 1, "This is not YAML"),
        ("a: 1\n b: 2", 2, 3, "This is not YAML"), ("a: \"x\\q\"", 1, 6, "This is not YAML"),
        ("é: @x", 1, 4, "This is not YAML"), ("a:\n\t- 1", 2, 1, "This is not YAML"),
        ("a: x\u{2028}y", 1, 5, "write it as \\L in double quotes"), ("a: x\u{1}y", 1, 5, "This is not YAML"),
    ])
    func theErrorNamesItsPlace(_ yaml: String, _ line: Int, _ column: Int, _ message: String) throws {
        let error = try #require(
            #expect(throws: SourceError.self) { try LocatedValue.read(yaml, file: "a.yaml") })
        #expect(error.message.contains(message), "\(error)")
        #expect(error.line == line, "\(error)")
        #expect(error.column == column, "\(error)")
    }

    @Test func keysAreComparedByTheirBytes() throws {
        // The same letter, composed and decomposed: two keys.
        let value = try LocatedValue.read("{ \u{e9}: 1, e\u{301}: 2 }", file: "a.yaml")
        #expect(value.json.object?.count == 2)
        let json = try LocatedValue.read("{ \"\u{e9}\": 1, \"e\\u0301\": 2 }", file: "a.json")
        #expect(json.json == value.json)
    }

    @Test func depthIsBoundedBeforeTheStackIs() throws {
        for depth in [61, 5_000, 200_000] {
            let flow = String(repeating: "[", count: depth)
            let error = #expect(throws: SourceError.self) { try LocatedValue.read(flow, file: "a.yaml") }
            #expect(error?.message.contains("nested too deeply") == true || depth > 61)
            let json = #expect(throws: SourceError.self) { try LocatedValue.read(flow, file: "a.json") }
            #expect(json?.message.contains("nested too deeply") == true)
        }
        let block = (0..<300).map { String(repeating: " ", count: $0) + "a:" }.joined(separator: "\n")
        let error = #expect(throws: SourceError.self) { try LocatedValue.read(block, file: "a.yaml") }
        #expect(error?.line == 61)
        #expect(error?.message.contains("nested too deeply") == true)
        let fits = String(repeating: "[", count: 60) + String(repeating: "]", count: 60)
        #expect(throws: Never.self) { try LocatedValue.read(fits, file: "a.yaml") }
        #expect(throws: Never.self) { try LocatedValue.read(fits, file: "a.json") }
    }

    @Test func bytesThatAreNoTextAreRefused() throws {
        for (bytes, line, column) in [
            ([0x61, 0x0a, 0xc3, 0xa9, 0xff] as [UInt8], 2, 2), ([0xc3], 1, 1), ([0xed, 0xa0, 0x80], 1, 1),
            (Array("aé\nb".utf8) + [0xe2, 0x82] + Array("c".utf8), 2, 2),
        ] {
            let error = #expect(throws: SourceError.self) { try LocatedValue.read(bytes, file: "a.yaml") }
            #expect(error?.message.contains("not UTF-8") == true)
            #expect(error?.line == line && error?.column == column, "\(String(describing: error))")
        }
    }

    @Test(arguments: [
        (#"{"a":1,"a":2}"#, 1, 8, "duplicate key `a`; keep one of them."),
        ("{\n \"a\": 01}", 2, 7, "malformed"),
        ("[1,\n 2", 2, 3, "ends in the middle"), ("{\"é\": x}", 1, 7, "unexpected character"),
        ("[1] 2", 1, 5, "something follows"),
        ("{\"a\":\n 9223372036854775808}", 2, 2, "64 bits"), ("", 1, 1, "ends"), ("{a:1}", 1, 2, ""),
        ("[1,]", 1, 4, ""), ("{'a':1}", 1, 2, ""), ("[\"\\ud800\"]", 1, 3, "surrogate"),
    ])
    func jsonIsStrict(_ json: String, _ line: Int, _ column: Int, _ message: String) throws {
        let error = try #require(
            #expect(throws: SourceError.self) { try LocatedValue.read(json, file: "a.json") })
        #expect(error.message.contains(message), "\(error)")
        #expect(error.line == line, "\(error)")
        #expect(error.column == column, "\(error)")
    }
}
