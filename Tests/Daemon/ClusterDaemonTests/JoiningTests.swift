import BusJSON
import Foundation
import TestEtcd
import TestServer
import Testing

/// A member joins when the shared log no longer has what lies before: another one gives it all that it has.
@Suite(.serialized, .enabled(if: TestEtcd.isInstalled, "\(TestEtcd.isMissing)"))
struct JoiningTests {
    private static let stores = 20_000

    /// A bus of one member, with so many stores that making a snapshot takes a while; the other one has not started yet.
    private func largeBus() throws -> TestCluster {
        let cluster = try TestCluster(["a", "b"], servers: 1) { $0 == "a" }
        let client = try cluster["a"].client()
        let atOnce = 500
        for first in stride(from: 0, to: Self.stores, by: atOnce) {
            let steps = (first..<first + atOnce).map { #"{"op":"create","store":"counter/s\#($0)"}"# }
            let reply = try client.ask(
                #"{"op":"dispatch","actions":[\#(steps.joined(separator: ","))]}"#)
            #expect(reply.contains(#""ok":true"#), "\(reply)")
        }
        return cluster
    }

    private func ask(_ client: LineClient, from offset: Int) throws -> JSON {
        try JSON(parsing: try client.ask(#"{"op":"cluster","offset":\#(offset)}"#))
    }

    private func length(of part: JSON) throws -> Int {
        let text = try #require(part["data"]?.string)
        return try #require(Base64.decode(text)).count
    }

    /// Reads the parts behind the first one, whose reply is `part`; gives where the snapshot stands.
    private func readToTheEnd(_ client: LineClient, after part: JSON) throws -> Int {
        let (place, bytes) = (try #require(part["place"]?.int), try #require(part["bytes"]?.int))
        var offset = try length(of: part)
        while offset < bytes {
            let next = try ask(client, from: offset)
            #expect(next["place"]?.int == place && next["bytes"]?.int == bytes)
            offset += try length(of: next)
        }
        #expect(offset == bytes)
        return place
    }

    /// Others are served while a snapshot is made. All who wait for it get the same one, and nothing of it stays.
    @Test func snapshotIsMadeBesideTheBus() throws {
        let member = try largeBus()["a"]
        let (first, second, other) = (try member.client(), try member.client(), try member.client())
        var overtook = 0
        for _ in 0..<5 {
            for client in [first, second] { try client.send(#"{"op":"cluster","offset":0}"#) }
            #expect(try other.ask(#"{"op":"ping"}"#).contains(#""ok":true"#))
            let early = first.linesThatCame()?.last
            if early == nil { overtook += 1 }
            let reply = if let early { early } else { try #require(try first.line()) }
            let one = try JSON(parsing: reply)
            let two = try JSON(parsing: try #require(try second.line()))
            #expect(one["place"] == two["place"])
            let places = (try readToTheEnd(first, after: one), try readToTheEnd(second, after: two))
            #expect(places.0 == places.1)
            let gone = try ask(first, from: 1)
            #expect(gone["error"]?["code"] == "unavailable", "\(gone)")
        }
        // A machine may stand still between the two requests, but not each time.
        #expect(overtook > 0)
    }

    private func increment(_ client: LineClient) throws {
        let reply = try client.ask(#"{"op":"dispatch","store":"counter/s7","action":"increment"}"#)
        #expect(reply.contains(#""ok":true"#), "\(reply)")
    }

    /// A member that joins takes for lost what its snapshot lacks, so that has all that the bus had when it was asked for.
    @Test func whoAsksWhileOneIsMadeGetsTheNext() throws {
        let cluster = try largeBus()
        let member = cluster["a"]
        let (early, late, writer) = (try member.client(), try member.client(), try member.client())
        try early.send(#"{"op":"cluster","offset":0}"#)
        try increment(writer)
        let stored = try #require(member.storedPlace)
        #expect(try ask(late, from: 0)["place"]?.int ?? 0 >= stored)
        #expect(try early.line()?.contains(#""ok":true"#) == true)
    }

    /// Each snapshot is as large as the bus: where members fetch two, the next one is made once one of them has gone.
    @Test func snapshotsAreFew() throws {
        let cluster = try largeBus()
        let member = cluster["a"]
        let writer = try member.client()
        var joiners: [LineClient] = []
        for _ in 0..<2 {
            try increment(writer)
            joiners.append(try member.client())
            #expect(try ask(joiners.last!, from: 0)["ok"] == true)
        }
        try increment(writer)
        // Shorter than a snapshot is kept for one that is silent.
        let third = try LineClient(member.address, patience: 40)
        try third.send(#"{"op":"cluster","offset":0}"#)
        try increment(writer)
        let stored = try #require(member.storedPlace)
        joiners[0].close()
        let part = try JSON(parsing: try #require(try third.line()))
        #expect(part["place"]?.int ?? 0 >= stored, "\(part["place"] ?? .null), \(stored)")
        let other = try ask(joiners[1], from: try length(of: part))
        #expect(other["ok"] == true && other["place"]?.int ?? .max < stored)
    }

    /// A part is large, so that a fetch over a long way does not take long, and fits into a line with whatever else is in it.
    @Test func partsFillLines() throws {
        let cluster = try largeBus()
        let client = try cluster["a"].client()
        let part = try ask(client, from: 0)
        #expect(try length(of: part) > 200_000)
        let id = String(repeating: "i", count: 900_000)
        let reply = try client.ask(#"{"id":"\#(id)","op":"cluster","offset":3}"#)
        let other = try JSON(parsing: reply)
        #expect(try length(of: other) > 50_000 && reply.utf8.count < 1 << 20)
    }

    @Test func memberBeginsWithTheSnapshot() throws {
        let cluster = try largeBus()
        try increment(try cluster["a"].client())
        try cluster.etcd.control("compact \(try cluster.etcd.revision)")
        try cluster["b"].start()
        try cluster["b"].waitUntilAttached()
        let state = try cluster["b"].client().ask(#"{"op":"get","store":"counter/s7","fresh":true}"#)
        #expect(LineClient.integer("count", in: state) == 1)
        // At one place both have computed the same.
        try TestCluster.wait(until: "equal digests of both at one place") {
            try sight(of: cluster["a"]) == sight(of: cluster["b"])
        }
        #expect(cluster["b"].daemon.exits == [])
    }

    /// The manager shows a token, so no user of this machine may manage the bus.
    private static let rules = """
          roles: { all: [everyone], owner: [{ token: c9 }] }
          rules: [{ role: all, may: [read, create, dispatch] }, { role: owner, may: all }]
        """

    /// Where members are, and what they run, is for who manages the bus.
    @Test func clientsSeeLittleOfMembers() throws {
        let cluster = try TestCluster(["a"], servers: 1, rules: Self.rules)
        func names(_ client: LineClient) throws -> [Set<String>] {
            let sight = try JSON(parsing: try client.ask(#"{"op":"cluster"}"#))["cluster"]
            return [sight, sight?["members"]?.array?.first].map { Set($0?.object?.members.map(\.key) ?? []) }
        }
        let ofMember: Set = ["name", "agrees", "revision", "behind"]
        let ofBus: Set = ["bus", "member", "attached", "since", "epoch", "revision", "rules", "members"]
        #expect(try names(cluster["a"].client()) == [ofBus, ofMember])
        let manager = try cluster["a"].client(token: 9)
        #expect(
            try names(manager) == [
                ofBus.union(["place", "stored", "version", "logBytes", "digest"]),
                ofMember.union(["incarnation", "place", "stored", "clock", "version", "address"]),
            ])
    }

    /// Access rules are about clients: where nobody may manage the bus, members give each other what they need all the same.
    @Test func membersNeedNoRights() throws {
        let cluster = try TestCluster(["a", "b"], servers: 1, relayed: ["b": "a"], rules: Self.rules) {
            $0 == "a"
        }
        let client = try cluster["a"].client()
        let increment = #"{"op":"dispatch","store":"counter/main","action":"increment"}"#
        #expect(try client.ask(increment).contains(#""ok":true"#))
        try cluster.etcd.control("compact \(try cluster.etcd.revision)")
        try cluster["b"].start()
        try cluster["b"].waitUntilAttached()
        let manager = try cluster["b"].client(token: 9)
        try TestCluster.wait(until: "member that reads through the other; \(cluster["b"].messages)") {
            _ = try client.ask(increment)
            return try manager.ask(#"{"op":"cluster"}"#).contains(#""from":"\#(cluster["a"].address)""#)
        }
        for member in ["offset", "since"] {
            for token in ["", #","token":"\#(UUID())""#] {
                let refusal = try client.ask(#"{"op":"cluster","\#(member)":0\#(token)}"#)
                #expect(refusal.contains(#""code":"forbidden""#), "\(refusal)")
            }
        }
    }

    /// Where a member stands, and the digest of what it has computed so far.
    private func sight(of member: TestMember) throws -> [JSON?] {
        let reply = try JSON(parsing: try member.client().ask(#"{"op":"cluster"}"#))
        return [reply["cluster"]?["place"], reply["cluster"]?["digest"]]
    }
}
