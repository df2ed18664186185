/// Swift values as JSON and back, by way of `Codable` and without a detour over text.
extension JSON {
    /// Encodes a value. Integers stay exact; an integer beyond 64 bits and a number that is not finite are refused.
    ///
    /// ```swift
    /// try JSON(encoding: Point(x: 1, y: 2))   // {"x":1,"y":2}
    /// ```
    ///
    /// - Throws: ``JSONCodingError`` naming the path, or whatever the value's own `encode(to:)` throws.
    public init(encoding value: some Encodable) throws {
        do {
            self = try JSONEncoding.json(of: value, at: nil)
        } catch {
            throw JSONCodingError(error) ?? error
        }
    }

    /// Decodes a value. An integer takes only an exact integer that fits it; a double takes either kind of number.
    ///
    /// ```swift
    /// let point = try json.decoded(as: Point.self)
    /// ```
    ///
    /// - Throws: ``JSONCodingError`` naming the path, or whatever the type's own `init(from:)` throws.
    public func decoded<Value: Decodable>(as type: Value.Type = Value.self) throws -> Value {
        try decoded(as: type, trace: nil)
    }

    /// Decodes a value and notes in `trace` what it read.
    package func decoded<Value: Decodable>(as type: Value.Type, trace: DecodingTrace?) throws -> Value {
        do {
            return try JSONDecoding(self, at: nil, trace).decode(type)
        } catch {
            throw JSONCodingError(error) ?? error
        }
    }
}
