import BusJSON
import TestSupport
import Testing

@Suite("Numbers")
struct NumberTests {
    @Test(arguments: [
        ("0", 0), ("-0", 0), ("7", 7), ("-7", -7), ("10", 10),
        ("1234567890123456789", 1_234_567_890_123_456_789),
        ("9223372036854775807", Int.max), ("-9223372036854775808", Int.min),
        ("9007199254740993", 9_007_199_254_740_993), ("999999999999999999", 999_999_999_999_999_999),
    ])
    func integersAreExact(text: String, expected: Int) {
        #expect(readExactly(text) == .success(.int(expected)))
        #expect(readExactly("[\(text)]") == .success([.int(expected)]))
    }

    @Test(arguments: [
        "9223372036854775808", "-9223372036854775809", "9999999999999999999", "10000000000000000000",
        "18446744073709551615", "18446744073709551616", "18446744073709551617", "-18446744073709551616",
        "27670116110564327424", "123456789012345678901234567890",
    ])
    func anIntegerOutsideOf64BitsIsRefused(text: String) {
        #expect(readExactly(text).reason == .integerOutOfRange)
        // With a fraction the same digits are a double.
        #expect(readExactly(text + ".0") == .success(.double(Double(text) ?? 0)))
    }

    @Test(arguments: [
        ("0.0", 0.0), ("-0.0", -0.0), ("-0e0", -0.0), ("1.0", 1), ("1e0", 1), ("1E2", 100), ("1e+2", 100),
        ("1e-2", 0.01), ("0.1", 0.1), ("-12.5", -12.5), ("0.30000000000000004", 0.30000000000000004),
        ("1e22", 1e22), ("1e23", 1e23), ("123456789012345.678", 123456789012345.678), ("1e-22", 1e-22),
        ("9007199254740993.0", 9007199254740992), ("9007199254740992e1", 90071992547409920), ("1e308", 1e308),
        ("1.7976931348623157e308", 1.7976931348623157e308),
        ("2.2250738585072014e-308", 2.2250738585072014e-308),
        ("5e-324", Double.leastNonzeroMagnitude), ("1e-400", 0), ("-1e-400", -0.0), ("0e400", 0),
        ("0e99999999999999999999", 0), ("0.000000000000000000000000000001", 1e-30),
        ("100000000000000000000000000000.0", 1e29), ("1e00000000000000000002", 100),
        ("1795219985.072", 1795219985.072), ("0.1000000000000000055511151231257827", 0.1),
        // Half-way between two doubles, and a little more.
        ("9007199254740993e0", 9007199254740992), ("9007199254740993.0000000000000000001", 9007199254740994),
    ])
    func doublesAreTheNearest(text: String, expected: Double) throws {
        let read = try readExactly(text).get()
        guard case .double(let value) = read else {
            Issue.record("\(text) was read as \(read.kind)")
            return
        }
        #expect(value.bitPattern == expected.bitPattern)
    }

    @Test(arguments: ["1e400", "-1e400", "1e309", "1.8e308", "1e99999999999999999999", "123456789e400"])
    func aDoubleBeyondAllIsRefused(text: String) {
        #expect(readExactly(text).reason == .numberOutOfRange)
    }

    @Test(arguments: [
        "01", "-01", "00", "007.5", "-", "-a", "1.", "1.e5", "1.5e", "1.5e+", "1.5e-", "1ea", "1.a", "-.5",
        "--1",
        "1.5.5", "1e5.5", "0x10", "1_000", "+1", ".5", "- 1", "1,5", "1e5e5", "\u{661}", "1\u{661}",
        "-Infinity",
    ])
    func whatIsNoNumberIsRefused(text: String) {
        #expect(readExactly(text).reason != nil)
    }

    /// Decimals of few digits are written without the general search, and must look as it would have them: with an
    /// exponent where they are tiny, and in no more digits than it takes.
    @Test(arguments: 0..<8 as Range<UInt64>)
    func decimalsAreWrittenAsTheGeneralSearchDoes(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<25_000 {
            let digits = Int.random(in: 1...17, using: &generator)
            let whole = UInt64.random(in: 0..<100_000_000_000_000_000, using: &generator)
            let number = whole % UInt64("1" + String(repeating: "0", count: digits))!
            let exponent = Int.random(in: -32...8, using: &generator)
            var value = try #require(Double("\(number)e\(exponent)"))
            if generator.oneIn(4) { value = generator.oneIn(2) ? value.nextUp : value.nextDown }
            if generator.oneIn(3) { value = -value }
            let json = JSON.double(value)
            try #require(json.encoded == value.description)
            try #require(json.encodedSize == value.description.utf8.count)
        }
    }

