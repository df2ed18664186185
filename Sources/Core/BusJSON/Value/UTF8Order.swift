#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Comparing strings by their UTF-8 bytes.
///
/// Swift's own `==` and `<` follow Unicode equivalence: two strings with different bytes can be equal. On the
/// bus strings are their bytes, everywhere.
public enum UTF8Order {
    /// True when both strings have the same UTF-8 bytes.
    @inlinable @inline(__always)
    public static func equal(_ left: String, _ right: String) -> Bool {
        if areSame(left, right) { return true }
        if SmallText.isKnown, SmallText.words(left).1 & SmallText.words(right).1 & SmallText.smallBit != 0 {
            return false
        }
        return equalInMemory(left, right)
    }

    /// True when both strings are the same two words in memory, which means the same bytes: short strings, and
    /// shared storage.
    @inlinable @inline(__always)
    public static func areSame(_ left: String, _ right: String) -> Bool {
        let (a, b) = (SmallText.words(left), SmallText.words(right))
        return a.0 == b.0 && a.1 == b.1
    }

    /// True when the string's UTF-8 bytes are these.
    @inlinable
    public static func equal(_ text: String, _ bytes: UnsafeRawBufferPointer) -> Bool {
        if let small = SmallText(text), bytes.count <= SmallText.longest {
            let other = SmallText(ascii: bytes)
            return small.count == bytes.count && small.low == other.low && small.rest == other.rest
        }
        return equalInMemory(text, bytes)
    }

    @usableFromInline
    static func equalInMemory(_ text: String, _ bytes: UnsafeRawBufferPointer) -> Bool {
        text.withBytes { own in
            own.count == bytes.count
                && (own.isEmpty || memcmp(own.baseAddress!, bytes.baseAddress!, own.count) == 0)
        }
    }

    /// True when the bytes of `left` sort before those of `right`.
    @inlinable
    public static func precedes(_ left: String, _ right: String) -> Bool {
        compare(left, right) < 0
    }

    /// Negative, zero or positive, as the bytes of `left` sort before, with or after those of `right`.
    @inlinable @inline(__always)
    public static func compare(_ left: String, _ right: String) -> Int {
        if let a = SmallText(left), let b = SmallText(right) { return a.order(b) }
        return compareInMemory(left, right)
    }

    @usableFromInline
    static func equalInMemory(_ left: String, _ right: String) -> Bool {
        left.utf8.count == right.utf8.count && compareInMemory(left, right) == 0
    }

    @usableFromInline
    static func compareInMemory(_ left: String, _ right: String) -> Int {
        left.withBytes { a in
            right.withBytes { b in
                if let first = a.baseAddress, let second = b.baseAddress {
                    let order = memcmp(first, second, min(a.count, b.count))
                    if order != 0 { return Int(order) }
                }
                return a.count - b.count
            }
        }
    }
}
