import BusJSON
import BusLog
import Foundation
import TestServer
import Testing

/// The daemon itself, killed and stopped, with a type of which the log keeps nothing, or no past.
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
        let text = try String(contentsOfFile: "/proc/\(daemon.process)/io", encoding: .utf8)
        let line = try #require(text.split(separator: "\n").first { $0.hasPrefix("write_bytes:") })
        return try #require(Int(line.dropFirst("write_bytes: ".count)))
    }

    /// What is in the log of commits before the horizon of a type, once it is thinned.
    private func entriesBeforeTheHorizon() throws -> String? {
        let reader = try LogReader(path: bus.log)
        guard let horizon = try reader.horizons()["beat"] else { return nil }
        var entries = ""
        try reader.forEachGroup(after: 0) { group in
            if group.last <= horizon { entries += String(decoding: group.entries, as: UTF8.self) + "\n" }
            return group.last < horizon
        }
        return entries
    }

    /// The stores are there after a kill, what came before two snapshots goes in the background, as many commits of a type stay as it
    /// says, and what is kept is whole.
    @Test func storesOfLatestStayAndTheirPastGoes() throws {
        try bus.directory.write(
            "types/beat.yaml",
            "type: beat\nlog: { keep: latest }\ninitial: { n: 0 }\nactions: { beat: { increment: { n: 1 } } }\n"
        )
        try bus.directory.write(
            "types/gauge.yaml",
            "type: gauge\nlog: { commits: 20 }\ninitial: { n: 0 }\nactions: { beat: { increment: { n: 1 } } }\n"
        )
        let arguments = arguments + ["--store", "gauge/a"]
        var daemon = try bus.start(arguments)
        var client = try bus.client()
        let beat = #"{"op":"dispatch","store":"beat/a","action":"beat"}"#
        let other = #"{"op":"dispatch","store":"counter/main","action":"increment"}"#
        let gauge = #"{"op":"dispatch","store":"gauge/a","action":"beat"}"#
        let (blocks, size) = (110, 500)
        for _ in 0..<blocks {
            let lines = Array(repeating: beat, count: size - 2) + [gauge, other]
            try client.send(lines.joined(separator: "\n"))
            for _ in 0..<size { _ = try client.line() }
        }
        daemon.kill()
        daemon = try bus.start(arguments)
        client = try bus.client()
        let states = try reply(client, #"{"op":"get","match":"*/*"}"#)["states"]
        #expect(states?["beat/a"]?["n"]?.int == blocks * (size - 2))
        #expect(states?["counter/main"]?["count"]?.int == blocks)
        // It takes its turns while others are served.
        var left = try entriesBeforeTheHorizon()
        for _ in 0..<100_000 where left?.contains("beat/a") != false {
            _ = try client.reply(to: #"{"op":"ping"}"#)
            left = try entriesBeforeTheHorizon()
        }
        #expect(left?.contains("beat/a") == false)
        #expect(left?.contains("counter/main") == true)
        let horizon = try #require(try LogReader(path: bus.log).horizons()["gauge"])
        let gauges = try reply(client, #"{"op":"history","type":"gauge","limit":1000}"#)
        #expect(gauges["oldest"]?.int == horizon)
        #expect(20..<blocks ~= gauges["commits"]?.array?.count ?? 0)
        #expect(
            try reply(client, #"{"op":"history","type":"gauge","since":\#(horizon - 1)}"#)["error"]?["code"]
                == "gone")
        let commits = try reply(client, #"{"op":"history","type":"counter","order":"newest","limit":1000}"#)
        #expect(commits["commits"]?.array?.count { $0["actions"] != [] } == blocks)
        #expect(try reply(client, #"{"op":"history","type":"beat"}"#)["error"]?["code"] == "gone")
        // What is carried to another bus begins at the newest horizon, and leads to the same states.
        let carried = "\(bus.directory.path)/carried"
        for arguments in [
            ["--address", bus.address, "export", "--faithful", "-o", carried + ".ndjson"],
            ["import", carried + ".ndjson", "--faithful", "--log", carried + ".sqlite"],
        ] {
            let outcome = try RunningProgram.run("fluxbus", arguments)
            #expect(outcome.status == 0, "\(outcome.errors)")
        }
        #expect(try bus.stop(daemon) == 0)
        let findings = try [bus.log, carried + ".sqlite"].map { log in
            let outcome = try RunningProgram.run("fluxbusd", ["--log", log, "--verify"])
            #expect(outcome.status == 0, "\(outcome.errors)")
            return outcome.output.split(separator: "\n").last { $0.hasPrefix("revision ") }
        }
        #expect(findings[0] == findings[1] && findings[0] != nil)
    }

    @Test func nothingIsWrittenAndNoRevisionComesTwice() throws {
        var daemon = try bus.start(arguments)
        var client = try bus.client()
        _ = try client.reply(to: #"{"op":"dispatch","store":"counter/main","action":"increment"}"#)
        _ = try beat(client)
        // A question moves the increment into the database. That happens once a minute, too, and would be counted below.
        _ = try reply(client, #"{"op":"history","limit":1}"#)
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
