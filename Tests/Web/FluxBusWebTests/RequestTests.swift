import FluxBusWeb
import TestSupport
import Testing

@Suite("Requests as they are passed on")
struct RequestTests {
    private static let head = "GET /a?b HTTP/1.1\r\nhost: x\r\n"

    private static func guarded(_ text: [UInt8], by size: Int) throws -> (
        passed: String, phase: RequestGuard.Phase
    ) {
        var (requests, queue) = (RequestGuard(FrontLimits()), ByteQueue())
        for start in stride(from: 0, to: text.count, by: size) {
            try requests.receive(text[start..<min(start + size, text.count)], into: &queue)
        }
        return (String(decoding: queue.prefix(.max), as: UTF8.self), requests.phase)
    }

    @Test func requestsAreTheSameHoweverTheirBytesCome() throws {
        let text =
            "\r\nGET / HTTP/1.1\r\nHost:  x \r\nX:\ty\u{e9}\r\n\r\nPOST /session HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\n"
            + "tokeDELETE /session HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\nGET /never HTTP/1.1\r\nHost: x\r\n\r\n"
        let passed =
            "GET / HTTP/1.1\r\nhost: x\r\nx: y\u{e9}\r\n\r\nPOST /session HTTP/1.1\r\nhost: x\r\ncontent-length: 4\r\n\r\n"
            + "tokeDELETE /session HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"
        for size in 1...text.utf8.count {
            let outcome = try Self.guarded(Array(text.utf8), by: size)
            #expect(outcome.passed == passed && outcome.phase == .done, "in pieces of \(size)")
        }
    }

