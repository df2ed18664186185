import BusJSON
import Foundation
import TestEtcd
import TestServer
import Testing

/// A bus over three machines with nothing else to do: what it promises, seen from all of them.
@Suite(.serialized, .enabled(if: TestEtcd.isInstalled, "\(TestEtcd.isMissing)"))
struct QuietClusterTests {
    /// One for all tests; each leaves it whole.
    private static let shared = Result { try TestCluster(["a", "b", "c"], servers: 1, lease: "6s") }
    private let cluster: TestCluster

    init() throws { cluster = try Self.shared.get() }

    private func count(_ store: String, at name: String) throws -> Int? {
        let reply = try cluster[name].client().ask(#"{"op":"get","store":"\#(store)","fresh":true}"#)
        return LineClient.integer("count", in: reply)
    }

    private func ok(_ client: LineClient, _ request: String) throws -> JSON {
        let reply = try JSON(parsing: client.reply(to: request))
        guard reply["ok"] == true else { throw TestCluster.Failure(description: "\(request): \(reply)") }
        return reply
    }

    @Test func dispatchOnOneIsSeenOnAll() throws {
        let watcher = try cluster["b"].client()
        _ = try ok(watcher, #"{"op":"subscribe","store":"counter/main","initial":false}"#)
        // What is configured is there from the start.
        let before = try #require(try count("counter/main", at: "a"))
        let reply = try ok(
            try cluster["a"].client(), #"{"op":"dispatch","store":"counter/main","action":"increment"}"#)
        let revision = try #require(reply["revision"]?.int)
        // Another member, behind a barrier.
        let read = try ok(
            try cluster["c"].client(), #"{"op":"get","store":"counter/main","fresh":true}"#)
        #expect(try #require(read["revision"]?.int) >= revision)
        #expect(read["states"]?["counter/main"]?["count"]?.int == before + 1)
        let event = try JSON(parsing: try #require(try watcher.line()))
        #expect(event["revision"]?.int == revision)
        #expect(event["changes"]?["counter/main"]?["count"]?.int == before + 1)
        // So is it behind `sync`.
        let other = try cluster["b"].client()
        #expect(try #require(ok(other, #"{"op":"sync"}"#)["revision"]?.int) >= revision)
    }

    @Test func keyedRetryAtAnotherMemberIsADuplicate() throws {
        let request =
            #"{"op":"dispatch","store":"counter/main","action":"increment","key":"once-\#(UInt32.random(in: 0...(.max)))"}"#
        let first = try ok(try cluster["a"].client(token: 1), request)
        for name in ["b", "c", "a"] {
            let again = try ok(try cluster[name].client(token: 1), request)
            #expect(again["revision"] == first["revision"])
            #expect(again["duplicate"] == true)
        }
        // Another identity's key is another key.
        let others = try ok(try cluster["b"].client(token: 2), request)
        #expect(others["duplicate"] == nil && others["revision"] != first["revision"])
    }

    /// What a client has sent before it went is carried out, also behind a read that waits for the shared log.
    @Test func whatAClientSentBehindAFreshReadCountsWhenItHasGone() throws {
        let before = try #require(try count("counter/main", at: "b"))
        for round in 1...5 {
            let client = try cluster["b"].client()
            try client.send(
                bytes: #"{"op":"get","store":"counter/main","fresh":true}"# + "\n"
                    + #"{"op":"dispatch","store":"counter/main","action":"increment"}"# + "\n")
            client.close()
            try TestCluster.wait(until: "dispatch of a client that has gone") {
                try count("counter/main", at: "a") == before + round
            }
        }
    }

    @Test func pipelinedRepliesKeepTheirOrder() throws {
        let client = try cluster["b"].client()
        _ = try ok(client, #"{"op":"create","store":"counter/order","ifMissing":true}"#)
        let start = try #require(try count("counter/order", at: "b"))
        let rounds = 40
        var lines = ""
        for round in 0..<rounds {
            lines +=
                #"{"id":"d\#(round)","op":"dispatch","store":"counter/order","action":"increment"}"# + "\n"
            lines += #"{"id":"g\#(round)","op":"get","store":"counter/order"}"# + "\n"
            lines += "this is no JSON\n"
            lines +=
                #"{"id":"r\#(round)","op":"dispatch","store":"counter/order","action":"limit","payload":{"by":9}}"#
                + "\n"
            lines +=
                #"{"id":"u\#(round)","op":"dispatch","store":"counter/none","action":"increment"}"# + "\n"
            lines += #"{"id":"o\#(round)","op":"frobnicate"}"# + "\n"
            lines += #"{"id":"f\#(round)","op":"get","store":"counter/order","fresh":true}"# + "\n"
            lines += #"{"id":"s\#(round)","op":"sync"}"# + "\n"
            lines += #"{"id":"q\#(round)","op":"dispatch","store":"counter/order","action":"nothing"}"# + "\n"
        }
        try client.send(bytes: lines)
        var revision = 0
        for round in 0..<rounds {
            func next(_ name: String) throws -> JSON {
                let reply = try JSON(parsing: try #require(try client.line()))
                #expect(reply["id"]?.string == "\(name)\(round)", "\(reply)")
                return reply
            }
            func check(_ reply: JSON) throws {
                #expect(reply["ok"] == true, "\(reply)")
                let now = try #require(reply["revision"]?.int)
                #expect(now >= revision)
                revision = now
            }
            try check(try next("d"))
            let read = try next("g")
            try check(read)
            #expect(read["states"]?["counter/order"]?["count"]?.int == start + round + 1)
            let faulty = try JSON(parsing: try #require(try client.line()))
            #expect(faulty["error"]?["code"] == "parse_error", "\(faulty)")
            #expect(try next("r")["error"]?["code"] == "rejected")
            #expect(try next("u")["error"]?["code"] == "unknown_store")
            #expect(try next("o")["error"]?["code"] == "unknown_op")
            let fresh = try next("f")
            try check(fresh)
            #expect(fresh["states"]?["counter/order"]?["count"]?.int == start + round + 1)
            try check(try next("s"))
            #expect(try next("q")["error"]?["code"] == "unknown_action")
        }
        #expect(try count("counter/order", at: "c") == start + rounds)
    }

    @Test func timersFireOnce() throws {
        let client = try cluster["a"].client()
        _ = try ok(client, #"{"op":"create","store":"counter/timer","ifMissing":true}"#)
        let start = try #require(try count("counter/timer", at: "a"))
        let names = ["a", "b", "c"]
        for (index, name) in names.enumerated() {
            _ = try ok(
                try cluster[name].client(),
                #"{"op":"dispatch","store":"counter/timer","action":"increment","in":"\#(100 + index * 50)ms"}"#
            )
        }
        try TestCluster.wait(until: "timers that have fired") {
            try count("counter/timer", at: "b") == start + names.count
        }
        let timers = try ok(client, #"{"op":"timers","match":"counter/timer"}"#)
        #expect(timers["timers"]?.array?.isEmpty == true)
        // What all members have pointed out has fired once.
        for name in names {
            _ = try ok(
                try cluster[name].client(), #"{"op":"dispatch","store":"counter/main","action":"increment"}"#)
        }
        for name in names { #expect(try count("counter/timer", at: name) == start + names.count) }
    }

    @Test func reloadOnOneIsInForceOnAll() throws {
        let name = "bell\(UInt16.random(in: 0...(.max)))"
        try cluster["a"].directory.write(
            "types/\(name).yaml", "type: \(name)\ninitial: {}\nactions:\n  ring: {}\n")
        let before = try JSON(parsing: cluster["b"].client().ask(#"{"op":"types","type":"\#(name)"}"#))
        #expect(before["error"]?["code"] == "unknown_type")
        let watcher = try cluster["c"].client()
        _ = try ok(try cluster["a"].client(), #"{"op":"reload"}"#)
        for member in ["a", "b", "c"] {
            let client = try cluster[member].client()
            _ = try ok(client, #"{"op":"sync"}"#)
            let types = try ok(client, #"{"op":"types","type":"\#(name)"}"#)
            #expect(types["types"]?.array?.count == 1, "\(member): \(types)")
        }
        _ = try ok(watcher, #"{"op":"create","store":"\#(name)/one"}"#)
        _ = try ok(watcher, #"{"op":"dispatch","store":"\#(name)/one","action":"ring"}"#)
        // And it stays so, when a member whose files do not say so is started again.
        #expect(cluster["b"].daemon.stop() == 0)
        try cluster["b"].start()
        try cluster["b"].waitUntilAttached()
        _ = try ok(
            try cluster["b"].client(), #"{"op":"dispatch","store":"\#(name)/one","action":"ring"}"#)
    }

    @Test func sessionsOfAKilledMemberEndOnce() throws {
        let mark = "w\(UInt32.random(in: 0...(.max)))"
        let doomed = try cluster["c"].client(token: 3)
        _ = try ok(
            doomed,
            #"{"op":"will","actions":[{"store":"\#(ClusterTypes.wills)","action":"enter","payload":{"mark":"\#(mark)"}}]}"#
        )
        _ = try ok(doomed, #"{"op":"create","store":"counter/\#(mark)","ephemeral":true}"#)
        let witness = try cluster["a"].client()
        #expect(try ok(witness, #"{"op":"get","store":"counter/\#(mark)","fresh":true}"#)["ok"] == true)
        cluster["c"].daemon.kill()
        try TestCluster.wait(until: "will that has run, once the lease has ended") {
            let state = try ok(witness, #"{"op":"get","store":"\#(ClusterTypes.wills)"}"#)["states"]
            return state?[ClusterTypes.wills]?["marks"]?[mark] != nil
        }
        let gone = try JSON(parsing: witness.ask(#"{"op":"get","store":"counter/\#(mark)"}"#))
        #expect(gone["error"]?["code"] == "unknown_store")
        try cluster["c"].start()
        try cluster["c"].waitUntilAttached()
        let rest = try cluster.settle()
        let places = rest.ledgers[ClusterTypes.wills]?["marks"]?[mark]?.string ?? ""
        #expect(places.split(separator: " ").count == 1, "\(places)")
    }

    @Test func memberThatComesBackWithinItsLeaseEndsItsSessionsOnce() throws {
        let mark = "w\(UInt32.random(in: 0...(.max)))"
        let doomed = try cluster["b"].client(token: 3)
        _ = try ok(
            doomed,
            #"{"op":"will","actions":[{"store":"\#(ClusterTypes.wills)","action":"enter","payload":{"mark":"\#(mark)"}}]}"#
        )
        cluster["b"].daemon.kill()
        try cluster["b"].start()
        try cluster["b"].waitUntilAttached()
        let rest = try cluster.settle(wills: [mark])
        let places = rest.ledgers[ClusterTypes.wills]?["marks"]?[mark]?.string ?? ""
        #expect(places.split(separator: " ").count == 1, "\(places)")
        #expect(!cluster["b"].daemon.exits.contains { [69, 75].contains($0) }, "\(cluster["b"].messages)")
    }

    /// Its copy is lost, and with it which incarnation it was: it waits for the end of that one's lease.
    @Test func memberThatHasLostItsCopyWaitsForItsEarlierRun() throws {
        let member = cluster["c"]
        let exits = member.daemon.exits.count
        member.daemon.kill()
        member.removeCopy()
        try member.start()
        try member.waitUntilAttached()
        _ = try ok(try member.client(), #"{"op":"dispatch","store":"counter/main","action":"increment"}"#)
        #expect(member.daemon.exits.dropFirst(exits) == [-SIGKILL], "\(member.messages)")
    }

    @Test func detachedMemberReadsAndComesBack() throws {
        let member = cluster["b"]
        let client = try member.client(token: 4)
        _ = try ok(client, #"{"op":"create","store":"counter/detached","ifMissing":true}"#)
        let start = try #require(try count("counter/detached", at: "b"))
        let increment = #""op":"dispatch","store":"counter/detached","action":"increment""#
        member.cut()
        try TestCluster.wait(until: "detached member") { member.condition?["attached"] == false }
        #expect(member.condition?["reason"]?.string?.isEmpty == false)
        // The others go on.
        _ = try ok(try cluster["a"].client(), "{\(increment)}")
        let read = try ok(client, #"{"op":"get","store":"counter/detached"}"#)
        #expect(read["states"]?["counter/detached"]?["count"]?.int == start)
        #expect(try ok(client, #"{"op":"stores","match":"counter/detached"}"#)["stores"]?.array?.count == 1)
        let history = try ok(client, #"{"op":"history","store":"counter/detached"}"#)
        #expect(history["commits"]?.array?.count == start + 1)
        try client.send(#"{"id":1,\#(increment),"key":"detached-\#(start)"}"#)
        try client.send(#"{"id":2,"op":"get","store":"counter/detached","fresh":true}"#)
        try client.send(#"{"id":3,"op":"get","store":"counter/detached"}"#)
        for id in 1...2 {
            let refused = try JSON(parsing: try #require(try client.line()))
            #expect(refused["id"]?.int == id)
            #expect(refused["error"]?["code"] == "unavailable", "\(refused)")
            if id == 1 { #expect(refused["error"]?["outcome"] == "none", "\(refused)") }
        }
        let local = try JSON(parsing: try #require(try client.line()))
        #expect(local["id"] == 3 && local["ok"] == true, "\(local)")
        member.mend()
        try member.waitUntilAttached()
        let back = try ok(client, #"{\#(increment),"key":"detached-\#(start)"}"#)
        #expect(back["duplicate"] == nil)
        for name in ["a", "b", "c"] { #expect(try count("counter/detached", at: name) == start + 2) }
    }

    @Test func subscriptionGoesOnAtAMemberThatIsBehind() throws {
        let behind = cluster["b"]
        _ = try cluster.settle()
        let client = try behind.client()
        let epoch = try client.epoch()
        // Nothing comes from the log any more, for now.
        behind.hold(.late)
        let reply = try ok(
            try cluster["a"].client(), #"{"op":"dispatch","store":"counter/main","action":"increment"}"#)
        let revision = try #require(reply["revision"]?.int)
        let before = try ok(client, #"{"op":"get","store":"counter/main"}"#)
        #expect(try #require(before["revision"]?.int) < revision)
        try client.send(
            #"{"id":1,"op":"subscribe","type":"counter","since":\#(revision),"epoch":"\#(epoch)"}"#)
        try client.send(#"{"id":2,"op":"ping"}"#)
        behind.mend()
        let subscribed = try JSON(parsing: try #require(try client.line()))
        #expect(subscribed["id"] == 1)
        #expect(try #require(subscribed["revision"]?.int) >= revision, "\(subscribed)")
        let event = try JSON(parsing: try #require(try client.line()))
        #expect(event["from"]?.int == revision && event["reset"] == nil, "\(event)")
        // A revision that nobody has seen is told as ever.
        let other = try behind.client()
        try other.send(
            #"{"op":"subscribe","type":"counter","since":\#(revision + 1000),"epoch":"\#(epoch)"}"#)
        #expect(try other.line()?.contains(#""ok":true"#) == true)
        #expect(try other.line()?.contains(#""reset":true"#) == true)
    }

    @Test func newMemberBeginsWithASnapshotWhereTheLogWasTrimmed() throws {
        let reply = try ok(try cluster["a"].client(), #"{"op":"cluster"}"#)
        let place = try #require(reply["cluster"]?["place"]?.int)
        // Members leave behind the slowest what is compared when reading starts over.
        let before = try cluster["a"].standing().revision
        try proposeMuch()
        #expect(try cluster["a"].standing().revision == before + 300)
        try cluster.etcd.control("compact \(place)")
        let member = try TestMember("d\(place)", cluster.etcd, bus: "home")
        try member.start()
        try member.waitUntilAttached()
        #expect(try member.standing() == cluster["a"].standing())
        #expect(try member.ledgers() == cluster["a"].ledgers())
        // And it is a member like others.
        let increment = #"{"op":"dispatch","store":"counter/main","action":"increment"}"#
        let revision = try ok(try member.client(), increment)["revision"]?.int
        let seen = try ok(try cluster["c"].client(), #"{"op":"sync"}"#)["revision"]?.int
        #expect(try #require(revision) <= #require(seen))
        // Also from its own copy.
        member.daemon.kill()
        _ = try ok(try cluster["a"].client(), increment)
        try member.start()
        try member.waitUntilAttached()
        #expect(try member.standing() == cluster["a"].standing())
        #expect(member.daemon.stop() == 0)
        #expect(member.daemon.exits == [-SIGKILL, 0], "\(member.messages)")
    }

    /// Three hundred proposals, on all members side by side.
    private func proposeMuch() throws {
        let clients = try cluster.members.map { try $0.client() }
        for _ in 0..<100 {
            for client in clients {
                try client.send(#"{"op":"dispatch","store":"counter/main","action":"increment"}"#)
            }
            for client in clients { #expect(try client.line()?.contains(#""ok":true"#) == true) }
        }
    }

    @Test func historyOfOneMachineBeginsABus() throws {
        // An etcd whose history goes back to its beginning.
        let etcd = try TestEtcd()
        let first = try TestMember("first", etcd, bus: "history", arguments: ["--cluster-init"])
        let daemon = try alone(first)
        let client = try first.client(token: 5)
        let epoch = try client.epoch()
        let request = #"{"op":"dispatch","store":"counter/main","action":"increment","key":"before"}"#
        let before = try ok(client, request)
        // A user of this machine, which becomes one of the member's.
        let ownRequest = #"{"op":"create","store":"counter/own","key":"own"}"#
        let own = try ok(first.client(), ownRequest)["revision"]
        daemon.signal(SIGTERM)
        #expect(try daemon.wait().status == 0)

        try first.start()
        try first.waitUntilAttached()
        let second = try TestMember("second", etcd, bus: "history")
        try second.start()
        try second.waitUntilAttached()
        for member in [first, second] {
            let client = try member.client(token: 5)
            #expect(try client.epoch() == epoch)
            let again = try ok(client, request)
            #expect(again["revision"] == before["revision"] && again["duplicate"] == true, "\(again)")
            // On another machine a user with this number is somebody else.
            let reply = try JSON(parsing: member.client().ask(ownRequest))
            let isSame = reply["duplicate"] == true && reply["revision"] == own
            #expect(isSame == (member.name == "first"), "\(reply)")
            #expect(
                try ok(client, #"{"op":"get","store":"counter/main"}"#)["states"]?["counter/main"] == [
                    "count": 1
                ])
        }
        #expect(first.daemon.stop() == 0)
        #expect(second.daemon.stop() == 0)
    }

    @Test func whoBeginsABusTooLateKeepsTheHistoryOfHisMachine() throws {
        let late = try TestMember("late", cluster.etcd, bus: "home", arguments: ["--cluster-init"])
        let get = #"{"op":"get","store":"counter/main"}"#
        var daemon = try alone(late)
        _ = try ok(late.client(token: 5), #"{"op":"dispatch","store":"counter/main","action":"increment"}"#)
        let before = try ok(late.client(token: 5), get)
        daemon.signal(SIGTERM)
        #expect(try daemon.wait().status == 0)

        try late.start()
        try TestCluster.wait(until: "end of the member that comes too late") { !late.daemon.isRunning }
        #expect(late.daemon.exits == [78])
        #expect(late.messages.contains("The bus home has begun already"), "\(late.messages)")

        daemon = try alone(late)
        #expect(try ok(late.client(token: 5), get) == before)
    }

    /// A daemon with the files of a member, for its machine alone.
    private func alone(_ member: TestMember) throws -> RunningProgram {
        let path = member.directory.path
        let whole = try String(contentsOfFile: "\(path)/fluxbusd.yaml", encoding: .utf8)
        try member.directory.write(
            "alone.yaml", try #require(whole.components(separatedBy: "cluster:").first))
        let daemon = try RunningProgram("fluxbusd", ["--config", "\(path)/alone.yaml"])
        #expect(daemon.waitFor("listening on"))
        return daemon
    }
}
