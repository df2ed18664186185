/// An encoder whose result is a JSON value. One is made for every nested value; it keeps what the value wrote last.
final class JSONEncoding: Encoder {
    let place: CodingPlace?
    /// Nil until the value writes something; one that writes nothing is an empty object.
    private var part: EncodedPart?

    init(at place: CodingPlace?) { self.place = place }

    var codingPath: [any CodingKey] { CodingPlace.path(to: place) }
    var userInfo: [CodingUserInfoKey: Any] { [:] }
    var json: JSON { part?.json ?? .object(JSONObject()) }

    /// Takes a finished value.
    func take(_ value: JSON) { part = .value(value) }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        if case .object(let object)? = part { return .init(KeyedEncoding(object, at: place)) }
        let object = EncodedObject()
        part = .object(object)
        return .init(KeyedEncoding(object, at: place))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        if case .array(let array)? = part { return UnkeyedEncoding(array, at: place) }
        let array = EncodedArray()
        part = .array(array)
        return UnkeyedEncoding(array, at: place)
    }

    func singleValueContainer() -> any SingleValueEncodingContainer { self }

    // MARK: Values

    /// Encodes a value that stands at `place`.
    static func json<Value: Encodable>(of value: Value, at place: CodingPlace?) throws -> JSON {
        if Value.self == JSON.self, let json = value as? JSON { return json }
        if let scalar = try JSONScalars.json(value, at: { CodingPlace.path(to: place) }) { return scalar }
        let encoding = JSONEncoding(at: place)
        try value.encode(to: encoding)
        if WireDate.matches(Value.self), let seconds = encoding.json.double {
            return .double(seconds + WireDate.offset)
        }
        return encoding.json
    }

    /// Encodes a value that stands below `place`.
    static func json<Value: Encodable>(
        of value: Value, _ key: some CodingKey, in place: CodingPlace?
    ) throws -> JSON {
        if Value.self == JSON.self, let json = value as? JSON { return json }
        let path = { CodingPlace.path(to: place) + [key] }
        return try JSONScalars.json(value, at: path) ?? json(of: value, at: CodingPlace(key, in: place))
    }
}

extension JSONEncoding: SingleValueEncodingContainer {
    func encodeNil() { take(.null) }
    func encode<Value: Encodable>(_ value: Value) throws { take(try Self.json(of: value, at: place)) }
    // Without these, the standard library's defaults would refuse 128-bit integers.
    func encode(_ value: Int128) throws { take(try Self.json(of: value, at: place)) }
    func encode(_ value: UInt128) throws { take(try Self.json(of: value, at: place)) }
}
