/// Writes the members of an object.
struct KeyedEncoding<Key: CodingKey>: KeyedEncodingContainerProtocol {
    private let object: EncodedObject
    private let place: CodingPlace?

    init(_ object: EncodedObject, at place: CodingPlace?) {
        self.object = object
        self.place = place
    }

    var codingPath: [any CodingKey] { CodingPlace.path(to: place) }

    func encodeNil(forKey key: Key) { set(key, .null) }
    func encode(_ value: Bool, forKey key: Key) { set(key, .bool(value)) }
    func encode(_ value: String, forKey key: Key) { set(key, .string(value)) }
    func encode(_ value: Double, forKey key: Key) throws { try set(key, JSONEncoding.json(value), value) }
    func encode(_ value: Float, forKey key: Key) throws {
        try set(key, JSONEncoding.json(Double(value)), value)
    }
    func encode(_ value: Int, forKey key: Key) { set(key, .int(value)) }
    func encode(_ value: Int8, forKey key: Key) { set(key, .int(Int(value))) }
    func encode(_ value: Int16, forKey key: Key) { set(key, .int(Int(value))) }
    func encode(_ value: Int32, forKey key: Key) { set(key, .int(Int(value))) }
    func encode(_ value: Int64, forKey key: Key) throws { try set(key, JSONEncoding.json(value), value) }
    func encode(_ value: Int128, forKey key: Key) throws { try set(key, JSONEncoding.json(value), value) }
    func encode(_ value: UInt, forKey key: Key) throws { try set(key, JSONEncoding.json(value), value) }
    func encode(_ value: UInt8, forKey key: Key) { set(key, .int(Int(value))) }
    func encode(_ value: UInt16, forKey key: Key) { set(key, .int(Int(value))) }
    func encode(_ value: UInt32, forKey key: Key) throws { try set(key, JSONEncoding.json(value), value) }
    func encode(_ value: UInt64, forKey key: Key) throws { try set(key, JSONEncoding.json(value), value) }
    func encode(_ value: UInt128, forKey key: Key) throws { try set(key, JSONEncoding.json(value), value) }
    func encode<Value: Encodable>(_ value: Value, forKey key: Key) throws {
        set(key, try JSONEncoding.json(of: value, key, in: place))
    }

    func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type, forKey key: Key
    ) -> KeyedEncodingContainer<NestedKey> {
        let inside = CodingPlace(key, in: place)
        if case .object(let nested)? = object.part(of: key.stringValue) {
            return .init(KeyedEncoding<NestedKey>(nested, at: inside))
        }
        let nested = EncodedObject()
        object.set(key.stringValue, to: .object(nested))
        return .init(KeyedEncoding<NestedKey>(nested, at: inside))
    }

    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
        let inside = CodingPlace(key, in: place)
        if case .array(let nested)? = object.part(of: key.stringValue) {
            return UnkeyedEncoding(nested, at: inside)
        }
        let nested = EncodedArray()
        object.set(key.stringValue, to: .array(nested))
        return UnkeyedEncoding(nested, at: inside)
    }

    func superEncoder() -> any Encoder { superEncoder(at: PlainCodingKey.superclass) }
    func superEncoder(forKey key: Key) -> any Encoder { superEncoder(at: key) }

    private func superEncoder(at key: some CodingKey) -> any Encoder {
        let encoding = JSONEncoding(at: CodingPlace(key, in: place))
        object.set(key.stringValue, to: .encoding(encoding))
        return encoding
    }

    private func set(_ key: Key, _ value: JSON) { object.set(key.stringValue, to: value) }

    private func set(_ key: Key, _ value: JSON?, _ number: Any) throws {
        guard let value else { throw JSONEncoding.refusal(of: number, at: codingPath + [key]) }
        set(key, value)
    }
}
