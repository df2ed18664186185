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
        guard case .array(let elements) = value else {
            throw JSONScalars.mismatch(value, [Any].self, "an array", at: codingPath)
        }
        return UnkeyedDecoding(elements, at: place, trace)
    }

    func singleValueContainer() -> any SingleValueDecodingContainer { self }

    func note(_ kind: DecodingTrace.Kind) { trace?.note(kind, at: place) }

    func object() throws -> JSONObject {
        guard case .object(let object) = value else {
            throw JSONScalars.mismatch(value, [String: Any].self, "an object", at: codingPath)
        }
        return object
    }
}

extension JSONDecoding: SingleValueDecodingContainer {
    func decodeNil() -> Bool {
        if let trace, let place, trace.notes(membersOf: place.parent) {
            trace.noteMayBeAbsent(place.key.stringValue)
        }
        return value.isNull
    }

    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { try read(type) }
    // Without these, the standard library's defaults would refuse 128-bit integers.
    func decode(_ type: Int128.Type) throws -> Int128 { try read(type) }
    func decode(_ type: UInt128.Type) throws -> UInt128 { try read(type) }

    private func read<Value: Decodable>(_ type: Value.Type) throws -> Value {
        if trace != nil, let kind = JSONScalars.kind(of: type) { note(kind) }
        if let scalar = try JSONScalars.read(value, as: type, at: { codingPath }) {
            guard isDate, let seconds = scalar as? Double else { return scalar }
            return (seconds - WireDate.offset) as? Value ?? scalar
        }
        isDate = WireDate.matches(type)
        return try type.init(from: self)
    }
}
