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

    func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
        try required(type, key)
    }

    // Without these, the standard library's defaults would refuse 128-bit integers.
    func decode(_ type: Int128.Type, forKey key: Key) throws -> Int128 { try required(type, key) }
    func decode(_ type: UInt128.Type, forKey key: Key) throws -> UInt128 { try required(type, key) }

    // MARK: What may be absent

    func decodeIfPresent<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value? {
        try optional(type, key)
    }

    // To these, too, which would not say what an absent member has to be.
    func decodeIfPresent(_ type: Bool.Type, forKey key: Key) throws -> Bool? { try optional(type, key) }
    func decodeIfPresent(_ type: String.Type, forKey key: Key) throws -> String? { try optional(type, key) }
    func decodeIfPresent(_ type: Double.Type, forKey key: Key) throws -> Double? { try optional(type, key) }
    func decodeIfPresent(_ type: Float.Type, forKey key: Key) throws -> Float? { try optional(type, key) }
    func decodeIfPresent(_ type: Int.Type, forKey key: Key) throws -> Int? { try optional(type, key) }
    func decodeIfPresent(_ type: Int8.Type, forKey key: Key) throws -> Int8? { try optional(type, key) }
    func decodeIfPresent(_ type: Int16.Type, forKey key: Key) throws -> Int16? { try optional(type, key) }
    func decodeIfPresent(_ type: Int32.Type, forKey key: Key) throws -> Int32? { try optional(type, key) }
    func decodeIfPresent(_ type: Int64.Type, forKey key: Key) throws -> Int64? { try optional(type, key) }
    func decodeIfPresent(_ type: Int128.Type, forKey key: Key) throws -> Int128? { try optional(type, key) }
    func decodeIfPresent(_ type: UInt.Type, forKey key: Key) throws -> UInt? { try optional(type, key) }
    func decodeIfPresent(_ type: UInt8.Type, forKey key: Key) throws -> UInt8? { try optional(type, key) }
    func decodeIfPresent(_ type: UInt16.Type, forKey key: Key) throws -> UInt16? { try optional(type, key) }
    func decodeIfPresent(_ type: UInt32.Type, forKey key: Key) throws -> UInt32? { try optional(type, key) }
    func decodeIfPresent(_ type: UInt64.Type, forKey key: Key) throws -> UInt64? { try optional(type, key) }
    func decodeIfPresent(_ type: UInt128.Type, forKey key: Key) throws -> UInt128? { try optional(type, key) }

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

    private func required<Value: Decodable>(_ type: Value.Type, _ key: Key) throws -> Value {
        notes?.note(JSONScalars.kind(of: type), member: key.stringValue)
        return try decode(type, value(key), key)
    }

    private func optional<Value: Decodable>(_ type: Value.Type, _ key: Key) throws -> Value? {
        let kind = notes == nil ? nil : JSONScalars.kind(of: type)
        notes?.note(kind, member: key.stringValue)
        notes?.noteMayBeAbsent(key.stringValue)
        guard let index = object.index(of: key.stringValue), !object.members[index].value.isNull else {
            // Decoding from nothing shows which members the type expects.
            if notes != nil, kind == nil { _ = try? decode(type, .null, key) }
            return nil
        }
        return try decode(type, object.members[index].value, key)
    }

    private func decode<Value: Decodable>(_ type: Value.Type, _ value: JSON, _ key: Key) throws -> Value {
        if type == JSON.self, trace == nil, let json = value as? Value { return json }
        if let scalar = try JSONScalars.read(value, as: type, at: { codingPath + [key] }) { return scalar }
        return try decoding(value, key).decode(type)
    }

    private func value(_ key: Key) throws -> JSON {
        if let index = object.index(of: key.stringValue) { return object.members[index].value }
        throw DecodingError.keyNotFound(key, .init(codingPath: codingPath, debugDescription: "it is missing"))
    }
}
