import BusJSON
import Foundation
import TestEtcd
import TestServer
import Testing

/// Most servers of the shared log are gone: nothing is committed, and everybody is told.
@Suite(.enabled(if: TestEtcd.isInstalled, "\(TestEtcd.isMissing)"))
struct MajorityTests {
    @Test func membersWithoutAMajorityBehindThemSaySo() throws {
        let cluster = try TestCluster(["a"])
        let member = cluster["a"]
        let client = try member.client(token: 1)
        let request = #"{"op":"dispatch","store":"counter/main","action":"increment","key":"k"}"#
        for server in 0..<2 { cluster.etcd.signal(server, SIGSTOP) }
        let refused = try JSON(parsing: client.ask(request))
        #expect(refused["error"]?["code"] == "unavailable", "\(refused)")
        try TestCluster.wait(until: "word of it") { member.condition?["attached"] == false }
        let read = try JSON(parsing: client.ask(#"{"op":"get","store":"counter/main"}"#))
        #expect(read["ok"] == true, "\(read)")
        for server in 0..<2 { cluster.etcd.signal(server, SIGCONT) }
        // What is repeated with its key is done once, whether the first attempt came through or not.
        try TestCluster.wait(until: "commit") {
            try JSON(parsing: client.ask(request))["ok"] == true
        }
        try member.waitUntilAttached()
        let count = try JSON(parsing: client.ask(#"{"op":"get","store":"counter/main","fresh":true}"#))
        #expect(count["states"]?["counter/main"]?["count"] == 1)
    }
}
