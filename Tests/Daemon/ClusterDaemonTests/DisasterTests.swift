import BusJSON
import Foundation
import TestEtcd
import TestFiles
import TestServer
import Testing

/// What the page on several machines says to do when something is lost, done as it says: the bus comes back, and nobody is
/// left to think that what is lost is there.
@Suite(.serialized, .enabled(if: TestEtcd.isInstalled, "\(TestEtcd.isMissing)"))
struct DisasterTests {
    private static let page = "Sources/Daemon/BusServer/BusServer.docc/Clustering.md"
    private static let increment = #""op":"dispatch","store":"counter/main","action":"increment""#

    private func ok(_ client: LineClient, _ request: String) throws -> JSON {
        let reply = try JSON(parsing: client.reply(to: request))
        guard reply["ok"] == true else { throw TestCluster.Failure(description: "\(request): \(reply)") }
        return reply
    }

    private func commit(_ member: TestMember, _ count: Int) throws {
        let client = try member.client()
        for _ in 0..<count { _ = try ok(client, "{\(Self.increment)}") }
    }

    private func count(_ member: TestMember) throws -> Int? {
        try ok(try member.client(), #"{"op":"get","store":"counter/main","fresh":true}"#)["states"]?[
            "counter/main"]?["count"]?.int
    }

    /// Runs a command of the page on a member's machine: its directory is that of the log, and its configuration the one there.
    private func run(_ command: String, on member: TestMember) throws {
        #expect(try Repository.text(Self.page).contains(command), "\(command)")
        var words = command.split(separator: " ").map(String.init)
        let directory = member.directory.path
        switch words.removeFirst() {
        case "mv":
            for place in words.indices { words[place] = "\(directory)/\(words[place])" }
            try FileManager.default.moveItem(atPath: words[0], toPath: words[1])
        case "rm":
            for file in try FileManager.default.contentsOfDirectory(atPath: directory)
            where file.hasPrefix("bus.sqlite") {
                try FileManager.default.removeItem(atPath: "\(directory)/\(file)")
            }
        case "fluxbus":
            words = words.map { $0.hasSuffix(".sqlite") ? "\(directory)/\($0)" : $0 }
            try finish("fluxbus", ["--address", member.address] + words)
        case let program:
            words = words.map { $0.hasSuffix(".sqlite") ? "\(directory)/\($0)" : $0 }
            try finish(program, ["--config", "\(directory)/fluxbusd.yaml"] + words)
        }
    }

    private func finish(_ program: String, _ words: [String]) throws {
        let outcome = try RunningProgram.run(program, words)
        guard outcome.status == 0 else {
            throw TestCluster.Failure(description: "\(program) \(words): \(outcome.errors)")
        }
    }

    private func state(of cluster: TestCluster) -> String {
        cluster.members.map { "\($0.name) \($0.daemon.exits):\n\($0.messages.suffix(1500))" }.joined(
            separator: "\n")
    }

    /// Of three servers one is left, with all that was acknowledged.
    @Test func mostServersOfEtcdAreLost() throws {
        let cluster = try TestCluster(["a", "b", "c"])
        try commit(cluster["a"], 30)
        let before = try cluster.settle()
        try TestCluster.wait(until: "servers that have the same") { try cluster.etcd.isEven }
        #expect(try Repository.text(Self.page).contains("--force-new-cluster"))
        try cluster.etcd.goOn(with: 1)
        let after = try cluster.settle()
        #expect(after.epoch == before.epoch && after.revision >= before.revision)
        for (index, member) in cluster.members.enumerated() {
            try commit(member, 1)
            #expect(try count(member) == 31 + index, "\(state(of: cluster))")
        }
        for member in cluster.members { #expect(member.daemon.exits == [], "\(member.messages)") }
    }

    /// No member begins an empty bus; one is made from a copy, by hand.
    @Test func allOfEtcdIsLost() throws {
        let cluster = try TestCluster(["a", "b", "c"], servers: 1)
        try commit(cluster["a"], 30)
        let before = try cluster.settle()
        try cluster.etcd.empty()
        for member in cluster.members {
            try TestCluster.wait(until: "end of \(member.name); \(state(of: cluster))") {
                member.daemon.exits.last == 78
            }
            #expect(member.messages.contains("is empty, and this member has had the bus"))
        }
        let first = cluster["a"]
        try run("mv bus.sqlite copy.sqlite", on: first)
        try run("fluxbusd --restore copy.sqlite", on: first)
        #expect(try Repository.text(Self.page).contains("fluxbusd --cluster-init"))
        let once = try RunningProgram(
            "fluxbusd", ["--config", "\(first.directory.path)/fluxbusd.yaml", "--cluster-init"])
        try first.waitUntilAttached()
        once.signal(SIGTERM)
        #expect(try once.wait().status == 0)
        try first.start()
        for name in ["b", "c"] { try run("rm bus.sqlite*", on: cluster[name]) }
        for member in cluster.members { try member.start() }
        let after = try cluster.settle()
        #expect(after.epoch != before.epoch)
        #expect(after.ledgers == before.ledgers)
        for member in cluster.members { #expect(try count(member) == 30) }
        try commit(cluster["c"], 1)
        #expect(try count(cluster["b"]) == 31)
    }

    @Test func allCopiesButOneAreLost() throws {
        let cluster = try TestCluster(["a", "b", "c"], servers: 1)
        try commit(cluster["a"], 30)
        let before = try cluster.settle()
        for name in ["a", "c"] {
            cluster[name].daemon.kill()
            try run("rm bus.sqlite*", on: cluster[name])
        }
        // What the log still has would do as well.
        try cluster.etcd.control("compact \(try cluster.etcd.revision)")
        try commit(cluster["b"], 10)
        for name in ["a", "c"] { try cluster[name].start() }
        let after = try cluster.settle()
        #expect(after.epoch == before.epoch)
        for member in cluster.members {
            try commit(member, 1)
        }
        for member in cluster.members { #expect(try count(member) == 43) }
        // Nobody needs the one that was left.
        cluster["b"].daemon.kill()
        try TestCluster.wait(until: "end of b") {
            try ok(try cluster["a"].client(), #"{"op":"cluster"}"#)["cluster"]?["members"]?.array?.count == 2
        }
        try commit(cluster["a"], 1)
        #expect(try count(cluster["c"]) == 44)
    }

    /// It knows less than it did, and its clients see no state of then: whether the log still has what comes after, or not.
    @Test(arguments: [false, true]) func aMemberGoesBackToAnOldBackup(isTrimmed: Bool) throws {
        let cluster = try TestCluster(["a", "b"], servers: 1)
        let member = cluster["b"]
        try commit(cluster["a"], 10)
        _ = try ok(try member.client(), #"{"op":"sync"}"#)
        try run("fluxbus backup copy.sqlite", on: member)
        try commit(member, 30)
        let before = try cluster.settle()
        member.daemon.kill()
        try commit(cluster["a"], 300)
        if isTrimmed { try cluster.etcd.control("compact \(try cluster.etcd.revision)") }
        try run("rm bus.sqlite*", on: member)
        try run("mv copy.sqlite bus.sqlite", on: member)
        try member.start()
        let after = try cluster.settle()
        #expect(after.epoch == before.epoch)
        #expect(try count(member) == 340)
        try commit(member, 1)
        #expect(try count(cluster["a"]) == 341)
        #expect(cluster["a"].daemon.exits == [], "\(state(of: cluster))")
    }
}
