import BusJSON
import BusMap
import TestEtcd
import TestServer
import Testing

/// Maps on a bus of several daemons: each member keeps its own.
@Suite(.serialized, .enabled(if: TestEtcd.isInstalled, "\(TestEtcd.isMissing)"))
struct ClusterMapTests {
    private static let increment = #"{"op":"dispatch","store":"counter/main","action":"increment"}"#
    private static let fresh = #"{"op":"get","store":"counter/main","fresh":true}"#

    @Test func membersOnOneMachineHaveMapsOfTheSameStates() throws {
        let cluster = try TestCluster(["a", "b"], servers: 1)
        let (one, two) = (try cluster["a"].client(), try cluster["b"].client())
        let (first, second) = (try one.reader(of: "counter"), try two.reader(of: "counter"))
        for count in 1...20 {
            let (client, map) = count.isMultiple(of: 2) ? (one, first) : (two, second)
            #expect(try client.ask(Self.increment).contains(#""ok":true"#))
            // Whoever has the reply finds what it tells of in the map of the same member.
            #expect(map.state(of: "main").state?["count"] == .int(count))
        }
        // What one has and the other does not is on its way there.
        for client in [one, two] { #expect(try client.ask(Self.fresh).contains(#""count":20"#)) }
        let (here, there) = (first.state(of: "main"), second.state(of: "main"))
        #expect(here.answer == there.answer && here.state == there.state && here.state?["count"] == 20)
        cluster["a"].daemon.kill()
        #expect(try one.line() == nil)
        #expect(try two.ask(Self.increment).contains(#""ok":true"#))
        #expect(second.state(of: "main").state?["count"] == 21)
        #expect(first.state(of: "main").state?["count"] == 20)
    }

    /// The connection goes on, and the map of the process before has ended.
    @Test func restartedMemberGivesAnotherMapOnTheSameConnection() throws {
        let cluster = try TestCluster(["a", "b"], servers: 1, lease: "15s", keepsDescriptors: true)
        let (member, other) = (cluster["b"], try cluster["a"].client())
        let client = try member.client()
        let map = try client.reader(of: "counter")
        #expect(try client.ask(Self.increment).contains(#""ok":true"#))
        #expect(map.state(of: "main").state?["count"] == 1)
        #expect(member.daemon.stopToRestart() == 0)
        #expect(map.state(of: "main").answer == .moved)
        #expect(try other.ask(Self.increment).contains(#""ok":true"#))
        try member.start()
        try member.waitUntilAttached()
        let next = try client.reader(of: "counter")
        #expect(try client.ask(Self.fresh).contains(#""count":2"#))
        #expect(next.state(of: "main").state?["count"] == 2)
    }
}
