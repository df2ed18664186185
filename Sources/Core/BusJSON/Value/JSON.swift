/// One JSON value, as FluxBus keeps it in states, payloads and definitions.
///
/// Integers and doubles are different values: `1` and `1.0` stay what they were. Strings are their UTF-8
/// bytes, with no Unicode equivalence. Objects hold their members sorted by the keys' UTF-8 bytes, so equal
/// values have one representation and one canonical encoding.
@frozen
public enum JSON: Sendable {
    case null
    case bool(Bool)
    /// An exact 64-bit integer: a literal without fraction or exponent.
    case int(Int)
    /// A finite double: a literal with fraction or exponent, or the result of arithmetic.
    case double(Double)
    case string(String)
    case array([JSON])
    case object(JSONObject)
}

extension JSON: Equatable {
    /// True when both have the same canonical encoding: `1` differs from `1.0`, and `0.0` from `-0.0`.
    public static func == (left: JSON, right: JSON) -> Bool {
        switch (left, right) {
        case (.null, .null): true
        case (.bool(let a), .bool(let b)): a == b
        case (.int(let a), .int(let b)): a == b
        case (.double(let a), .double(let b)): a.bitPattern == b.bitPattern
        case (.string(let a), .string(let b)): UTF8Order.equal(a, b)
        case (.array(let a), .array(let b)): equal(a, b)
        case (.object(let a), .object(let b)): a == b
        default: false
        }
    }

    private static func equal(_ left: [JSON], _ right: [JSON]) -> Bool {
        left.withUnsafeBufferPointer { left in
            right.withUnsafeBufferPointer { right in
                guard left.count == right.count else { return false }
                if left.baseAddress == right.baseAddress { return true }
                for index in left.indices where left[index] != right[index] { return false }
                return true
            }
        }
    }
}

// Null is written `.null`. A value is deliberately not made from `nil`: where a `JSON?` is expected, Swift would
// take `flag ? value : nil` for a present null.
extension JSON: ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral,
    ExpressibleByStringLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    public init(integerLiteral value: Int) { self = .int(value) }
    public init(floatLiteral value: Double) { self = .double(value) }
    public init(stringLiteral value: String) { self = .string(value) }
    public init(arrayLiteral elements: JSON...) { self = .array(elements) }
    /// Of several members with one key, the last counts.
    public init(dictionaryLiteral elements: (String, JSON)...) {
        var object = JSONObject()
        for (key, value) in elements { object[key] = value }
        self = .object(object)
    }
}

extension JSON {
    /// The member `key` of an object; nil for an absent member and for anything that is no object.
    public subscript(key: String) -> JSON? {
        if case .object(let object) = self { object[key] } else { nil }
    }

    /// The element at `index` of an array; nil outside it and for anything that is no array.
    public subscript(index: Int) -> JSON? {
        if case .array(let elements) = self, elements.indices.contains(index) { elements[index] } else { nil }
    }

    public var isNull: Bool { if case .null = self { true } else { false } }
    public var bool: Bool? { if case .bool(let value) = self { value } else { nil } }
    public var int: Int? { if case .int(let value) = self { value } else { nil } }
    public var string: String? { if case .string(let value) = self { value } else { nil } }
    public var array: [JSON]? { if case .array(let value) = self { value } else { nil } }
    public var object: JSONObject? { if case .object(let value) = self { value } else { nil } }

    /// The value of either kind of number, as a double.
    public var double: Double? {
        switch self {
        case .int(let value): Double(value)
        case .double(let value): value
        default: nil
        }
    }

    /// What kind of value this is, in the words of a payload schema.
    public var kind: String {
        switch self {
        case .null: "null"
        case .bool: "boolean"
        case .int: "integer"
        case .double: "number"
        case .string: "string"
        case .array: "array"
        case .object: "object"
        }
    }
}
