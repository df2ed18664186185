/// Reads the elements of an array, one after the other. What fails to decode is not passed over.
struct UnkeyedDecoding: UnkeyedDecodingContainer {
    private let elements: [JSON]
    private let place: CodingPlace?
    private let trace: DecodingTrace?
    private(set) var currentIndex = 0

    init(_ elements: [JSON], at place: CodingPlace?, _ trace: DecodingTrace?) {
        self.elements = elements
        self.place = place
        self.trace = trace
    }

    var codingPath: [any CodingKey] { CodingPlace.path(to: place) }
    var count: Int? { elements.count }
    var isAtEnd: Bool { currentIndex >= elements.count }

    mutating func decodeNil() throws -> Bool {
        guard try element().isNull else { return false }
        currentIndex += 1
        return true
    }

    mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { try next(type) }
    // Without these, the standard library's defaults would refuse 128-bit integers.
    mutating func decode(_ type: Int128.Type) throws -> Int128 { try next(type) }
    mutating func decode(_ type: UInt128.Type) throws -> UInt128 { try next(type) }

    private mutating func next<Value: Decodable>(_ type: Value.Type) throws -> Value {
        let path = { codingPath + [PlainCodingKey(index: currentIndex)] }
        let value = try JSONScalars.read(element(), as: type, at: path) ?? decoding().decode(type)
        currentIndex += 1
        return value
    }

    mutating func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type
    ) throws -> KeyedDecodingContainer<NestedKey> {
        let nested = try decoding().container(keyedBy: type)
        currentIndex += 1
        return nested
    }

    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
        let nested = try decoding().unkeyedContainer()
        currentIndex += 1
        return nested
    }

    mutating func superDecoder() throws -> any Decoder {
        let nested = try decoding()
        currentIndex += 1
        return nested
    }

    private func element() throws -> JSON {
        guard currentIndex < elements.count else {
            throw DecodingError.valueNotFound(
                Any.self,
                .init(
                    codingPath: codingPath + [PlainCodingKey(index: currentIndex)],
                    debugDescription: "the array has only \(elements.count) elements"))
        }
        return elements[currentIndex]
    }

    private func decoding() throws -> JSONDecoding {
        JSONDecoding(
            try element(), at: CodingPlace(PlainCodingKey(index: currentIndex), in: place), trace)
    }
}
