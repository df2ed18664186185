import BusJSON
import Foundation
import TestEtcd
import TestServer
import Testing

/// Restarts of members that no client notices: their connections wait in the service manager, and the next process goes on as
/// the same member.
@Suite(.serialized, .enabled(if: TestEtcd.isInstalled, "\(TestEtcd.isMissing)"))
struct RestartTests {
    private func marks(_ cluster: TestCluster) throws -> JSONObject {
        try cluster.members[0].ledgers()[ClusterTypes.wills]?["marks"]?.object ?? [:]
    }

    @Test func clientsUnderLoadNoticeNoRestart() throws {
        try restart(TestCluster(["a", "b", "c"], lease: "15s", keepsDescriptors: true), rounds: 3) { _ in }
    }

    private static let earlier = ProcessInfo.processInfo.environment["FLUXBUS_EARLIER"]

    /// One member after the other becomes this build, as the page on several machines has it.
    @Test(
        .enabled(if: earlier != nil, "FLUXBUS_EARLIER=PATH runs it, with the fluxbusd of an earlier build."))
    func clientsUnderLoadNoticeNoUpgrade() throws {
        let cluster = try TestCluster(
            ["a", "b", "c"], lease: "15s", build: Self.earlier, keepsDescriptors: true)
        try restart(cluster, rounds: 1) { try $0.upgrade() }
    }

    private func restart(
        _ cluster: TestCluster, rounds: Int, _ prepare: (TestMember) throws -> Void
    ) throws {
        let load = try SteadyLoad(cluster, clients: 30)
        for _ in 0..<rounds {
            for member in cluster.members {
                // Some commits between any two restarts, so that each happens under load.
                try load.waitForMore(acknowledged: 100)
                try prepare(member)
                #expect(member.daemon.stopToRestart() == 0)
                try member.start()
                try member.waitUntilAttached()
            }
        }
        try load.waitForMore(acknowledged: 100)
        let report = load.finish()
        #expect(report.problems == [], "\(cluster.members.map(\.messages).joined(separator: "\n"))")
        // Every acknowledged dispatch is there, once, and nothing else.
        #expect(Set(report.revisions).count == report.acknowledged)
        let states = try #require(report.mirrors.first)
        #expect(report.mirrors.count == 30 && report.mirrors.allSatisfy { $0 == states })
        let counts = SteadyLoad.stores.compactMap { states[$0]?["count"]?.int }
        #expect(counts.reduce(0, +) == report.acknowledged)
        for number in 0..<30 { #expect(states[SteadyLoad.ephemeral(number)] != nil) }
        for member in cluster.members {
            #expect(member.daemon.exits == Array(repeating: 0, count: rounds), "\(member.messages)")
        }
    }

    /// The same member, by its incarnation; what its client has left is left.
    @Test func sessionsGoOnWhereTheyWere() throws {
        let cluster = try TestCluster(["a", "b"], servers: 1, lease: "15s", keepsDescriptors: true)
        let member = cluster["b"]
        let client = try member.client(token: 1)
        let other = try cluster["a"].client(token: 2)
        for request in [
            #"{"op":"create","store":"counter/passing","ephemeral":true}"#,
            #"{"op":"will","actions":[{"store":"\#(ClusterTypes.wills)","action":"enter","payload":{"mark":"gone"}}]}"#,
            #"{"op":"dispatch","store":"counter/passing","action":"increment","key":"once"}"#,
        ] { #expect(try client.ask(request).contains(#""ok":true"#)) }
        // Half a line.
        try client.send(bytes: #"{"op":"dispatch","store":"counter/pas"#)
        #expect(member.daemon.stopToRestart() == 0)
        // The bus goes on meanwhile.
        let increment = #"{"op":"dispatch","store":"counter/passing","action":"increment"}"#
        #expect(try other.ask(increment).contains(#""ok":true"#))
        try member.start()
        try client.send(#"sing","action":"increment"}"#)
        #expect(try client.line()?.contains(#""ok":true"#) == true)
        let again = try client.ask(
            #"{"op":"dispatch","store":"counter/passing","action":"increment","key":"once"}"#)
        #expect(again.contains(#""duplicate":true"#))
        let state = try other.ask(#"{"op":"get","store":"counter/passing","fresh":true}"#)
        #expect(state.contains(#""count":3"#), "\(state)")
        #expect(try marks(cluster)["gone"] == nil)

        // A client that goes while nobody is there: its will runs, once.
        #expect(member.daemon.stopToRestart() == 0)
        client.close()
        try member.start()
        try member.waitUntilAttached()
        let rest = try cluster.settle(wills: ["gone"])
        let places = rest.ledgers[ClusterTypes.wills]?["marks"]?["gone"]?.string ?? ""
        #expect(places.split(separator: " ").count == 1, "\(places)")
        #expect(try other.ask(increment).contains("unknown_store"))
    }

    /// A restart that takes longer than the lease ends sessions, as a member does that is silent for so long; connections stay.
    @Test func connectionsOutliveTheLease() throws {
        let cluster = try TestCluster(["a", "b"], servers: 1, keepsDescriptors: true)
        let member = cluster["b"]
        let client = try member.client(token: 1)
        #expect(
            try client.ask(
                #"{"op":"will","actions":[{"store":"\#(ClusterTypes.wills)","action":"enter","payload":{"mark":"late"}}]}"#
            ).contains(#""ok":true"#))
        #expect(member.daemon.stopToRestart() == 0)
        try TestCluster.wait(until: "will that has run") { try marks(cluster)["late"] != nil }
        try member.start()
        try member.waitUntilAttached()
        let increment = #"{"op":"dispatch","store":"counter/main","action":"increment"}"#
        #expect(try client.ask(increment).contains(#""ok":true"#))
        let rest = try cluster.settle(wills: ["late"])
        let places = rest.ledgers[ClusterTypes.wills]?["marks"]?["late"]?.string ?? ""
        #expect(places.split(separator: " ").count == 1, "\(places)")
    }

    /// Nobody can be handed its clients: until they have gone it goes on as the member, and misses nothing of what others commit.
    @Test func whoCanNotHandOverGoesOn() throws {
        let cluster = try TestCluster(["a", "b"], servers: 1, lease: "15s", keepsDescriptors: true)
        let member = cluster["a"]
        let load = try SteadyLoad(cluster, members: ["b"], clients: 20)
        let epoch = try member.client().epoch()
        for _ in 0..<2 {
            try load.waitForMore(acknowledged: 500)
            // It does not read its goodbye.
            let client = try member.client()
            try member.daemon.limitDescriptors()
            #expect(member.daemon.stopToRestart() == 0)
            withExtendedLifetime(client) {}
            try member.start()
            try member.waitUntilAttached()
        }
        try load.waitForMore(acknowledged: 100)
        let report = load.finish()
        #expect(report.problems == [], "\(cluster.members.map(\.messages).joined(separator: "\n"))")
        #expect(try cluster.settle().epoch == epoch)
        #expect(member.messages.contains("can't be handed over"))
    }
}
