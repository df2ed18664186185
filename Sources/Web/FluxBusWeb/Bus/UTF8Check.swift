/// Whether text that comes in pieces is UTF-8, wherever it is cut. Pure.
package struct UTF8Check {
    /// Bytes that the present character still needs, and the range of the next one.
    private var missing = 0
    private var next: ClosedRange<UInt8> = 0x80...0xbf

    package init() {}

    /// False: it is not.
    package mutating func take(_ bytes: some Sequence<UInt8>) -> Bool {
        for byte in bytes {
            if missing > 0 {
                guard next.contains(byte) else { return false }
                missing -= 1
                next = 0x80...0xbf
                continue
            }
            switch byte {
            case 0x00...0x7f: continue
            case 0xc2...0xdf: begin(1)
            case 0xe0: begin(2, 0xa0...0xbf)
            // No halves of surrogate pairs.
            case 0xed: begin(2, 0x80...0x9f)
            case 0xe1...0xef: begin(2)
            case 0xf0: begin(3, 0x90...0xbf)
            case 0xf1...0xf3: begin(3)
            case 0xf4: begin(3, 0x80...0x8f)
            default: return false
            }
        }
        return true
    }

    /// No character is incomplete.
    package var isComplete: Bool { missing == 0 }

    private mutating func begin(_ count: Int, _ range: ClosedRange<UInt8> = 0x80...0xbf) {
        missing = count
        next = range
    }
}
