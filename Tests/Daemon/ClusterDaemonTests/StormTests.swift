import BusJSON
import Foundation
import TestEtcd
import TestServer
import TestSupport
import Testing

/// A bus over three machines under load, while what it stands on fails: whatever was acknowledged is there once, on all members
/// and in all copies, in an order that agrees with time.
@Suite(
    .serialized, .enabled(if: TestEtcd.isInstalled, "\(TestEtcd.isMissing)"),
    .enabled(if: TestEtcd.canBeFilled, "\(TestEtcd.curlIsMissing)"),
    .enabled(if: TestClock.isPossible, "\(TestClock.isMissing)"))
struct StormTests {
    /// `FLUXBUS_STORM_SECONDS` has the length of the long one.
    private static let long = ProcessInfo.processInfo.environment["FLUXBUS_STORM_SECONDS"].flatMap(
        Double.init)
    private static let seed =
        ProcessInfo.processInfo.environment["FLUXBUS_STORM_SEED"].flatMap { UInt64($0) }
        ?? UInt64.random(in: 1...999_999)

    @Test func shortStormLosesAndDoublesNothing() throws {
        try run(seconds: 8, clients: 9, longest: 4)
    }

    @Test(.enabled(if: long != nil, "FLUXBUS_STORM_SECONDS=60 runs it."))
    func longStormLosesAndDoublesNothing() throws {
        try run(seconds: Self.long ?? 60, clients: 30, longest: 8)
    }

    private func run(seconds: Double, clients: Int, longest: Double) throws {
        let seed = Self.seed
        let cluster = try TestCluster(["a", "b", "c"], keepsDescriptors: true, hasClocks: true)
        let load = ClusterLoad(cluster, clients: clients, seed: seed)
        let mirrors = (0..<4).map { RoamingMirror(cluster, number: 50 + $0, seed: seed &+ 100 &+ UInt64($0)) }
        let began = Date()
        defer { try? keepEvidence(cluster) }
        do {
            var storm = try ClusterStorm(cluster, load, longest: longest, seed: seed &+ 1)
            try storm.rage(seconds: seconds)
            let raged = Date().timeIntervalSince(began)
            try expectReadsAndCommits(cluster, seed)
            let operations = try load.finish()
            let wills = operations.filter { $0.kind == .will && !$0.answers.isEmpty }.map(\.mark)
            let rest = try cluster.settle(wills: Set(wills))
            try check(cluster, load, operations, rest, mirrors, storm, seed)
            report(cluster, load, operations, rest, mirrors, storm, raged, seed)
        } catch {
            throw TestCluster.Failure(description: "Seed \(seed): \(error)")
        }
    }

