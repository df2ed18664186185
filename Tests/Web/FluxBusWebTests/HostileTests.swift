import FluxBusWeb
import Foundation
import Glibc
import TestServer
import TestSupport
import Testing

@Suite("Hostile bytes")
struct HostileTests {
    private static let requests = [
        "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "GET /inspector/main.js HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "POST /session HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nwrong",
        "POST /session HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nwr\r\n3\r\nong\r\n0\r\n\r\n",
        "GET /session HTTP/1.1\r\nHost: localhost\r\nCookie: fluxbus-session=1.2.3\r\n\r\n",
        "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n", "HEAD / HTTP/1.0\r\nHost: localhost\r\n\r\n",
    ]

    /// Requests, some bytes of which are others, cut off anywhere, by clients that go in every way.
    @Test(arguments: 0..<12)
    func changedRequestsHarmNobody(_ seed: Int) async throws {
        try await WebFixture.run { web in
            var generator = SeededGenerator(seed: UInt64(seed))
            for _ in 0..<40 {
                let client = try web.client()
                var bytes = (0..<Int.random(in: 1...6, using: &generator)).flatMap { _ in
                    Array((Self.requests.randomElement(using: &generator) ?? "").utf8)
                }
                for _ in 0..<Int.random(in: 0...3, using: &generator) {
                    bytes[Int.random(in: 0..<bytes.count, using: &generator)] = .random(
                        in: 0...255, using: &generator)
                }
                client.send(Array(bytes.prefix(Int.random(in: 1...bytes.count, using: &generator))))
                switch Int.random(in: 0...3, using: &generator) {
                case 0: client.reset()
                case 1:
                    client.finishSending()
                    _ = try client.rest()
                default: client.close()
                }
            }
            #expect(try web.ask("GET", "/healthz").text == "ok\n")
        }
    }

    /// The same with frames.
    @Test(arguments: 0..<12)
    func changedFramesHarmNobody(_ seed: Int) async throws {
        try await WebFixture.run { web in
            var generator = SeededGenerator(seed: UInt64(100 + seed))
            let cookie = try web.signIn()
            let line = try web.bus.client()
            for _ in 0..<25 {
                let socket = try web.webSocket(cookie)
                var bytes: [UInt8] = []
                for _ in 0..<Int.random(in: 1...8, using: &generator) {
                    let length = [0, 1, 40, 125, 126, 5000, 70_000].randomElement(using: &generator) ?? 0
                    bytes += WebSocketClient.bytes(
                        Array(repeating: UInt8.random(in: 32...126, using: &generator), count: length),
                        opcode: [0, 1, 1, 1, 2, 8, 9, 10, 11].randomElement(using: &generator) ?? 1,
                        isFinal: Int.random(in: 0...3, using: &generator) > 0,
                        isMasked: Int.random(in: 0...9, using: &generator) > 0)
                }
                for _ in 0..<Int.random(in: 0...3, using: &generator) {
                    let place = Int.random(in: 0..<min(bytes.count, 40), using: &generator)
                    bytes[place] = .random(in: 0...255, using: &generator)
                }
                socket.client.send(bytes)
                switch Int.random(in: 0...2, using: &generator) {
                case 0: socket.client.reset()
                case 1:
                    socket.client.finishSending()
                    _ = try socket.client.rest()
                default: socket.client.close()
                }
            }
            #expect(try web.webSocket(cookie).ask(#"{"op":"ping"}"#) == #"{"ok":true}"#)
            // None of them is left on the bus.
            while try line.ask(#"{"op":"clients"}"#).components(separatedBy: #""id":"#).count > 3 {}
        }
    }

    @Test func aFrameOfAnyLengthTakesNoMemory() async throws {
        try await onThread {
            let web = try ProgramFixture()
            let socket = try web.webSocket(web.signIn())
            let before = try web.memory()
            socket.client.send([0x81, 0xff, 0x10, 0, 0, 0, 0, 0, 0, 0] + WebSocketClient.mask)
            // "a" under the mask: 80 MiB, more than a message may have.
            let piece = (0..<(1 << 20)).map { 0x61 ^ WebSocketClient.mask[$0 % 4] }
            for _ in 0..<80 where socket.client.send(piece) {}
            // The bus refuses the line; then it is the end.
            let (lines, close) = try socket.end()
            #expect(lines == 1 && close.code == 1009)
            #expect(try web.memory() - before < 16 << 20)
        }
    }

    @Test func finelyCutMessagesAndFloodsOfPingsEnd() async throws {
        try await WebFixture.run { web in
            let cookie = try web.signIn()
            let socket = try web.webSocket(cookie)
            let piece = WebSocketClient.bytes([], opcode: 0, isFinal: false)
            socket.client.send(WebSocketClient.bytes([], isFinal: false))
            for _ in 0..<100 { socket.client.send(Array([[UInt8]](repeating: piece, count: 100).joined())) }
            #expect(try socket.end().close.code == 1008)
            // Pings that nobody reads the answers of keep one answer each time.
            let other = try web.webSocket(cookie)
            let pings = Array(
                [[UInt8]](repeating: WebSocketClient.bytes([1, 2, 3], opcode: 9), count: 1000).joined())
            for _ in 0..<100 { other.client.send(pings) }
            other.send(#"{"op":"ping"}"#)
            var frame = try other.frame()
            while frame.opcode == 10 { frame = try other.frame() }
            #expect(frame.payload == Array(#"{"ok":true}"#.utf8))
        }
    }

    @Test func nothingIsKeptOfThoseWhoGo() async throws {
        try await onThread {
            let web = try ProgramFixture()
            let cookie = try web.signIn()
            func isWell() throws -> Bool { try web.client().ask("GET", "/healthz").text == "ok\n" }
            #expect(try isWell())
            let before = try web.program.descriptorCount()
            for round in 0..<300 {
                let socket = try web.webSocket(cookie)
                if round % 2 == 0 { socket.send(#"{"op":"subscribe","match":"counter/*"}"#) }
                if round % 3 == 0 { socket.client.reset() } else { socket.client.close() }
            }
            // The one that asks has two.
            var waited = 0
            while try web.program.descriptorCount() > before + 2, waited < 5000 {
                #expect(try isWell())
                waited += 1
            }
            #expect(waited < 5000)
        }
    }
}
