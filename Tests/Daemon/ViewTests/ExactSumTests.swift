import BusJSON
import BusLogic
import BusMachine
import TestSupport
import Testing

/// Sums are exact: they depend on the numbers that are in them, and on nothing else.
struct ExactSumTests {
    private func sum(_ numbers: [Number]) -> ExactSum {
        var sum = ExactSum()
        for number in numbers { sum.add(number) }
        return sum
    }

    private func sum(_ doubles: Double...) -> JSON { sum(doubles.map(Number.double)).value }

    private let least = Double.leastNonzeroMagnitude

    @Test func smallNumbersAreNotLostInLargeOnes() {
        #expect(sum(1e100, 1, -1e100) == .double(1))
        #expect(sum(1e308, 1e308, -1e308, least) == .double(1e308))
        #expect(sum(1e308, 1e308, -1e308, -1e308, least) == .double(least))
        #expect(sum(-1e16, 1, 1e16, -1) == .double(0))
        #expect(sum(0.1, 0.2, 0.3) == .double(0.6))
        #expect(sum(-0.0, 0.0) == .double(0))
    }

    @Test func sumsAreRoundedToTheNearestAndToTheEvenOneBetweenTwo() {
        #expect(sum(0x1p53, 1) == .double(0x1p53))
        #expect(sum(0x1p53, 1, 0x1p-1074) == .double(0x1p53 + 2))
        #expect(sum(0x1p53, 3) == .double(0x1p53 + 4))
        #expect(sum(-0x1p53, -1) == .double(-0x1p53))
        #expect(sum(-0x1p53, -1, -0x1p-1074) == .double(-0x1p53 - 2))
        #expect(sum(0x1p-1022, -0x1p-1074) == .double(0x1p-1022.nextDown))
        #expect(sum(.greatestFiniteMagnitude, 0x1p969) == .double(.greatestFiniteMagnitude))
    }

    @Test func whatNoNumberHoldsIsNull() {
        #expect(sum(.greatestFiniteMagnitude, 0x1p970) == .null)
        #expect(
            sum(.greatestFiniteMagnitude, .greatestFiniteMagnitude, -.greatestFiniteMagnitude)
                == .double(.greatestFiniteMagnitude))
        #expect(sum([.int(.max), .int(1)]).value == .null)
        #expect(sum([.int(.max), .int(1), .int(-2)]).value == .int(.max - 1))
        #expect(sum([.int(.min), .int(-1), .double(0)]).value == .double(-0x1p63))
    }

    @Test func integersStayExactBesideDoubles() {
        #expect(sum([.int(.max), .double(-0x1p63)]).value == .double(-1))
        #expect(sum([.int(.min), .double(0x1p63), .double(0.5)]).value == .double(0.5))
        #expect(sum([.int(2), .double(0.5)]).average == .double(1.25))
        #expect(sum([.int(1), .int(2)]).average == .double(1.5))
        #expect(sum([.int(.max), .int(.max)]).average == .double(0x1p63))
        #expect(ExactSum().value == .int(0) && ExactSum().average == .null)
    }

    /// Doubles of every size and of every kind.
    private func random(_ generator: inout SeededGenerator) -> Number {
        switch Int.random(in: 0..<6, using: &generator) {
        case 0: return .int(Int.random(in: .min ... .max, using: &generator))
        case 1: return .double(Double.random(in: -1...1, using: &generator))
        case 2:
            return .double(
                Double(
                    sign: .minus, exponent: -1074,
                    significand: Double(Int.random(in: 0...9, using: &generator))))
        case 3: return .double(0)
        default:
            let double = Double(bitPattern: UInt64.random(in: 0...UInt64.max, using: &generator))
            return .double(double.isFinite ? double : 1)
        }
    }

    @Test func everyHistoryThatEndsInTheSameNumbersGivesTheSameSum() {
        var generator = SeededGenerator(seed: 1)
        for _ in 0..<300 {
            let kept = (0..<Int.random(in: 0..<9, using: &generator)).map { _ in random(&generator) }
            let wanted = sum(kept)
            var history = kept.map { (number: $0, isKept: true) }
            for _ in 0..<9 { history.append((random(&generator), false)) }
            history.shuffle(using: &generator)
            var other = ExactSum()
            for step in history { other.add(step.number) }
            for step in history.shuffled(using: &generator) where !step.isKept { other.remove(step.number) }
            #expect(
                other.value == wanted.value && other.average == wanted.average && other.count == kept.count)
        }
    }

    /// The numbers are multiples of 2⁻²⁰, whose sums an integer of 128 bits holds.
    @Test func sumsAreThoseOfIntegers() {
        var generator = SeededGenerator(seed: 2)
        for _ in 0..<2000 {
            var exact: Int128 = 0
            var found = ExactSum()
            for _ in 0..<Int.random(in: 1..<12, using: &generator) {
                let shift = Int.random(in: 0...40, using: &generator)
                let significand = Int.random(in: -(1 << 52)...(1 << 52), using: &generator)
                exact += Int128(significand) << Int128(shift)
                found.add(
                    .double(Double(significand) * Double(sign: .plus, exponent: shift - 20, significand: 1)))
            }
            #expect(found.value == .double(Double(exact) * 0x1p-20 + 0))
        }
    }
}