    /// Everything is healed: all members tell the past, and commit, within seconds.
    private func expectReadsAndCommits(_ cluster: TestCluster, _ seed: UInt64) throws {
        let healed = Date()
        for member in cluster.members {
            try TestCluster.wait(
                until:
                    "history of \(member.name); exits \(member.daemon.exits), \(member.messages.suffix(1500))",
                seconds: 15
            ) {
                let client = try? LineClient(member.address, isResetAnEnd: true, patience: 3)
                return (try? client?.ask(#"{"op":"history","since":0,"limit":1}"#))?.isEmpty == false
            }
            // One that has lost its copy meets its own name, until its lease ends.
            try TestCluster.wait(
                until: "commit at \(member.name); exits \(member.daemon.exits)", seconds: 15
            ) {
                let client = try? LineClient(member.address, isResetAnEnd: true, patience: 3)
                let increment = #"{"op":"dispatch","store":"counter/main","action":"increment"}"#
                return (try? client?.ask(increment))?.contains(#""ok":true"#) == true
            }
        }
        let seconds = Date().timeIntervalSince(healed)
        #expect(seconds < 20, "seed \(seed)")
    }

    private func check(
        _ cluster: TestCluster, _ load: ClusterLoad, _ operations: [BusOperation],
        _ rest: TestCluster.Rest, _ mirrors: [RoamingMirror], _ storm: ClusterStorm, _ seed: UInt64
    ) throws {
        let checker = HistoryChecker(operations, .init(rest.ledgers, revision: rest.revision))
        #expect(checker.lost == 0, "seed \(seed)")
        #expect(checker.doubled == 0, "seed \(seed)")
        #expect(checker.problems.prefix(10) == [], "\(checker.problems.count) problems, seed \(seed)")
        #expect(load.epochs == [rest.epoch], "seed \(seed)")
        for mirror in mirrors {
            let states = try mirror.finish(at: rest.revision)
            #expect(states == rest.ledgers, "a mirror differs, seed \(seed)")
            #expect(mirror.problems == [], "seed \(seed)")
            #expect(mirror.stepsBack == 0, "seed \(seed)")
        }
        let oldest = try cluster.members.map { try $0.oldestRevision() }.max() ?? 0
        let since = max(oldest, rest.revision - 2000)
        let histories = try cluster.members.map { try $0.history(since: since, until: rest.revision) }
        #expect(Set(histories).count == 1, "seed \(seed)")
        #expect(histories[0].count == rest.revision - since, "seed \(seed)")
        for member in cluster.members {
            // Killed by this test.
            let usual = [-SIGKILL] + (storm.strangers.contains(member.name) ? [75] : [])
            let odd = member.daemon.exits.filter { !usual.contains($0) && storm.exits[$0] == nil }
            #expect(odd == [], "member \(member.name), seed \(seed):\n\(member.messages.suffix(2000))")
            #expect(!member.messages.contains("Fatal error"), "seed \(seed)")
        }
        for (code, most) in storm.exits {
            let ended = cluster.members.map { $0.daemon.exits.count { $0 == code } }.reduce(0, +)
            #expect(ended <= most, "\(code), seed \(seed)")
        }
        #expect(storm.namesakes.allSatisfy { $0 == 75 }, "\(storm.namesakes), seed \(seed)")
        #expect(load.figures.answered > 50)
    }

    private func report(
        _ cluster: TestCluster, _ load: ClusterLoad, _ operations: [BusOperation],
        _ rest: TestCluster.Rest, _ mirrors: [RoamingMirror], _ storm: ClusterStorm, _ seconds: Double,
        _ seed: UInt64
    ) {
        let figures = load.figures
        let checker = HistoryChecker(operations, .init(rest.ledgers, revision: rest.revision))
        let outages = storm.happened.sorted { $0.key < $1.key }.map { name, what in
            "  \(what.count) × \(name): at most \(String(format: "%.1f", what.outage)) s without an answer"
        }
        let exits = cluster.members.map { "\($0.name) \($0.daemon.exits.filter { $0 != -SIGKILL })" }
        print(
            """
            Storm of \(Int(seconds)) s, seed \(seed): \(figures.answered) answered, \
            \(operations.count(where: \.commits)) to commit, revision \(rest.revision); lost \(checker.lost), \
            doubled \(checker.doubled), unknown and there \(checker.unknown.there), not there \
            \(checker.unknown.absent); unavailable \(figures.unavailable), connections lost \
            \(figures.connectionsLost), duplicates \(figures.duplicates), mirrors resumed \
            \(mirrors.map(\.resumptions).reduce(0, +)), reset \(mirrors.map(\.resets).reduce(0, +)), to an earlier \
            state \(mirrors.map(\.stepsBack).reduce(0, +)); stood still \(Int(storm.stillness)) s; \
            exits \(exits)
            \(outages.joined(separator: "\n"))
            """)
    }

    /// What the members said, for who looks for the reason: in the directory that `FLUXBUS_STORM_EVIDENCE` names.
    private func keepEvidence(_ cluster: TestCluster) throws {
        guard let folder = ProcessInfo.processInfo.environment["FLUXBUS_STORM_EVIDENCE"] else { return }
        for member in cluster.members {
            try member.messages.write(
                toFile: "\(folder)/\(member.name).messages", atomically: true, encoding: .utf8)
        }
    }
}
