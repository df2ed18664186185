import BusJSON
import FluxBusWeb
import Foundation
import TestFiles
import TestServer
import Testing

@Suite("Slow browsers")
struct BackPressureTests {
    /// A client of the bus, as `clients` tells of it.
    private static func reader(_ line: LineClient) throws -> JSONObject {
        let reply = try JSON(parsing: Array(line.ask(#"{"op":"clients"}"#).utf8)).object
        let clients = try #require(reply?["clients"]?.array)
        return try #require(clients.compactMap(\.object).first { $0["client"]?.string == "slow" })
    }

    /// Events of 30 kB each; a browser that does not read them is behind on the bus, not in this process.
    @Test func whoDoesNotReadIsASlowReaderOfTheBus() async throws {
        var setup = LiveBus.Setup()
        setup.types = ["value": try Repository.text("config/types/value.yaml")]
        setup.stores = ["value/main"]
        let own = setup
        try await onThread {
            let web = try ProgramFixture(own)
            let socket = try web.webSocket(web.signIn()) { $0.narrow() }
            _ = try socket.ask(#"{"op":"hello","protocol":1,"client":"slow"}"#)
            _ = try socket.ask(#"{"op":"subscribe","match":"value/*"}"#)
            let line = try web.bus.client()
            let before = try web.memory()
            // 60 MB in all, where neither the bus nor anybody else may keep them.
            for number in 0..<2000 {
                let text = String(
                    repeating: Character(Unicode.Scalar(UInt8(97 + number % 26))), count: 30_000)
                let reply = try line.ask(
                    #"{"op":"dispatch","store":"value/main","action":"set","payload":{"value":"\#(text)"}}"#)
                #expect(reply.contains(#""ok":true"#))
            }
            let reader = try Self.reader(line)
            #expect(reader["lagging"]?.int == 1, "\(reader)")
            #expect(try web.memory() - before < 40 << 20)
            // It reads again, and is told where things stand.
            var count = 1
            while !(try socket.line().contains(#""revision":2001"#)) { count += 1 }
            #expect(count < 400)
            #expect(try Self.reader(line)["lagging"]?.int == 0)
        }
    }

    /// The bus reads nothing more of a client that takes no replies; then nobody reads more of its browser either.
    @Test func aBrowserThatOnlyAsksIsStopped() async throws {
        try await onThread {
            let web = try ProgramFixture()
            let client = try web.webSocket(web.signIn()) { $0.narrow() }.client
            let before = try web.memory()
            let request = WebSocketClient.bytes(
                Array(#"{"op":"ping","id":"\#(String(repeating: "x", count: 60_000))"}"#.utf8))
            _ = fcntl(client.descriptor, F_SETFL, O_NONBLOCK)
            var (sent, stalled) = (0, 0)
            var rest = request[...]
            // Until nothing has been taken for a second.
            while stalled < 10, sent < 200 << 20 {
                let count = rest.withUnsafeBytes { write(client.descriptor, $0.baseAddress, $0.count) }
                if count > 0 {
                    (sent, stalled) = (sent + count, 0)
                    rest = rest.count == count ? request[...] : rest.dropFirst(count)
                } else {
                    var room = pollfd(fd: client.descriptor, events: Int16(POLLOUT), revents: 0)
                    if poll(&room, 1, 100) == 0 { stalled += 1 }
                }
            }
            #expect(stalled == 10)
            #expect(sent < 100 << 20)
            #expect(try web.memory() - before < 40 << 20)
            #expect(try web.client().ask("GET", "/healthz").status == 200)
        }
    }
}
