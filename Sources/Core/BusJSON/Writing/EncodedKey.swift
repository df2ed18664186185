/// A short member name as JSON has it, in quotes and with its colon: made once, so that writing it stores words.
public struct EncodedKey: BitwiseCopyable, Sendable {
    @usableFromInline let words: (UInt64, UInt64, UInt64)
    @usableFromInline let count: Int

    /// How many bytes one takes at most.
    @inlinable public static var longest: Int { SmallText.longest + 3 }

    /// Nil for a name that is longer than `SmallText` holds, or that needs escapes.
    public init?(_ name: String) {
        guard let text = SmallText(name), text.isPlain else { return nil }
        // A quote, the text, and behind it a quote and a colon, which may begin in one word and end in the next.
        let behind = (text.count + 1) * 8
        func word(_ start: Int) -> UInt64 {
            let shift = behind - start
            return shift >= 0 ? Self.end << shift : Self.end >> -shift
        }
        words = (
            UInt64(UInt8(ascii: "\"")) | text.low << 8 | word(0), text.low >> 56 | text.rest << 8 | word(64),
            word(128)
        )
        count = text.count + 3
    }

    /// A quote and a colon.
    private static var end: UInt64 { 0x3a22 }
}

extension BytePen {
    /// Writes a name, its quotes and its colon.
    @inlinable @inline(__always)
    public mutating func append(key: EncodedKey) {
        place.storeBytes(of: key.words.0.littleEndian, as: UInt64.self)
        (place + 8).storeBytes(of: key.words.1.littleEndian, as: UInt64.self)
        if key.count > 16 {
            (place + 16).storeBytes(of: key.words.2.littleEndian, as: UInt64.self)
        }
        advance(key.count)
    }
}
