import BusSystem
import FluxBus
import FluxBusWeb
import Foundation
import TestServer
import Testing

@Suite("The wire over WebSocket")
struct WebSocketTests {
    @Test func handshakesAreAnswered() async throws {
        try await WebFixture.run { web in
            let cookie = try web.signIn()
            let answer = try web.client().upgrade(["Cookie": cookie])
            #expect(answer.status == 101)
            // The example of RFC 6455.
            #expect(answer.fields["sec-websocket-accept"] == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")
            for change in [
                ["Upgrade": "h2c"], ["Sec-WebSocket-Key": "short"], ["Sec-WebSocket-Version": "12"],
            ] {
                #expect(try web.client().upgrade(["Cookie": cookie].merging(change) { $1 }).status == 400)
            }
            let unsigned = try web.client().upgrade()
            #expect(unsigned.status == 401 && unsigned.text.contains("link"))
        }
    }

    /// Requests whose replies are the same for everybody; `ws` and `unix` are two connections to one bus.
    private static let conversation = [
        #"{"op":"ping","id":"ü €"}"#, #"{"op":"types","id":2}"#, #"{"op":"nonsense"}"#, "{", "[]",
        #"{"op":"get","store":"counter/main","id":[1,{"a":null}]}"#,
        #"{"op":"dispatch","store":"counter/main","action":"nothing","id":4}"#,
        #"{"op":"list","id":5}"#, #"{"op":"get","store":"counter/none"}"#,
    ]

