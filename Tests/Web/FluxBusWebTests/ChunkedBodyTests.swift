import FluxBusWeb
import TestSupport
import Testing

@Suite("Bodies in chunks")
struct ChunkedBodyTests {
    private static let fields = "POST / HTTP/1.1\r\nhost: x\r\n"
    private static let head = fields + "Transfer-Encoding: chunked\r\n\r\n"
    private static let next = "GET /next HTTP/1.1\r\nhost: x\r\n\r\n"

    /// What is passed on of bytes that come in parts, and whether they are refused.
    private static func passed(_ parts: [[UInt8]]) -> (bytes: [UInt8], refusal: RequestHead.Refusal?) {
        var (requests, queue) = (RequestGuard(FrontLimits()), ByteQueue())
        var refusal: RequestHead.Refusal?
        for part in parts where refusal == nil {
            do throws(RequestHead.Refusal) {
                try requests.receive(part, into: &queue)
            } catch { refusal = error }
        }
        return (Array(queue.prefix(.max)), refusal)
    }

    private static func pieces(_ bytes: [UInt8], of size: Int) -> [[UInt8]] {
        stride(from: 0, to: bytes.count, by: size).map { Array(bytes[$0..<min($0 + size, bytes.count)]) }
    }

    private static func request(_ content: [UInt8]) -> [UInt8] {
        Array((fields + "content-length: \(content.count)\r\n\r\n").utf8) + content
    }

    @Test(arguments: [
        ("0\r\n\r\n", ""), ("5\r\nhello\r\n0\r\n\r\n", "hello"),
        (
            "005;a=\"b\"\r\nhello\r\n6;c;d=\t\u{e9}\r\n world\r\n000\r\nT: x\r\nContent-Length: 9\r\n\r\n",
            "hello world"
        ),
        (
            "00000000000000aA\r\n\(String(repeating: "\r\n", count: 85))\r\n0\r\n\r\n",
            String(repeating: "\r\n", count: 85)
        ),
    ])
    func theyArePassedOnWithTheirLength(_ chunks: String, _ content: String) {
        for field in ["Transfer-Encoding: chunked", "TRAILER: T\r\ntransfer-encoding:  CHUNKED "] {
            let text = Array((Self.fields + field + "\r\n\r\n" + chunks + Self.next).utf8)
            for size in 1...text.count {
                let (passed, refusal) = Self.passed(Self.pieces(text, of: size))
                #expect(passed == Self.request(Array(content.utf8)) + Array(Self.next.utf8))
                #expect(refusal == nil, "in pieces of \(size)")
            }
        }
    }

    @Test(arguments: [
        ("\r\n", 400), ("\n", 400), (";a\r\n", 400), ("5\nhello\r\n", 400), ("+5\r\nhello\r\n", 400),
        ("-5\r\nhello\r\n", 400), (" 5\r\nhello\r\n", 400), ("5 \r\nhello\r\n", 400),
        ("5 ;a\r\nhello\r\n", 400), ("0x5\r\nhello\r\n", 400), ("5_\r\nhello\r\n", 400), ("g\r\n", 400),
        ("\u{665}\r\nhello\r\n", 400), ("00000000000000005\r\nhello\r\n", 400),
        ("ffffffffffffffff\r\n", 413), ("8000000000000000\r\n", 413), ("4001\r\n", 413),
        ("5\r\nhello0\r\n", 400), ("5\r\nhello\n0\r\n", 400), ("5\r\nhello\r0\r\n", 400),
        ("5;a\rb\r\nhello\r\n", 400), ("5;a\nb\r\nhello\r\n", 400), ("5;\u{0}\r\nhello\r\n", 400),
        ("0\r\n\n", 400), ("0\r\nno field\r\n\r\n", 400), ("0\r\n: x\r\n\r\n", 400),
        ("0\r\n a: x\r\n\r\n", 400),
        ("0\r\na: \u{1}\r\n\r\n", 400),
    ])
    func whatTwoReadersMightTakeDifferentlyIsRefused(_ chunks: String, _ status: Int) {
        let text = Array((Self.head + chunks + Self.next).utf8)
        for size in [1, 7, text.count] {
            let (passed, refusal) = Self.passed(Self.pieces(text, of: size))
            #expect(passed.isEmpty && refusal?.status == status)
        }
    }

