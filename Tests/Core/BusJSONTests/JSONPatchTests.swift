import BusJSON
import TestSupport
import Testing

@Suite("JSON Patch")
struct JSONPatchTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let name: String
        let document: JSON
        let patch: JSON
        let expected: JSON
        var testDescription: String { name }

        init(_ name: String, _ document: JSON, _ patch: JSON, _ expected: JSON) {
            self.name = name
            self.document = document
            self.patch = patch
            self.expected = expected
        }
    }

    @Test(arguments: [
        // What RFC 6902's appendix shows.
        Case(
            "a member is added", ["foo": "bar"], [["op": "add", "path": "/baz", "value": "qux"]],
            ["baz": "qux", "foo": "bar"]),
        Case(
            "an element is inserted", ["foo": ["bar", "baz"]],
            [["op": "add", "path": "/foo/1", "value": "qux"]],
            ["foo": ["bar", "qux", "baz"]]),
        Case(
            "a member is removed", ["baz": "qux", "foo": "bar"], [["op": "remove", "path": "/baz"]],
            ["foo": "bar"]),
        Case(
            "an element is removed", ["foo": ["bar", "qux", "baz"]], [["op": "remove", "path": "/foo/1"]],
            ["foo": ["bar", "baz"]]),
        Case(
            "a value is replaced", ["baz": "qux", "foo": "bar"],
            [["op": "replace", "path": "/baz", "value": "boo"]], ["baz": "boo", "foo": "bar"]),
        Case(
            "a member is moved", ["foo": ["bar": "baz", "waldo": "fred"], "qux": ["corge": "grault"]],
            [["op": "move", "from": "/foo/waldo", "path": "/qux/thud"]],
            ["foo": ["bar": "baz"], "qux": ["corge": "grault", "thud": "fred"]]),
        Case(
            "an element is moved", ["foo": ["all", "grass", "cows", "eat"]],
            [["op": "move", "from": "/foo/1", "path": "/foo/3"]], ["foo": ["all", "cows", "eat", "grass"]]),
        Case(
            "tests that hold change nothing", ["baz": "qux", "foo": ["a", 2, "c"]],
            [["op": "test", "path": "/baz", "value": "qux"], ["op": "test", "path": "/foo/1", "value": 2]],
            ["baz": "qux", "foo": ["a", 2, "c"]]),
        Case(
            "an object is added", ["foo": "bar"],
            [["op": "add", "path": "/child", "value": ["grandchild": [:]]]],
            ["foo": "bar", "child": ["grandchild": [:]]]),
        Case(
            "unknown members are ignored", ["foo": "bar"],
            [["op": "add", "path": "/baz", "value": "qux", "xyz": 123]], ["foo": "bar", "baz": "qux"]),
        Case(
            "a ~ is escaped", ["/": 9, "~1": 10], [["op": "test", "path": "/~01", "value": 10]],
            ["/": 9, "~1": 10]),
        Case(
            "an array is one element", ["foo": ["bar"]],
            [["op": "add", "path": "/foo/-", "value": ["abc", "def"]]],
            ["foo": ["bar", ["abc", "def"]]]),
        // What its text says beside.
        Case("an empty patch changes nothing", ["a": 1], [], ["a": 1]),
        Case("add replaces a member", ["a": 1], [["op": "add", "path": "/a", "value": [2]]], ["a": [2]]),
        Case("add at the root replaces all", ["a": 1], [["op": "add", "path": "", "value": 7]], 7),
        Case(
            "replace at the root replaces all", [1], [["op": "replace", "path": "", "value": ["b": 2]]],
            ["b": 2]),
        Case("a null is a value", [:], [["op": "add", "path": "/a", "value": .null]], ["a": .null]),
        Case("an element is added at the end", [1], [["op": "add", "path": "/1", "value": 2]], [1, 2]),
        Case(
            "a value is copied", ["a": ["b": 1]], [["op": "copy", "from": "/a", "path": "/c"]],
            ["a": ["b": 1], "c": ["b": 1]]),
        Case(
            "all is copied into itself", ["a": 1], [["op": "copy", "from": "", "path": "/a"]], ["a": ["a": 1]]
        ),
        Case(
            "a value is moved onto itself", ["a": 1], [["op": "move", "from": "/a", "path": "/a"]], ["a": 1]),
        Case(
            "a value is moved out to the root", ["a": ["b": 1]], [["op": "move", "from": "/a", "path": ""]],
            ["b": 1]),
        Case(
            "a sibling's name may be a prefix", ["a": 1, "ab": [:]],
            [["op": "move", "from": "/a", "path": "/ab/c"]], ["ab": ["c": 1]]),
        Case(
            "numbers are tested by value", ["a": 1, "b": [2.0, ["c": 0.0]]],
            [
                ["op": "test", "path": "/a", "value": 1.0],
                ["op": "test", "path": "/b", "value": [2, ["c": -0.0]]],
            ],
            ["a": 1, "b": [2.0, ["c": 0.0]]]),
        Case(
            "operations see those before them", ["a": []],
            [
                ["op": "add", "path": "/a/-", "value": ["n": 1]],
                ["op": "copy", "from": "/a/0", "path": "/a/0"],
                ["op": "replace", "path": "/a/1/n", "value": 2], ["op": "remove", "path": "/a/0/n"],
            ], ["a": [[:], ["n": 2]]]),
    ])
    func aPatchIsApplied(_ scenario: Case) throws {
        #expect(try JSONPatch.apply(scenario.patch, to: scenario.document) == scenario.expected)
    }

    @Test(
        arguments: [
            (["a": 1], ["op": "add"], .notAnArray),
            (["a": 1], [1], .notAnObject),
            (["a": 1], [["path": "/a"]], .missingMember("op")),
            (["a": 1], [["op": "remove"]], .missingMember("path")),
            (["a": 1], [["op": "remove", "path": 1]], .missingMember("path")),
            (["a": 1], [["op": "add", "path": "/b"]], .missingMember("value")),
            (["a": 1], [["op": "copy", "path": "/b"]], .missingMember("from")),
            (["a": 1], [["op": "increment", "path": "/b"]], .unknownOperation("increment")),
            (["a": 1], [["op": "remove", "path": "a"]], .invalidPointer("a", .missingSlash)),
            (["foo": "bar"], [["op": "add", "path": "/baz/bat", "value": 1]], place("baz", "bat")),
            (["a": [1]], [["op": "add", "path": "/a/2", "value": 1]], place("a", "2")),
            (["a": [1]], [["op": "add", "path": "/a/01", "value": 1]], place("a", "01")),
            (["a": [1]], [["op": "remove", "path": "/a/-"]], place("a", "-")),
            (["a": [1]], [["op": "replace", "path": "/a/1", "value": 1]], place("a", "1")),
            (["a": 1], [["op": "replace", "path": "/b", "value": 1]], place("b")),
            (["a": 1], [["op": "remove", "path": "/b"]], place("b")),
            (["a": 1], [["op": "remove", "path": ""]], place()),
            (["a": 1], [["op": "copy", "from": "/b", "path": "/c"]], place("b")),
            (["a": 1], [["op": "move", "from": "/b", "path": "/c"]], place("b")),
            (
                ["a": ["b": 1]], [["op": "move", "from": "/a", "path": "/a/c"]],
                .moveIntoItself(JSONPointer(tokens: ["a"]))
            ),
            (["a": 1], [["op": "move", "from": "", "path": "/a"]], .moveIntoItself(JSONPointer(tokens: []))),
            (["a": 1], [["op": "test", "path": "/b", "value": .null]], place("b")),
            (
                ["a": 1], [["op": "test", "path": "/a", "value": "1"]],
                .testFailed(JSONPointer(tokens: ["a"]))
            ),
            (
                ["/": 9, "~1": 10], [["op": "test", "path": "/~01", "value": "10"]],
                .testFailed(JSONPointer(tokens: ["~1"]))
            ),
            (
                ["a": 9_007_199_254_740_993],
                [["op": "test", "path": "/a", "value": 9_007_199_254_740_992.0]],
                .testFailed(JSONPointer(tokens: ["a"]))
            ),
        ] as [(JSON, JSON, JSONPatchError.Reason)])
    func aPatchThatFailsIsNamed(document: JSON, patch: JSON, reason: JSONPatchError.Reason) {
        #expect(throws: JSONPatchError(reason, at: 0)) { try JSONPatch.apply(patch, to: document) }
    }

    private static func place(_ tokens: String...) -> JSONPatchError.Reason {
        .noSuchPlace(JSONPointer(tokens: tokens))
    }

    @Test func aPatchIsAppliedWholeOrNotAtAll() {
        let document: JSON = ["a": ["b": [1, 2]], "c": 3]
        let before = document.encoded
        let patch: JSON = [
            ["op": "replace", "path": "/c", "value": 4], ["op": "add", "path": "/a/b/0", "value": 0],
            ["op": "remove", "path": "/a/b/7"],
        ]
        let failure = JSONPatchError(Self.place("a", "b", "7"), at: 2)
        #expect(throws: failure) { try JSONPatch.apply(patch, to: document) }
        #expect(document.encoded == before)
    }

    @Test(
        arguments: [
            (["a": ["b": 1]], ["a": ["b": 2]], #"{"op":"replace","path":"/a/b","value":2}"#),
            (["a": 1], ["a": 1], ""),
            (["a": 1], ["a": 1, "b": .null], #"{"op":"add","path":"/b","value":null}"#),
            (["a": 1, "b": 2], ["a": 1], #"{"op":"remove","path":"/b"}"#),
            (
                ["a/b": ["m~n\"": 1]], ["a/b": ["m~n\"": 2]],
                #"{"op":"replace","path":"/a~1b/m~0n\"","value":2}"#
            ),
            (1, 2, #"{"op":"replace","path":"","value":2}"#),
            (
                ["l": ["first", "second", "third"]], ["l": ["first", "third"]],
                #"{"op":"remove","path":"/l/1"}"#
            ),
            (
                ["l": ["first", "third"]], ["l": ["first", "second", "third"]],
                #"{"op":"add","path":"/l/1","value":"second"}"#
            ),
            // Three operations would be longer than the array.
            (["l": [1, 2, 3]], ["l": [4, 5, 6]], #"{"op":"replace","path":"/l","value":[4,5,6]}"#),
            (
                ["a": ["x": 1, "y": 2], "long": "a text that is longer than the rest of it"],
                ["a": ["x": 3, "y": 4], "long": "a text that is longer than the rest of it"],
                #"{"op":"replace","path":"/a","value":{"x":3,"y":4}}"#
            ),
        ] as [(JSON, JSON, String)])
    func theDifferenceIsShort(old: JSON, new: JSON, expected: String) {
        let writer = ByteWriter()
        var first = true
        JSONPatch.append(from: old, to: new, at: [], into: writer, first: &first)
        #expect(writer.text == expected)
        #expect(first == expected.isEmpty)
    }

    @Test func pathsBeginWithTheGivenTokensAndOperationsAreSeparated() {
        let writer = ByteWriter()
        var first = true
        JSONPatch.append(from: 1, to: 2, at: ["a/b"], into: writer, first: &first)
        JSONPatch.append(from: [1], to: [1], at: ["same"], into: writer, first: &first)
        JSONPatch.append(from: ["x": [:]], to: [:], at: ["c", "0"], into: writer, first: &first)
        #expect(
            writer.text == #"{"op":"replace","path":"/a~1b","value":2},{"op":"remove","path":"/c/0/x"}"#)
    }

    @Test(arguments: 0..<20)
    func aWrittenPatchGivesExactlyTheNewValue(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let writer = ByteWriter()
        for _ in 0..<500 {
            let old = randomJSON(using: &generator)
            let new = randomlyChanged(old, using: &generator)
            writer.clear()
            writer.append(UInt8(ascii: "["))
            var first = true
            JSONPatch.append(from: old, to: new, at: ["in", "here"], into: writer, first: &first)
            #expect(first == (old == new))
            writer.append(UInt8(ascii: "]"))
            let patch = try JSON(parsing: writer.bytes)
            #expect(try JSONPatch.apply(patch, to: ["in": ["here": old]]) == ["in": ["here": new]])
            let replacement: JSON = [["op": "replace", "path": "/in/here", "value": new]]
            #expect(writer.count <= max(2, replacement.encodedSize))
        }
    }
}
