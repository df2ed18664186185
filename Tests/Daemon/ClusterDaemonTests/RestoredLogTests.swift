import BusJSON
import Foundation
import TestEtcd
import TestServer
import Testing

/// The shared log is restored from a backup, so it lacks what members have seen and clients were answered: the bus comes back
/// without an operator, as another history, and nobody is left to think otherwise.
@Suite(.serialized, .enabled(if: TestEtcd.isInstalled, "\(TestEtcd.isMissing)"))
struct RestoredLogTests {
    /// `FLUXBUS_RESTORES=20` restores so many backups, of ages of up to 20 s.
    private static let many = ProcessInfo.processInfo.environment["FLUXBUS_RESTORES"].flatMap(Int.init)

    /// How members are when the log is restored.
    enum Members: String, CaseIterable {
        case running, oneKilled, stopped, killed
    }

    @Test func busComesBackWithANewEpoch() throws {
        let cluster = try TestCluster(["a", "b", "c"], servers: 1)
        for members in Members.allCases { _ = try restore(cluster, members, commits: 60) }
    }

    /// The same backup again: the copies that members have are of a time behind it.
    @Test func sameBackupIsRestoredTwice() throws {
        let cluster = try TestCluster(["a", "b"], servers: 1)
        let file = try restore(cluster, .running, commits: 10)
        _ = try restore(cluster, .running, commits: 10, again: file)
    }

    /// Somebody compacts etcd, and all members lose their links before the log has grown: none can compare what it has, and
    /// nobody has a snapshot to give.
    @Test func compactionByHandAndLostLinksLoseNothing() throws {
        let cluster = try TestCluster(["a", "b", "c"], servers: 1)
        try commit(cluster, 100)
        let before = try count(cluster["b"])
        let place = try cluster.etcd.revision
        try cluster.etcd.control("compact \(place)")
        for member in cluster.members { member.reset() }
        let began = Date()
        try TestCluster.wait(until: "bus after a compaction; \(state(of: cluster))", seconds: 30) {
            try back(cluster, not: "") != nil
        }
        print("compaction: back after \(Date().timeIntervalSince(began)) s")
        let after = try count(cluster["a"])
        #expect(after > before)
        for member in cluster.members {
            #expect(member.daemon.exits == [], "\(member.messages.suffix(3000))")
        }
    }

