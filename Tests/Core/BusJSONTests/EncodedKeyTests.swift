import BusJSON
import TestSupport
import Testing

/// Names that were encoded once are what the general way writes.
struct EncodedKeyTests {
    @Test(arguments: 0...17)
    func aNameOfAnyLengthIsWrittenAsAlways(_ length: Int) throws {
        var generator = SeededGenerator(seed: UInt64(length))
        for _ in 0..<50 {
            let bytes = (0..<length).map { _ in UInt8.random(in: 0x20..<0x7f, using: &generator) }
            let name = String(decoding: bytes, as: UTF8.self)
            let needsEscapes = bytes.contains(UInt8(ascii: "\"")) || bytes.contains(UInt8(ascii: "\\"))
            let key = EncodedKey(name)
            #expect((key == nil) == (needsEscapes || (length > 15)))
            guard let key else { continue }
            try Self.expectSame(key, name)
        }
    }

    @Test(arguments: ["é", "größe", "日本語の名", "a\u{0}b", "tab\t", "\u{7f}"])
    func aNameOfOtherCharactersIsWrittenAsAlways(_ name: String) throws {
        guard let key = EncodedKey(name) else {
            // Control characters need escapes.
            return #expect(name.utf8.contains { $0 < 0x20 })
        }
        try Self.expectSame(key, name)
    }

    private static func expectSame(_ key: EncodedKey, _ name: String) throws {
        let (once, always) = (ByteWriter(capacity: 16), ByteWriter())
        // What is written behind it must not suffer.
        once.write(atMost: EncodedKey.longest + 1) {
            $0.append(key: key)
            $0.append(UInt8(ascii: "1"))
        }
        always.append(quoted: name)
        always.append(":1")
        #expect(once.text == always.text)
    }
}
