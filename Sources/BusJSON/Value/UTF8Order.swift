/// Comparing strings by their UTF-8 bytes.
///
/// Swift's own `==` and `<` follow Unicode equivalence: two strings with different bytes can be equal. On the
/// bus strings are their bytes, everywhere.
public enum UTF8Order {
    /// True when both strings have the same UTF-8 bytes.
    @inlinable
    public static func equal(_ left: String, _ right: String) -> Bool {
        // The same two words in memory mean the same bytes: small strings, and shared storage.
        let a = unsafeBitCast(left, to: (UInt64, UInt64).self)
        let b = unsafeBitCast(right, to: (UInt64, UInt64).self)
        if a.0 == b.0 && a.1 == b.1 { return true }
        return left.utf8.count == right.utf8.count && compare(left, right) == 0
    }

    /// True when the bytes of `left` sort before those of `right`.
    @inlinable
    public static func precedes(_ left: String, _ right: String) -> Bool {
        compare(left, right) < 0
    }

    /// Negative, zero or positive, as the bytes of `left` sort before, with or after those of `right`.
    @usableFromInline
    static func compare(_ left: String, _ right: String) -> Int {
        left.utf8Span.span.withUnsafeBytes { a in
            right.utf8Span.span.withUnsafeBytes { b in
                let common = min(a.count, b.count)
                if common > 0 {
                    let order = memcmp(a.baseAddress!, b.baseAddress!, common)
                    if order != 0 { return Int(order) }
                }
                return a.count - b.count
            }
        }
    }
}

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif
