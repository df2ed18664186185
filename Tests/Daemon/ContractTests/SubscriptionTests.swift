import BusJSON
import TestModes
import TestSupport
import Testing

/// Guarantees 3 and 4: the state first, then every change, nothing twice, nothing missing, and a mirror that is
/// the daemon's state.
@Suite(.inBothModes) struct SubscriptionTests {
    @Test func subscriberGetsStateBeforeChanges() throws {
        let bus = try MemoryBus.with("counter/a")
        let client = bus.connect()
        // All three in one burst: the subscription stands between two commits.
        client.send(
            bytes: Array(
                """
                {"id":1,"op":"dispatch","store":"counter/a","action":"increment"}
                {"id":2,"op":"subscribe","store":"counter/a"}
                {"id":3,"op":"dispatch","store":"counter/a","action":"increment"}

                """.utf8))
        let lines = try client.all()
        try #require(lines.count == 5)
        #expect(lines[0]["id"] == 1)
        #expect(lines[1]["id"] == 2)
        #expect(lines[1]["revision"] == 2)
        #expect(lines[2]["reset"] == true)
        #expect(lines[2]["revision"] == 2)
        #expect(lines[2]["states"] == ["counter/a": ["count": 1, "isEven": false]])
        #expect(lines[3]["from"] == 2)
        #expect(lines[3]["changes"] == ["counter/a": ["count": 2, "isEven": true]])
        #expect(lines[4]["id"] == 3)
    }

