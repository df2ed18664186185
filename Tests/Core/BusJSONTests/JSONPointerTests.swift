import BusJSON
import TestSupport
import Testing

@Suite("JSON Pointer")
struct JSONPointerTests {
    let document: JSON = [
        "foo": ["bar", "baz"], "": 0, "a/b": 1, "c%d": 2, "e^f": 3, "g|h": 4, "i\\j": 5, "k\"l": 6, " ": 7,
        "m~n": 8, "deep": ["list": [["x": 1], ["x": 2]]],
    ]

    @Test(
        arguments: [
            ("/foo", ["bar", "baz"]), ("/foo/0", "bar"), ("/", 0), ("/a~1b", 1), ("/c%d", 2), ("/e^f", 3),
            ("/g|h", 4), ("/i\\j", 5), ("/k\"l", 6), ("/ ", 7), ("/m~0n", 8), ("/deep/list/1/x", 2),
        ] as [(String, JSON)])
    func aPointerFindsItsPlace(text: String, expected: JSON) throws {
        let pointer = try JSONPointer(text)
        #expect(pointer.resolve(in: document) == expected)
        #expect(pointer.description == text)
    }

    @Test func theEmptyPointerIsTheWholeValue() throws {
        #expect(try JSONPointer("").resolve(in: document) == document)
        #expect(try JSONPointer("").tokens.isEmpty)
    }

    @Test(arguments: [
        "/nothing", "/foo/2", "/foo/-", "/foo/01", "/foo/+1", "/foo/-1", "/foo/", "/foo/1x", "/foo/0/x",
        "/foo/99999999999999999999", "/deep/list/2", "//x",
    ])
    func aPlaceThatDoesNotExistIsNil(text: String) throws {
        #expect(try JSONPointer(text).resolve(in: document) == nil)
    }

    @Test(arguments: [
        ("foo", JSONPointerError.missingSlash), (" /foo", .missingSlash), ("/~", .invalidEscape),
        ("/a~2", .invalidEscape), ("/~~1", .invalidEscape), ("/a~/b", .invalidEscape),
    ])
    func aMalformedPointerIsRefused(text: String, error: JSONPointerError) {
        #expect(throws: error) { try JSONPointer(text) }
    }

    @Test func escapesAreUndoneOnce() throws {
        #expect(try JSONPointer("/~01").tokens == ["~1"])
        #expect(try JSONPointer("/~1~0/~0~1").tokens == ["/~", "~/"])
        #expect(JSONPointer(tokens: ["~1"]).description == "/~01")
    }

    @Test func pointersAreTheirBytes() {
        let composed = JSONPointer(tokens: ["\u{e9}"])
        let decomposed = JSONPointer(tokens: ["e\u{301}"])
        #expect(composed != decomposed)
        #expect(Set([composed, decomposed, composed]).count == 2)
        #expect(JSONPointer(tokens: ["a", "b"]) != JSONPointer(tokens: ["ab"]))
    }

    @Test func aTokenIsWrittenEscapedForPointerAndString() throws {
        var generator = SeededGenerator(seed: 6901)
        for _ in 0..<2000 {
            let tokens = (0..<Int.random(in: 0...3, using: &generator)).map { _ in
                generator.oneIn(2) ? randomKey(using: &generator) : randomString(using: &generator)
            }
            let writer = ByteWriter()
            writer.append(UInt8(ascii: "\""))
            for token in tokens {
                writer.append(UInt8(ascii: "/"))
                writer.append(pointerToken: token)
            }
            writer.append(UInt8(ascii: "\""))
            let text = try #require(try JSON(parsing: writer.bytes).string)
            #expect(try JSONPointer(text) == JSONPointer(tokens: tokens))
            #expect(text == JSONPointer(tokens: tokens).description)
        }
    }
}
