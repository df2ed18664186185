import FluxBus
import Testing

@Suite("Lines out of bytes")
struct LineBufferTests {
    private func lines(_ pieces: [[UInt8]]) -> [String] {
        var buffer = LineBuffer()
        var lines: [String] = []
        for piece in pieces {
            piece.withUnsafeBytes { buffer.append($0) }
            while let line = buffer.next() { lines.append(String(decoding: line, as: UTF8.self)) }
        }
        return lines
    }

    private let text = Array("{\"a\":1}\r\n\n\r\n{\"b\":\"é\"}\n{\"c\":3}\nrest".utf8)
    private let expected = ["{\"a\":1}", "{\"b\":\"é\"}", "{\"c\":3}"]

    @Test func linesAreTheSameWholeAndByteByByte() {
        #expect(lines([text]) == expected)
        #expect(lines(text.map { [$0] }) == expected)
    }

    @Test func linesAreTheSameAtEverySplit() {
        for split in 0...text.count {
            #expect(lines([Array(text[..<split]), Array(text[split...])]) == expected)
        }
    }

    @Test func muchIsTakenAndForgotten() {
        var buffer = LineBuffer()
        let line = [UInt8](repeating: 0x78, count: 999) + [0x0a]
        for _ in 0..<1000 {
            line.withUnsafeBytes { buffer.append($0) }
            line.withUnsafeBytes { buffer.append($0) }
            #expect(buffer.next()?.count == 999)
        }
        #expect(buffer.count == 1_000_000)
        while buffer.next() != nil {}
        #expect(buffer.count == 0)
    }
}
