import BusJSON
import BusMetrics
import Foundation
import TestFiles
import TestModes
import TestServer
import TestSupport
import Testing

/// The metrics of a bus that has had something to do, as others read them.
@Suite(.inBothModes) struct BusMetricsTests {
    /// What a bus tells of itself, with hostile names among those that it counts.
    private static func stats() throws -> JSONObject {
        var setup = MemoryBus.Setup()
        setup.stores = ["counter/a", "door/front"]
        setup.log = MemoryLog()
        let bus = try MemoryBus(setup)
        let client = bus.connect(uid: 1000)
        for _ in 0..<5 { client.send(#"{"op":"dispatch","type":"counter","action":"increment"}"#) }
        client.send(#"{"op":"dispatch","store":"door/front","action":"rang"}"#)
        client.send(#"{"op":"dispatch","store":"door/none","action":"rang"}"#)
        for value in [0, 1, 3, 900, 5_000, 5_000, 70_000, 2_000_000_000] {
            bus.engine.statistics.timings.turn.record(value)
        }
        bus.engine.statistics.timings.group.record(7)
        client.send(#"{"id":9,"op":"stats"}"#)
        var last: JSON?
        for line in try client.all() { last = line }
        var stats = try #require(last?["stats"]?.object)
        stats["uptime"] = 12.5
        stats["residentMemory"] = 4096
        stats["log"] = ["bytes": 100, "durable": 8, "snapshot": 0, "sync": "always"]
        stats["denials"] = [hostile: 2]
        stats["nextDue"] = 1_795_000_000.25
        stats["cluster"] = [
            "bus": "home", "member": "kitchen", "attached": true, "logBytes": 123_456,
            "members": [["name": "hall", "behind": 12, "agrees": false], ["name": "kitchen"]],
        ]
        stats["effects"] = [
            "effect/bell": [
                "owner": "", "paused": .null, "running": 1, "waiting": 2, "done": 7, "succeeded": 5,
                "retried": 4,
                "failures": 3, "skipped": 0,
            ], "effect/other": ["count": 1],
        ]
        return stats
    }

    /// A role may be named like this.
    private static let hostile = "a\"b\\c\nd\re\u{2028}f{g=\"h\"} 1"

    private func lines(_ form: BusMetrics.Form = .openMetrics) throws -> [String] {
        BusMetrics.text(of: try Self.stats(), as: form).split(separator: "\n").map(String.init)
    }

    @Test(.aloneOnly(because: "A user of a shared bus is one of a machine, and its names say so."))
    func numbersAreThoseOfTheBus() throws {
        let lines = try lines()
        for line in [
            "fluxbus_revision 8", "fluxbus_stores 2", "fluxbus_commits_total 8",
            "fluxbus_actions_total{type=\"counter\",action=\"increment\"} 5",
            "fluxbus_actions_total{type=\"door\",action=\"rang\"} 1",
            "fluxbus_errors_total{code=\"unknown_store\"} 1", "fluxbus_uptime_seconds 12.5",
            "fluxbus_log_bytes 100", "fluxbus_log_info{sync=\"always\"} 1",
            "fluxbus_user_connections{user=\"uid:1000\"} 1",
            "fluxbus_cluster_attached{bus=\"home\",member=\"kitchen\"} 1",
            "fluxbus_cluster_suspended{bus=\"home\",member=\"kitchen\"} 0",
            "fluxbus_memory_bytes{part=\"connections\"} 1024", "fluxbus_stores_limit 1000000",
            "fluxbus_connections_limit 4096", "fluxbus_accounted_memory_limit_bytes 2147483648",
            "fluxbus_cluster_members 2", "fluxbus_cluster_log_bytes{bus=\"home\"} 123456",
            "fluxbus_cluster_member_behind{member=\"hall\"} 12",
            "fluxbus_cluster_member_agrees{member=\"hall\"} 0", "fluxbus_effect_owned{effect=\"bell\"} 0",
            "fluxbus_effect_paused{effect=\"bell\"} 0", "fluxbus_effect_handled_total{effect=\"bell\"} 5",
            "fluxbus_effect_failures_total{effect=\"bell\"} 3",
        ] {
            #expect(lines.contains(line), "\(line)")
        }
        // What members tell of each other is left out of the one that tells.
        #expect(
            lines.filter { $0.contains("kitchen") }.count == 2
                && !lines.contains { $0.contains("effect=\"other\"") })
        #expect(lines.last == "# EOF")
    }

    @Test func histogramsAreCumulativeAndEndWithTheirCount() throws {
        let lines = try lines()
        let buckets = lines.filter { $0.hasPrefix("fluxbus_turn_duration_seconds_bucket{le=") }
        let counts = buckets.compactMap { $0.split(separator: " ").last.flatMap { Int($0) } }
        #expect(counts.count == 28)
        #expect(counts == counts.sorted())
        #expect(counts.first == 4)
        #expect(counts.last == 8)
        #expect(buckets.contains("fluxbus_turn_duration_seconds_bucket{le=\"8.191e-06\"} 6"))
        #expect(lines.contains("fluxbus_turn_duration_seconds_count 8"))
        #expect(lines.contains("fluxbus_log_group_commits_bucket{le=\"3\"} 0"))
        #expect(lines.contains("fluxbus_log_group_commits_bucket{le=\"7\"} 1"))
    }

    @Test func hostileNamesStayOnTheirLine() throws {
        let denials = try lines().filter { $0.hasPrefix("fluxbus_denials_total{") }
        #expect(denials == [#"fluxbus_denials_total{role="a\"b\\c\nd�e�f{g=\"h\"} 1"} 2"#])
    }

    @Test(.aloneOnly(because: "It makes no bus."))
    func whoMayNotManageGetsWhatIsTold() {
        let text = BusMetrics.text(of: ["revision": 3, "epoch": "e"])
        #expect(text.contains("fluxbus_revision 3\n"))
        #expect(text.split(separator: "\n").filter { !$0.hasPrefix("#") }.count == 2)
        #expect(BusMetrics.text(of: [:]) == "# EOF\n")
    }

    /// The page for operators names every metric, with its kind and its unit, and no other.
    @Test(.aloneOnly(because: "It makes no bus."))
    func everyMetricIsDocumented() throws {
        let page = try Repository.text("Sources/Daemon/BusServer/BusServer.docc/Monitoring.md")
        let rows = page.matches(of: /\n\| `(fluxbus_[a-z_]+)` \| ([a-z]+) \| ([^|\n]+) \|/).map {
            [String($0.1), String($0.2), String($0.3)]
        }
        let families = MetricFamily.all.map { [$0.name, $0.kind.rawValue, $0.help] }
        #expect(rows == families)
    }

    /// A parser of the field reads it: `prometheus_client`, where Debian's package is there.
    @Test(
        .enabled(
            if: FileManager.default.fileExists(atPath: "/usr/lib/python3/dist-packages/prometheus_client"),
            "deploy/prepare python3-prometheus-client installs it."))
    func anOpenMetricsParserReadsIt() throws {
        let script = """
            import sys
            from prometheus_client.openmetrics.parser import text_string_to_metric_families as read
            text = sys.stdin.buffer.read().decode()
            families = list(read(text))
            print(len(families), sum(len(family.samples) for family in families))
            for family in families:
                for sample in family.samples:
                    if sample.name == "fluxbus_denials_total": print(sample.labels["role"].encode().hex())
            """
        let text = BusMetrics.text(of: try Self.stats())
        let output = try Self.run("/usr/bin/python3", ["-c", script], input: text)
        let families = text.split(separator: "\n").filter { $0.hasPrefix("# TYPE") }.count
        let samples = text.split(separator: "\n").filter { !$0.hasPrefix("#") }.count
        let role = Self.hostile.replacing("\r", with: "\u{FFFD}").replacing("\u{2028}", with: "\u{FFFD}")
        let hex = role.utf8.map { String(format: "%02x", $0) }.joined()
        #expect(output == "\(families) \(samples)\n\(hex)\n")
    }

    /// Prometheus's own tool finds nothing wrong with the older form.
    @Test(
        .enabled(
            if: FileManager.default.isExecutableFile(atPath: "/usr/bin/promtool"),
            "There is no promtool; the package prometheus has it, with a server."))
    func promtoolReadsIt() throws {
        let text = BusMetrics.text(of: try Self.stats(), as: .prometheus)
        #expect(try Self.run("/usr/bin/promtool", ["check", "metrics"], input: text) == "")
    }

    private static let samples = [
        "deploy/monitoring/fluxbus-grafana.json", "deploy/monitoring/alerts.yml",
        "deploy/monitoring/prometheus.yml",
    ]

    /// Dashboard and alerts ask for what there is.
    @Test(
        .aloneOnly(because: "It makes no bus."),
        arguments: samples)
    func samplesNameMetricsThatExist(_ file: String) throws {
        let names = Set(
            MetricFamily.all.flatMap { family in
                switch family.kind {
                case .gauge: [family.name]
                case .counter: [family.name + "_total"]
                case .info: [family.name + "_info"]
                case .histogram: [family.name + "_bucket", family.name + "_count", family.name + "_sum"]
                }
            })
        let text = try Repository.text(file)
        if file.hasSuffix(".json") { _ = try JSON(parsing: text) }
        let used = Set(text.matches(of: /fluxbus_[a-z_]+/).map { String($0.0) })
        #expect(used.subtracting(names).isEmpty)
        #expect(file.hasSuffix("prometheus.yml") || used.count >= 2)
    }

    @Test(
        .aloneOnly(because: "It makes no bus."),
        .enabled(
            if: FileManager.default.isExecutableFile(atPath: "/usr/bin/promtool"),
            "There is no promtool; the package prometheus has it, with a server."))
    func promtoolReadsTheSamples() throws {
        let directory = TemporaryDirectory()
        let secret = "\(directory.path)/secret"
        try Data("secret\n".utf8).write(to: URL(fileURLWithPath: secret))
        for file in Self.samples.dropFirst() {
            let text = try Repository.text(file).replacing("/etc/prometheus/fluxbus-token", with: secret)
            let name = file.split(separator: "/").last!
            try Data(text.utf8).write(to: URL(fileURLWithPath: "\(directory.path)/\(name)"))
        }
        let output = try Self.run(
            "/usr/bin/promtool", ["check", "config", "\(directory.path)/prometheus.yml"], input: "\n")
        #expect(output.contains("SUCCESS: 14 rules found"))
        #expect(!output.contains("FAILED") && !output.contains("status"), "\(output)")
    }

    /// What else there are metrics of is asked for where there may be some, and its refusal costs nothing.
    @Test(.aloneOnly(because: "It makes no bus."))
    func membersAndEffectsAreAskedFor() throws {
        struct Refused: Error {}
        func asked(_ stats: JSONObject, refusing refused: [String]) throws -> ([String], JSONObject) {
            var ops: [String] = []
            let told = try BusMetrics.statistics { (op, members) throws in
                ops.append(op)
                if refused.contains(op) { throw Refused() }
                switch op {
                case "stats": return ["stats": .object(stats)]
                case "cluster": return ["cluster": ["members": []]]
                default: return ["states": ["effect/a": ["running": 1]]]
                }
            }
            return (ops, told)
        }
        let alone = try asked(["revision": 1], refusing: [])
        #expect(alone.0 == ["stats", "get"] && alone.1["effects"]?["effect/a"]?["running"] == 1)
        let shared = try asked(["cluster": ["attached": true]], refusing: [])
        #expect(shared.0 == ["stats", "cluster", "get"] && shared.1["cluster"]?["members"] == [])
        let guest = try asked(["cluster": ["attached": true]], refusing: ["cluster", "get"])
        #expect(guest.1 == ["cluster": ["attached": true]])
        #expect(throws: Refused.self) { try asked([:], refusing: ["stats"]) }
    }

    /// What a program writes, and how it ended where that was badly.
    private static func run(_ program: String, _ arguments: [String], input: String) throws -> String {
        let process = try RunningProgram([program] + arguments, hasInput: true)
        // The end of the last line comes with `send`.
        try process.send(String(input.dropLast()))
        try process.endInput()
        let outcome = try process.wait()
        let text = outcome.output + outcome.errors
        return outcome.status == 0 ? text : text + "status \(outcome.status)"
    }
}
