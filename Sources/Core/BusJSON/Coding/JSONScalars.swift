/// Taking numbers out of JSON values, and the errors when something else stands there.
enum JSONScalars {
    /// An exact integer that fits the type; nil for everything else, also for `1.0`.
    static func integer<Number: FixedWidthInteger>(_ value: JSON, as type: Number.Type) -> Number? {
        if case .int(let number) = value { Number(exactly: number) } else { nil }
    }

    /// A number of either kind that a 32-bit float can hold, if only nearly.
    static func float(_ value: JSON) -> Float? {
        guard let number = value.double, Float(number).isFinite else { return nil }
        return Float(number)
    }

    static func noInteger(
        _ value: JSON, _ type: (some FixedWidthInteger).Type, at path: [any CodingKey]
    ) -> any Error {
        guard case .int(let number) = value else { return mismatch(value, type, "an integer", at: path) }
        let reason = "\(number) is outside \(type.min)...\(type.max)"
        return DecodingError.dataCorrupted(.init(codingPath: path, debugDescription: reason))
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
}
