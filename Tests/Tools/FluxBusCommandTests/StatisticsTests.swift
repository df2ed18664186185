import BusJSON
import FluxBusCommand
import TestServer
import Testing

@Suite("The daemon's counters")
struct StatisticsTests {
    private static let stats: JSON = [
        "revision": 7, "epoch": "e1", "version": "0.1.0", "uptime": 93_784, "residentMemory": 34_603_008,
        "memory": ["states": 2048, "heldInput": 0], "totals": ["bytesIn": 1536, "slowConsumers": 2],
        "log": ["bytes": 5_242_880, "sync": "always", "durable": 7], "errors": ["rejected": 3],
        "actions": ["counter": ["increment": 12, "reset": 1], "door\u{1b}[2J": ["rang": 40]],
        "users": [
            ["uid": 1000, "connections": 2, "willBytes": 10], ["certificate": "panel", "connections": 1],
        ],
        "histograms": [
            "turn": [
                "count": 20, "sum": 1, "max": 0.0021, "p50": 0.0000819, "p90": 0.001, "p99": 0.002,
                "buckets": [],
            ],
            "group": ["count": 5, "sum": 9, "max": 4, "p50": 1, "p90": 3, "p99": 4, "buckets": []],
            "fsync": ["count": 0, "sum": 0, "max": 0, "p50": 0, "p90": 0, "p99": 0, "buckets": []],
        ],
        "weather": ["rain": ["today": 4]],
    ]

    @Test func peopleSeeSections() throws {
        let bus = try ScriptedBus { [ScriptedBus.reply(to: $0, ["stats": Self.stats])] }
        let run = try CommandRun(["stats", "--human"], bus: bus.address, names: [1000: "ada"])
        bus.stop()
        let lines = run.lines.map {
            $0.split(separator: "  ", omittingEmptySubsequences: true).map {
                $0.drop { $0 == " " }
            }.joined(separator: "|")
        }
        for line in [
            "Bus", "version|0.1.0", "uptime|1d 2h", "revision|7", "Since the start", "bytes in|1.5 KiB",
            "slow consumers|2", "Latencies", "turn|81.9 µs|1 ms|2 ms|2.1 ms|20", "fsync|0",
            "commits per write|1|3|4|4|5",
            "Memory", "resident|33 MiB", "states|2 KiB", "held input|0 B", "Log", "bytes|5 MiB",
            "sync|always",
            "Actions", "TYPE|ACTION|COMMITS", "counter|increment|12", "Errors", "rejected|3", "Further",
            "weather.rain.today|4", "certificate panel|1",
        ] { #expect(lines.contains(line), "\(line) in \(lines)") }
        #expect(lines.contains { $0.hasPrefix("ada (1000)|2|10 B") })
        // The busiest first, and nothing of it is a control.
        #expect(
            lines.firstIndex(of: #"door\u001b[2J|rang|40"#)! < lines.firstIndex(of: "counter|increment|12")!)
    }

    @Test func programsGetWhatTheBusSends() throws {
        let bus = try ScriptedBus { [ScriptedBus.reply(to: $0, ["stats": Self.stats])] }
        #expect(try CommandRun(["stats"], bus: bus.address).output == Self.stats.encoded + "\n")
        bus.stop()
    }

    @Test func metricsAreText() throws {
        let bus = try LiveBus()
        let run = try CommandRun(["stats", "--openmetrics"], bus: bus.address)
        #expect(run.status == .success)
        #expect(run.lines.contains("fluxbus_stores 1") && run.output.hasSuffix("# EOF\n"))
        #expect(throws: (any Error).self) {
            try RootCommand.parseAsRoot(["stats", "--openmetrics", "--json"])
        }
    }

    @Test(
        arguments: [
            (0, "0 s"), (0.000_000_5, "500 ns"), (0.000_081_9, "81.9 µs"), (0.0123, "12.3 ms"),
            (0.999_6, "1 s"),
            (0.25, "250 ms"), (1.5, "1.5 s"), (59.97, "60 s"), (60, "1m"), (93, "1m 33s"), (3600, "1h"),
            (7260, "2h 1m"),
            (93_784, "1d 2h"), (-1, "?"), (.infinity, "?"), (.nan, "?"), (1e300, "11574074074d 1h"),
        ] as [(Double, String)])
    func timesHaveUnits(_ seconds: Double, _ text: String) { #expect(Quantity.time(seconds) == text) }

    @Test(
        arguments: [
            (0, "0 B"), (1023, "1023 B"), (1024, "1 KiB"), (1536, "1.5 KiB"), (1_047_552, "1023 KiB"),
            (1_048_064, "1 MiB"), (5e9, "4.66 GiB"), (-2048, "-2 KiB"), (.nan, "?"),
            (1e30, "867361737988 EiB"),
        ] as [(Double, String)])
    func sizesHaveUnits(_ bytes: Double, _ text: String) { #expect(Quantity.bytes(bytes) == text) }

    @Test(
        arguments: [
            (0, "0"), (7, "7"), (0.25, "0.25"), (12.34, "12.3"), (999, "999"), (999.7, "1k"), (1234, "1.23k"),
            (56_789, "56.8k"), (999_499, "999k"), (1_500_000, "1.5M"), (2e9, "2G"), (-5, "-5"),
            (.infinity, "?"),
            (1e300, "1000000G"),
        ] as [(Double, String)])
    func countsAreShort(_ number: Double, _ text: String) { #expect(Quantity.count(number) == text) }
}