    @Test func theSameIsSaidOverBothSockets() async throws {
        try await WebFixture.run { web in
            let socket = try web.webSocket(web.signIn())
            let line = try web.bus.client()
            for request in Self.conversation { #expect(try socket.ask(request) == line.ask(request)) }
            // All at once, and in many frames.
            for request in Self.conversation {
                try line.send(request)
                for (index, byte) in request.utf8.enumerated() {
                    socket.client.send(
                        WebSocketClient.bytes(
                            [byte], opcode: index == 0 ? 1 : 0, isFinal: index == request.utf8.count - 1))
                }
            }
            for _ in Self.conversation { #expect(try socket.line() == line.line()) }
        }
    }

    /// The bus knows where a browser is, and a browser can't say that it is elsewhere.
    @Test func theBusKnowsForWhomTheServerSpeaks() async throws {
        try await WebFixture.run { web in
            let socket = try web.webSocket(web.signIn())
            let hello = try socket.ask(#"{"op":"hello","client":"page","via":"192.0.2.7:1"}"#)
            let identity = try JSON(parsing: hello)["identity"]
            #expect(identity?["via"]?.string?.hasPrefix("127.0.0.1:") == true)
            #expect(identity?["client"] == "page")
        }
    }

    /// So it is where the browser shows a token of its own, in however many pieces, and behind an empty line.
    @Test func theBusKnowsForWhomTheServerSpeaksOverTCP() async throws {
        let token = "inspector-0123456789"
        var bus = LiveBus.Setup()
        (bus.listen, bus.tokens) = (["tcp:127.0.0.1:0"], "inspector \(token)\n")
        try await WebFixture.run(bus) { setup, bus in
            setup.bus = (try? BusAddress(parsing: bus.addresses[1])) ?? setup.bus
        } _: { (web) throws in
            for claim in ["", #","via":"192.0.2.7:1""#] {
                let socket = try web.webSocket("")
                let hello = #"{"op":"hello","id":"ü","client":"page","token":"\#(token)"\#(claim)}"#
                socket.client.send(WebSocketClient.bytes([]))
                socket.client.send(WebSocketClient.bytes(Array(hello.utf8.prefix(20)), isFinal: false))
                socket.client.send(WebSocketClient.bytes(Array(hello.utf8.dropFirst(20)), opcode: 0))
                socket.send(#"{"op":"hello","via":"192.0.2.8:1"}"#)
                for id in ["ü", nil] {
                    let reply = try JSON(parsing: socket.line())
                    #expect(reply["identity"]?["via"]?.string?.hasPrefix("127.0.0.1:") == true)
                    #expect(reply["identity"]?["client"] == "page" && reply["id"]?.string == id)
                }
            }
        }
    }

    @Test func subscribersHearTheSame() async throws {
        try await WebFixture.run { web in
            let socket = try web.webSocket(web.signIn())
            let line = try web.bus.client()
            let subscribe = #"{"op":"subscribe","match":"counter/*"}"#
            #expect(try socket.ask(subscribe) == line.ask(subscribe))
            let other = try web.bus.client()
            for _ in 0..<200 {
                _ = try other.ask(#"{"op":"dispatch","store":"counter/main","action":"increment"}"#)
            }
            let last = #""revision":\#(try Self.revision(other))"#
            func events(_ next: () throws -> String?) throws -> String {
                var last: String?
                while let line = try next() {
                    last = line
                    if line.contains(#""count":200"#) { break }
                }
                return last ?? ""
            }
            let heard = try events { try socket.line() }
            #expect(heard.contains(last))
            #expect(try events { try line.line() }.contains(last))
        }
    }

    private static func revision(_ client: LineClient) throws -> Int {
        let reply = try client.ask(#"{"op":"hello","protocol":1}"#)
        let digits = reply.components(separatedBy: #""revision":"#).last?.prefix { $0.isNumber }
        return try #require(digits.flatMap { Int($0) })
    }

    @Test func longLinesComeWhole() async throws {
        try await WebFixture.run { web in
            let socket = try web.webSocket(web.signIn())
            let line = try web.bus.client()
            for length in [65_000, 70_000, (1 << 20) - 40, 1 << 20, 3 << 20] {
                let request = #"{"op":"ping","id":"\#(String(repeating: "ü", count: length / 2))"}"#
                #expect(try socket.ask(request) == line.ask(request))
            }
            #expect(try socket.ask(#"{"op":"ping"}"#) == #"{"ok":true}"#)
        }
    }

    /// 70 kB in one pointer, which nothing may recurse over.
    @Test func aPointerOfManySegmentsIsTooLarge() async throws {
        try await WebFixture.run { web in
            let socket = try web.webSocket(web.signIn())
            let pointer = String(repeating: "/a", count: 35_000)
            for op in ["get", "subscribe"] {
                let reply = try socket.ask(#"{"op":"\#(op)","match":"*/*","select":["\#(pointer)"]}"#)
                #expect(reply.contains(#""code":"too_large""#))
            }
            #expect(try socket.ask(#"{"op":"ping"}"#) == #"{"ok":true}"#)
        }
    }

    @Test func pingsAreAnsweredAmongLines() async throws {
        try await WebFixture.run { web in
            let socket = try web.webSocket(web.signIn())
            socket.client.send(WebSocketClient.bytes(Array("{\"op\":".utf8), isFinal: false))
            socket.client.send(WebSocketClient.bytes(Array("now".utf8), opcode: 9))
            #expect(try socket.frame() == .init(isFinal: true, opcode: 10, payload: Array("now".utf8)))
            socket.client.send(WebSocketClient.bytes(Array("\"ping\"}".utf8), opcode: 0))
            #expect(try socket.line() == #"{"ok":true}"#)
        }
    }

    @Test func closingIsAnsweredWithTheSameCode() async throws {
        try await WebFixture.run { web in
            let cookie = try web.signIn()
            for (payload, code) in [([], 1000), ([0x03, 0xe8], 1000), ([0x0f, 0xa1, 0x78], 4001)]
                as [([UInt8], Int)]
            {
                let socket = try web.webSocket(cookie)
                socket.client.send(WebSocketClient.bytes(payload, opcode: 8))
                #expect(try socket.end().close.code == code)
            }
            for (bytes, code) in [
                (WebSocketClient.bytes([1], opcode: 2), 1003),
                (WebSocketClient.bytes(Array("{}".utf8), isMasked: false), 1002),
                (WebSocketClient.bytes([0xff]), 1007), (WebSocketClient.bytes([0x0a]), 1007),
                (WebSocketClient.bytes([UInt8](repeating: 1, count: 126), opcode: 9), 1002),
                (WebSocketClient.bytes([UInt8](repeating: 1, count: 70_000), opcode: 9), 1002),
                ([0xf1, 0x80] + WebSocketClient.mask, 1002), (WebSocketClient.bytes([], opcode: 5), 1002),
            ] {
                let socket = try web.webSocket(cookie)
                socket.client.send(bytes)
                let close = try socket.end().close
                #expect(close.code == code && close.reason.hasSuffix("."))
            }
        }
    }

    @Test func aBusThatIsNotThereIsSaid() async throws {
        try await WebFixture.run { web in
            let cookie = try web.signIn()
            web.bus.stop()
            let close = try web.webSocket(cookie).end().close
            #expect(close.code == 1013 && close.reason == "Bus not running at \(web.bus.address)")
            let health = try web.ask("GET", "/healthz")
            #expect(health.status == 503 && health.text == "The bus does not answer.\n")
        }
    }

    @Test func theBusSaysGoodbyeAndComesBack() async throws {
        try await WebFixture.run { web in
            let cookie = try web.signIn()
            let socket = try web.webSocket(cookie)
            #expect(try socket.ask(#"{"op":"ping"}"#) == #"{"ok":true}"#)
            web.bus.stop()
            #expect(try socket.line().hasPrefix(#"{"event":"goodbye""#))
            #expect(try socket.end().close.code == 1001)
            try web.bus.start()
            #expect(try web.webSocket(cookie).ask(#"{"op":"ping"}"#) == #"{"ok":true}"#)
            #expect(try web.ask("GET", "/healthz").text == "ok\n")
        }
    }

    @Test func theEndOfTheServerIsSaid() async throws {
        try await WebFixture.run { web in
            let cookie = try web.signIn()
            let sockets = try (0..<5).map { _ in try web.webSocket(cookie) }
            for socket in sockets { #expect(try socket.ask(#"{"op":"ping"}"#) == #"{"ok":true}"#) }
            let server = web.server
            Thread.detachNewThread { Waiting.done { await server.stop() } }
            for socket in sockets { #expect(try socket.end().close.code == 1001) }
            try web.restart()
        }
    }

    @Test func whoseBrowserEndsLeavesTheBus() async throws {
        try await WebFixture.run { web in
            let cookie = try web.signIn()
            let line = try web.bus.client()
            for round in 0..<30 {
                let socket = try web.webSocket(cookie)
                #expect(try socket.ask(#"{"op":"ping"}"#) == #"{"ok":true}"#)
                switch round % 3 {
                case 0: socket.client.close()
                case 1: socket.client.reset()
                default: socket.client.finishSending()
                }
            }
            // The bus's only clients are this one, and who asked for counters.
            while try line.ask(#"{"op":"clients"}"#).components(separatedBy: #""id":"#).count > 3 {}
        }
    }

    /// Pages that stay leave room for requests.
    @Test func socketsDoNotKeepRequestsOut() async throws {
        try await WebFixture.run { setup, _ in
            setup.limits.connections = 16
        } _: { web in
            let cookie = try web.signIn()
            let sockets = try (0..<14).map { _ in try web.webSocket(cookie) }
            for socket in sockets { #expect(try socket.ask(#"{"op":"ping"}"#) == #"{"ok":true}"#) }
            let refused = try web.client().upgrade(["Cookie": cookie])
            #expect(refused.status == 503)
            #expect(refused.text == "14 connections to the bus are open; close a page, and try again.\n")
            let feed = try web.ask("GET", "/v1/changes", ["Cookie": cookie])
            #expect(feed.status == 429)
            #expect(try web.ask("GET", "/healthz").text == "ok\n")
            // They stay open until here.
            withExtendedLifetime(sockets) {}
        }
    }
}