    @Test func subscriptionOfNothingBeginsWithAnEmptyReset() throws {
        let bus = try MemoryBus()
        let client = bus.connect()
        let lines = try client.ask(#"{"op":"subscribe","store":"counter/not-yet"}"#)
        #expect(lines.count == 2)
        #expect(
            lines[1] == ["event": "change", "sub": 1, "from": 0, "revision": 0, "reset": true, "states": [:]])
        try client.revision(after: #"{"op":"create","store":"counter/another"}"#)
        let made = try client.ask(#"{"op":"create","store":"counter/not-yet"}"#)
        #expect(made[0]["from"] == 0)
        #expect(made[0]["states"]?["counter/not-yet"] != nil)
    }

    @Test func unknownTypeCannotBeSubscribed() throws {
        let client = try MemoryBus().connect()
        #expect(try client.code(of: #"{"op":"subscribe","type":"nothing"}"#) == "unknown_type")
        #expect(try client.code(of: #"{"op":"subscribe","store":"nothing/a"}"#) == "unknown_type")
        #expect(try client.code(of: #"{"op":"subscribe","match":"nothing/*"}"#) == "unknown_type")
        #expect(try client.code(of: #"{"op":"subscribe","match":"noth*/*"}"#) == nil)
    }

    @Test(arguments: ["merge", "patch", "state"])
    func mirrorEqualsTheStatesInEveryFormat(_ format: String) throws {
        let bus = try MemoryBus()
        let (client, watcher) = (bus.connect(), bus.connect())
        var mirror = ContractMirror()
        try mirror.take(watcher.ask(#"{"op":"subscribe","match":"*/*","format":"\#(format)"}"#))
        var random = SeededGenerator(seed: 7)
        for step in 0..<600 {
            client.send(Self.someRequest(step, &random))
            _ = try client.all()
            try mirror.take(watcher.all())
            let now = try client.reply(to: #"{"op":"get","match":"*/*"}"#)
            let truth = now["states"]?.object ?? [:]
            let held = JSONObject(distinct: mirror.states.map { .init(key: $0.key, value: $0.value) })
            try #require(held == truth, "\(format), step \(step)")
        }
    }

    /// Requests over a few stores; some are refused.
    private static func someRequest(_ step: Int, _ random: inout SeededGenerator) -> String {
        let name = ["a", "b", "c"].randomElement(using: &random)!
        let item = Int.random(in: 0..<4, using: &random)
        let requests = [
            #"{"op":"create","store":"todo/\#(name)"}"#,
            #"{"op":"create","store":"presence/\#(name)"}"#,
            #"{"op":"drop","store":"todo/\#(name)"}"#,
            #"{"op":"dispatch","type":"todo","action":"add","payload":{"id":"i~/\#(item)","title":"t\#(step)"}}"#,
            #"{"op":"dispatch","store":"todo/\#(name)","action":"toggle","payload":{"id":"i~/\#(item)"}}"#,
            #"{"op":"dispatch","store":"todo/\#(name)","action":"remove","payload":{"id":"i~/\#(item)"}}"#,
            #"{"op":"dispatch","type":"todo","action":"clear"}"#,
            #"{"op":"dispatch","type":"presence","action":"enter","payload":{"name":"n\#(item)"}}"#,
            #"{"op":"dispatch","type":"presence","action":"leave","payload":{"name":"n\#(item)"}}"#,
            """
            {"op":"dispatch","actions":[{"type":"todo","action":"toggle","payload":{"id":"i~/\(item)"}},\
            {"type":"presence","action":"say","payload":{"name":"n\(item)","status":"s\(step)"}}]}
            """,
        ]
        return requests.randomElement(using: &random)!
    }

    @Test func recreatedStoreComesAsAState() throws {
        let bus = try MemoryBus.with("counter/x")
        let client = bus.connect()
        try client.revision(after: #"{"op":"create","store":"counter/a"}"#)
        try client.ask(#"{"op":"subscribe","type":"counter","initial":false}"#)
        let dropped = try client.ask(#"{"op":"drop","store":"counter/a"}"#)
        #expect(dropped[0]["dropped"] == ["counter/a"])
        let made = try client.ask(#"{"op":"create","store":"counter/a","state":{"count":4}}"#)
        #expect(made[0]["states"] == ["counter/a": ["count": 4, "isEven": true]])
        #expect(made[0]["from"] == 3)
    }

    @Test func nothingComesWhileTheSelectedPartsStayEqual() throws {
        let bus = try MemoryBus.with("counter/a")
        let client = bus.connect()
        try client.ask(#"{"op":"subscribe","type":"counter","select":["/isEven"],"initial":false}"#)
        #expect(
            try client.ask(#"{"op":"dispatch","type":"counter","action":"increment","payload":{"by":2}}"#)
                .count == 1)
        let lines = try client.ask(#"{"op":"dispatch","type":"counter","action":"increment"}"#)
        #expect(lines[0]["from"] == 1)
        #expect(lines[0]["changes"] == ["counter/a": ["isEven": false]])
    }

    @Test func batchIsOneEventOfItsNetChange() throws {
        let bus = try MemoryBus.with("counter/a", "counter/b")
        let client = bus.connect()
        try client.ask(#"{"op":"subscribe","type":"counter","initial":false}"#)
        let lines = try client.ask(
            """
            {"op":"dispatch","actions":[{"store":"counter/a","action":"increment"},{"store":"counter/a","action":"decrement"},\
            {"store":"counter/b","action":"increment"},{"store":"counter/b","action":"increment"}]}
            """)
        try #require(lines.count == 2)
        #expect(lines[0]["changes"] == ["counter/b": ["count": 2]])
        #expect(lines[1]["matched"] == 2)
        #expect(lines[1]["changed"] == 1)
    }

    @Test func subscriptionsAreNumberedPerConnectionAndNotReused() throws {
        let bus = try MemoryBus.with("counter/a")
        let (one, other) = (bus.connect(), bus.connect())
        let subscribe = #"{"op":"subscribe","type":"counter","initial":false}"#
        #expect(try one.reply(to: subscribe)["sub"] == 1)
        #expect(try one.reply(to: subscribe)["sub"] == 2)
        #expect(try other.reply(to: subscribe)["sub"] == 1)
        #expect(try one.code(of: #"{"op":"unsubscribe","sub":2}"#) == nil)
        #expect(try one.reply(to: subscribe)["sub"] == 3)
        #expect(try other.code(of: #"{"op":"unsubscribe","sub":3}"#) == "invalid_request")
    }
}
