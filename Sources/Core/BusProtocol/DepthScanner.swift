/// Follows the nesting of an unfinished line, so that one that is too deep is refused before it ends.
struct DepthScanner {
    private var depth: Int32 = 0
    private var inString = false
    private var escaped = false

    /// Scans further bytes; true once the nesting passes `limit`.
    mutating func passes(_ limit: Int32, in bytes: UnsafeRawBufferPointer) -> Bool {
        var place = 0
        while place < bytes.count {
            if !escaped, bytes.count - place >= 8 {
                // Most words hold no byte that matters.
                let word = bytes.loadUnaligned(fromByteOffset: place, as: UInt64.self)
                if inString ? !Self.mayEndString(word) : !Self.mayNest(word) {
                    place += 8
                    continue
                }
            }
            if takes(bytes[place], limit) { return true }
            place += 1
        }
        return false
    }

    @inline(__always)
    private mutating func takes(_ byte: UInt8, _ limit: Int32) -> Bool {
        if inString {
            if escaped {
                escaped = false
            } else if byte == UInt8(ascii: "\\") {
                escaped = true
            } else if byte == UInt8(ascii: "\"") {
                inString = false
            }
            return false
        }
        switch byte {
        case UInt8(ascii: "\""): inString = true
        case UInt8(ascii: "{"), UInt8(ascii: "["):
            depth += 1
            return depth > limit
        case UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= 1
        default: break
        }
        return false
    }

    // MARK: Eight bytes

    @inline(__always)
    private static func mayEndString(_ word: UInt64) -> Bool {
        holds(word, UInt8(ascii: "\"")) || holds(word, UInt8(ascii: "\\"))
    }

    @inline(__always)
    private static func mayNest(_ word: UInt64) -> Bool {
        // A bracket and a brace differ in one bit.
        let folded = word | ones &* 0x20
        return holds(word, UInt8(ascii: "\"")) || holds(folded, UInt8(ascii: "{"))
            || holds(folded, UInt8(ascii: "}"))
    }

    @inline(__always)
    private static func holds(_ word: UInt64, _ byte: UInt8) -> Bool {
        let difference = word ^ ones &* UInt64(byte)
        return (difference &- ones) & ~difference & (ones &* 0x80) != 0
    }

    private static let ones: UInt64 = 0x0101_0101_0101_0101
}