    @Test(arguments: [
        ("Transfer-Encoding: chunked\r\nContent-Length: 3", 400),
        ("Content-Length: 0\r\nTransfer-Encoding: chunked", 400),
        ("Transfer-Encoding: chunked, chunked", 400),
        ("Transfer-Encoding: chunked\r\ntransfer-encoding: chunked", 400), ("Transfer-Encoding:", 400),
        ("Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked", 400), ("Transfer-Encoding: ,", 400),
        ("Transfer-Encoding : chunked", 400), ("Transfer-Encoding: chunked\u{b}", 400),
        ("Transfer-Encoding: gzip, chunked", 501), ("Transfer-Encoding: chunked, gzip", 501),
        ("Transfer-Encoding: identity", 501), ("Transfer-Encoding: chunked;q=1", 501),
        ("Transfer-Encoding: \"chunked\"", 501), ("Transfer-Encoding: xchunked", 501),
    ])
    func oneCodingIsKnown(_ field: String, _ status: Int) {
        let text = Self.fields + field + "\r\n\r\n0\r\n\r\n" + Self.next
        let (passed, refusal) = Self.passed([Array(text.utf8)])
        #expect(passed.isEmpty && refusal?.status == status)
        // Nor is any known to clients of before.
        let old = (Self.head + "0\r\n\r\n").replacing("HTTP/1.1", with: "HTTP/1.0")
        #expect(Self.passed([Array(old.utf8)]).refusal == .malformed)
    }

    // MARK: - Limits

    @Test(arguments: [("/", 16 << 10), ("/v1/dispatch", 1 << 20), ("/hooks/x", 1 << 20)])
    func theyAreAsLongAsOthers(_ path: String, _ limit: Int) {
        let head = Array(Self.head.replacing("POST /", with: "POST \(path)").utf8)
        let size = 1000
        let chunk = Array("3E8\r\n".utf8) + [UInt8](repeating: 0x61, count: size) + Array("\r\n".utf8)
        let rest = limit % size
        let last = [UInt8](repeating: 0x62, count: rest) + Array("\r\n0\r\n\r\n".utf8)
        let chunks = [[UInt8]](repeating: chunk, count: limit / size)
        let whole = Self.passed([head] + chunks + [Array("\(String(rest, radix: 16))\r\n".utf8), last])
        #expect(whole.refusal == nil && whole.bytes.suffix(limit).count { $0 == 0x62 } == rest)
        #expect(whole.bytes.count > limit && whole.bytes.count < limit + 200)
        let tooLong = Self.passed([head] + chunks + [Array("\(String(rest + 1, radix: 16))\r\n".utf8)])
        #expect(tooLong.bytes.isEmpty && tooLong.refusal?.status == 413)
    }

