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
    func encode(_ value: Bool) { array.append(.bool(value)) }
    func encode(_ value: String) { array.append(.string(value)) }
    func encode(_ value: Double) throws { try append(JSONEncoding.json(value), value) }
    func encode(_ value: Float) throws { try append(JSONEncoding.json(Double(value)), value) }
    func encode(_ value: Int) { array.append(.int(value)) }
    func encode(_ value: Int8) { array.append(.int(Int(value))) }
    func encode(_ value: Int16) { array.append(.int(Int(value))) }
    func encode(_ value: Int32) { array.append(.int(Int(value))) }
    func encode(_ value: Int64) throws { try append(JSONEncoding.json(value), value) }
    func encode(_ value: Int128) throws { try append(JSONEncoding.json(value), value) }
    func encode(_ value: UInt) throws { try append(JSONEncoding.json(value), value) }
    func encode(_ value: UInt8) { array.append(.int(Int(value))) }
    func encode(_ value: UInt16) { array.append(.int(Int(value))) }
    func encode(_ value: UInt32) throws { try append(JSONEncoding.json(value), value) }
    func encode(_ value: UInt64) throws { try append(JSONEncoding.json(value), value) }
    func encode(_ value: UInt128) throws { try append(JSONEncoding.json(value), value) }
    func encode<Value: Encodable>(_ value: Value) throws {
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

    private func append(_ value: JSON?, _ number: Any) throws {
        guard let value else {
            throw JSONEncoding.refusal(of: number, at: codingPath + [PlainCodingKey(index: count)])
        }
        array.append(value)
    }
}
