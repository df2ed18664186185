/// Reads the members of an object.
struct KeyedDecoding<Key: CodingKey>: KeyedDecodingContainerProtocol {
    private let object: JSONObject
    private let place: CodingPlace?
    /// Nil unless the members of this very object are noted.
    private let notes: DecodingTrace?
    private let trace: DecodingTrace?

    init(_ object: JSONObject, at place: CodingPlace?, _ trace: DecodingTrace?) {
        self.object = object
        self.place = place
        self.trace = trace
        notes = trace.flatMap { $0.notes(membersOf: place) ? $0 : nil }
    }

    var codingPath: [any CodingKey] { CodingPlace.path(to: place) }
    var allKeys: [Key] { object.members.compactMap { Key(stringValue: $0.key) } }

    func contains(_ key: Key) -> Bool {
        notes?.noteMayBeAbsent(key.stringValue)
        return object.index(of: key.stringValue) != nil
    }

    func decodeNil(forKey key: Key) throws -> Bool {
        notes?.noteMayBeAbsent(key.stringValue)
        return try value(key).isNull
    }

    // MARK: What must be there

    func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool { try scalar(key, .boolean, flag) }
    func decode(_ type: String.Type, forKey key: Key) throws -> String { try scalar(key, .string, text) }
    func decode(_ type: Double.Type, forKey key: Key) throws -> Double { try scalar(key, .number, double) }
    func decode(_ type: Float.Type, forKey key: Key) throws -> Float { try scalar(key, .number, float) }
    func decode(_ type: Int.Type, forKey key: Key) throws -> Int { try integer(key) }
    func decode(_ type: Int8.Type, forKey key: Key) throws -> Int8 { try integer(key) }
    func decode(_ type: Int16.Type, forKey key: Key) throws -> Int16 { try integer(key) }
    func decode(_ type: Int32.Type, forKey key: Key) throws -> Int32 { try integer(key) }
    func decode(_ type: Int64.Type, forKey key: Key) throws -> Int64 { try integer(key) }
    func decode(_ type: Int128.Type, forKey key: Key) throws -> Int128 { try integer(key) }
    func decode(_ type: UInt.Type, forKey key: Key) throws -> UInt { try integer(key) }
    func decode(_ type: UInt8.Type, forKey key: Key) throws -> UInt8 { try integer(key) }
    func decode(_ type: UInt16.Type, forKey key: Key) throws -> UInt16 { try integer(key) }
    func decode(_ type: UInt32.Type, forKey key: Key) throws -> UInt32 { try integer(key) }
    func decode(_ type: UInt64.Type, forKey key: Key) throws -> UInt64 { try integer(key) }
    func decode(_ type: UInt128.Type, forKey key: Key) throws -> UInt128 { try integer(key) }