    /// Whatever is sent without an end, with what it takes to be refused.
    @Test(arguments: [
        ("1;", "a", 400), ("", "0", 400), ("0\r\nA: ", "a", 400), ("5\r\nhello", "\r", 400),
        ("", "1;\(String(repeating: "e", count: 90))\r\na\r\n", 413), ("0\r\n", "Trailer: abcdefgh\r\n", 413),
        ("", "1\r\na\r\n", 413), ("3000\r\n", "a", 400),
    ])
    func nothingIsEndless(_ beginning: String, _ part: String, _ status: Int) throws {
        var (requests, queue) = (RequestGuard(FrontLimits()), ByteQueue())
        try requests.receive(Array((Self.head + beginning).utf8), into: &queue)
        var sent = 0
        let refusal = #expect(throws: RequestHead.Refusal.self) {
            while sent < 1 << 20 {
                try requests.receive(Array(part.utf8), into: &queue)
                sent += part.utf8.count
            }
        }
        #expect(refusal?.status == status && queue.isEmpty && sent <= 6 * 16_385)
    }

    // MARK: - Random bytes

    private static func chunks(of content: [UInt8], using random: inout SeededGenerator) -> [UInt8] {
        var (chunks, rest) = ([UInt8](), content[...])
        func size(_ count: Int) -> String {
            let digits = String(count, radix: 16, uppercase: random.oneIn(2))
            let zeros = String(repeating: "0", count: Int.random(in: 0...3, using: &random))
            return zeros + digits + (random.oneIn(3) ? ";a=\"b;\";c" : "") + "\r\n"
        }
        while !rest.isEmpty {
            let data = rest.prefix(Int.random(in: 1...(random.oneIn(2) ? 3 : 300), using: &random))
            chunks += Array(size(data.count).utf8) + data + [0x0d, 0x0a]
            rest = rest.dropFirst(data.count)
        }
        return chunks + Array((size(0) + (random.oneIn(3) ? "A: b\r\nc:\r\n" : "") + "\r\n").utf8)
    }

    private static func cut(_ bytes: [UInt8], using random: inout SeededGenerator) -> [[UInt8]] {
        var (parts, rest) = ([[UInt8]](), bytes[...])
        while !rest.isEmpty {
            let part = rest.prefix(Int.random(in: 1...(random.oneIn(3) ? 4 : 400), using: &random))
            parts.append(Array(part))
            rest = rest.dropFirst(part.count)
        }
        return parts
    }

    @Test func aBodyIsTheSameHoweverItIsCut() {
        var random = SeededGenerator(seed: 21)
        for _ in 0..<2000 {
            var (sent, expected) = ([UInt8](), [UInt8]())
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                let content = (0..<Int.random(in: 0...900, using: &random)).map { _ in
                    // Bytes of which chunks consist, too.
                    random.oneIn(2)
                        ? UInt8.random(in: 0...255, using: &random)
                        : [0x0d, 0x0a, 0x30][Int.random(in: 0...2, using: &random)]
                }
                sent += Array(Self.head.utf8) + Self.chunks(of: content, using: &random)
                expected += Self.request(content)
            }
            let (passed, refusal) = Self.passed(Self.cut(sent, using: &random))
            #expect(passed == expected && refusal == nil)
        }
    }

    /// Changed bytes against a decoder of whole texts: what is passed on is its content, and then what follows its end.
    @Test func nothingIsSeenThatAStrictReaderDoesNotSee() {
        var random = SeededGenerator(seed: 22)
        var outcomes: [String: Int] = [:]
        let bytes = Array("\r\n\n\r;: 0159afAF-+xg\t\u{0}".utf8) + [0xff]
        for _ in 0..<8000 {
            let content = Array(
                "0\r\n\r\nGET /hidden HTTP/1.1\r\nhost: x\r\n\r\n".utf8.prefix(
                    Int.random(in: 0...41, using: &random)))
            var text = Self.chunks(of: content, using: &random) + Array(Self.next.utf8)
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                let place = Int.random(in: 0..<text.count, using: &random)
                let byte = bytes[Int.random(in: 0..<bytes.count, using: &random)]
                switch Int.random(in: 0...3, using: &random) {
                case 0: text[place] = byte
                case 1: text.insert(byte, at: place)
                case 2: text.remove(at: place)
                default: text.removeSubrange(place..<min(text.count, place + 5))
                }
                if text.isEmpty { text = [byte] }
            }
            let (passed, refusal) = Self.passed(Self.cut(Array(Self.head.utf8) + text, using: &random))
            switch StrictReader.read(text) {
            case .complete(let content, let end):
                outcomes["complete", default: 0] += 1
                let rest = Self.passed([Array(text[end...])])
                #expect(passed == Self.request(content) + rest.bytes && refusal == rest.refusal)
            case .refused:
                outcomes["refused", default: 0] += 1
                #expect(passed.isEmpty && refusal != nil)
            case .incomplete:
                outcomes["incomplete", default: 0] += 1
                #expect(passed.isEmpty)
            }
        }
        #expect(outcomes.count == 3 && outcomes.values.allSatisfy { $0 > 100 }, "\(outcomes)")
    }

    /// The rules of RFC 9112, 7.1, for a text that has come whole.
    private enum StrictReader {
        case complete([UInt8], end: Int)
        case refused
        case incomplete

        static func read(_ text: [UInt8]) -> StrictReader {
            var (content, place) = ([UInt8](), 0)
            while true {
                guard let end = text[place...].firstIndex(of: 0x0a) else { return .incomplete }
                guard let size = line(text[place..<end]).flatMap(size) else { return .refused }
                place = end + 1
                if size == 0 { break }
                guard text.count >= place + size + 2 else { return .incomplete }
                content += text[place..<(place + size)]
                place += size + 2
                guard text[(place - 2)..<place].elementsEqual([0x0d, 0x0a]) else { return .refused }
            }
            while true {
                guard let end = text[place...].firstIndex(of: 0x0a) else { return .incomplete }
                guard let trailer = line(text[place..<end]) else { return .refused }
                place = end + 1
                if trailer.isEmpty { return .complete(content, end: place) }
                guard trailer.wholeMatch(of: /[!#$%&'*+\-.^_`|~0-9A-Za-z]+:.*/) != nil else {
                    return .refused
                }
            }
        }

        /// What stands before CR and LF; nil if it holds a control character.
        private static func line(_ bytes: ArraySlice<UInt8>) -> String? {
            guard bytes.last == 0x0d,
                bytes.dropLast().allSatisfy({ $0 == 9 || (32...126).contains($0) || $0 > 127 })
            else { return nil }
            return String(bytes.dropLast().map { Character(UnicodeScalar($0)) })
        }

        private static func size(_ line: String) -> Int? {
            guard let match = line.wholeMatch(of: /([0-9A-Fa-f]{1,16})(;.*)?/),
                let size = Int(match.1, radix: 16)
            else { return nil }
            return size <= 16 << 10 ? size : nil
        }
    }
}
