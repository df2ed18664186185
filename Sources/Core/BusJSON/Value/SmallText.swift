/// Strings of at most 15 UTF-8 bytes as two machine words, which is what Swift keeps them as: the bytes from
/// the lowest up, and in the top byte of the second word how many they are and whether all are ASCII.
///
/// Nearly all keys and most names are that short, and reading, writing and comparing them word by word is
/// several times faster than through memory. The layout is no promise of the language, so `isKnown` compares
/// it with literals, which an optimised build decides while it is compiled; where it does not hold, everything
/// takes the ordinary way.
@frozen
public struct SmallText: Equatable, Sendable {
    @inlinable public static var longest: Int { 15 }

    /// The first eight bytes, zeros behind the end.
    public let low: UInt64
    /// The other seven bytes, and the top byte.
    public let high: UInt64

    /// Takes the words of a string; nil when it is kept elsewhere.
    @inlinable @inline(__always)
    public init?(_ text: String) {
        let words = Self.words(text)
        guard Self.isKnown, words.1 & Self.smallBit != 0 else { return nil }
        low = words.0
        high = words.1
    }

    /// The same of a string in memory, which is looked at where it stands; the pointer is not kept.
    @inlinable @inline(__always)
    init?(of text: UnsafePointer<String>) {
        #if _pointerBitWidth(_64)
            let words = UnsafeRawPointer(text).load(as: (UInt64, UInt64).self)
            guard Self.isKnown, words.1 & Self.smallBit != 0 else { return nil }
            low = words.0
            high = words.1
        #else
            return nil
        #endif
    }

    /// Takes `count` bytes of ASCII that stand in two words, with zeros behind them.
    @inlinable @inline(__always)
    init(ascii low: UInt64, _ rest: UInt64, count: Int) {
        self.low = low
        high = rest | (0xe0 | UInt64(truncatingIfNeeded: count)) << 56
    }

    /// Takes at most 15 bytes of ASCII, without a look at what stands behind them.
    @inlinable @inline(__always)
    public init(ascii bytes: UnsafeRawBufferPointer) {
        let count = bytes.count
        var low: UInt64 = 0
        var rest: UInt64 = 0
        // Of two loads the second overlaps the first; what both have is shifted out or the same.
        if count >= 8 {
            low = bytes.loadUnaligned(as: UInt64.self)
            let last = bytes.loadUnaligned(fromByteOffset: count &- 8, as: UInt64.self)
            rest = count == 8 ? 0 : last >> UInt64(truncatingIfNeeded: (16 &- count) &<< 3)
        } else if count >= 4 {
            let last = UInt64(bytes.loadUnaligned(fromByteOffset: count &- 4, as: UInt32.self))
            low =
                UInt64(bytes.loadUnaligned(as: UInt32.self)) | last
                &<< UInt64(truncatingIfNeeded: (count &- 4) &<< 3)
        } else if count > 0 {
            let middle = count &>> 1
            low =
                UInt64(bytes[0]) | UInt64(bytes[middle]) &<< UInt64(truncatingIfNeeded: middle &<< 3)
                | UInt64(bytes[count &- 1]) &<< UInt64(truncatingIfNeeded: (count &- 1) &<< 3)
        }
        self.init(ascii: low, rest, count: count)
    }

    /// Takes a text of at most 15 bytes of ASCII.
    public init(ascii text: String) {
        precondition(text.utf8.count <= Self.longest, "The text is too long to be small.")
        self = text.utf8Span.span.withUnsafeBytes { Self(ascii: $0) }
    }

    @inlinable @inline(__always)
    var string: String { unsafeBitCast((low, high), to: String.self) }

    @inlinable @inline(__always)
    var count: Int { Int(truncatingIfNeeded: high >> 56 & 15) }

    /// The bytes from the ninth on.
    @inlinable @inline(__always)
    var rest: UInt64 { high & 0x00ff_ffff_ffff_ffff }

    /// The words with spaces behind the end, so that nothing there is taken for a control character.
    @inlinable @inline(__always)
    var padded: (low: UInt64, high: UInt64) {
        let spaces: UInt64 = 0x2020_2020_2020_2020
        let unused = UInt64(truncatingIfNeeded: count &<< 3)
        return (low | spaces << unused, rest | (unused > 64 ? spaces << (unused &- 64) : spaces))
    }

    /// Whether all bytes can stand in a JSON string as they are.
    @inlinable @inline(__always)
    var isPlain: Bool {
        let words = padded
        return ByteScan.specials(words.low) | ByteScan.specials(words.high) == 0
    }

    /// Negative, zero or positive, as the bytes of `self` sort before, with or after those of `other`.
    @inlinable @inline(__always)
    func order(_ other: SmallText) -> Int {
        if low != other.low { return low.byteSwapped < other.low.byteSwapped ? -1 : 1 }
        if rest != other.rest { return rest.byteSwapped < other.rest.byteSwapped ? -1 : 1 }
        return count &- other.count
    }

    /// Whether this Swift keeps short strings as described.
    @inlinable @inline(__always)
    public static var isKnown: Bool {
        #if _endian(little) && _pointerBitWidth(_64)
            words("") == (0, 0xe0 << 56) && words("ab") == (0x6261, 0xe2 << 56)
                && words("abcdefghijklmno") == (0x6867_6665_6463_6261, 0xef6f_6e6d_6c6b_6a69)
                && words("\u{e9}") == (0xa9c3, 0xa2 << 56)
        #else
            false
        #endif
    }

    @inlinable @inline(__always)
    static func words(_ text: String) -> (UInt64, UInt64) {
        #if _pointerBitWidth(_64)
            unsafeBitCast(text, to: (UInt64, UInt64).self)
        #else
            (0, 0)
        #endif
    }

    /// Set in the second word of exactly those strings that are kept in it.
    @inlinable @inline(__always)
    static var smallBit: UInt64 { 0x20 << 56 }
}

extension String {
    /// Lends the string's bytes, without a copy where it can be.
    @inlinable @inline(__always)
    func withBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        if let result = utf8.withContiguousStorageIfAvailable({ body(UnsafeRawBufferPointer($0)) }) {
            return result
        }
        var contiguous = self
        return contiguous.withUTF8 { body(UnsafeRawBufferPointer($0)) }
    }
}
