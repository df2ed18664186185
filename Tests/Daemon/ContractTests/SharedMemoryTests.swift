import BusJSON
import TestSupport
import Testing

/// A shared bus answers as a bus of one machine does: the same lines, sent to both in memory, get the same replies and events.
@Suite struct SharedMemoryTests {
    /// Clients by number, each with a line. The counter is configured.
    private static let conversation: [(client: Int, line: String)] = [
        (0, #"{"op":"subscribe","match":"*/*","cause":true}"#),
        (1, #"{"op":"subscribe","type":"counter","actions":true}"#),
        (0, #"{"op":"dispatch","id":1,"type":"counter","action":"increment","payload":{"by":3}}"#),
        (0, #"{"op":"dispatch","id":2,"store":"counter/none","action":"increment"}"#),
        (1, #"{"op":"dispatch","id":3,"store":"counter/main","action":"increment","key":"k"}"#),
        (1, #"{"op":"dispatch","id":4,"store":"counter/main","action":"increment","key":"k"}"#),
        (1, #"{"op":"dispatch","id":5,"store":"counter/main","action":"decrement","key":"k"}"#),
        (0, #"{"op":"create","id":6,"store":"counter/hall","state":{"count":5},"ephemeral":true}"#),
        (0, #"{"op":"create","id":7,"store":"counter/hall"}"#),
        (0, #"{"op":"create","id":8,"store":"counter/hall","ifMissing":true}"#),
        (1, #"{"op":"dispatch","id":9,"type":"*","action":"increment"}"#),
        (
            1,
            #"{"op":"dispatch","id":10,"actions":[{"store":"counter/main","action":"reset"},{"store":"counter/hall","action":"increment"}]}"#
        ),
        (1, #"{"op":"dispatch","id":11,"type":"counter","action":"increment","dryRun":true}"#),
        (0, #"{"op":"dispatch","id":12,"store":"counter/main","action":"increment","payload":{"by":"x"}}"#),
        (1, #"{"op":"dispatch","id":13,"store":"counter/main","action":"increment","in":"5m","timer":"t"}"#),
        (1, #"{"op":"timers","id":14}"#), (1, #"{"op":"cancel","id":15,"store":"counter/main","timer":"t"}"#),
        (1, #"{"op":"cancel","id":16,"store":"counter/main","timer":"t"}"#),
        (1, #"{"op":"will","id":17,"actions":[{"type":"counter","action":"increment"}]}"#),
        (0, #"{"op":"drop","id":18,"store":"counter/hall"}"#),
        (0, #"{"op":"drop","id":19,"store":"counter/hall"}"#),
        (0, #"{"op":"create","id":20,"store":"todo/home","ttl":"90s"}"#),
        (0, #"{"op":"get","id":21,"match":"*/*"}"#), (0, #"{"op":"stores","id":22}"#),
        (0, #"{"op":"history","id":23,"limit":5}"#), (0, #"{"op":"sync","id":24}"#),
        (0, #"{"op":"dispatch","id":25,"type":"nothing","action":"x"}"#),
        (0, #"{"op":"revert","id":26,"store":"todo/home"}"#),
        (
            0,
            #"{"op":"dispatch","id":27,"store":"todo/home","action":"add","payload":{"id":"a","title":"b"}}"#
        ),
        (0, #"{"op":"revert","id":28,"store":"todo/home","revision":10}"#),
        (1, #"{"op":"create","id":29,"store":"counter/attic"}"#),
        (1, #"{"op":"dispatch","id":30,"store":"counter/attic","action":"increment"}"#),
        (0, #"{"op":"revert","id":31,"store":"counter/attic","revision":13}"#),
    ]

    /// A store of the configuration stays, also where its type gives stores a lease.
    @Test(arguments: [false, true]) func configuredStoreHasNoLease(isShared: Bool) throws {
        var setup = MemoryBus.Setup()
        setup.isShared = isShared
        setup.definitions = [#"{"type":"guest","initial":{"n":0},"ttl":"60s"}"#]
        setup.stores = ["guest/host"]
        let bus = try MemoryBus(setup)
        let client = bus.connect(uid: 1000)
        bus.advance(milliseconds: 120_000)
        let reply = try #require(try client.ask(#"{"op":"stores","id":1}"#).last)
        #expect(reply["stores"]?.array?.count == 1)
        #expect(reply["stores"]?.array?.first?["ttl"] == nil)
    }

    /// A dry run tells what the action would do now, however long ago the last commit was.
    @Test(arguments: [false, true]) func dryRunHasTheTimeOfNow(isShared: Bool) throws {
        var setup = MemoryBus.Setup()
        setup.isShared = isShared
        setup.definitions = [
            #"{"type":"clock","initial":{"at":0},"actions":{"look":{"set":{"at":{"var":"meta.time"}}}}}"#
        ]
        setup.stores = ["clock/hall"]
        let bus = try MemoryBus(setup)
        let client = bus.connect(uid: 1000)
        bus.advance(milliseconds: 2500)
        let look = #""op":"dispatch","store":"clock/hall","action":"look","dryRun":true"#
        let tried = try #require(try client.ask("{\(look)}").last)
        #expect(tried["changes"]?["clock/hall"]?["at"]?.double == Double(bus.now) / 1000)
        let scheduled = try #require(try client.ask("{\(look),\"in\":5}").last)
        #expect(scheduled["due"]?.double == Double(bus.now + 5000) / 1000)
    }

    /// What a session leaves is done before timers fire that are due when its `linger` is over.
    @Test(arguments: [false, true]) func sessionEndsBeforeTimersOfItsTime(isShared: Bool) throws {
        var setup = MemoryBus.Setup()
        setup.isShared = isShared
        setup.stores = ["counter/main"]
        let bus = try MemoryBus(setup)
        let (leaver, other) = (bus.connect(uid: 1000), bus.connect(uid: 1001))
        _ = try leaver.ask(#"{"op":"hello","session":"desk","linger":3}"#)
        _ = try leaver.ask(#"{"op":"will","actions":[{"store":"counter/main","action":"reset"}]}"#)
        _ = try other.ask(#"{"op":"dispatch","store":"counter/main","action":"increment","in":3}"#)
        leaver.close()
        bus.advance(milliseconds: 3000)
        let reply = try #require(try other.ask(#"{"op":"get","store":"counter/main"}"#).last)
        #expect(reply["states"]?["counter/main"]?["count"] == 1, "Reset before it is incremented.")
    }

    /// All that each client gets, in order.
    private func answers(isShared: Bool) throws -> [[JSON]] {
        var setup = MemoryBus.Setup()
        setup.isShared = isShared
        setup.log = MemoryLog()
        setup.stores = ["counter/main"]
        let bus = try MemoryBus(setup)
        let clients = [bus.connect(uid: 1000), bus.connect(uid: MemoryBus.ownUID)]
        var answers: [[JSON]] = [[], []]
        for (client, line) in Self.conversation {
            clients[client].send(line)
            for (index, client) in clients.enumerated() { answers[index] += try client.all() }
        }
        clients[1].close()
        // In steps, so that both have the same times.
        for _ in 0..<200 { bus.advance(milliseconds: 500) }
        answers[0] += try clients[0].all()
        return answers.map { $0.map { Self.comparable($0) } }
    }

    /// Without what differs by what the buses are: who is a member.
    private static func comparable(_ value: JSON) -> JSON {
        switch value {
        case .array(let elements): return .array(elements.map(comparable))
        case .object(let object):
            var result = JSONObject()
            for member in object.members where member.key != "member" && member.key != "oldest" {
                result[member.key] = comparable(member.value)
            }
            return .object(result)
        default: return value
        }
    }

    @Test func repliesAndEventsAreThoseOfOneMachine() throws {
        let (alone, shared) = (try answers(isShared: false), try answers(isShared: true))
        for (client, (one, other)) in zip(alone, shared).enumerated() {
            #expect(one.count == other.count, "client \(client)")
            for (one, other) in zip(one, other) { #expect(one == other, "client \(client)") }
        }
        #expect(alone[0].count > Self.conversation.count / 2)
    }
}
