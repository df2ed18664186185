/// SHA-256 (FIPS 180-4): imports point to nothing that has one where no I/O is.
enum SHA256 {
    /// The digest of some bytes, in lower-case hexadecimal.
    static func hexadecimal(of message: [UInt8]) -> String {
        var state = initial
        var padded = message + [0x80]
        padded += repeatElement(0, count: (64 + 56 - padded.count % 64) % 64)
        padded += (0..<8).map { UInt8(truncatingIfNeeded: (message.count * 8) >> (56 - 8 * $0)) }
        for start in stride(from: 0, to: padded.count, by: 64) {
            compress(padded[start..<start + 64], into: &state)
        }
        return state.map { word in
            let text = String(word, radix: 16)
            return String(repeating: "0", count: 8 - text.count) + text
        }.joined()
    }

    private static func compress(_ block: ArraySlice<UInt8>, into state: inout [UInt32]) {
        var schedule = stride(from: block.startIndex, to: block.endIndex, by: 4).map { place in
            block[place..<place + 4].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        }
        for index in 16..<64 {
            let (early, late) = (schedule[index - 15], schedule[index - 2])
            let small = rotate(early, 7) ^ rotate(early, 18) ^ early >> 3
            let large = rotate(late, 17) ^ rotate(late, 19) ^ late >> 10
            schedule.append(schedule[index - 16] &+ small &+ schedule[index - 7] &+ large)
        }
        var word = state
        for index in 0..<64 {
            let choice = word[4] & word[5] ^ ~word[4] & word[6]
            let majority = word[0] & word[1] ^ word[0] & word[2] ^ word[1] & word[2]
            let first =
                word[7] &+ (rotate(word[4], 6) ^ rotate(word[4], 11) ^ rotate(word[4], 25)) &+ choice
                &+ constants[index] &+ schedule[index]
            let second = (rotate(word[0], 2) ^ rotate(word[0], 13) ^ rotate(word[0], 22)) &+ majority
            word.removeLast()
            word.insert(first &+ second, at: 0)
            word[4] &+= first
        }
        for index in 0..<8 { state[index] &+= word[index] }
    }

    private static func rotate(_ word: UInt32, _ count: UInt32) -> UInt32 {
        word >> count | word << (32 - count)
    }

    private static let initial = primes.prefix(8).map { fraction(ofRoot: 2, of: $0) }
    private static let constants = primes.map { fraction(ofRoot: 3, of: $0) }

    /// The first 64.
    private static let primes = (2...311).filter { number in !(2..<number).contains { number % $0 == 0 } }

    /// The first 32 bits behind the point of a square root (2) or cube root (3).
    private static func fraction(ofRoot degree: Int, of number: Int) -> UInt32 {
        let power = UInt128(number) << (32 * degree)
        var root: UInt128 = 0
        for bit in (0..<37).reversed() {
            let larger = root | 1 << bit
            if (1..<degree).reduce(larger, { product, _ in product * larger }) <= power { root = larger }
        }
        return UInt32(truncatingIfNeeded: root)
    }
}
