import Foundation
import TestServer
import Testing

/// Files are read and compiled beside the bus, which answers everybody else meanwhile.
@Suite(.timeLimit(.minutes(10))) struct ReloadTests {
    private static let increment = #"{"op":"dispatch","store":"counter/main","action":"increment"}"#

    private func isSilent(_ client: LineClient) -> Bool {
        var waited = pollfd(fd: client.descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&waited, 1, 0) == 0
    }

    /// A type that takes some time to read.
    private static func wide(members: Int) -> String {
        "type: wide\ninitial:\n"
            + (0..<members).map { "  member\($0): [1, 2, 3, \($0)]\n" }.joined()
    }

    @Test func othersAreAnsweredWhileFilesAreRead() throws {
        let bus = try LiveBus()
        let (reloader, other) = (try bus.client(), try bus.client())
        _ = try other.ask(#"{"op":"ping"}"#)
        try bus.directory.write("types/wide.yaml", Self.wide(members: 20_000))
        try reloader.send(#"{"op":"reload"}"#)
        // What was sent first is taken up first.
        try other.send(bytes: String(repeating: Self.increment + "\n", count: 10))
        for revision in 2...11 { #expect(try other.line()?.contains("\"revision\":\(revision),") == true) }
        // It is one more commit, after theirs.
        #expect(try reloader.line() == #"{"ok":true,"revision":12}"#)
        #expect(try other.ask(#"{"op":"types","type":"wide"}"#).contains("member19999"))
    }

    /// Everybody waits for the turn in which stores migrate, and is answered before the next reload has its turn.
    @Test func othersAreAnsweredBetweenReloads() throws {
        let bus = try LiveBus(types: ["light": "type: light\ninitial: { level: 0 }\n"])
        let other = try bus.client()
        let count = 8000
        for first in stride(from: 0, to: count, by: 100) {
            let requests = (first..<first + 100).map { #"{"op":"create","store":"light/l\#($0)"}"# + "\n" }
            try other.send(bytes: requests.joined())
            for _ in requests { try #require(try #require(try other.line()).contains(#""ok":true"#)) }
        }
        try bus.directory.write(
            "types/light.yaml",
            """
            type: light
            version: 2
            initial: { brightness: 0 }
            migrate:
              1: { set: { brightness: { "+": [{ var: state.level }, 1] } }, unset: [level] }

            """)
        // It takes some time to read, so all reloads are there before the first one has its turn.
        try bus.directory.write("types/wide.yaml", Self.wide(members: 5000))
        let reloaders = try (0..<8).map { _ in try bus.client() }
        for reloader in reloaders { try reloader.send(#"{"op":"reload","dryRun":true}"#) }
        let last = try bus.client()
        try last.send(#"{"op":"reload"}"#)
        while isSilent(last) { #expect(try other.ask(Self.increment).contains(#""ok":true"#)) }
        // Each tells how many commits there were before it. On a busy machine the other client may miss its chance now and then.
        let revisions = try reloaders.map { LineClient.integer("revision", in: try #require(try $0.line())) }
        #expect(Set(revisions).count >= 4, "\(revisions)")
        #expect(try #require(try last.line()).contains(#""stores":\#(count)"#))
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

    @Test func tokensThatAreTakenAwayAreValidNoLonger() throws {
        let kept = "phone s3cret-of-the-phone\n"
        let bus = try LiveBus(
            listen: ["tcp:127.0.0.1:0"],
            tokens: kept + "laptop s3cret-of-the-laptop\npanel s3cret-of-the-panel\n")
        let clients = try ["phone", "laptop", "panel"].map { name in
            let client = try LineClient(bus.addresses[1])
            let hello = try client.ask(#"{"op":"hello","token":"s3cret-of-the-\#(name)"}"#)
            #expect(hello.contains(#""ok":true"#), "\(hello)")
            return client
        }
        try bus.directory.write("tokens", kept + "panel another-one-of-the-panel\n")
        #expect(try bus.client().ask(#"{"op":"reload"}"#).contains(#""ok":true"#))
        for client in clients[1...] {
            let goodbye = try #require(try client.line())
            #expect(goodbye.contains(#""kicked""#) && goodbye.contains("no longer valid"), "\(goodbye)")
            #expect(try client.line() == nil)
        }
        #expect(try clients[0].ask(#"{"op":"ping"}"#) == #"{"ok":true}"#)
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
