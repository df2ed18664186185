/// A decoder over one JSON value.
final class JSONDecoding: Decoder {
    let value: JSON
    let place: CodingPlace?
    let trace: DecodingTrace?
    /// Whether it is a `Date` that reads the value.
    private var isDate = false

    init(_ value: JSON, at place: CodingPlace?, _ trace: DecodingTrace?) {
        self.value = value
        self.place = place
        self.trace = trace
    }

    var codingPath: [any CodingKey] { CodingPlace.path(to: place) }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        note(.object)
        if place == nil { trace?.note(keys: type) }
        return .init(KeyedDecoding(try object(), at: place, trace))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        note(.array)
        guard case .array(let elements) = value else { throw mismatch([Any].self, "an array") }
        return UnkeyedDecoding(elements, at: place, trace)
    }

    func singleValueContainer() -> any SingleValueDecodingContainer { self }

    func note(_ kind: DecodingTrace.Kind) { trace?.note(kind, at: place) }

    func object() throws -> JSONObject {
        guard case .object(let object) = value else { throw mismatch([String: Any].self, "an object") }
        return object
    }

    private func mismatch(_ type: Any.Type, _ wanted: String) -> any Error {
        JSONScalars.mismatch(value, type, wanted, at: codingPath)
    }

    private func integer<Number: FixedWidthInteger>(_ type: Number.Type) throws -> Number {
        note(.integer)
        guard let number = JSONScalars.integer(value, as: type) else {
            throw JSONScalars.noInteger(value, type, at: codingPath)
        }
        return number
    }
}

extension JSONDecoding: SingleValueDecodingContainer {
    func decodeNil() -> Bool {
        if let trace, let place, trace.notes(membersOf: place.parent) {
            trace.noteMayBeAbsent(place.key.stringValue)
        }
        return value.isNull
    }

    func decode(_ type: Bool.Type) throws -> Bool {
        note(.boolean)
        guard case .bool(let flag) = value else { throw mismatch(type, "a boolean") }
        return flag
    }

    func decode(_ type: String.Type) throws -> String {
        note(.string)
        guard case .string(let text) = value else { throw mismatch(type, "a string") }
        return text
    }

    func decode(_ type: Double.Type) throws -> Double {
        note(.number)
        guard let number = value.double else { throw mismatch(type, "a number") }
        return isDate ? number - WireDate.offset : number
    }

    func decode(_ type: Float.Type) throws -> Float {
        note(.number)
        guard let number = JSONScalars.float(value) else { throw mismatch(type, "a 32-bit number") }
        return number
    }

    func decode(_ type: Int.Type) throws -> Int { try integer(type) }
    func decode(_ type: Int8.Type) throws -> Int8 { try integer(type) }
    func decode(_ type: Int16.Type) throws -> Int16 { try integer(type) }
    func decode(_ type: Int32.Type) throws -> Int32 { try integer(type) }
    func decode(_ type: Int64.Type) throws -> Int64 { try integer(type) }
    func decode(_ type: Int128.Type) throws -> Int128 { try integer(type) }
    func decode(_ type: UInt.Type) throws -> UInt { try integer(type) }
    func decode(_ type: UInt8.Type) throws -> UInt8 { try integer(type) }
    func decode(_ type: UInt16.Type) throws -> UInt16 { try integer(type) }
    func decode(_ type: UInt32.Type) throws -> UInt32 { try integer(type) }
    func decode(_ type: UInt64.Type) throws -> UInt64 { try integer(type) }
    func decode(_ type: UInt128.Type) throws -> UInt128 { try integer(type) }

    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        isDate = WireDate.matches(type)
        return try type.init(from: self)
    }
}
