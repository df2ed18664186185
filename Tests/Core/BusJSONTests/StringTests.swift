import BusJSON
import TestSupport
import Testing

@Suite("Strings")
struct StringTests {
    @Test(arguments: [
        (#""\"\\\/\b\f\n\r\t""#, "\"\\/\u{8}\u{c}\n\r\t"), (#""\u0041\u00e9\u20AC""#, "A\u{e9}\u{20ac}"),
        (#""\ud83d\ude00""#, "\u{1f600}"), (#""\uD83D\uDE00x""#, "\u{1f600}x"), (#""\u0000""#, "\u{0}"),
        (#""\udbff\udfff""#, "\u{10ffff}"), (#""\ud800\udc00""#, "\u{10000}"),
        (#""\ud7ff\ue000""#, "\u{d7ff}\u{e000}"),
        (#""\uffff""#, "\u{ffff}"), (#""a\\u0041""#, "a\\u0041"), (#""\\\"""#, "\\\""),
        ("\"plain text of more than fifteen bytes\"", "plain text of more than fifteen bytes"),
        (#""seven\n""#, "seven\n"), (#""fifteen bytes!\n and more""#, "fifteen bytes!\n and more"),
    ])
    func escapesAreUndone(text: String, expected: String) throws {
        let value = try #require(try readExactly(text).get().string)
        #expect(value.utf8.elementsEqual(expected.utf8))
    }

    @Test(
        arguments: [
            (#""\x""#, .invalidEscape), (#""\u12""#, .invalidEscape), (#""\u12g4""#, .invalidEscape),
            (#""\U0041""#, .invalidEscape),
            (#""\u+123""#, .invalidEscape), (#""\u""#, .invalidEscape), (#""\0""#, .invalidEscape),
            (#""\'""#, .invalidEscape),
            ("\"\\\n\"", .invalidEscape), ("\"\\\u{e9}\"", .invalidEscape),
            (#""\ud83d""#, .loneSurrogate), (#""\ude00""#, .loneSurrogate),
            (#""\ud83d\ud83d""#, .loneSurrogate),
            (#""\ud83dx""#, .loneSurrogate), (#""\ud83d\n""#, .loneSurrogate),
            (#""\ud83d\u0041""#, .loneSurrogate),
            (#""\ude00\ud83d""#, .loneSurrogate), (#""\ud83d\u12""#, .loneSurrogate),
            (#""\ud83d\""#, .unexpectedEnd),
            ("\"\n\"", .controlCharacter), ("\"\u{0}\"", .controlCharacter),
            ("\"\u{1f}\"", .controlCharacter),
            ("\"eight by\tand more than sixteen\"", .controlCharacter), ("\"\t", .controlCharacter),
        ] as [(String, JSONError.Reason)])
    func malformedStringsAreRefused(text: String, reason: JSONError.Reason) {
        #expect(readExactly(text).reason == reason)
    }

    static let malformedUTF8: [[UInt8]] = [
        [0x80], [0xbf], [0xc3], [0xc3, 0x28], [0xc0, 0x80], [0xc0, 0xaf], [0xc1, 0xbf], [0xe0, 0x80, 0x80],
        [0xe0, 0x9f, 0xbf], [0xe2, 0x82], [0xe2, 0x28, 0xa1], [0xe2, 0x82, 0x28], [0xed, 0xa0, 0x80],
        [0xed, 0xbf, 0xbf], [0xed, 0xa0, 0xbd, 0xed, 0xb8, 0x80], [0xf0, 0x80, 0x80, 0x80],
        [0xf0, 0x8f, 0xbf, 0xbf],
        [0xf0, 0x9f, 0x98], [0xf0, 0x28, 0x8c, 0xbc], [0xf0, 0x9f, 0x28, 0x80], [0xf4, 0x90, 0x80, 0x80],
        [0xf5, 0x80, 0x80, 0x80], [0xf8, 0x88, 0x80, 0x80, 0x80], [0xfc, 0x84, 0x80, 0x80, 0x80, 0x80],
        [0xfe],
        [0xff], [0xc3, 0xa9, 0xa9], [0xf0, 0x9f, 0x98, 0x80, 0x80],
    ]

    @Test(arguments: malformedUTF8)
    func malformedUTF8IsRefusedWhereverItStands(sequence: [UInt8]) {
        let paddings = [
            "", "a", "seven b", "eight by", "fifteen bytes!!", "sixteen bytes!!!", "\u{e9}", "\\n", "\\u00e9",
        ]
        for before in paddings {
            for after in paddings {
                let text = Array(before.utf8) + sequence + Array(after.utf8)
                let quoted = [UInt8(ascii: "\"")] + text + [UInt8(ascii: "\"")]
                #expect(readExactly(quoted).reason == .invalidUTF8)
                #expect(readExactly(quoted + Array("                 ".utf8)).reason == .invalidUTF8)
                #expect(readExactly(Array("{".utf8) + quoted + Array(":1}".utf8)).reason == .invalidUTF8)
            }
        }
    }

    @Test func everyScalarAtTheEdgesOfUTF8IsTaken() throws {
        let edges: [UInt32] = [
            0x20, 0x7f, 0x80, 0x7ff, 0x800, 0xfff, 0x1000, 0xcfff, 0xd000, 0xd7ff, 0xe000, 0xfffd, 0xffff,
            0x10000,
            0x3ffff, 0x40000, 0xfffff, 0x100000, 0x10ffff,
        ]
        for edge in edges {
            let text = String(try #require(Unicode.Scalar(edge)))
            #expect(readExactly("\"\(text)\"") == .success(.string(text)))
        }
    }

    @Test func stringsOfEveryLengthAreReadAtEveryDistanceFromTheEnd() {
        let letters = Array("abcdefghijklmnopqrstuvwxyz0123456789".utf8)
        for length in 0...letters.count {
            let text = String(decoding: letters[..<length], as: UTF8.self)
            for distance in 0...20 {
                let spaces = String(repeating: " ", count: distance)
                #expect(readExactly("\"\(text)\"\(spaces)") == .success(.string(text)))
                #expect(readExactly("\"\(text)\(spaces)").reason == .unexpectedEnd)
                #expect(readExactly("{\"\(text)\":0\(spaces)}") == .success([text: 0]))
            }
        }
    }

    @Test func everyByteIsFoundAtEveryPlace() {
        let quote = UInt8(ascii: "\"")
        for byte in UInt8.min...UInt8.max {
            for place in 0..<20 {
                var content = Array("abcdefghijklmnopqrst".utf8)
                content[place] = byte
                let result = readExactly([quote] + content + [quote])
                switch byte {
                case 0..<0x20: #expect(result.reason == .controlCharacter)
                case quote: #expect(result.reason == .trailingBytes)
                case UInt8(ascii: "\\"):
                    #expect(
                        result.reason != nil
                            || "bfnrt".utf8.contains(content.dropFirst(place + 1).first ?? quote))
                case 0x80...: #expect(result.reason == .invalidUTF8)
                default: #expect(result == .success(.string(String(decoding: content, as: UTF8.self))))
                }
            }
        }
    }

    @Test(arguments: 0..<4)
    func writtenStringsAreReadBack(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<5000 {
            let text = randomString(using: &generator)
            let encoded = JSON.string(text).encoded
            #expect(JSON.encodedSize(of: text) == encoded.utf8.count)
            let read = try #require(try readExactly(encoded).get().string)
            #expect(read.utf8.elementsEqual(text.utf8))
        }
    }

    @Test func comparisonsAreOfBytes() {
        var generator = SeededGenerator(seed: 9)
        var texts = [
            "", "\u{0}", "\u{0}\u{0}", "a", "a\u{0}", "ab", "eight by", "eight by\u{0}", "\u{e9}", "e\u{301}",
            "e",
        ]
        texts += ["fifteen bytes!!", "fifteen bytes!!!", "fifteen bytes!\u{0}", "fifteen bytes!"]
        for _ in 0..<150 { texts.append(randomString(using: &generator)) }
        // The same bytes in memory of their own, where a short string is not kept within itself.
        texts += texts.map { text in
            var copy = text
            copy.reserveCapacity(64)
            return copy
        }
        for left in texts {
            for right in texts {
                #expect(UTF8Order.equal(left, right) == left.utf8.elementsEqual(right.utf8))
                #expect(UTF8Order.precedes(left, right) == left.utf8.lexicographicallyPrecedes(right.utf8))
            }
        }
    }
}
