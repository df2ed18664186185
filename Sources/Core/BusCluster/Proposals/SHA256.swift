/// SHA-256 (FIPS 180-4): what chains members to one history has to be hard to bring about otherwise, because clients choose
/// what goes in.
package struct SHA256 {
    private var state: [UInt32] = [
        0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab,
        0x5be0_cd19,
    ]
    private var block: [UInt8] = []
    private var length: UInt64 = 0
    private var schedule = [UInt32](repeating: 0, count: 64)

    package init() { block.reserveCapacity(64) }

    package mutating func add(_ bytes: UnsafeRawBufferPointer) {
        length &+= UInt64(bytes.count)
        var place = 0
        if !block.isEmpty {
            place = min(64 - block.count, bytes.count)
            block.append(contentsOf: UnsafeRawBufferPointer(rebasing: bytes[..<place]))
            guard block.count == 64 else { return }
            block.withUnsafeBytes { Self.compress($0, 0, &state, &schedule) }
            block.removeAll(keepingCapacity: true)
        }
        while place + 64 <= bytes.count {
            Self.compress(bytes, place, &state, &schedule)
            place += 64
        }
        block.append(contentsOf: UnsafeRawBufferPointer(rebasing: bytes[place...]))
    }

    package mutating func add(_ bytes: [UInt8]) { bytes.withUnsafeBytes { add($0) } }

    /// Adds a number, eight bytes long, so that what follows can't be taken for a part of it.
    package mutating func add(_ number: Int) {
        withUnsafeBytes(of: UInt64(bitPattern: Int64(number)).bigEndian) { add($0) }
    }

    /// The digest of all that was added; 32 bytes.
    package mutating func finish() -> [UInt8] {
        let bits = length &* 8
        add([0x80])
        while block.count != 56 { add([0]) }
        withUnsafeBytes(of: bits.bigEndian) { add($0) }
        return state.flatMap { word in (0..<4).map { UInt8(truncatingIfNeeded: word >> (24 - 8 * $0)) } }
    }

    private static func compress(
        _ bytes: UnsafeRawBufferPointer, _ start: Int, _ state: inout [UInt32], _ words: inout [UInt32]
    ) {
        for index in 0..<16 {
            words[index] = UInt32(
                bigEndian: bytes.loadUnaligned(fromByteOffset: start + 4 * index, as: UInt32.self))
        }
        for index in 16..<64 {
            let (early, late) = (words[index - 15], words[index - 2])
            let first = turn(early, 7) ^ turn(early, 18) ^ (early >> 3)
            let second = turn(late, 17) ^ turn(late, 19) ^ (late >> 10)
            words[index] = words[index - 16] &+ first &+ words[index - 7] &+ second
        }
        var (a, b, c, d) = (state[0], state[1], state[2], state[3])
        var (e, f, g, h) = (state[4], state[5], state[6], state[7])
        for index in 0..<64 {
            let choice = (e & f) ^ (~e & g)
            let first =
                h &+ (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) &+ choice &+ constants[index] &+ words[index]
            let second = (turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) &+ ((a & b) ^ (a & c) ^ (b & c))
            (h, g, f, e, d, c, b, a) = (g, f, e, d &+ first, c, b, a, first &+ second)
        }
        for (index, word) in [a, b, c, d, e, f, g, h].enumerated() { state[index] &+= word }
    }

    @inline(__always)
    private static func turn(_ word: UInt32, _ count: UInt32) -> UInt32 {
        word >> count | word << (32 - count)
    }

    /// The first 32 bits of the fractional parts of the cube roots of the first 64 primes.
    private static let constants: [UInt32] = {
        var primes: [UInt64] = []
        var candidate: UInt64 = 2
        while primes.count < 64 {
            if primes.allSatisfy({ candidate % $0 != 0 }) { primes.append(candidate) }
            candidate += 1
        }
        return primes.map { prime in
            // The cube root of prime · 2^96, by bisection: its last 32 bits are the fraction's.
            var (low, high): (UInt64, UInt64) = (0, 1 << 36)
            while high - low > 1 {
                let middle = (low + high) / 2
                let square = middle.multipliedFullWidth(by: middle)
                let (cubeLow, cubeMiddle) = (
                    square.low.multipliedFullWidth(by: middle), square.high &* middle
                )
                let top = cubeMiddle &+ cubeLow.high
                // prime · 2^96 has its upper half at prime · 2^32.
                if top < prime << 32 { low = middle } else { high = middle }
            }
            return UInt32(truncatingIfNeeded: low)
        }
    }()
}
