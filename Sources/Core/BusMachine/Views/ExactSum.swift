import BusJSON
import BusLogic

/// A sum of numbers that forgets nothing: what was added and taken away again leaves no trace, so the sum depends on the
/// numbers that are in it and not on how they came there.
///
/// Integers are added as such. Doubles are added in fixed point, with a bit for each power of two that a double has, from
/// the least to the greatest and 64 more, so that nothing is rounded before the end and no number of stores overflows it.
package struct ExactSum {
    /// How many numbers are in it.
    package private(set) var count = 0
    private var doubles = 0
    /// 2⁶⁴ integers would overflow it.
    private var integers: Int128 = 0
    /// Two's complement, least word first; the lowest bit is 2⁻¹⁰⁷⁴. Empty while no double is in the sum.
    private var words: [UInt64] = []

    package init() {}

    /// 1,074 bits below the point, 1,024 above it, 64 for carries and a sign.
    private static let wordCount = 34
    private static let lowestExponent = -1074

    package mutating func add(_ number: Number) { change(number, isAdded: true) }
    package mutating func remove(_ number: Number) { change(number, isAdded: false) }

    private mutating func change(_ number: Number, isAdded: Bool) {
        count += isAdded ? 1 : -1
        switch number {
        case .int(let number): integers += isAdded ? Int128(number) : -Int128(number)
        case .double(let number):
            doubles += isAdded ? 1 : -1
            // What is left without doubles is zero.
            if doubles == 0 { return words = [] }
            if words.isEmpty { words = Array(repeating: 0, count: Self.wordCount) }
            Self.change(&words, by: number, isAdded: isAdded)
        }
    }

    private static func change(_ words: inout [UInt64], by number: Double, isAdded: Bool) {
        if number == 0 { return }
        // Of a subnormal number the lowest bit is that of the least exponent.
        let isSmall = number.exponentBitPattern == 0
        let significand = number.significandBitPattern | (isSmall ? 0 : 1 << 52)
        let exponent = max(Int(number.exponentBitPattern), 1) - 1
        add(
            UInt128(significand) << UInt128(exponent % 64), at: exponent / 64, to: &words,
            isNegative: (number < 0) == isAdded)
    }

    /// Adds 128 bits at a word, or takes them away.
    private static func add(
        _ bits: UInt128, at place: Int, to words: inout [UInt64], isNegative: Bool
    ) {
        var (low, high) = (UInt64(truncatingIfNeeded: bits), UInt64(truncatingIfNeeded: bits >> 64))
        var place = place
        // A carry goes on until it is taken up, or over the end, as a sign does.
        while place < words.count, low != 0 || high != 0 {
            let (sum, carries) =
                isNegative
                ? words[place].subtractingReportingOverflow(low) : words[place].addingReportingOverflow(low)
            words[place] = sum
            (low, high) = (high &+ (carries ? 1 : 0), carries && high == .max ? 1 : 0)
            place += 1
        }
    }

    /// The sum: an integer where all numbers are, null if 64 bits do not hold it; else the double nearest to it, null if it
    /// is beyond all of them.
    package var value: JSON {
        if doubles == 0 { return Int(exactly: integers).map(JSON.int) ?? .null }
        let sum = rounded
        return sum.isFinite ? .double(sum) : .null
    }

    /// The sum divided by how many numbers there are, as a double; null where there are none. The sum is rounded before it
    /// is divided.
    package var average: JSON {
        if count == 0 { return .null }
        let average = (doubles == 0 ? Double(integers) : rounded) / Double(count)
        return average.isFinite ? .double(average + 0) : .null
    }

    /// The double nearest to the sum, to the even one between two.
    private var rounded: Double {
        var words = words
        let isNegativeInteger = integers < 0
        let magnitude = integers.magnitude
        // The point stands 1,074 bits above the lowest: so an integer's lowest bit is in word 16, at bit 50.
        let (place, shift) = (-Self.lowestExponent / 64, UInt64(-Self.lowestExponent % 64))
        let (low, high) = (UInt64(truncatingIfNeeded: magnitude), UInt64(truncatingIfNeeded: magnitude >> 64))
        Self.add(UInt128(low) << UInt128(shift), at: place, to: &words, isNegative: isNegativeInteger)
        Self.add(UInt128(high) << UInt128(shift), at: place + 1, to: &words, isNegative: isNegativeInteger)
        let isNegative = words[words.count - 1] >> 63 == 1
        if isNegative { Self.negate(&words) }
        guard let top = words.lastIndex(where: { $0 != 0 }) else { return 0 }
        let highest = top * 64 + 63 - words[top].leadingZeroBitCount
        let magnitudeRounded = Self.double(of: words, highestBit: highest)
        return isNegative ? -magnitudeRounded : magnitudeRounded
    }

    private static func negate(_ words: inout [UInt64]) {
        var carries = true
        for place in words.indices {
            words[place] = ~words[place]
            if carries { (words[place], carries) = words[place].addingReportingOverflow(1) }
        }
    }

    private static func double(of words: [UInt64], highestBit: Int) -> Double {
        // The lowest of the 53 bits that a double has; a smaller number has fewer.
        let lowest = max(highestBit - 52, 0)
        var significand = bits(of: words, from: lowest)
        if lowest > 0, bits(of: words, from: lowest - 1) & 1 == 1,
            significand & 1 == 1 || hasBits(words, below: lowest - 1)
        {
            significand += 1
        }
        if lowest > 2045 { return .infinity }
        // The first of the 53 bits, which a double does not write, adds one to the exponent; so does a carry.
        return Double(bitPattern: UInt64(lowest) << 52 + significand)
    }

    /// 64 bits from a place on.
    private static func bits(of words: [UInt64], from place: Int) -> UInt64 {
        let (word, shift) = (place / 64, UInt64(place % 64))
        let next = word + 1 < words.count && shift > 0 ? words[word + 1] << (64 - shift) : 0
        return words[word] >> shift | next
    }

    private static func hasBits(_ words: [UInt64], below place: Int) -> Bool {
        let word = place / 64
        return words[..<word].contains { $0 != 0 } || words[word] & (UInt64(1) << UInt64(place % 64) - 1) != 0
    }
}
