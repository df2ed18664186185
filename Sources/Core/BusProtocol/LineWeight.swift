/// How many values a line holds, counted before it is parsed: an estimate of the cost of parsing it.
package struct LineWeight {
    /// Arrays and objects.
    package private(set) var containers = 0
    /// Separators of values.
    package private(set) var commas = 0

    /// Counts the bytes that open a container or separate values; those inside strings count, too.
    package init(_ line: UnsafeRawBufferPointer) {
        var place = 0
        // Eight bytes at a time; each byte of the two sums counts the matches in its place.
        while place + 8 <= line.count {
            let end = min(line.count - 7, place + 8 * 255)
            var (opening, separating): (UInt64, UInt64) = (0, 0)
            while place < end {
                let word = line.loadUnaligned(fromByteOffset: place, as: UInt64.self)
                // An opening bracket and brace differ in one bit.
                opening &+= Self.ones(word | Self.all(0x20), equal: UInt8(ascii: "{"))
                separating &+= Self.ones(word, equal: UInt8(ascii: ","))
                place += 8
            }
            containers += Self.sum(opening)
            commas += Self.sum(separating)
        }
        for byte in line[place...] {
            if byte | 0x20 == UInt8(ascii: "{") { containers += 1 }
            if byte == UInt8(ascii: ",") { commas += 1 }
        }
    }

    @inline(__always)
    private static func all(_ byte: UInt8) -> UInt64 { 0x0101_0101_0101_0101 &* UInt64(byte) }

    /// 1 in each byte that is equal to `byte`, 0 in all others.
    @inline(__always)
    private static func ones(_ word: UInt64, equal byte: UInt8) -> UInt64 {
        let difference = word ^ all(byte)
        let low = all(0x7f)
        // A byte's highest bit is set here unless the byte is 0; no carry leaves a byte.
        return (((difference & low) &+ low | difference) & all(0x80) ^ all(0x80)) &>> 7
    }

    /// The sum of eight bytes.
    private static func sum(_ word: UInt64) -> Int {
        let pairs = (word & 0x00ff_00ff_00ff_00ff) &+ (word &>> 8 & 0x00ff_00ff_00ff_00ff)
        return Int((pairs &* 0x0001_0001_0001_0001) &>> 48)
    }
}