    func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
        notes?.note(nil, member: key.stringValue)
        return try decode(type, value(key), key)
    }

    // MARK: What may be absent

    func decodeIfPresent(_ type: Bool.Type, forKey key: Key) throws -> Bool? {
        try optional(key, .boolean, flag)
    }
    func decodeIfPresent(_ type: String.Type, forKey key: Key) throws -> String? {
        try optional(key, .string, text)
    }
    func decodeIfPresent(_ type: Double.Type, forKey key: Key) throws -> Double? {
        try optional(key, .number, double)
    }
    func decodeIfPresent(_ type: Float.Type, forKey key: Key) throws -> Float? {
        try optional(key, .number, float)
    }
    func decodeIfPresent(_ type: Int.Type, forKey key: Key) throws -> Int? { try optional(key) }
    func decodeIfPresent(_ type: Int8.Type, forKey key: Key) throws -> Int8? { try optional(key) }
    func decodeIfPresent(_ type: Int16.Type, forKey key: Key) throws -> Int16? { try optional(key) }
    func decodeIfPresent(_ type: Int32.Type, forKey key: Key) throws -> Int32? { try optional(key) }
    func decodeIfPresent(_ type: Int64.Type, forKey key: Key) throws -> Int64? { try optional(key) }
    func decodeIfPresent(_ type: Int128.Type, forKey key: Key) throws -> Int128? { try optional(key) }
    func decodeIfPresent(_ type: UInt.Type, forKey key: Key) throws -> UInt? { try optional(key) }
    func decodeIfPresent(_ type: UInt8.Type, forKey key: Key) throws -> UInt8? { try optional(key) }
    func decodeIfPresent(_ type: UInt16.Type, forKey key: Key) throws -> UInt16? { try optional(key) }
    func decodeIfPresent(_ type: UInt32.Type, forKey key: Key) throws -> UInt32? { try optional(key) }
    func decodeIfPresent(_ type: UInt64.Type, forKey key: Key) throws -> UInt64? { try optional(key) }
    func decodeIfPresent(_ type: UInt128.Type, forKey key: Key) throws -> UInt128? { try optional(key) }

    func decodeIfPresent<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value? {
        notes?.noteMayBeAbsent(key.stringValue)
        guard let value = present(key) else {
            // Decoding from nothing shows which members the type expects.
            if notes != nil { _ = try? decode(type, .null, key) }
            return nil
        }
        return try decode(type, value, key)
    }

    // MARK: Containers

    func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type, forKey key: Key
    ) throws -> KeyedDecodingContainer<NestedKey> {
        try decoding(value(key), key).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        try decoding(value(key), key).unkeyedContainer()
    }

    func superDecoder() -> any Decoder {
        let key = PlainCodingKey.superclass
        return JSONDecoding(object[key.stringValue] ?? .null, at: CodingPlace(key, in: place), trace)
    }

    func superDecoder(forKey key: Key) -> any Decoder { decoding(object[key.stringValue] ?? .null, key) }

    // MARK: Inside

    private func decoding(_ value: JSON, _ key: Key) -> JSONDecoding {
        JSONDecoding(value, at: CodingPlace(key, in: place), trace)
    }

    private func decode<Value: Decodable>(_ type: Value.Type, _ value: JSON, _ key: Key) throws -> Value {
        if type == JSON.self, trace == nil, let json = value as? Value { return json }
        return try decoding(value, key).decode(type)
    }

    private func value(_ key: Key) throws -> JSON {
        if let index = object.index(of: key.stringValue) { return object.members[index].value }
        throw DecodingError.keyNotFound(key, .init(codingPath: codingPath, debugDescription: "it is missing"))
    }

    /// The value of a member that is there and not null.
    private func present(_ key: Key) -> JSON? {
        guard let index = object.index(of: key.stringValue) else { return nil }
        let value = object.members[index].value
        return value.isNull ? nil : value
    }

    private typealias Reading<Value> = (JSON, Key) throws -> Value

    private func scalar<Value>(
        _ key: Key, _ kind: DecodingTrace.Kind, _ read: Reading<Value>
    ) throws -> Value {
        notes?.note(kind, member: key.stringValue)
        return try read(value(key), key)
    }

    private func optional<Value>(
        _ key: Key, _ kind: DecodingTrace.Kind, _ read: Reading<Value>
    ) throws -> Value? {
        notes?.note(kind, member: key.stringValue)
        notes?.noteMayBeAbsent(key.stringValue)
        return try present(key).map { try read($0, key) }
    }

    private func integer<Number: FixedWidthInteger>(_ key: Key) throws -> Number {
        try scalar(key, .integer, number)
    }

    private func optional<Number: FixedWidthInteger>(_ key: Key) throws -> Number? {
        try optional(key, .integer, number)
    }

    private func flag(_ value: JSON, _ key: Key) throws -> Bool {
        guard case .bool(let flag) = value else { throw mismatch(value, Bool.self, "a boolean", key) }
        return flag
    }

    private func text(_ value: JSON, _ key: Key) throws -> String {
        guard case .string(let text) = value else { throw mismatch(value, String.self, "a string", key) }
        return text
    }

    private func double(_ value: JSON, _ key: Key) throws -> Double {
        guard let number = value.double else { throw mismatch(value, Double.self, "a number", key) }
        return number
    }

    private func float(_ value: JSON, _ key: Key) throws -> Float {
        guard let number = JSONScalars.float(value) else {
            throw mismatch(value, Float.self, "a 32-bit number", key)
        }
        return number
    }

    private func number<Number: FixedWidthInteger>(_ value: JSON, _ key: Key) throws -> Number {
        guard let number = JSONScalars.integer(value, as: Number.self) else {
            throw JSONScalars.noInteger(value, Number.self, at: codingPath + [key])
        }
        return number
    }

    private func mismatch(_ value: JSON, _ type: Any.Type, _ wanted: String, _ key: Key) -> any Error {
        JSONScalars.mismatch(value, type, wanted, at: codingPath + [key])
    }
}
