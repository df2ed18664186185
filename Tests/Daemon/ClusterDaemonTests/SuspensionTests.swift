import BusJSON
import BusMap
import Foundation
import TestEtcd
import TestServer
import TestSupport
import Testing

/// A member whose disk is full: it is suspended, the others go on, and it comes back by itself.
@Suite(.serialized, .enabled(if: TestEtcd.isInstalled, "\(TestEtcd.isMissing)"))
struct SuspensionTests {
    /// Less than what a member's copy grows to in these tests.
    private static let room = 300_000
    private static let main = "counter/main"
    private static let increment = #""op":"dispatch","store":"\#(main)","action":"increment""#
    private static let read = #"{"op":"get","store":"\#(main)"}"#

    private func ok(_ client: LineClient, _ request: String) throws -> JSON {
        let reply = try JSON(parsing: client.reply(to: request))
        guard reply["ok"] == true else { throw TestCluster.Failure(description: "\(request): \(reply)") }
        return reply
    }

    private func expectUnavailable(_ client: LineClient, _ request: String) throws {
        let error = try JSON(parsing: client.reply(to: request))["error"]
        #expect(
            error?["code"] == "unavailable" && error?["outcome"] == "none", "\(request): \(error ?? .null)")
        #expect(error?["message"]?.string?.contains("bus.sqlite") == true, "\(error ?? .null)")
    }

    private func count(_ member: TestMember, fresh: Bool = true) throws -> Int? {
        let reply = try member.client().ask(#"{"op":"get","store":"\#(Self.main)","fresh":\#(fresh)}"#)
        return LineClient.integer("count", in: reply)
    }

    /// Takes the room of a member's disk and commits on another one until that shows.
    private func suspend(_ member: TestMember, by other: TestMember) throws {
        try member.daemon.limitFiles(to: Self.room)
        let client = try other.client()
        let long = String(repeating: "x", count: 20_000)
        try TestCluster.wait(until: "suspension of \(member.name):\n\(member.messages)") {
            _ = try ok(
                client,
                #"{"op":"dispatch","store":"ledger/l0","action":"enter","payload":{"mark":"\#(long)"}}"#)
            return member.suspension != nil
        }
    }

    private func resume(_ member: TestMember) throws {
        try member.daemon.limitFiles(to: nil)
        try TestCluster.wait(until: "end of the suspension of \(member.name):\n\(member.messages)") {
            member.condition?["suspended"] == nil && member.isAttached
        }
    }

    private func will(_ mark: String) -> String {
        #"{"op":"will","actions":[{"store":"\#(ClusterTypes.wills)","action":"enter","payload":{"mark":"\#(mark)"}}]}"#
    }

    private func places(of mark: String, _ rest: TestCluster.Rest) -> Int {
        let places = rest.ledgers[ClusterTypes.wills]?["marks"]?[mark]?.string ?? ""
        return places.split(separator: " ").count
    }

    /// No longer than the lease: sessions, subscriptions and what clients have left stay.
    @Test func aFullDiskSuspendsAMemberAndTheOthersGoOn() throws {
        let cluster = try TestCluster(["a", "b", "c"], servers: 1, lease: "10m", keepsDescriptors: true)
        let (other, member) = (cluster["a"], cluster["b"])
        let client = try member.client(token: 1)
        _ = try ok(client, will("gone"))
        _ = try ok(client, #"{"op":"create","store":"counter/passing","ephemeral":true}"#)
        _ = try ok(client, "{\(Self.increment)}")
        let watcher = try member.client()
        var mirror = ContractMirror()
        _ = try ok(watcher, #"{"op":"subscribe","type":"counter"}"#)
        let reading = try member.client()
        let map = try reading.reader(of: "ledger")

        try suspend(member, by: other)
        // What is here is read.
        let before = try #require(try count(member, fresh: false))
        #expect(before == 1)
        // The past is in the copy, which lacks the last of it: nobody waits for that either.
        #expect(try client.ask(#"{"op":"history","limit":1}"#).contains("suspended"))
        // A map has what the member answers with, although that is not in its copy.
        let answered = try ok(client, #"{"op":"get","store":"ledger/l0"}"#)["states"]?["ledger/l0"]
        #expect(answered != nil && map.state(of: "l0", room: 1 << 20).state == answered)
        // Nothing commits, and nobody waits for that.
        for request in [
            "{\(Self.increment)}", #"{"op":"sync"}"#, #"{"op":"get","store":"\#(Self.main)","fresh":true}"#,
        ] { try expectUnavailable(client, request) }
        // It says so everywhere.
        let reason = try #require(member.suspension)
        #expect(reason.contains("bus.sqlite"), "\(reason)")
        let asked = try ok(member.client(), #"{"op":"cluster"}"#)
        #expect(asked["cluster"]?["suspended"]?["reason"]?.string == reason)
        #expect(asked["cluster"]?["attached"] == true)
        #expect(try ok(client, #"{"op":"stats"}"#)["stats"]?["cluster"]?["suspended"] != nil)
        #expect(member.messages.contains("suspended: "))
        try TestCluster.wait(until: "status; it is \(member.daemon.status)") {
            member.daemon.status.contains("suspended since")
        }
        // The others go on.
        for _ in 0..<10 { _ = try ok(try other.client(), "{\(Self.increment)}") }
        #expect(try count(cluster["c"]) == 11)
        #expect(try count(member, fresh: false) == before)
        // Who has seen more elsewhere is not taken back: it waits.
        let seen = try ok(try other.client(), #"{"op":"hello"}"#)
        let roaming = try resumption(at: member, after: seen)

        try resume(member)
        let subscribed = try JSON(parsing: try #require(try roaming.line()))
        #expect(subscribed["revision"]?.int ?? 0 >= seen["revision"]?.int ?? .max, "\(subscribed)")
        let first = try JSON(parsing: try #require(try roaming.line()))
        #expect(first["from"] == seen["revision"] && first["reset"] == nil, "\(first)")
        #expect(try count(member) == 11)
        _ = try ok(client, #"{"op":"dispatch","store":"counter/passing","action":"increment"}"#)
        let last = try #require(try ok(client, "{\(Self.increment)}")["revision"]?.int)
        while mirror.revision ?? 0 < last {
            try mirror.take(try JSON(parsing: try #require(try watcher.line())))
        }
        #expect(mirror.states[Self.main]?["count"] == 12)
        #expect(!member.daemon.status.contains("suspended"), "\(member.daemon.status)")
        #expect(member.messages.contains("the copy can be written again"))
        let rest = try cluster.settle()
        #expect(places(of: "gone", rest) == 0)
        for member in cluster.members { #expect(member.daemon.exits == [], "\(member.messages)") }
        // What it missed is in its copy.
        #expect(member.daemon.stop() == 0)
        try member.start()
        try member.waitUntilAttached()
        #expect(try count(member) == 12)
    }

    /// Whatever was on its way when the disk was full is done once, when it is asked for again with its key.
    @Test func whatWasOnItsWayIsDoneOnce() throws {
        let cluster = try TestCluster(["a", "b"], servers: 1, lease: "10m")
        let member = cluster["b"]
        let client = try member.client(token: 1)
        try member.daemon.limitFiles(to: Self.room)
        let long = String(repeating: "x", count: 4000)
        var keys: [String] = []
        var refused: [String: String] = [:]
        while refused.isEmpty {
            try #require(keys.count < 2000, "The room was not used up.")
            let burst = (0..<20).map { "\(keys.count + $0)" }
            keys += burst
            try client.send(bytes: burst.map { request(key: $0, mark: $0 + long) + "\n" }.joined())
            for key in burst {
                let reply = try JSON(parsing: try #require(try client.line()))
                if reply["ok"] == true {
                    #expect(refused.isEmpty, "An answer behind a refusal: \(reply)")
                } else {
                    #expect(reply["error"]?["code"] == "unavailable", "\(reply)")
                    refused[key] = reply["error"]?["outcome"]?.string
                }
            }
        }
        #expect(refused.values.allSatisfy { ["none", "unknown"].contains($0) }, "\(refused)")
        // At the other member.
        let other = try cluster["a"].client(token: 1)
        for key in keys {
            let reply = try ok(other, request(key: key, mark: key + long))
            if refused[key] == nil { #expect(reply["duplicate"] == true, "\(key)") }
            if refused[key] == "none" { #expect(reply["duplicate"] == nil, "\(key)") }
        }
        try resume(member)
        let rest = try cluster.settle()
        #expect(rest.ledgers["ledger/l1"]?["count"]?.int == keys.count)
    }

    private func request(key: String, mark: String) -> String {
        #"{"op":"dispatch","store":"ledger/l1","action":"enter","payload":{"mark":"\#(mark)"},"key":"\#(key)"}"#
    }

    /// Longer than the lease: sessions end as those of a silent member do, connections stay.
    @Test func aLongSuspensionEndsSessionsAndNoConnection() throws {
        let cluster = try TestCluster(["a", "b"], servers: 1)
        let member = cluster["b"]
        let client = try member.client(token: 1)
        _ = try ok(client, will("late"))
        try suspend(member, by: cluster["a"])
        try TestCluster.wait(until: "will that has run") {
            try cluster["a"].ledgers()[ClusterTypes.wills]?["marks"]?["late"] != nil
        }
        #expect(member.suspension != nil)
        _ = try ok(client, Self.read)
        // Without the other one's clock time goes on, too.
        let timed = try cluster["a"].client()
        _ = try ok(timed, #"{\#(Self.increment),"in":"10ms"}"#)
        try TestCluster.wait(until: "timer that has fired") { try count(cluster["a"]) == 1 }
        try resume(member)
        _ = try ok(client, "{\(Self.increment)}")
        #expect(try count(cluster["a"]) == 2)
        #expect(places(of: "late", try cluster.settle(wills: ["late"])) == 1)
        #expect(member.daemon.exits == [], "\(member.messages)")
    }

    @Test func aMemberThatIsKilledWhileItIsSuspendedCatchesUp() throws {
        let cluster = try TestCluster(["a", "b"], servers: 1)
        let member = cluster["b"]
        try suspend(member, by: cluster["a"])
        member.daemon.kill()
        try member.start()
        try member.waitUntilAttached()
        _ = try ok(try member.client(), "{\(Self.increment)}")
        #expect(try count(cluster["a"]) == 1)
        _ = try cluster.settle()
    }

    /// A client that asks a member for changes behind what it has seen at another one, and has to wait for them.
    private func resumption(at member: TestMember, after seen: JSON) throws -> LineClient {
        let client = try member.client()
        let place = #""since":\#(seen["revision"] ?? 0),"epoch":"\#(try client.epoch())""#
        try client.send(#"{"op":"subscribe","type":"counter",\#(place)}"#)
        // What comes behind it waits, too.
        try client.send(#"{"op":"ping"}"#)
        try TestCluster.wait(until: "request that waits") {
            let clients = try ok(try member.client(), #"{"op":"clients"}"#)["clients"]?.array ?? []
            return clients.contains { $0["held"]?.int ?? 0 > 0 }
        }
        return client
    }

    /// It gives way at once, and the next start goes on. Who waits is told to come back, and who has gone waits no more.
    @Test func aSuspendedMemberCanBeStopped() throws {
        let cluster = try TestCluster(["a", "b"], servers: 1, keepsDescriptors: true)
        let member = cluster["b"]
        try suspend(member, by: cluster["a"])
        let seen = try ok(try cluster["a"].client(), "{\(Self.increment)}")
        let gone = try resumption(at: member, after: seen)
        gone.close()
        try TestCluster.wait(until: "end of who has gone") {
            let clients = try ok(try member.client(), #"{"op":"clients"}"#)["clients"]?.array ?? []
            return clients.allSatisfy { $0["self"] == true }
        }
        let waiting = try resumption(at: member, after: seen)
        _ = member.daemon.stopToRestart()
        #expect(try waiting.line()?.contains("goodbye") == true)
        try member.start()
        try member.waitUntilAttached()
        _ = try cluster.settle()
    }
}
