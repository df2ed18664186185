import Foundation
import TestServer
import Testing

/// Files are read and compiled beside the bus, which answers everybody else meanwhile.
@Suite(.timeLimit(.minutes(10))) struct ReloadTests {
    private func isSilent(_ client: LineClient) -> Bool {
        var waited = pollfd(fd: client.descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&waited, 1, 0) == 0
    }

    @Test func othersAreAnsweredWhileFilesAreRead() throws {
        let bus = try LiveBus()
        let (reloader, other) = (try bus.client(), try bus.client())
        _ = try other.ask(#"{"op":"ping"}"#)
        var type = "type: wide\ninitial:\n"
        for number in 0..<20_000 { type += "  member\(number): [1, 2, 3, \(number)]\n" }
        try bus.directory.write("types/wide.yaml", type)
        try reloader.send(#"{"op":"reload"}"#)
        // What was sent first is taken up first.
        for _ in 0..<10 { #expect(try other.ask(#"{"op":"ping"}"#) == #"{"ok":true}"#) }
        #expect(isSilent(reloader))
        #expect(try #require(try reloader.line()).contains(#""ok":true"#))
        #expect(try other.ask(#"{"op":"types","type":"wide"}"#).contains("member19999"))
    }

    /// Reloads come one after the other, and each finds what was there when it began.
    @Test func reloadsAreDoneInOrder() throws {
        let bus = try LiveBus()
        let clients = try (0..<4).map { _ in try bus.client() }
        for client in clients { try client.send(#"{"op":"reload"}"#) }
        bus.server.reload()
        for client in clients { #expect(try #require(try client.line()).contains(#""ok":true"#)) }
        let broken = "type: broken\nstate: nothing\n"
        try bus.directory.write("types/broken.yaml", broken)
        #expect(try clients[0].ask(#"{"op":"reload"}"#).contains("broken.yaml"))
        try FileManager.default.removeItem(atPath: "\(bus.directory.path)/types/broken.yaml")
        #expect(try clients[0].ask(#"{"op":"reload"}"#).contains(#""ok":true"#))
    }

    /// A stop does not wait for one, and a client that has asked for it hears of the end.
    @Test func stopDuringAReloadEndsTheBus() throws {
        let bus = try LiveBus()
        let client = try bus.client()
        // The bus has accepted it before it stops.
        try #require(try client.ask(#"{"op":"ping"}"#).contains(#""ok":true"#))
        try client.send(#"{"op":"reload"}"#)
        bus.stop()
        var lines: [String] = []
        // Where its request was not read any more, the end is a reset, behind what was written before.
        while let line = try? client.line() { lines.append(line) }
        #expect(lines.last?.contains(#""shutdown""#) == true, "\(lines)")
    }
}
