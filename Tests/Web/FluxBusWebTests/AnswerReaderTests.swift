import FluxBusWeb
import Testing

@Suite("The ends of answers")
struct AnswerReaderTests {
    private static let ok = "HTTP/1.1 200 OK\r\n"

    /// How many of so many requests are answered to the end, after each of the bytes.
    private static func left(of asked: [Bool], _ bytes: [UInt8], by size: Int) -> Int {
        var answers = AnswerReader()
        for isHead in asked { answers.expect(isHead: isHead) }
        for start in stride(from: 0, to: bytes.count, by: size) {
            answers.take(bytes[start..<min(start + size, bytes.count)])
        }
        return answers.left
    }

    @Test(arguments: [
        (ok + "Content-Length: 4\r\n\r\nbody", [false]), (ok + "content-length:0\r\n\r\n", [false]),
        (ok + "Content-Length: 4\r\n\r\n", [true]), ("HTTP/1.1 204 No Content\r\n\r\n", [false]),
        ("HTTP/1.1 304 Not Modified\r\nContent-Length: 4\r\n\r\n", [false]),
        (ok + "Transfer-Encoding: chunked\r\n\r\n0A\r\n0123\r\n\r\n89\r\n0\r\n\r\n", [false]),
        ("HTTP/1.1 103 Early Hints\r\n\r\n" + ok + "Content-Length: 1\r\n\r\n.", [false]),
        (
            ok + "Transfer-Encoding: chunked\r\n\r\n1\r\n.\r\n0\r\n\r\n" + ok + "Content-Length: 9\r\n\r\n"
                + ok
                + "Content-Length: 1\r\n\r\n.", [false, true, false]
        ),
    ])
    func theLastByteEndsIt(_ text: String, _ asked: [Bool]) {
        let bytes = Array(text.utf8)
        for size in 1...bytes.count {
            #expect(Self.left(of: asked, bytes, by: size) == 0, "in pieces of \(size)")
            #expect(Self.left(of: asked, bytes.dropLast(), by: size) == 1)
        }
    }

    @Test(arguments: [
        ok + "\r\nuntil the end",
        "HTTP/1.1 101 Switching Protocols\r\n\r\n" + ok + "Content-Length: 0\r\n\r\n",
        ok + "Transfer-Encoding: chunked\r\n\r\nnonsense\r\n0\r\n\r\n",
    ])
    func whatHasNoEndLastsAsLongAsTheConnection(_ text: String) {
        let bytes = Array(text.utf8)
        for size in 1...bytes.count { #expect(Self.left(of: [false], bytes, by: size) == 1) }
    }
}