    @Test(arguments: [
        ("GET / HTTP/1.1\r\n\r\n", 400), ("GET / HTTP/1.1\nHost: x\n\n\r\n\r\n", 400),
        ("GET /\r\nHost: x\r\n\r\n", 400), ("GET  / HTTP/1.1\r\nHost: x\r\n\r\n", 400),
        ("GET ftp://x/ HTTP/1.1\r\nHost: x\r\n\r\n", 400), ("GET x HTTP/1.1\r\nHost: x\r\n\r\n", 400),
        ("OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n", 400), ("GET http:/x HTTP/1.1\r\nHost: x\r\n\r\n", 400),
        ("GET http:///x HTTP/1.1\r\nHost: x\r\n\r\n", 400), ("GET http://x/ HTTP/1.1\r\n\r\n", 400),
        ("GET http://a@x/ HTTP/1.1\r\nHost: x\r\n\r\n", 400),
        ("GET http://x/ HTTP/1.1\r\nHost: x\r\nHost: x\r\n\r\n", 400),
        ("GET / HTTP/2.0\r\nHost: x\r\n\r\n", 505),
        ("G\u{e9}T / HTTP/1.1\r\nHost: x\r\n\r\n", 400), ("GET /\u{e9} HTTP/1.1\r\nHost: x\r\n\r\n", 400),
        (head + "host: y\r\n\r\n", 400), (head + "origin: a\r\nOrigin: b\r\n\r\n", 400),
        (head + " folded: x\r\n\r\n", 400), (head + "a b: c\r\n\r\n", 400), (head + ": c\r\n\r\n", 400),
        (head + "a : c\r\n\r\n", 400), (head + "abc\r\n\r\n", 400), (head + "a: b\u{0}c\r\n\r\n", 400),
        (head + "a: b\rc\r\n\r\n", 400), (head + "Content-Length: 1\r\nContent-Length: 1\r\n\r\n", 400),
        (head + "Content-Length: +1\r\n\r\n", 400), (head + "Content-Length: 1, 1\r\n\r\n", 400),
        (head + "Content-Length: 99999999999999999999\r\n\r\n", 413),
        (head + "Content-Length: 16385\r\n\r\n", 413),
        ("QUERY /v1/stores HTTP/1.1\r\nHost: h\r\n\r\n", 501),
        ("POST /v1/dispatch HTTP/1.1\r\nHost: h\r\nContent-Length: 1048577\r\n\r\n", 413),
        (head + "Transfer-Encoding: identity\r\nContent-Length: 3\r\n\r\n", 400),
        (head + "Transfer-Encoding: identity\r\n\r\n", 501),
        (head + "Expect: more\r\n\r\n", 417), (head + "Expect: 100-continue\r\nExpect: x\r\n\r\n", 417),
        (head + "Upgrade: websocket\r\nConnection: upgrade\r\nContent-Length: 3\r\n\r\n", 400),
        (head + "Upgrade: WebSocket\r\nConnection: upgrade\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
        (head + "Idempotency-Key: caf\u{e9}\r\n\r\n", 400), (head + "origin: \u{e9}\r\n\r\n", 400),
        (head + "if-match: \"1\"\r\nIf-Match: \"2\"\r\n\r\n", 400),
        (head + "Idempotency-Key: a\r\nidempotency-key: b\r\n\r\n", 400),
        (head + "Last-Event-ID: a:1\r\nlast-event-id: a:2\r\n\r\n", 400),
        (head + String(repeating: "a: b\r\n", count: 101) + "\r\n", 431),
    ])
    func whatTwoReadersMightTakeDifferentlyIsRefused(_ text: String, _ status: Int) throws {
        for size in [1, 7, text.utf8.count] {
            do {
                _ = try Self.guarded(Array(text.utf8), by: size)
                Issue.record("\(text) was passed on.")
            } catch let refusal as RequestHead.Refusal {
                #expect(refusal.status == status)
            }
        }
    }

    /// Other fields are passed on as they came, if they are UTF-8. A neighbour's cookie may be anything.
    @Test func textOutsideASCIIIsNotMadeTheSame() throws {
        let text = Self.head + "x-shop-delivery: \u{e9}\r\n\r\n"
        #expect(try Self.guarded(Array(text.utf8), by: 7).passed == text)
        for name in ["x-shop-delivery", "cookie"] {
            let bytes = Array((Self.head + name + ": ").utf8) + [0xe9] + Array("\r\n\r\n".utf8)
            if name == "cookie" {
                #expect(try Self.guarded(bytes, by: 7).passed == Self.head + "cookie: ?\r\n\r\n")
            } else {
                let refusal = #expect(throws: RequestHead.Refusal.self) { try Self.guarded(bytes, by: 7) }
                #expect(refusal?.status == 400)
            }
        }
    }

    /// A client that offers another protocol, as `curl --http2` does, is served in this one (RFC 9110, 7.8).
    @Test func onlyWebSocketIsAnotherProtocol() throws {
        let offer = "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: x\r\n"
        for (fields, line) in [
            (offer, "keep-alive"), (offer.replacing("Connection: ", with: "Connection: close, "), "close"),
            (offer.replacing("h2c", with: "websocket"), "keep-alive"),
        ] {
            let text = "POST / HTTP/1.1\r\nHost: x\r\n\(fields)Content-Length: 2\r\n\r\nok"
            let outcome = try Self.guarded(Array(text.utf8), by: text.utf8.count)
            #expect(!outcome.passed.contains("upgrade") && outcome.passed.contains("connection: \(line)\r\n"))
            #expect(outcome.passed.hasSuffix("\r\n\r\nok"))
            #expect(outcome.phase == (line == "close" ? .done : .between))
        }
    }

    /// RFC 9112, 3.2.2: the host of a whole address counts, and the field Host does not.
    @Test(arguments: [
        ("http://y:7480/v1/stats?a=http://z/", "/v1/stats?a=http://z/", "y:7480"),
        ("HTTPS://Y/", "/", "Y"), ("http://[::1]:5", "/", "[::1]:5"), ("http://y?a=b", "/?a=b", "y"),
    ])
    func theHostOfAWholeAddressCounts(_ target: String, _ path: String, _ host: String) throws {
        let fields = "Accept: a\r\n\r\n"
        let passed = "GET \(path) HTTP/1.1\r\nhost: \(host)\r\naccept: a\r\n\r\n"
        for field in ["Host: evil\r\n", "host: \r\n"] {
            let text = "GET \(target) HTTP/1.1\r\n" + field + fields
            #expect(try Self.guarded(Array(text.utf8), by: 7).passed == passed)
        }
        let old = "GET \(target) HTTP/1.0\r\n" + fields
        #expect(
            try Self.guarded(Array(old.utf8), by: 7).passed == passed.replacing("HTTP/1.1", with: "HTTP/1.0"))
    }

