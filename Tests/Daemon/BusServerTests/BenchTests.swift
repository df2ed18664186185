import Foundation
import TestFiles
import TestServer
import Testing

/// The load generator with daemons of its own, as a program: what it measures is there, and nothing of it stays behind.
@Suite("The load generator's own daemons") struct BenchTests {
    private let directory = TemporaryDirectory()
    private let daemon = RunningProgram.path(of: "fluxbusd")

    /// Starts it with these words, on logs inside the directory.
    private func start(_ words: [String], form: [String] = ["--json"]) throws -> RunningProgram {
        let place = words.contains("--directory") ? [] : ["--directory", directory.path]
        return try RunningProgram("fluxbus-bench", words + place + ["--duration", "0.05"] + form)
    }

    /// Its lines, once it has ended as it may.
    private func run(_ words: [String], statuses: Set<Int32> = [0]) throws -> [[String: Any]] {
        try text(words, form: ["--json"], statuses: statuses).split(separator: "\n").map { line in
            try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
        }
    }

    private func text(
        _ words: [String], form: [String] = [], statuses: Set<Int32> = [0]
    ) throws -> String {
        let outcome = try start(words, form: form).wait(atMost: 300)
        #expect(statuses.contains(outcome.status), "\(outcome.errors)")
        #expect(try left().isEmpty)
        return outcome.output
    }

