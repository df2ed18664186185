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
        return try json(of: value, at: CodingPlace(key, in: place))
    }

    /// An integer as JSON; nil when it needs more than 64 bits.
    static func json(_ number: some BinaryInteger) -> JSON? { Int(exactly: number).map { .int($0) } }

    /// A double as JSON; nil when it is not finite.
    static func json(_ number: Double) -> JSON? { number.isFinite ? .double(number) : nil }

    /// Why a number can't stand in JSON.
    static func refusal(of number: Any, at path: [any CodingKey]) -> EncodingError {
        let reason =
            number is any BinaryInteger
            ? "\(number) is outside the 64-bit integers" : "\(number) is not a finite number"
        return .invalidValue(number, .init(codingPath: path, debugDescription: reason))
    }
}

extension JSONEncoding: SingleValueEncodingContainer {
    func encodeNil() { take(.null) }
    func encode(_ value: Bool) { take(.bool(value)) }
    func encode(_ value: String) { take(.string(value)) }
    func encode(_ value: Double) throws { try take(Self.json(value), value) }
    func encode(_ value: Float) throws { try take(Self.json(Double(value)), value) }
    func encode(_ value: Int) { take(.int(value)) }
    func encode(_ value: Int8) { take(.int(Int(value))) }
    func encode(_ value: Int16) { take(.int(Int(value))) }
    func encode(_ value: Int32) { take(.int(Int(value))) }
    func encode(_ value: Int64) throws { try take(Self.json(value), value) }
    func encode(_ value: Int128) throws { try take(Self.json(value), value) }
    func encode(_ value: UInt) throws { try take(Self.json(value), value) }
    func encode(_ value: UInt8) { take(.int(Int(value))) }
    func encode(_ value: UInt16) { take(.int(Int(value))) }
    func encode(_ value: UInt32) throws { try take(Self.json(value), value) }
    func encode(_ value: UInt64) throws { try take(Self.json(value), value) }
    func encode(_ value: UInt128) throws { try take(Self.json(value), value) }
    func encode<Value: Encodable>(_ value: Value) throws { take(try Self.json(of: value, at: place)) }

    private func take(_ value: JSON?, _ number: Any) throws {
        guard let value else { throw Self.refusal(of: number, at: codingPath) }
        take(value)
    }
}
