/// Finds at run time whether the values of a type can be compared, so that what is `Equatable` is recognised also where
/// the compiler no longer knows it.
///
/// Where the compiler does know it, nothing is looked up: it replaces the question by the answer.
@usableFromInline
package enum Equality {
    /// Whether values of a type can be compared.
    @inlinable
    static func isKnown<Value: Sendable>(of type: Value.Type) -> Bool { type is any Equatable.Type }

    /// How two values are compared, or nil if they can't be.
    package static func of<Value: Sendable>(_ type: Value.Type) -> (@Sendable (Value, Value) -> Bool)? {
        guard isKnown(of: type) else { return nil }
        return { areEqual($0, $1) }
    }

    /// Whether two values are known to be equal.
    ///
    /// The conformance is looked up each time, since one that belongs to an actor is valid nowhere else.
    @inlinable
    static func areEqual<Value>(_ one: Value, _ other: Value) -> Bool {
        guard let comparable = Value.self as? any Equatable.Type else { return false }
        return compare(one, other, as: comparable)
    }

    /// `Same` is `Value` itself, seen through its conformance. That makes the cast exact, also for an optional,
    /// which a dynamic cast would unwrap.
    @inlinable
    static func compare<Same: Equatable, Value>(
        _ one: Value, _ other: Value, as type: Same.Type
    ) -> Bool {
        unsafeBitCast(one, to: Same.self) == unsafeBitCast(other, to: Same.self)
    }
}