    private func count(_ member: TestMember) throws -> Int {
        let reply = try ok(try member.client(), #"{"op":"get","store":"counter/main","fresh":true}"#)
        return try #require(reply["states"]?["counter/main"]?["count"]?.int)
    }

    @Test(.enabled(if: many != nil, "FLUXBUS_RESTORES=20 runs it."))
    func manyBackupsOfAnyAge() throws {
        let cluster = try TestCluster(["a", "b", "c"])
        for round in 0..<(Self.many ?? 20) {
            let members = Members.allCases[round % Members.allCases.count]
            let age = [0.5, 3, 8, 20][round / Members.allCases.count % 4]
            _ = try restore(cluster, members, commits: 60, age: age)
        }
    }

    // MARK: - Clients

    private static let increment = #""op":"dispatch","store":"counter/main","action":"increment""#

    private func ok(_ client: LineClient, _ request: String) throws -> JSON {
        let reply = try JSON(parsing: client.reply(to: request))
        guard reply["ok"] == true else { throw TestCluster.Failure(description: "\(request): \(reply)") }
        return reply
    }

    /// Commits on all members, for so long at least.
    private func commit(_ cluster: TestCluster, _ count: Int, seconds: Double = 0) throws {
        let end = Date().addingTimeInterval(seconds)
        var done = 0
        while done < count || Date() < end {
            for member in cluster.members { _ = try ok(try member.client(), "{\(Self.increment)}") }
            done += 1
        }
    }

    // MARK: - One restoration

    /// Returns the backup.
    private func restore(
        _ cluster: TestCluster, _ how: Members, commits: Int, age: Double = 0, again: String? = nil
    ) throws -> String {
        let directory = cluster["a"].directory.path
        let file = again ?? "\(directory)/backup-\(UInt32.random(in: 0...(.max)))"
        try commit(cluster, commits)
        if again == nil { try cluster.etcd.save(file) }
        try commit(cluster, commits, seconds: age)
        let key = #""key":"k-\#(file)""#
        let (epoch, revision) = (try cluster["a"].client().epoch(), try cluster["a"].standing().revision)
        let keyed = try ok(try cluster["a"].client(token: 1), "{\(Self.increment),\(key)}")
        let watchers = try cluster.members.map { try Watcher($0) }
        let exits = cluster.members.map { $0.daemon.exits.count }
        let beginnings = beginnings(of: cluster)
        switch how {
        case .running: break
        case .oneKilled: cluster["c"].daemon.kill()
        case .stopped: for member in cluster.members { #expect(member.daemon.stop() == 0) }
        case .killed: for member in cluster.members { member.daemon.kill() }
        }
        try cluster.etcd.restore(file)
        let began = Date()
        for member in cluster.members { try member.start() }
        let standing = try TestCluster.wait("bus after \(how); \(state(of: cluster))", seconds: 30) {
            try back(cluster, not: epoch)
        }
        let took = Date().timeIntervalSince(began)
        let found = cluster.members.enumerated().map { "\($1.daemon.exits.dropFirst(exits[$0]))" }
        print("\(how), \(age) s: back after \(took) s at \(standing), exits \(found)")
        #expect(standing.epoch != epoch)
        // Nobody is answered as if it had been the same history.
        let client = try cluster["b"].client(token: 1)
        let last = try #require(keyed["revision"]?.int)
        let repeated = try JSON(
            parsing: client.ask(#"{\#(Self.increment),\#(key),"after":\#(last - 1),"epoch":"\#(epoch)"}"#))
        #expect(repeated["error"]?["code"] == "conflict", "\(repeated)")
        for (watcher, member) in zip(watchers, cluster.members) {
            try watcher.expectSteady()
            try expectFreshStart(member, since: revision, epoch)
        }
        for (index, member) in cluster.members.enumerated() {
            let odd = member.daemon.exits.dropFirst(exits[index]).filter { ![0, -SIGKILL].contains($0) }
            #expect(odd == [], "\(how), \(member.name):\n\(member.messages.suffix(3000))")
            #expect(!member.messages.contains("Fatal error"))
        }
        // Members that ran have gone back in their processes.
        if how == .running { #expect(self.beginnings(of: cluster) > beginnings, "\(state(of: cluster))") }
        return file
    }

    /// How often members have begun again.
    private func beginnings(of cluster: TestCluster) -> Int {
        cluster.members.reduce(0) {
            $0 + $1.messages.components(separatedBy: "This member takes another copy of the bus: ").count - 1
        }
    }

    private func state(of cluster: TestCluster) -> String {
        cluster.members.map { "\($0.name) \($0.daemon.exits):\n\($0.messages.suffix(1500))" }.joined(
            separator: "\n")
    }

    /// Where all members are, once they commit in one history that is another than that.
    private func back(_ cluster: TestCluster, not epoch: String) throws -> TestMember.Standing? {
        for member in cluster.members {
            guard let client = try? LineClient(member.address, isResetAnEnd: true, patience: 3),
                let reply = try? JSON(parsing: client.ask("{\(Self.increment)}")), reply["ok"] == true
            else { return nil }
        }
        let all = Set(cluster.members.compactMap { try? $0.standing() })
        guard all.count == 1, let standing = all.first, standing.epoch != epoch, standing.revision >= 0 else {
            return nil
        }
        return standing
    }

    /// Whoever goes on from the history before is told that there is another.
    private func expectFreshStart(_ member: TestMember, since revision: Int, _ epoch: String) throws {
        let states = try member.client()
        try states.send(#"{"op":"subscribe","type":"counter","since":\#(revision),"epoch":"\#(epoch)"}"#)
        #expect(try states.line()?.contains(#""ok":true"#) == true)
        #expect(try states.line()?.contains(#""reset":true"#) == true)
        let actions = try member.client()
        try actions.send(
            #"{"op":"subscribe","type":"counter","actions":true,"since":\#(revision),"epoch":"\#(epoch)"}"#)
        #expect(try actions.line()?.contains(#""ok":true"#) == true)
        #expect(try actions.line()?.contains(#""event":"gap""#) == true)
    }

    /// A subscription of actions that never connects again: what it is told goes up, or it ends.
    private final class Watcher {
        private let client: LineClient

        init(_ member: TestMember) throws {
            client = try LineClient(member.address, isResetAnEnd: true)
            _ = try client.ask(#"{"op":"subscribe","type":"counter","actions":true}"#)
        }

        func expectSteady() throws {
            // What it was told comes before the answer, or before the end of the connection.
            try? client.send(#"{"id":"end","op":"ping"}"#)
            var last = 0
            while case .line(let line) = client.receive() {
                let event = try JSON(parsing: line)
                if event["id"] == "end" { break }
                guard let revision = event["revision"]?.int else { continue }
                if event["event"] == "gap" || event["reset"] == true { last = 0 }
                #expect(revision > last, "\(line) behind \(last)")
                last = revision
            }
        }
    }
}