    private func left() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: directory.path)
    }

    @Test func startsAreMeasuredFromASnapshotAndByCarryingOutTheLog() throws {
        let lines = try run(["--scenario", "start", "--requests", "3000", "--stores", "10"])
        let names = lines.compactMap { $0["name"] as? String }
        for past in ["3 000 equal commits", "3 000 commits with different payloads"] {
            for figure in [
                "the log of \(past)", "start from a snapshot, \(past)", "start by replaying \(past)",
            ] {
                #expect(names.contains(figure))
            }
        }
        #expect(names.count == 6)
        #expect(lines.allSatisfy { ($0["value"] as? Double ?? 0) > 0 })
    }

    @Test func durableRunsHaveALogAndCountEveryReply() throws {
        let lines = try run(["--scenario", "durable", "--requests", "500"])
        #expect(
            lines.map { $0["sync"] as? String } == Array(repeating: "always", count: 3)
                + Array(repeating: "interval", count: 3))
        #expect(lines.allSatisfy { $0["ok"] as? Bool == true && $0["replies"] as? Int == 500 })
        #expect(lines.allSatisfy { $0["serverCPUSeconds"] is Double })
    }

    /// Every transfer is committed, and what all accounts have is what they had.
    @Test func transfersMoveWhatThereIs() throws {
        let lines = try run(["--scenario", "transfer", "--requests", "3000"])
        #expect(lines.map { $0["zipf"] as? Double } == [0, 1.5, 0, 1.5])
        #expect(lines.map { $0["sync"] as? String } == [nil, nil, "always", "always"])
        #expect(lines.allSatisfy { $0["ok"] as? Bool == true && $0["replies"] as? Int == 3000 }, "\(lines)")
    }

    /// 30,000 changes make more than one line.
    @Test func eventsInSeveralLinesAreCountedToo() throws {
        let lines = try run([
            "--scenario", "stores", "--stores", "30000", "--requests", "5", "--daemon", daemon,
        ])
        #expect(lines.count == 1)
        #expect(lines.allSatisfy { $0["ok"] as? Bool == true && $0["deliveries"] as? Int == 5 })
    }

    @Test func dispatchesToAStoreOfFluxReachEveryObserver() throws {
        let lines = try run(["--scenario", "flux", "--subscribers", "20"])
        #expect(lines.compactMap { $0["observers"] as? Int } == [0, 0, 1, 1, 1, 20, 20, 20])
        #expect(lines.allSatisfy { $0["ok"] as? Bool == true && ($0["nanoseconds"] as? Double ?? 0) > 0 })
    }

    @Test func memoryIsMeasuredOfSubscribersAndStores() throws {
        let lines = try run(["--scenario", "memory", "--subscribers", "30", "--stores", "20000"])
        let bytes = lines.reduce(into: [:]) { $0[$1["name"] as? String ?? ""] = $1["value"] as? Double }
        #expect(bytes.count == 4)
        let created = try #require(bytes["store, of 20 000, as created"])
        let changed = try #require(bytes["store, of 20 000, each changed once"])
        // A store has a name and a state, and one that has changed a state of its own.
        #expect(created > 16)
        #expect(changed > created)
    }

    /// Figures against bars are for a quiet machine; here it counts that all of them are there, and that nobody's requests
    /// got lost.
    @Test func attacksAreMeasuredBesideAnInnocentClient() throws {
        let attacks = ["pings", "errors", "slow-lines"]
        let words = ["--scenario", "hostile", "--seconds", "0.5"] + attacks.flatMap { ["--attack", $0] }
        let lines = try run(words, statuses: [0, 1])
        #expect(lines.map { $0["attack"] as? String } == attacks.flatMap { [$0, $0] })
        #expect(lines.map { $0["connections"] as? Int } == attacks.flatMap { _ in [1, 50] })
        for line in lines {
            let times = try #require(line["replyMilliseconds"] as? [String: Double])
            let (p50, p99) = try (#require(times["p50"]), #require(times["p99"]))
            #expect(try 0 < p50 && p50 <= p99 && p99 <= #require(times["max"]) * 1.01)
            // A thousand a second, for half a second and the half after the attack.
            #expect(line["requests"] as? Int == 1000)
            #expect(line["failed"] as? Int == 0, "\(line["failures"] ?? "")")
            #expect(line["hostileConnections"] as? Int == line["connections"] as? Int)
            #expect(line["hostileBytes"] as? Int ?? 0 > 0)
            for figure in [
                "silenceMilliseconds", "deliverySilenceMilliseconds", "serverCPUShare", "residentBefore",
                "peakResident", "residentAfter", "beatDistanceSeconds",
            ] {
                #expect(line[figure] as? Double ?? 0 > 0, "\(figure)")
            }
            #expect((line["faults"] as? [String])?.isEmpty == (line["ok"] as? Bool))
        }
    }

    /// Those with a log, with long operands, and beside a client that connects for each dispatch are measured like the others,
    /// each with what the same client sees of a bus that nobody attacks.
    @Test func attacksOnDiskOperandsAndNewcomersAreMeasured() throws {
        let attacks = ["texts-logged", "one-shots-logged", "newcomer-one-shots", "operators", "members"]
        let words = ["--scenario", "hostile", "--seconds", "0.5"] + attacks.flatMap { ["--attack", $0] }
        let lines = try run(words, statuses: [0, 1])
        #expect(lines.map { $0["attack"] as? String } == attacks.flatMap { [$0, $0] })
        for line in lines {
            let (name, times) = try (
                #require(line["attack"] as? String), #require(line["replyMilliseconds"] as? [String: Double])
            )
            #expect(times["p99"] ?? 0 > 0, "\(name)")
            #expect(line["requests"] as? Int == (name.hasPrefix("newcomer") ? 250 : 1000), "\(name)")
            #expect(line["failed"] as? Int == 0, "\(name): \(line["failures"] ?? "")")
            #expect(line["hostileBytes"] as? Int ?? 0 > 0, "\(name)")
            #expect(line["idleP99Milliseconds"] as? Double ?? 0 > 0, "\(name)")
            #expect(line["idleSilenceMilliseconds"] as? Double ?? 0 > 0, "\(name)")
            // In so short a time not every line of a megabyte is answered.
            if !["operators", "members"].contains(name) {
                #expect(line["hostileReplies"] as? Int ?? 0 > 0, "\(name)")
                #expect(line["hostileRefusals"] as? Int == 0, "\(name): \(line["hostileRefusal"] ?? "")")
            }
        }
    }

    /// By another user, each is measured beside one who is only busy.
    @Test(.enabled(if: geteuid() == 0, "Only root can act as another user."))
    func attacksByAnotherUserAreComparedWithABusyOne() throws {
        // Where another user can reach the socket; the directory of these tests may be closed to it.
        let words = ["--scenario", "hostile", "--seconds", "0.5", "--user", "65533", "--directory", "/tmp"]
        let attacks = ["rules", "handshakes"]
        let lines = try run(words + attacks.flatMap { ["--attack", $0] }, statuses: [0, 1])
        #expect(lines.map { $0["connections"] as? Int } == [1, 50, 1, 50])
        for line in lines {
            #expect(line["failed"] as? Int == 0, "\(line["failures"] ?? "")")
            #expect(line["timesBusy"] as? Double ?? 0 > 0)
            #expect(line["hostileBytes"] as? Int ?? 0 > 0)
            #expect(line["hostileRefusals"] as? Int == 0, "\(line["hostileRefusal"] ?? "")")
        }
        // Without being asked as another user there is nothing to compare with.
        #expect(try start(["--user", "65533"]).wait().status == 64)
    }

    @Test func attacksMakeATable() throws {
        let words = ["--scenario", "hostile", "--seconds", "0.2", "--attack", "nobody", "--daemon", daemon]
        let rows = try text(words, statuses: [0, 1]).components(separatedBy: "\n\n")
        let columns = [
            "attack", "conns", "p50 ms", "p99 ms", "idle p99", "max ms", "silence ms", "idle silence",
            "failed",
            "CPU", "peak MB", "after MB", "beat s", "of busy", "verdict",
        ]
        let table = try #require(rows.first { $0.contains("verdict") }).split(separator: "\n").suffix(2)
        let head = try #require(table.first)
        #expect(
            head.components(separatedBy: "  ").map { $0.trimmingCharacters(in: .whitespaces) }
                .filter { !$0.isEmpty } == columns)
        let row = try #require(table.last)
        #expect(row.hasPrefix("nobody") && (row.contains("pass") || row.contains("FAIL: ")))
        // It is what the others are compared with.
        #expect(row.split(separator: " ").count >= columns.count - 2)
        #expect(rows.last?.contains("of 1 pass") == true)
    }

    @Test func attacksAreListed() throws {
        let lines = try text(["--scenario", "hostile", "--list"]).split(separator: "\n")
        let names = lines.map { String($0.prefix { $0 != " " }) }
        #expect(lines.contains { $0.hasPrefix("stuck-readers ") && $0.hasSuffix("(1, 50, 1000, 10000)") })
        #expect(names.count > 24 && Set(names).count == names.count)
        #expect(try start(["--scenario", "hostile", "--attack", "kindness"]).wait().status == 65)
    }

    /// Whoever interrupts it waits for no daemon, and finds neither one nor its files afterwards.
    @Test func interruptionLeavesNothingBehind() throws {
        let bench = try start(["--scenario", "start", "--requests", "100000000"])
        let daemon = try #require(awaitDaemon(of: bench.process))
        bench.signal(SIGTERM)
        #expect(try bench.wait().status == 128 + SIGTERM)
        #expect(try left().isEmpty)
        #expect(kill(daemon, 0) != 0)
    }

    /// The daemon that it has started, found when it answers on its socket; nil when it has none within a minute.
    private func awaitDaemon(of process: pid_t) -> pid_t? {
        let end = Date(timeIntervalSinceNow: 60)
        while Date() < end {
            let children = "/proc/\(process)/task/\(process)/children"
            let text = (try? String(contentsOfFile: children, encoding: .utf8)) ?? ""
            if let place = try? left().first,
                let child = text.split(separator: " ").first.flatMap({ pid_t($0) }),
                (try? LineClient("unix:\(directory.path)/\(place)/s")) != nil
            {
                return child
            }
            sched_yield()
        }
        return nil
    }
}
