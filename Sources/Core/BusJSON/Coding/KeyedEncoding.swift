/// Writes the members of an object.
struct KeyedEncoding<Key: CodingKey>: KeyedEncodingContainerProtocol {
    private let object: EncodedObject
    private let place: CodingPlace?

    init(_ object: EncodedObject, at place: CodingPlace?) {
        self.object = object
        self.place = place
    }

    var codingPath: [any CodingKey] { CodingPlace.path(to: place) }

    func encodeNil(forKey key: Key) { object.set(key.stringValue, to: .null) }
    func encode<Value: Encodable>(_ value: Value, forKey key: Key) throws { try set(key, value) }
    // Without these, the standard library's defaults would refuse 128-bit integers.
    func encode(_ value: Int128, forKey key: Key) throws { try set(key, value) }
    func encode(_ value: UInt128, forKey key: Key) throws { try set(key, value) }

    private func set(_ key: Key, _ value: some Encodable) throws {
        object.set(key.stringValue, to: try JSONEncoding.json(of: value, key, in: place))
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
}
