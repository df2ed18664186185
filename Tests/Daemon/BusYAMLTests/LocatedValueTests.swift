import BusJSON
import BusProtocol
import BusSource
import BusYAML
import Testing

/// Values know their places, and say what they should have been.
struct LocatedValueTests {
    private static let yaml = """
        # Where the bus listens.
        listen:
          - unix: /run/bus.sock
            mode: "0660"
          - { tcp: "127.0.0.1:7411" }
        limits: { line: 1024, ratio: 0.5, on: true }
        text: |
          several
          lines
        """

    @Test func everyNodeAndKeyHasItsPlace() throws {
        let root = try LocatedValue.read(Self.yaml, file: "bus.yaml").object("the configuration")
        #expect(root.keys == ["listen", "limits", "text"])
        let listen = try #require(root.member("listen"))
        #expect(listen.place == Place(file: "bus.yaml", line: 2, column: 1))
        let entries = try listen.value.array("listen")
        #expect(entries.map(\.place.line) == [3, 5])
        let unix = try #require(entries[0].object("an entry").member("unix"))
        #expect(unix.place == Place(file: "bus.yaml", line: 3, column: 5))
        #expect(unix.value.place == Place(file: "bus.yaml", line: 3, column: 11))
        let limits = try root.required("limits", of: "the configuration").object("limits")
        #expect(try limits.required("line", of: "limits").int("limits.line", in: 1...4096) == 1024)
        #expect(try limits.required("ratio", of: "limits").double("limits.ratio") == 0.5)
        #expect(try limits.required("on", of: "limits").bool("limits.on"))
        #expect(try root.required("text", of: "the configuration").string("text") == "several\nlines")
    }

    @Test func jsonHasTheSamePlaces() throws {
        let text = "{\n  \"b\": [1,\n    {\"a\": null}],\n  \"a\": \"é\", \"c\": 1.0}"
        let root = try LocatedValue.read(text, file: "a.json")
        #expect(root.json == ["a": "é", "b": [1, ["a": .null]], "c": 1.0])
        let object = try root.object("all")
        #expect(object.keys == ["b", "a", "c"])
        #expect(object.member("c")?.place == Place(file: "a.json", line: 4, column: 13))
        let inner = try #require(object["b"]).array("b")[1]
        #expect(inner.place == Place(file: "a.json", line: 3, column: 5))
    }

    @Test func jsonIsYAMLToo() throws {
        let text = #"{"a": [1, 2.5, "x\n", true, null, {"b": {}}], "on": -3}"#
        try #expect(
            LocatedValue.read(text, file: "a.yaml").json == LocatedValue.read(text, file: "a.json").json)
    }

    @Test(arguments: ["a.yaml", "a.json"]) func aByteOrderMarkIsNoPartOfTheText(file: String) throws {
        let root = try LocatedValue.read("\u{feff}{\"a\": 1}", file: file)
        #expect(root.json == ["a": 1])
        #expect(try root.object("all").member("a")?.place == Place(file: file, line: 1, column: 2))
    }

    @Test func nothingIsNull() throws {
        for text in ["", "# only this\n", "---\n", "~"] {
            try #expect(LocatedValue.read(text, file: "a.yaml").json.isNull)
        }
    }

    @Test func quotedScalarsAreStrings() throws {
        let value = try LocatedValue.read(#"["1", 'null', "\u00e9\0", 'it''s']"#, file: "a.yaml")
        #expect(value.json == ["1", "null", "\u{e9}\0", "it's"])
    }

    @Test func wrongKindsAreNamed() throws {
        let yaml = "{ a: 1, b: x, c: [1], d: { e: 1 }, f: 1.5 }"
        let root = try LocatedValue.read(yaml, file: "a.yaml").object("x")
        func expect(_ message: String, _ body: () throws -> Void) {
            let error = #expect(throws: SourceError.self, performing: body)
            #expect(error?.description == "a.yaml:\(message)")
        }
        expect("1:6: a must be a string, not an integer; write it in quotes: \"1\".") {
            _ = try root["a"]?.string("a")
        }
        expect("1:12: b must be an integer, not a string.") { _ = try root["b"]?.int("b") }
        expect("1:6: a must be within 2...4, not 1.") { _ = try root["a"]?.int("a", in: 2...4) }
        expect("1:6: a must be at least 2, not 1.") { _ = try root["a"]?.int("a", in: 2...Int.max) }
        expect("1:18: c must be an object, not a list.") { _ = try root["c"]?.object("c") }
        expect("1:19: each element of c must be a string, not an integer; write it in quotes: \"1\".") {
            _ = try root["c"]?.strings("c")
        }
        expect("1:26: d must be a list, not an object.") { _ = try root["d"]?.array("d") }
        expect("1:39: f must be true or false, not a number with a fraction.") {
            _ = try root["f"]?.bool("f")
        }
        expect("1:12: b must be a number, not a string.") { _ = try root["b"]?.double("b") }
        expect("1:1: x needs a member z; add it.") { _ = try root.required("z", of: "x") }
        expect("1:23: unknown key `d` in x; valid here: `a`, `b`, `c`, `other`, `f`.") {
            try root.refuseMembers(besides: ["a", "b", "c", "other", "f"], of: "x")
        }
        expect("1:12: invalid value `x` for `b`; did you mean `xy`?") {
            _ = try root["b"]?.word("b", among: ["xy", "always"])
        }
    }

    @Test(arguments: [
        ("fitler", "filter"), ("filtr", "filter"), ("Filter", "filter"), ("mpa", "map"), ("reduec", "reduce"),
        ("sett", "set"), ("int", "integer"), ("bool", "boolean"),
    ])
    func theNearestWordIsFound(_ word: String, _ nearest: String) {
        let words = ["map", "filter", "reduce", "set", "unset", "integer", "boolean"]
        #expect(nearestWord(to: word, among: words) == nearest)
    }

    /// Of words of any length only the beginnings are compared, so that nobody's comparison takes long.
    @Test func ofLongWordsOnlyTheBeginningsCount() {
        let beginning = String(repeating: "ab", count: 32)
        let long = beginning + String(repeating: "x", count: 1_000_000)
        let other = beginning + String(repeating: "y", count: 1_000_000)
        #expect(nearestWord(to: long, among: [other]) == other)
        #expect(nearestWord(to: long, among: [beginning]) == beginning)
        #expect(nearestWord(to: String(repeating: "\u{301}", count: 500_000), among: [other]) == nil)
    }

    @Test func aFarWordHasNoNearest() {
        #expect(nearestWord(to: "xyz", among: ["map", "filter"]) == nil)
        #expect(nearestWord(to: "", among: ["a"]) == nil)
        #expect(suggestion(for: "xyz", among: ["map", "filter"]) == "valid here: `map`, `filter`.")
        #expect(suggestion(for: "xyz", among: []) == "none is valid here.")
        #expect(nearestWord(to: String(repeating: "a", count: 100_000), among: ["map"]) == nil)
    }
}