    @Test func integersRoundTrip() {
        var generator = SeededGenerator(seed: 1)
        let writer = ByteWriter()
        for _ in 0..<20_000 {
            let number = randomInteger(using: &generator)
            writer.clear()
            writer.append(decimal: number)
            #expect(writer.text == String(number))
            #expect(JSON.int(number).encodedSize == writer.count)
            #expect(readExactly(writer.text) == .success(.int(number)))
        }
    }

    /// Every way in which an integer can be written, beside others, and with the digits of another one at hand.
    @Test func integersOfEveryLengthAreWrittenInFull() {
        var numbers: [Int] = [0, .min, .max, .min + 1]
        var power = 1
        for _ in 0..<18 {
            power *= 10
            for number in [power - 1, power, power + 1, power / 2] { numbers += [number, -number] }
        }
        let writer = ByteWriter(capacity: 16)
        for number in numbers {
            writer.clear()
            writer.append(UInt8(ascii: "<"))
            writer.append(decimal: number)
            writer.append(UInt8(ascii: ">"))
            #expect(writer.text == "<\(number)>")
            for other in [number, number &+ 1, 0] {
                let kept = KeptDecimal(other)
                writer.write(atMost: 60) { pen in
                    pen.append(decimal: number)
                    pen.append(UInt8(ascii: ","))
                    pen.append(decimal: number, kept: kept)
                }
                #expect(writer.text == "<\(number)>\(number),\(number)")
                writer.truncate(to: "<\(number)>".utf8.count)
            }
        }
    }

    /// Eight digits are found together, each half of them from the other's bits: all halves, at both places.
    @Test func noDigitsOfOneHalfLeakIntoTheOther() {
        let writer = ByteWriter()
        for half in 0..<10_000 {
            for number in [half * 10_000 + 9_999, 99_990_000 + half, half * 10_000 + (half * 7919) % 10_000] {
                writer.clear()
                writer.append(decimal: number)
                if writer.text != String(number) { Issue.record("\(number) is written as \(writer.text).") }
            }
        }
    }

    @Test func anObjectOfOneIntegerIsWrittenLikeAnyOther() {
        var generator = SeededGenerator(seed: 5)
        for key in ["", "a", "fifteen bytes!!", "sixteen bytes!!!", "\"", "\n", "\u{e9}", "a\\b"] {
            for number in [0, 7, -1, .max, .min, randomInteger(using: &generator)] {
                let writer = ByteWriter(capacity: 16)
                writer.append(onlyMember: key, number)
                let object: JSONObject = [key: .int(number)]
                #expect(writer.text == object.encoded)
            }
        }
    }

    @Test(arguments: 0..<8)
    func doublesRoundTripInTheShortestText(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        let writer = ByteWriter()
        for _ in 0..<5000 {
            let number = randomDouble(using: &generator)
            writer.clear()
            writer.append(double: number)
            let text = writer.text
            #expect(text == number.description)
            #expect(text.contains(".") || text.contains("e"))
            #expect(JSON.double(number).encodedSize == writer.count)
            #expect(readExactly(text) == .success(.double(number)))
        }
    }

    @Test func shortDecimalsAreWrittenAsTheyWereRead() throws {
        var generator = SeededGenerator(seed: 3)
        for _ in 0..<50_000 {
            let whole =
                Int.random(in: 0...999_999_999, using: &generator)
                >> Int.random(in: 0...29, using: &generator)
            let fraction = Int.random(in: 1...999_999, using: &generator)
            let number = Double(whole) + Double(fraction) / 1e6
            let writer = ByteWriter()
            for value in [number, -number, number * 1000, Double(whole), Double(whole) + 0.5, number / 1e6] {
                writer.clear()
                writer.append(double: value)
                #expect(writer.text == value.description)
                #expect(JSON.double(value).encodedSize == writer.count)
            }
        }
    }

    @Test func decimalsOfAnyFormAreReadAsTheStandardLibraryReadsThem() throws {
        var generator = SeededGenerator(seed: 4)
        func digits(_ range: ClosedRange<Int>) -> String {
            String(
                (0..<Int.random(in: range, using: &generator)).map { _ in
                    Character(String(Int.random(in: 0...9, using: &generator)))
                })
        }
        for _ in 0..<30_000 {
            var text =
                generator.oneIn(4) ? "0" : "\(Int.random(in: 1...9, using: &generator))" + digits(0...20)
            text += "." + digits(1...20)
            if generator.oneIn(2) { text += "e\(Int.random(in: -330...300, using: &generator))" }
            let expected = try #require(Double(text))
            if expected.isFinite {
                #expect(readExactly(text) == .success(.double(expected)), "\(text)")
            } else {
                #expect(readExactly(text).reason == .numberOutOfRange)
            }
        }
    }
}
