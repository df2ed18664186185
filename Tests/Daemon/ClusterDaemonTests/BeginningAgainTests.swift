import BusJSON
import Foundation
import TestEtcd
import TestServer
import Testing

/// A member whose copy does not fit the shared log any more takes another one in its process.
@Suite(.serialized, .enabled(if: TestEtcd.isInstalled, "\(TestEtcd.isMissing)"))
struct BeginningAgainTests {
    private static let commits = 50

    /// A bus on which b has missed what the log no longer has. Once b hears from the log again, it needs a snapshot of a.
    private func laggingBus() throws -> TestCluster {
        let cluster = try TestCluster(["a", "b"], servers: 1, lease: "60s", keepsDescriptors: true)
        cluster["b"].cut()
        let client = try cluster["a"].client()
        for _ in 0..<Self.commits {
            let reply = try client.ask(#"{"op":"dispatch","store":"counter/main","action":"increment"}"#)
            #expect(reply.contains(#""ok":true"#), "\(reply)")
        }
        try cluster.etcd.control("compact \(try cluster.etcd.revision)")
        return cluster
    }

    /// The last line that the bus sends before it closes the connection.
    private func lastLine(_ client: LineClient) -> String {
        var last = ""
        while case .line(let line) = client.receive() { last = line }
        return last
    }

    @Test func clientsComeBackToAnotherCopy() throws {
        let cluster = try laggingBus()
        let (giver, member) = (cluster["a"], cluster["b"])
        let client = try member.client()
        _ = try client.ask(#"{"op":"subscribe","store":"counter/main"}"#)
        giver.daemon.signal(SIGSTOP)
        member.mend()
        let goodbye = lastLine(client)
        #expect(goodbye.contains(#""code":"restart""#) && goodbye.contains("begins again"), "\(goodbye)")
        // It waits at the socket, and so does a reload.
        let early = try LineClient(member.address)
        try early.send(#"{"id":1,"op":"get","store":"counter/main"}"#)
        try member.directory.write("types/late.yaml", "type: late\ninitial: {}\nactions: {}\n")
        member.daemon.signal(SIGHUP)
        giver.daemon.signal(SIGCONT)
        let reply = try #require(try early.line())
        #expect(LineClient.integer("count", in: reply) == Self.commits, "\(reply)")
        try member.waitUntilAttached()
        let written = try early.ask(#"{"op":"dispatch","store":"counter/main","action":"increment"}"#)
        #expect(written.contains(#""ok":true"#), "\(written)")
        try TestCluster.wait(until: "reload; \(member.messages)", seconds: 20) {
            try early.ask(#"{"op":"types"}"#).contains(#""late""#)
        }
        _ = try cluster.settle()
        for member in cluster.members { #expect(member.daemon.exits == [], "\(member.messages)") }
    }

    /// Another machine keeps the name: the start waits for two leases, serves nobody, and ends.
    @Test func aNameThatStaysTakenIsServedToNobody() throws {
        let cluster = try TestCluster(["a"], servers: 1, lease: "6s")
        let other = try TestMember("a", cluster.etcd, bus: "home")
        try other.start()
        defer { other.daemon.kill() }
        try TestCluster.wait(until: "end of it; \(other.messages)") { other.daemon.exits.first == 75 }
        #expect(!other.messages.contains("listening on"), "\(other.messages)")
        #expect(cluster["a"].daemon.exits == [] && cluster["a"].isAttached)
    }

    /// What it would leave behind is in the log, which it does not reach.
    @Test func aDetachedMemberDoesNotLeave() throws {
        let cluster = try TestCluster(["a"], servers: 1)
        let member = cluster["a"]
        let client = try member.client()
        member.cut()
        try TestCluster.wait(until: "detachment; \(member.messages)") { !member.isAttached }
        let refused = try client.ask(#"{"op":"cluster","leave":true}"#)
        #expect(refused.contains(#""code":"unavailable""#) && member.daemon.exits == [], "\(refused)")
        member.mend()
        try member.waitUntilAttached()
        let left = try client.ask(#"{"op":"cluster","leave":true}"#)
        #expect(left.contains(#""ok":true"#), "\(left)")
        try TestCluster.wait(until: "end; \(member.messages)") { member.daemon.exits.first == 0 }
    }

    private func waitForSearch(_ member: TestMember) throws {
        try TestCluster.wait(until: "search for a snapshot; \(member.daemon.status)") {
            member.daemon.status.contains("waiting for a snapshot")
        }
    }

    /// A member that gives nothing keeps nobody from telling the manager that it waits, nor from stopping.
    @Test func aFetchCanBeStopped() throws {
        let cluster = try TestCluster(["a", "b"], servers: 1, lease: "60s", keepsDescriptors: true) {
            $0 == "a"
        }
        let member = cluster["b"]
        try cluster.etcd.control("compact \(try cluster.etcd.revision)")
        cluster["a"].daemon.signal(SIGSTOP)
        try member.start()
        try waitForSearch(member)
        let began = Date()
        member.daemon.stop()
        #expect(Date().timeIntervalSince(began) < 8)
    }

    /// It is ready, so the manager expects a sign of life from it.
    @Test func aMemberThatBeginsAgainFeedsTheWatchdog() throws {
        let cluster = try laggingBus()
        let (giver, member) = (cluster["a"], cluster["b"])
        giver.daemon.signal(SIGSTOP)
        member.mend()
        try waitForSearch(member)
        let beats = member.daemon.beats
        try TestCluster.wait(until: "beats", seconds: 20) { member.daemon.beats > beats + 2 }
        giver.daemon.signal(SIGCONT)
        try member.waitUntilAttached()
        #expect(member.daemon.exits == [], "\(member.messages)")
    }

    /// Nobody gives it what it needs, and it is stopped: it ends as it does at other times.
    @Test func aMemberThatBeginsAgainCanBeStopped() throws {
        let cluster = try laggingBus()
        let member = cluster["b"]
        let client = try member.client()
        cluster["a"].daemon.kill()
        member.mend()
        #expect(lastLine(client).contains("begins again"))
        try TestCluster.wait(until: "search for a snapshot; \(member.messages)") {
            member.messages.contains("no snapshot of the member a")
        }
        let began = Date()
        #expect(member.daemon.stop() == 0, "\(member.messages)")
        #expect(Date().timeIntervalSince(began) < 8)
    }
}
