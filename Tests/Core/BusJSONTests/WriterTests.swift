import BusJSON
import TestSupport
import Testing

@Suite("Writing values")
struct WriterTests {
    @Test(
        arguments: [
            (.null, "null"), (true, "true"), (false, "false"), (0, "0"), (-1, "-1"), (1.0, "1.0"),
            (-0.0, "-0.0"),
            (0.1, "0.1"), (1e21, "1e+21"), (100.0, "100.0"), (1e16, "1e+16"), (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            ("", "\"\""), ("a", "\"a\""), ("/", "\"/\""), ("\u{7f}\u{e9}", "\"\u{7f}\u{e9}\""),
            ("\"\\\u{8}\u{c}\n\r\t", #""\"\\\b\f\n\r\t""#), ("\u{0}\u{1f}", #""\u0000\u001f""#),
            ("fifteen bytes!\n and more", #""fifteen bytes!\n and more""#),
            ([], "[]"), ([1, [2], "x"], "[1,[2],\"x\"]"), ([:], "{}"),
            (
                ["b": 1, "a": ["d": 2, "c": 3], "\u{e9}": 4, "B": 5, "": 6],
                "{\"\":6,\"B\":5,\"a\":{\"c\":3,\"d\":2},\"b\":1,\"\u{e9}\":4}"
            ),
            (["\n": ["\\"]], #"{"\n":["\\"]}"#),
        ] as [(JSON, String)])
    func theCanonicalEncodingIsOne(value: JSON, expected: String) {
        #expect(value.encoded == expected)
        #expect(value.encodedSize == expected.utf8.count)
    }

    @Test(arguments: 0..<10)
    func valuesRoundTripWhateverTheirGuise(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<1000 {
            let value = randomJSON(using: &generator)
            let encoded = Array(value.encoded.utf8)
            #expect(value.encodedSize == encoded.count)
            #expect(readExactly(encoded) == .success(value))
            #expect(readExactly(disguised(value, using: &generator)) == .success(value))
        }
    }

    @Test func equalValuesHaveOneEncodingAndOthersHaveOthers() {
        var generator = SeededGenerator(seed: 77)
        let values = (0..<300).map { _ in randomJSON(using: &generator, depth: 1) }
        for left in values {
            for right in values {
                let sameBytes = left.encoded.utf8.elementsEqual(right.encoded.utf8)
                #expect((left == right) == sameBytes)
            }
        }
    }

    @Test func numbersCompareByValueWhereAsked() {
        #expect(JSON.int(1) != JSON.double(1))
        #expect(JSON.int(1).equalsNumerically(1.0))
        #expect(JSON.double(0.0) != JSON.double(-0.0))
        #expect(JSON.double(0.0).equalsNumerically(-0.0))
        #expect(!JSON.int(9_007_199_254_740_993).equalsNumerically(.double(9_007_199_254_740_992)))
        #expect(!JSON.int(.max).equalsNumerically(.double(9.223372036854775807e18)))
        #expect((["a": [1, 2.0]] as JSON).equalsNumerically(["a": [1.0, 2]]))
        #expect(!(["a": 1] as JSON).equalsNumerically(["b": 1.0]))
        #expect(!("1" as JSON).equalsNumerically(1))
    }

    @Test func aWriterGrowsAndIsCutBack() {
        let writer = ByteWriter(capacity: 1)
        var expected = ""
        for index in 0..<1000 {
            writer.append(quoted: "text \(index)")
            writer.append(decimal: -index)
            writer.append("; ")
            expected += "\"text \(index)\"\(-index); "
        }
        #expect(writer.text == expected)
        #expect(writer.reserved >= writer.count)
        let reserved = writer.reserved
        writer.truncate(to: 8)
        #expect(writer.text == "\"text 0\"")
        writer.clear()
        #expect(writer.isEmpty && writer.reserved == reserved)
        writer.append(raw: "\"\n")
        #expect(writer.text == "\"\n")
    }

    @Test(arguments: 0...40)
    func aShortStringFitsAWriterThatIsNearlyFull(room: Int) {
        let writer = ByteWriter(capacity: 64)
        for text in ["", "a", "eight by", "fifteen bytes!!", "sixteen bytes!!!", "\n", "tab\t", "\u{e9}"] {
            writer.clear()
            let filling = String(repeating: "x", count: 64 - room)
            writer.append(raw: filling)
            writer.append(quoted: text)
            #expect(writer.text == filling + JSON.string(text).encoded)
        }
    }
}
