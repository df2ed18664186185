import BusLog
import TestSupport
import Testing

/// The digest sees each bit, wherever it stands and however long the text is: the file's own, changed in place.
@Suite struct DigestTests {
    @Test func everyFlippedBitOfAGroupIsNoticed() throws {
        let directory = Scratch()
        let text = "{\"revision\":1,\"actions\":[\"abcdefghijklmno\"]}"
        try directory.write { try $0.append(text, first: 1, last: 1, time: 1) }
        let whole = directory.bytes
        let place = try #require(Self.find(Array(text.utf8), in: whole))
        var unnoticed = 0
        for bit in 0..<text.utf8.count * 8 {
            var damaged = whole
            damaged[place + bit / 8] ^= 1 << UInt8(bit % 8)
            directory.bytes = damaged
            let failure = #expect(throws: LogFailure.self) { try directory.reader().groups() }
            if failure?.kind != .damaged { unnoticed += 1 }
        }
        #expect(unnoticed == 0)
    }

    /// At every length around the size of a step, with each last byte changed.
    @Test func everyLengthIsToldFromEveryOther() throws {
        let directory = Scratch()
        var digests: Set<String> = []
        for length in 0...70 {
            for last in ["a", "b"] {
                directory.removeAll()
                let text = String(repeating: "\0", count: length) + last
                try directory.write { try $0.append(text, first: 1, last: 1, time: 1) }
                digests.insert(try directory.query("SELECT digest FROM groups"))
            }
        }
        #expect(digests.count == 71 * 2)
    }

    private static func find(_ needle: [UInt8], in bytes: [UInt8]) -> Int? {
        (0..<bytes.count - needle.count).first {
            bytes[$0] == needle[0] && bytes[$0..<$0 + needle.count] == needle[...]
        }
    }
}
