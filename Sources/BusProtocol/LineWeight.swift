/// How much is in a line, counted before it is read: what it will take to make values of it.
package struct LineWeight {
    /// Arrays and objects.
    package private(set) var containers = 0
    /// What separates values.
    package private(set) var commas = 0

    /// Counts the bytes that open a container or separate values; those inside of texts count, too.
    package init(_ line: UnsafeRawBufferPointer) {
        var place = 0
        while place + 16 <= line.count {
            // A lane holds up to 255.
            let end = min(line.count - 15, place + 16 * 255)
            var (opening, separating) = (SIMD16<UInt8>(), SIMD16<UInt8>())
            while place < end {
                let bytes = line.loadUnaligned(fromByteOffset: place, as: SIMD16<UInt8>.self)
                // An opening bracket and brace differ in one bit.
                opening &+= Self.ones(bytes | 0x20, equal: UInt8(ascii: "{"))
                separating &+= Self.ones(bytes, equal: UInt8(ascii: ","))
                place += 16
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
    private static func ones(_ bytes: SIMD16<UInt8>, equal byte: UInt8) -> SIMD16<UInt8> {
        SIMD16<UInt8>().replacing(with: 1, where: bytes .== byte)
    }

    private static func sum(_ lanes: SIMD16<UInt8>) -> Int {
        var sum = 0
        for lane in 0..<16 { sum += Int(lanes[lane]) }
        return sum
    }
}
