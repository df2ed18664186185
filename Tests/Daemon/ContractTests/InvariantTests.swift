import BusEngine
import BusJSON
import TestModes
import TestSupport
import Testing

/// What a type says of all its states holds at any time, whatever brings about a state.
@Suite(.inBothModes) struct InvariantTests {
    private static func account(_ invariant: String, _ more: String = "") -> String {
        """
        type: account
        state:
          balance: { type: integer, default: 0 }
          limit: { type: integer, default: 100 }
          note: { type: string, default: "" }
          list: { type: array, default: [] }
        computed: { free: limit - balance }
        invariant:
        \(invariant)
        actions:
          add: { payload: { n: integer }, increment: { balance: = payload.n } }
          move: { payload: { n: integer }, increment: { balance: = payload.n, limit: = payload.n } }
          limit: { payload: { to: integer }, set: { limit: = payload.to } }
          note: { payload: { text: string }, set: { note: = payload.text } }
          put: { payload: { path: string, value: any }, set: { "{payload.path}": = payload.value } }
          push: { append: { list: 1 } }
          addTwice: { increment: { balance: 100 }, timers: { back: { in: 1s, action: add, payload: { n: 200 } } } }
        \(more)
        """
    }
    private static let rules = """
          - balance >= 0
          - { if: free >= 0, else: = "over by " + string(-free) }
        """

    private func make(
        _ rules: String = Self.rules, _ change: (inout MemoryBus.Setup) -> Void = { _ in }
    ) throws -> MemoryBus {
        var setup = MemoryBus.Setup()
        setup.definitions = [Self.account(rules)]
        setup.stores = ["account/a", "account/b"]
        setup.log = MemoryLog()
        change(&setup)
        return try MemoryBus(setup)
    }

    private static func dispatch(_ target: String, _ action: String, _ payload: String) -> String {
        let kind = target.contains("/") ? "store" : "type"
        return #"{"op":"dispatch","\#(kind)":"\#(target)","action":"\#(action)","payload":\#(payload)}"#
    }

