import BusJSON
import Foundation
import Testing

/// Swift values as JSON: the values that come out, and what is refused.
@Suite struct CodingTests {
    struct Point: Codable, Equatable {
        var x: Int
        var y: Double?
        var tags: [String] = []
    }

    private func encoded(_ value: some Encodable) throws -> String { try JSON(encoding: value).encoded }

    private func decode<Value: Decodable>(_ json: JSON, _ type: Value.Type) throws -> Value {
        try json.decoded(as: type)
    }

    private func complaint(_ body: () throws -> Void) -> String? {
        #expect(throws: JSONCodingError.self, performing: body)?.description
    }

    @Test func valuesBecomeTheJSONOneExpects() throws {
        #expect(try encoded(Point(x: 1, y: 2)) == #"{"tags":[],"x":1,"y":2.0}"#)
        #expect(try encoded(Point(x: 1)) == #"{"tags":[],"x":1}"#)
        #expect(try encoded(["b": 1, "a": 2]) == #"{"a":2,"b":1}"#)
        #expect(try encoded([1: "a"]) == #"{"1":"a"}"#)
        #expect(try encoded([Int?.none, 3]) == "[null,3]")
        #expect(try encoded(Int?.none) == "null")
        #expect(try encoded(JSON.object(["a": [1, 1.0, .null]])) == #"{"a":[1,1.0,null]}"#)
        #expect(try encoded([JSONObject(), ["k": "v"]]) == #"[{},{"k":"v"}]"#)
        #expect(try encoded(Int.min) == "-9223372036854775808")
        #expect(try encoded(UInt64(Int.max)) == "9223372036854775807")
    }

    /// Wherever it stands, a date is the seconds since 1970.
    @Test func datesAreSecondsSince1970() throws {
        struct Visit: Codable, Equatable {
            var at: Date
            var until: Date?
            var others: [Date] = []
            var named: [String: Date] = [:]
        }
        let date = Date(timeIntervalSince1970: 1_795_219_985.072)
        #expect(try encoded(date) == "1795219985.072")
        #expect(
            try encoded(Visit(at: date, until: date, others: [date], named: ["a": date]))
                == #"{"at":1795219985.072,"named":{"a":1795219985.072},"others":[1795219985.072],"until":1795219985.072}"#
        )
        let visit = Visit(at: Date(timeIntervalSince1970: 0), until: nil, others: [date])
        #expect(try decode(JSON(encoding: visit), Visit.self) == visit)
        #expect(
            try decode(["at": 0, "others": [1], "named": [:]], Visit.self).others[0].timeIntervalSince1970
                == 1)
        #expect(try decode([2.5], [Date?].self)[0]?.timeIntervalSince1970 == 2.5)
        // A number beside one is none.
        #expect(try decode([1, 2], [Double].self) == [1, 2])
        #expect(
            complaint { _ = try decode(["at": "now"], Visit.self) } == "at: a number is needed, not a string."
        )
    }

    @Test func numbersThatDoNotFitAreRefusedWithTheirPath() {
        #expect(
            complaint { _ = try JSON(encoding: ["a": [UInt64(1) << 63]]) }
                == "a.0: 9223372036854775808 is outside the 64-bit integers.")
        #expect(complaint { _ = try JSON(encoding: [1, Double.nan]) } == "1: nan is not a finite number.")
        #expect(complaint { _ = try JSON(encoding: Float.infinity) } == "inf is not a finite number.")
        #expect(
            complaint { _ = try decode([300], [UInt8].self) } == "0: 300 is outside 0...255.")
        #expect(
            complaint { _ = try decode(["x": 1.0], Point.self) }
                == "x: an integer is needed, not a number.")
        #expect(complaint { _ = try decode(-1, UInt.self) }?.contains("outside 0...") == true)
    }

    @Test func whatIsMissingOrOfAnotherTypeIsNamed() {
        #expect(complaint { _ = try decode([:], Point.self) } == "x: it is missing; add it.")
        #expect(
            complaint { _ = try decode(["x": 1, "tags": ["a", .null]], Point.self) }
                == "tags.1: a string is needed, not null.")
        #expect(complaint { _ = try decode(1, Point.self) } == "an object is needed, not an integer.")
        #expect(
            complaint { _ = try decode(["a": [:]], [String: [Int]].self) }
                == "a: an array is needed, not an object.")
    }

    @Test func everyWidthRoundTripsAtItsEdges() throws {
        func check<Number: FixedWidthInteger & Codable>(_ type: Number.Type) throws {
            for number in [type.min, type.max, 0, 1] {
                guard let plain = Int(exactly: number) else {
                    #expect(throws: JSONCodingError.self) { try JSON(encoding: number) }
                    continue
                }
                for json in [try JSON(encoding: number), try JSON(encoding: [number]), ["k": .int(plain)]] {
                    let inside = json[0] ?? json["k"] ?? json
                    #expect(inside == .int(plain))
                    #expect(try inside.decoded(as: type) == number)
                }
                #expect(try decode(["k": .int(plain)], [String: Number].self) == ["k": number])
            }
        }
        try check(Int.self)
        try check(Int8.self)
        try check(Int16.self)
        try check(Int32.self)
        try check(Int64.self)
        try check(Int128.self)
        try check(UInt.self)
        try check(UInt8.self)
        try check(UInt16.self)
        try check(UInt32.self)
        try check(UInt64.self)
        try check(UInt128.self)
    }

    class Base: Codable {
        var name = "base"
    }
    final class Derived: Base {
        var count = 3
        private enum Keys: String, CodingKey { case count }
        override init() { super.init() }
        required init(from decoder: any Decoder) throws {
            let members = try decoder.container(keyedBy: Keys.self)
            count = try members.decode(Int.self, forKey: .count)
            try super.init(from: members.superDecoder())
        }
        override func encode(to encoder: any Encoder) throws {
            var members = encoder.container(keyedBy: Keys.self)
            try super.encode(to: members.superEncoder())
            try members.encode(count, forKey: .count)
        }
    }

    @Test func superclassesHaveTheirPlace() throws {
        let derived = Derived()
        derived.name = "other"
        derived.count = 5
        let json = try JSON(encoding: derived)
        #expect(json.encoded == #"{"count":5,"super":{"name":"other"}}"#)
        let back = try json.decoded(as: Derived.self)
        #expect(back.name == "other" && back.count == 5)
    }

    /// Writes the same containers several times, interleaved.
    struct Interleaved: Encodable {
        enum Keys: String, CodingKey { case b, a, list }
        func encode(to encoder: any Encoder) throws {
            var outer = encoder.container(keyedBy: Keys.self)
            var inner = outer.nestedContainer(keyedBy: Keys.self, forKey: .b)
            var list = outer.nestedUnkeyedContainer(forKey: .list)
            try outer.encode(1, forKey: .a)
            try inner.encode(2, forKey: .a)
            try list.encode(3)
            var again = encoder.container(keyedBy: Keys.self)
            var innerAgain = again.nestedContainer(keyedBy: Keys.self, forKey: .b)
            try innerAgain.encode(4, forKey: .list)
            var member = list.nestedContainer(keyedBy: Keys.self)
            try member.encodeNil(forKey: .a)
            try again.encode(5, forKey: .a)
        }
    }

    @Test func containersGrowUntilTheEnd() throws {
        #expect(try encoded(Interleaved()) == #"{"a":5,"b":{"a":2,"list":4},"list":[3,{"a":null}]}"#)
    }
}
