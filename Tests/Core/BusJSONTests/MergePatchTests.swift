import BusJSON
import TestSupport
import Testing

@Suite("Merge patch")
struct MergePatchTests {
    @Test(
        arguments: [
            // The cases of RFC 7396, appendix A.
            (["a": "b"], ["a": "c"], ["a": "c"]),
            (["a": "b"], ["b": "c"], ["a": "b", "b": "c"]),
            (["a": "b"], ["a": .null], [:]),
            (["a": "b", "b": "c"], ["a": .null], ["b": "c"]),
            (["a": ["b"]], ["a": "c"], ["a": "c"]),
            (["a": "c"], ["a": ["b"]], ["a": ["b"]]),
            (["a": ["b": "c"]], ["a": ["b": "d", "c": .null]], ["a": ["b": "d"]]),
            (["a": [["b": "c"]]], ["a": [1]], ["a": [1]]),
            (["a", "b"], ["c", "d"], ["c", "d"]),
            (["a": "b"], ["c"], ["c"]),
            (["a": "foo"], .null, .null),
            (["a": "foo"], "bar", "bar"),
            (["e": .null], ["a": 1], ["e": .null, "a": 1]),
            ([1, 2], ["a": "b", "c": .null], ["a": "b"]),
            ([:], ["a": ["bb": ["ccc": .null]]], ["a": ["bb": [:]]]),
            // Arrays are values: nulls in them stay.
            (["a": 1], ["a": [.null, ["b": .null]]], ["a": [.null, ["b": .null]]]),
            (["a": 1], ["a": ["b": ["c": .null, "d": 1]]], ["a": ["b": ["d": 1]]]),
        ] as [(JSON, JSON, JSON)])
    func aPatchIsApplied(target: JSON, patch: JSON, expected: JSON) {
        #expect(MergePatch.apply(patch, to: target) == expected)
    }

    @Test func manyMembersAreMergedInOneWalk() {
        var target = JSONObject()
        var patch = JSONObject()
        var expected = JSONObject()
        for index in 0..<200 {
            target["k\(index * 2)"] = .int(index)
            patch["k\(index * 3)"] = index % 5 == 0 ? .null : .string("new")
        }
        expected = target
        for member in patch.members { expected[member.key] = member.value.isNull ? nil : member.value }
        #expect(MergePatch.apply(.object(patch), to: .object(target)) == .object(expected))
    }

    @Test(
        arguments: [
            (["a": 1, "b": 2], ["a": 1, "b": 3], #"{"b":3}"#),
            (["a": 1, "b": 2], ["b": 2], #"{"a":null}"#),
            (["a": 1], ["a": 1, "b": ["c": []]], #"{"b":{"c":[]}}"#),
            (["a": ["x": 1, "y": 2], "z": 0], ["a": ["x": 1, "y": 3], "z": 0], #"{"a":{"y":3}}"#),
            (["a": ["x": 1], "b": 1], ["a": ["x": 1], "b": 2], #"{"b":2}"#),
            (["a": ["x": ["y": 1]], "b": [:]], ["a": ["x": ["y": 1]], "b": [:]], "{}"),
            (["a": [1, 2, 3]], ["a": [1, 2]], #"{"a":[1,2]}"#),
            (["a": 1], ["a": 1], "{}"),
            (["a": 1], ["a": 1.0], #"{"a":1.0}"#),
            (["a": ["x": 1]], ["a": 5], #"{"a":5}"#),
            (["a": ["x": 1]], ["a": [:]], #"{"a":{"x":null}}"#),
            (["a": 5], ["a": [:]], #"{"a":{}}"#),
            (["a": .null, "b": 1], ["a": .null, "b": 2], #"{"b":2}"#),
            (["a": .null], [:], #"{"a":null}"#),
            (["\u{e9}": 1], ["e\u{301}": 1], "{\"e\u{301}\":1,\"\u{e9}\":null}"),
            (1, [.null], "[null]"),
        ] as [(JSON, JSON, String)])
    func theSmallestPatchIsWritten(old: JSON, new: JSON, expected: String) throws {
        let writer = ByteWriter()
        #expect(MergePatch.append(from: old, to: new, into: writer))
        #expect(writer.text == expected)
        #expect(MergePatch.apply(try JSON(parsing: writer.bytes), to: old) == new)
    }

    @Test(
        arguments: [
            (["a": 1], ["a": .null]), (["a": 1], ["a": 1, "b": .null]),
            (["a": 1], ["a": ["b": ["c": .null]]]),
            (["a": 1, "b": ["c": 1]], ["a": 2, "b": ["c": .null]]), ([1], .null), (["a": 1], .null),
            (5, ["a": .null]),
        ] as [(JSON, JSON)])
    func whatAPatchCannotSayIsRefused(old: JSON, new: JSON) {
        let writer = ByteWriter()
        writer.append("before")
        #expect(!MergePatch.append(from: old, to: new, into: writer))
        #expect(writer.text == "before")
    }

    @Test(
        arguments: [
            (.null, false), (["a": .null], false), (["a": ["b": .null]], false), ([.null], true),
            ([["a": .null]], true),
            (["a": [["b": .null]]], true), ([:], true), (0, true), ("", true), (false, true),
        ] as [(JSON, Bool)])
    func canSetSaysWhatAPatchReproduces(value: JSON, expected: Bool) {
        #expect(MergePatch.canSet(value) == expected)
        let reproduced = MergePatch.apply(["member": value], to: [:])["member"]
        #expect((reproduced == value) == expected)
    }

    @Test(arguments: 0..<20)
    func aWrittenPatchGivesExactlyTheNewValue(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let writer = ByteWriter()
        for _ in 0..<500 {
            let old = randomJSON(using: &generator)
            let new = randomlyChanged(old, using: &generator)
            writer.clear()
            if MergePatch.append(from: old, to: new, into: writer) {
                let patch = try JSON(parsing: writer.bytes)
                #expect(MergePatch.apply(patch, to: old) == new)
                #expect(patch.encoded == writer.text)
            } else {
                #expect(writer.isEmpty)
                #expect(!MergePatch.canSet(new), "Refused without a null: \(old) to \(new)")
            }
        }
    }
}