    @Test func actionThatWouldBreakOneIsRejected() throws {
        let bus = try make()
        let client = bus.connect()
        try client.revision(after: Self.dispatch("account/b", "add", #"{"n":60}"#))
        let digest = bus.engine.stateDigest
        let reply = try client.reply(to: Self.dispatch("account/a", "add", #"{"n":-1}"#))
        #expect(
            reply["error"] == [
                "code": "rejected", "message": "account/a refused add: balance >= 0 would not hold.",
                "store": "account/a", "action": "add",
            ])
        // All or nothing, and what computed members say counts.
        let all = try client.reply(to: Self.dispatch("account", "add", #"{"n":50}"#))
        #expect(all["error"]?["message"] == "account/b refused add: over by 10.")
        #expect(all["error"]?["store"] == "account/b")
        // Through a path that the payload names, too.
        #expect(
            try client.code(
                of: Self.dispatch("account/a", "put", #"{"path":"limit","value":-1}"#)) == "rejected")
        #expect(bus.engine.stateDigest == digest)
        try client.revision(after: Self.dispatch("account/b", "move", #"{"n":500}"#))
    }

    /// Each action of a batch is looked at for itself; writes of one action are looked at together.
    @Test func eachActionOfABatchIsLookedAt() throws {
        let client = try make().connect()
        func batch(_ first: Int, _ second: Int) -> String {
            #"{"op":"dispatch","actions":[{"store":"account/a","action":"add","payload":{"n":\#(first)}},{"store":"account/a","action":"add","payload":{"n":\#(second)}}]}"#
        }
        let reply = try client.reply(to: batch(-1, 1))
        #expect(reply["error"]?["code"] == "rejected" && reply["error"]?["index"] == 0)
        #expect(try client.code(of: batch(1, -1)) == nil)
    }

    @Test func actionOfATimerIsHeldToThem() throws {
        let bus = try make()
        let client = bus.connect()
        try client.revision(after: Self.dispatch("account/a", "addTwice", "{}"))
        bus.advance(milliseconds: 1000)
        #expect(try client.state(of: "account/a")?["balance"] == 100)
        #expect(try bus.isWhatTheLogSays())
    }

    @Test func newStoreSatisfiesThem() throws {
        let client = try make().connect()
        let reply = try client.reply(
            to: #"{"op":"create","store":"account/c","state":{"balance":7,"limit":5}}"#)
        #expect(
            reply["error"] == ["code": "invalid_request", "message": "over by 2.", "member": "state"])
        #expect(
            try client.code(of: #"{"op":"create","store":"account/c","state":{"balance":7}}"#) == nil)
    }

    @Test func failingOneRejects() throws {
        let bus = try make(#"  - 100 / limit >= 1 || balance == 0"#)
        let client = bus.connect()
        let reply = try client.reply(to: Self.dispatch("account/a", "limit", #"{"to":0}"#))
        #expect(reply["ok"] == true)
        let failing = try client.reply(to: Self.dispatch("account/a", "add", #"{"n":1}"#))
        #expect(
            failing["error"]?["message"]?.string?.hasPrefix("account/a refused add: in invariant, ") == true)
    }

    /// Only those are looked at that read what was written.
    @Test func othersAreNotLookedAtAgain() throws {
        let bus = try make(#"  - list.all(x, x > 0)"#) { $0.limits.bus.commit = 1000 }
        let client = bus.connect()
        let long = "[" + Array(repeating: "1", count: 900).joined(separator: ",") + "]"
        #expect(
            try client.code(
                of: #"{"op":"create","store":"account/c","state":{"list":\#(long)}}"#) == "invalid_request")
        var setup: [Int] = []
        for count in 0..<400 {
            guard try client.code(of: Self.dispatch("account/a", "push", "{}")) == nil else { break }
            setup.append(count)
        }
        #expect((50..<400).contains(setup.count))
        #expect(try client.code(of: Self.dispatch("account/a", "push", "{}")) == "rejected")
        #expect(try client.code(of: Self.dispatch("account/a", "note", #"{"text":"fine"}"#)) == nil)
        #expect(try client.code(of: Self.dispatch("account/a", "add", #"{"n":5}"#)) == nil)
    }

    // MARK: Definitions and the past

    @Test func definitionThatAStoreBreaksIsRefused() throws {
        let bus = try make()
        let root = bus.connect(uid: 0)
        try root.revision(after: Self.dispatch("account/b", "add", #"{"n":60}"#))
        bus.definitions = [Self.account("  - { if: balance < 50, else: too much }")]
        let refused = try root.reply(to: #"{"op":"reload"}"#)
        #expect(refused["error"]?["code"] == "rejected")
        #expect(refused["error"]?["message"]?.string?.contains("account/b: too much.") == true)
        let migrating = "version: 2\nmigrate: { 1: { set: { balance: 0 } } }"
        bus.definitions = [Self.account("  - { if: balance < 50, else: too much }", migrating)]
        #expect(try root.reply(to: #"{"op":"reload"}"#)["ok"] == true)
        #expect(try root.code(of: Self.dispatch("account/b", "add", #"{"n":50}"#)) == "rejected")
        #expect(try root.code(of: Self.dispatch("account/b", "add", #"{"n":49}"#)) == nil)
        #expect(try bus.isWhatTheLogSays())
    }

    @Test func pastStateThatBreaksOneDoesNotComeBack() throws {
        let bus = try make()
        let root = bus.connect(uid: 0)
        let high = try root.revision(after: Self.dispatch("account/a", "add", #"{"n":60}"#))
        try root.revision(after: Self.dispatch("account/a", "add", #"{"n":-50}"#))
        bus.definitions = [Self.account("  - { if: balance < 50, else: too much }")]
        try root.revision(after: #"{"op":"reload"}"#)
        let reply = try root.reply(to: #"{"op":"revert","store":"account/a","revision":\#(high)}"#)
        #expect(reply["error"]?["code"] == "rejected")
        #expect(reply["error"]?["message"]?.string?.contains("too much") == true)
        #expect(try root.state(of: "account/a")?["balance"] == 10)
    }

    /// The definition comes back from the log as it was, and holds again.
    @Test func restartKeepsThem() throws {
        let bus = try make()
        let client = bus.connect()
        try client.revision(after: Self.dispatch("account/a", "add", #"{"n":60}"#))
        let shown = try client.reply(to: #"{"op":"types","type":"account"}"#)["types"]?[0]?["invariant"]
        #expect(shown == ["balance >= 0", ["if": "free >= 0", "else": #"= "over by " + string(-free)"#]])
        let successor = try bus.crash()
        #expect(successor.engine.stateDigest == bus.engine.stateDigest)
        #expect(
            try successor.connect().code(of: Self.dispatch("account/a", "add", #"{"n":60}"#)) == "rejected")
    }
}
