import BusJSON
import Foundation
import TestEtcd
import TestServer
import Testing

/// Members that read the shared log through other members: nobody notices but etcd.
@Suite(.serialized, .enabled(if: TestEtcd.isInstalled, "\(TestEtcd.isMissing)"))
struct RelayedMembersTests {
    private func waitForRelays(_ cluster: TestCluster, _ relayed: [String: String]) throws {
        for (name, relay) in relayed {
            try TestCluster.wait(until: "\(name) that reads through \(relay); \(cluster[name].messages)") {
                cluster[name].relay == cluster[relay].address
            }
        }
    }

    @Test func clientsNoticeNoRelayThatIsKilled() throws {
        let relayed = ["c": "a", "d": "a", "e": "b"]
        let cluster = try TestCluster(["a", "b", "c", "d", "e"], relayed: relayed)
        let load = try SteadyLoad(cluster, members: ["b", "c", "d", "e"], clients: 24)
        for _ in 0..<3 {
            try load.waitForMore(acknowledged: 100)
            try waitForRelays(cluster, relayed)
            cluster["a"].daemon.kill()
            try load.waitForMore(acknowledged: 100)
            try cluster["a"].start()
            try cluster["a"].waitUntilAttached()
        }
        try waitForRelays(cluster, relayed)
        let report = load.finish()
        #expect(report.problems == [], "\(cluster.members.map(\.messages).joined(separator: "\n"))")
        #expect(Set(report.revisions).count == report.acknowledged)
        let states = try #require(report.mirrors.first)
        #expect(report.mirrors.count == 24 && report.mirrors.allSatisfy { $0 == states })
        let counts = SteadyLoad.stores.compactMap { states[$0]?["count"]?.int }
        #expect(counts.reduce(0, +) == report.acknowledged)
        for name in ["b", "c", "d", "e"] { #expect(cluster[name].daemon.exits == []) }
        _ = try cluster.settle()
    }

    /// Who may not manage the bus gets nothing of its log.
    @Test func theLogIsForMembersOnly() throws {
        let cluster = try TestCluster(["a"], servers: 1)
        let reply = try cluster["a"].client(token: 1).ask(#"{"op":"cluster","since":0}"#)
        #expect(reply.contains(#""code":"forbidden""#), "\(reply)")
        let own = try JSON(parsing: cluster["a"].client().ask(#"{"op":"cluster","since":1000000}"#))
        // After a while there is nothing.
        #expect(own["ok"] == true && own["data"] == "" && own["place"] == 1_000_000, "\(own)")
    }

    /// Etcd hardly works more for thirty members behind three than for three.
    @Test func thirtyMembersCostEtcdLittle() throws {
        let relays = ["r0", "r1", "r2"]
        let names = (0..<30).map { "m\($0)" }
        let relayed = Dictionary(uniqueKeysWithValues: names.indices.map { (names[$0], relays[$0 % 3]) })
        let cluster = try TestCluster(relays + names, servers: 3, lease: "10s", relayed: relayed) { member in
            relays.contains(member)
        }
        let alone = try spent(by: cluster, at: relays)
        for name in names { try cluster[name].start() }
        for name in names { try cluster[name].waitUntilAttached() }
        // What begins the switch to a relay is that something comes.
        let client = try cluster["r0"].client()
        try TestCluster.wait(until: "members that read through relays") {
            _ = try client.ask(#"{"op":"dispatch","store":"counter/main","action":"increment"}"#)
            return names.allSatisfy { cluster[$0].relay == cluster[relayed[$0]!].address }
        }
        let together = try spent(by: cluster, at: relays)
        print(
            "etcd's CPU for 1,000 dispatches: \(alone) s for 3 members, \(together) s for 30 more behind them"
        )
        #expect(together < 2 * alone)
        let standing = try cluster["r0"].standing()
        for name in names {
            _ = try cluster[name].client().ask(#"{"op":"sync"}"#)
            #expect(try cluster[name].standing().revision >= standing.revision)
        }
    }

    /// The processor time that etcd's servers take, in seconds, while a thousand dispatches are made one by one. The less of
    /// two attempts: what else runs on this machine adds to it.
    private func spent(by cluster: TestCluster, at names: [String]) throws -> Double {
        try min(spentOnce(by: cluster, at: names), spentOnce(by: cluster, at: names))
    }

    private func spentOnce(by cluster: TestCluster, at names: [String]) throws -> Double {
        let clients = try names.map { try cluster[$0].client() }
        let before = cluster.etcd.processorTime
        for number in 0..<1000 {
            let key = #""key":"\#(before)-\#(number)""#
            let request = #"{"op":"dispatch","store":"counter/main","action":"increment",\#(key)}"#
            var reply = try clients[number % clients.count].ask(request)
            // A machine with much else to do may not hear of a request in time; with its key it is repeated.
            if reply.contains(#""outcome":"unknown""#) {
                reply = try clients[number % clients.count].ask(request)
            }
            #expect(reply.contains(#""ok":true"#), "\(reply)")
        }
        return cluster.etcd.processorTime - before
    }
}
