import BusJSON
import TestSupport
import Testing

@Suite("Objects")
struct ObjectTests {
    @Test func membersAreSortedWhateverTheOrderTheyCameIn() {
        var object: JSONObject = ["b": 1, "a": 2]
        object["\u{e9}"] = 3
        object["B"] = 4
        object["a"] = 5
        #expect(object.keys == ["B", "a", "b", "\u{e9}"])
        object["b"] = nil
        object["nothing"] = nil
        #expect(object.keys == ["B", "a", "\u{e9}"])
        #expect(object.encoded == "{\"B\":4,\"a\":5,\"\u{e9}\":3}")
    }

    @Test func anAbsentMemberIsNilAndANullOneIsNot() {
        let value: JSON = ["null": .null]
        #expect(value["null"] == .some(.null))
        #expect(value["absent"] == Optional<JSON>.none)
        #expect(value.object?["absent"] == Optional<JSON>.none)
        #expect(([1] as JSON)[1] == Optional<JSON>.none)
        #expect((1 as JSON)["a"] == Optional<JSON>.none)
    }

    @Test func placesAreFoundWithAndWithoutAHint() {
        let object: JSONObject = ["a": 1, "c": 2, "e": 3]
        #expect(object.index(of: "c") == 1)
        #expect(object.index(of: "c", hint: 1) == 1)
        #expect(object.index(of: "c", hint: 99) == 1)
        #expect(object.index(of: "b", hint: 1) == nil)
        #expect(object.position(of: "d") == (2, false))
        #expect(object.position(of: "e") == (2, true))
        #expect(object.position(of: "f") == (3, false))
    }

    @Test func distinctMembersAreRequired() {
        let a = JSONObject.Member(key: "a", value: 1)
        let b = JSONObject.Member(key: "b", value: 2)
        #expect(JSONObject(distinct: [b, a])?.keys == ["a", "b"])
        #expect(JSONObject(distinct: [b, a, b]) == nil)
    }

    @Test func aMemberChangesWhereItStands() {
        var object: JSONObject = ["list": [1, 2], "x": 0]
        object.update(at: 0) { $0 = .array(($0.array ?? []) + [3]) }
        let removed = object.remove(at: 1)
        object.insert(JSONObject.Member(key: "m", value: removed), at: 1)
        #expect(object == ["list": [1, 2, 3], "m": 0])
    }

    @Test func anObjectAgreesWithADictionaryOfBytes() {
        var generator = SeededGenerator(seed: 5)
        var object = JSONObject()
        var model: [[UInt8]: JSON] = [:]
        for _ in 0..<5000 {
            let key = generator.oneIn(2) ? randomKey(using: &generator) : randomString(using: &generator)
            let value = generator.oneIn(3) ? nil : Optional(JSON.int(randomInteger(using: &generator)))
            object[key] = value
            model[Array(key.utf8)] = value
            #expect(object[key] == value)
        }
        #expect(object.count == model.count)
        #expect(object.allSatisfy { model[Array($0.key.utf8)] == $0.value })
        #expect(
            zip(object.keys, object.keys.dropFirst()).allSatisfy {
                $0.utf8.lexicographicallyPrecedes($1.utf8)
            })
    }
}
