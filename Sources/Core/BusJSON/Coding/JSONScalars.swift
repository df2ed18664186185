/// Booleans, texts and numbers of Swift as values, and the errors where something else stands there.
enum JSONScalars {
    /// What a scalar of this type is in JSON; nil for any other type.
    static func kind(of type: Any.Type) -> DecodingTrace.Kind? {
        switch type {
        case is Bool.Type: .boolean
        case is String.Type: .string
        case is Double.Type, is Float.Type: .number
        case is any FixedWidthInteger.Type: .integer
        default: nil
        }
    }

    /// The scalar that a value is; nil for a type that is none. Integers are exact: none is `1.0`.
    @inline(__always)
    static func read<Value>(
        _ value: JSON, as type: Value.Type, at path: () -> [any CodingKey]
    ) throws -> Value? {
        switch type {
        case is Bool.Type:
            guard case .bool(let flag) = value else { throw mismatch(value, type, "a boolean", at: path()) }
            return flag as? Value
        case is String.Type:
            guard case .string(let text) = value else { throw mismatch(value, type, "a string", at: path()) }
            return text as? Value
        case is Double.Type:
            guard let number = value.double else { throw mismatch(value, type, "a number", at: path()) }
            return number as? Value
        case is Float.Type:
            guard let number = value.double, Float(number).isFinite else {
                throw mismatch(value, type, "a 32-bit number", at: path())
            }
            return Float(number) as? Value
        case let type as any FixedWidthInteger.Type:
            return try integer(value, as: type, at: path) as? Value
        default: return nil
        }
    }

    @inline(__always)
    private static func integer<Number: FixedWidthInteger>(
        _ value: JSON, as type: Number.Type, at path: () -> [any CodingKey]
    ) throws -> Number {
        guard case .int(let number) = value else { throw mismatch(value, type, "an integer", at: path()) }
        if let number = Number(exactly: number) { return number }
        let reason = "\(number) is outside \(type.min)...\(type.max)"
        throw DecodingError.dataCorrupted(.init(codingPath: path(), debugDescription: reason))
    }

    static func mismatch(
        _ value: JSON, _ type: Any.Type, _ wanted: String, at path: [any CodingKey]
    ) -> any Error {
        let article = ["integer", "array", "object"].contains(value.kind) ? "an " : "a "
        let found = value.isNull ? "null" : article + value.kind
        let context = DecodingError.Context(
            codingPath: path, debugDescription: "\(wanted) is needed, not \(found)")
        return value.isNull
            ? DecodingError.valueNotFound(type, context) : DecodingError.typeMismatch(type, context)
    }

    /// A scalar as JSON; nil for a type that is none. Throws for a number that can't stand in JSON.
    @inline(__always)
    static func json<Value>(_ value: Value, at path: () -> [any CodingKey]) throws -> JSON? {
        let json: JSON?
        switch Value.self {
        case is Bool.Type: return (value as? Bool).map(JSON.bool)
        case is String.Type: return (value as? String).map(JSON.string)
        case is Double.Type: json = (value as? Double).flatMap { $0.isFinite ? .double($0) : nil }
        case is Float.Type: json = (value as? Float).flatMap { $0.isFinite ? .double(Double($0)) : nil }
        case is any FixedWidthInteger.Type:
            json = (value as? any FixedWidthInteger).flatMap { Int(exactly: $0) }.map(JSON.int)
        default: return nil
        }
        if let json { return json }
        let reason =
            value is any BinaryInteger
            ? "\(value) is outside the 64-bit integers" : "\(value) is not a finite number"
        throw EncodingError.invalidValue(value, .init(codingPath: path(), debugDescription: reason))
    }
}
