/// Writes the elements of an array.
struct UnkeyedEncoding: UnkeyedEncodingContainer {
    private let array: EncodedArray
    private let place: CodingPlace?

    init(_ array: EncodedArray, at place: CodingPlace?) {
        self.array = array
        self.place = place
    }

    var codingPath: [any CodingKey] { CodingPlace.path(to: place) }
    var count: Int { array.count }

    func encodeNil() { array.append(.null) }
    func encode<Value: Encodable>(_ value: Value) throws { try append(value) }
    // Without these, the standard library's defaults would refuse 128-bit integers.
    func encode(_ value: Int128) throws { try append(value) }
    func encode(_ value: UInt128) throws { try append(value) }

    private func append(_ value: some Encodable) throws {
        array.append(try JSONEncoding.json(of: value, PlainCodingKey(index: count), in: place))
    }

    func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type
    ) -> KeyedEncodingContainer<NestedKey> {
        let nested = EncodedObject()
        let inside = CodingPlace(PlainCodingKey(index: count), in: place)
        array.append(.object(nested))
        return .init(KeyedEncoding<NestedKey>(nested, at: inside))
    }

    func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer {
        let nested = EncodedArray()
        let inside = CodingPlace(PlainCodingKey(index: count), in: place)
        array.append(.array(nested))
        return UnkeyedEncoding(nested, at: inside)
    }

    func superEncoder() -> any Encoder {
        let encoding = JSONEncoding(at: CodingPlace(PlainCodingKey(index: count), in: place))
        array.append(.encoding(encoding))
        return encoding
    }
}
