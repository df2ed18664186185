import BusJSON
import Foundation
import TestServer
import Testing

/// The daemon itself, killed and stopped, with a type of which the log keeps nothing.
struct LogPolicyDaemonTests {
    private let bus: DaemonBus

    init() throws {
        bus = try DaemonBus(hasLog: true)
        try bus.directory.write(
            "types/beat.yaml",
            "type: beat\nlog: { keep: none }\ninitial: { n: 0 }\nactions: { beat: { increment: { n: 1 } } }\n"
        )
    }

    private func reply(_ client: LineClient, _ line: String) throws -> JSON {
        try JSON(parsing: client.reply(to: line))
    }

    private func beat(_ client: LineClient) throws -> Int {
        try #require(
            try reply(client, #"{"op":"dispatch","store":"beat/a","action":"beat"}"#)["revision"]?.int)
    }

    private var arguments: [String] { ["--store", "beat/a"] }

    /// What it has written to the disk so far, in bytes.
    private func written(_ daemon: RunningProgram) throws -> Int {
        let text = try String(contentsOfFile: "/proc/\(daemon.process.processIdentifier)/io", encoding: .utf8)
        let line = try #require(text.split(separator: "\n").first { $0.hasPrefix("write_bytes:") })
        return try #require(Int(line.dropFirst("write_bytes: ".count)))
    }

    @Test func nothingIsWrittenAndNoRevisionComesTwice() throws {
        var daemon = try bus.start(arguments)
        var client = try bus.client()
        _ = try client.reply(to: #"{"op":"dispatch","store":"counter/main","action":"increment"}"#)
        _ = try beat(client)
        let before = try written(daemon)
        var last = 0
        for _ in 0..<2000 { last = try beat(client) }
        #expect(try written(daemon) == before)
        let epoch = try client.epoch()
        daemon.kill()

        daemon = try bus.start(arguments)
        client = try bus.client()
        #expect(try client.epoch() == epoch)
        #expect(
            try reply(client, #"{"op":"get","match":"*/*"}"#)["states"]?["beat/a"] == ["n": 0])
        #expect(
            try reply(client, #"{"op":"get","match":"*/*"}"#)["states"]?["counter/main"]?["count"] == 1)
        let next = try beat(client)
        #expect(next > last)
        // A clean shutdown leaves no hole: its end is known.
        #expect(try bus.stop(daemon) == 0)
        daemon = try bus.start(arguments)
        client = try bus.client()
        let after = try beat(client)
        #expect(after > next && after < next + 10)
        #expect(try client.epoch() == epoch)
        #expect(try bus.stop(daemon) == 0)
        #expect(try RunningProgram.run("fluxbusd", ["--log", bus.log, "--verify"]).status == 0)
    }
}