    @Test(arguments: [
        ("/hooks/../x", 400), ("/hooks/%2e%2E/x", 400), ("/hooks/.%2e/x", 400), ("/./v1/stats", 400),
        ("/v1/stores/..", 400), ("/..?a", 400), ("/..#a", 400), ("http://x/hooks/../v1/stats", 400),
        ("//", 404),
        ("//v1/stats", 404), ("/hooks//x", 404), ("/v1/stores//", 404), ("http://x//", 404),
        ("/v1/", 404), ("/v1/stores/?a", 404), ("/v1/dispatch/a/b/x/", 404), ("http://x/v1/stores/#a", 404),
        ("/v1/dispatch/a%2fb/x", 404), ("/v1/dispatch/a%2Fb/x", 404), ("/hooks/..%2fx", 404),
        ("/v1/stores/a/%ff", 404), ("/v1/stores/a/%f", 404),
    ])
    func noPathIsResolved(_ target: String, _ status: Int) throws {
        let text = "POST \(target) HTTP/1.1\r\nHost: x\r\n\r\n"
        let refusal = #expect(throws: RequestHead.Refusal.self) {
            try Self.guarded(Array(text.utf8), by: 7)
        }
        #expect(refusal?.status == status)
    }

    @Test(arguments: [
        "/", "/?a=../b//c", "/inspector/.../a", "/v1/stores/a/..b", "/hooks/..%252fx", "/%2e%2e%2e",
        "/v1/stores/%C3%A4",
    ])
    func otherPathsArePassedOn(_ path: String) throws {
        let text = "GET \(path) HTTP/1.1\r\nhost: x\r\n\r\n"
        #expect(try Self.guarded(Array(text.utf8), by: 7).passed == text)
    }

    /// What stands behind the front believes the client's address, so a client can't say another.
    @Test func theAddressIsThatOfTheConnection() throws {
        let text = Array((Self.head + "X-Client-Address: 192.0.2.1:1\r\nx-client-address: a\r\n\r\n").utf8)
        for address in ["[::1]:7", nil] {
            var (requests, queue) = (RequestGuard(FrontLimits(), address: address), ByteQueue())
            try requests.receive(text, into: &queue)
            let field = address.map { "x-client-address: \($0)\r\n" } ?? ""
            #expect(String(decoding: queue.prefix(.max), as: UTF8.self) == Self.head + field + "\r\n")
        }
    }

    @Test func endlessHeadsEnd() throws {
        for text in ["GET / HTTP/1.1\r\nHost: x\r\nX: ", "", "GET /"] {
            var (requests, queue) = (RequestGuard(FrontLimits()), ByteQueue())
            var status: Int?
            var sent = 0
            try requests.receive(Array(text.utf8), into: &queue)
            while status == nil, sent < 1 << 20 {
                do {
                    try requests.receive([UInt8](repeating: 0x61, count: 100), into: &queue)
                    sent += 100
                } catch {
                    status = error.status
                }
            }
            #expect(status == 431 && sent <= 17_000 && queue.isEmpty)
        }
    }

    /// Whatever is passed on is one request after another, by rules that are written down here once more.
    @Test func randomBytesPassOnlyRequests() throws {
        var generator = SeededGenerator(seed: 3)
        let words = [
            "GET", "POST", " ", "/", "x", "HTTP/1.1", "\r\n", "\n", "\r", "Host", ":", "Content-Length", "3",
            "0",
            "\r\n\r\n", "abc", "\u{0}", "\t", "Connection", "close", "Upgrade", "Host: x\r\n",
            "GET / HTTP/1.1\r\n",
            "é", ",",
        ]
        let request =
            /(GET|POST|[A-Z]+) \/[!-~]* HTTP\/1\.1\r\n([!#$%&'*+\-.^_`|~0-9a-z]+: [^\r\n\u{0}]*\r\n)+\r\n/
        var passed = 0
        for _ in 0..<20_000 {
            let text =
                (0..<Int.random(in: 1...14, using: &generator)).map { _ in
                    words.randomElement(using: &generator) ?? ""
                }.joined() + (Bool.random(using: &generator) ? "\r\n\r\n" : "")
            var (requests, queue) = (RequestGuard(FrontLimits()), ByteQueue())
            _ = try? requests.receive(Array(("GET / HTTP/1.1\r\n" + text).utf8), into: &queue)
            guard !queue.isEmpty else { continue }
            passed += 1
            let head = String(decoding: queue.prefix(.max), as: UTF8.self)
            #expect(head.prefixMatch(of: request) != nil, "\(text)")
            #expect(head.lowercased().contains("\r\nhost: "))
        }
        #expect(passed > 100)
    }
}
