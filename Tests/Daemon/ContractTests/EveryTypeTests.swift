import BusEngine
import BusJSON
import BusMachine
import TestModes
import TestSupport
import Testing

/// A dispatch to `*` is told and logged as each type takes it.
@Suite(.inBothModes) struct EveryTypeTests {
    private static func type(_ name: String, _ payload: String) -> String {
        """
        type: \(name)
        initial: { n: 0, word: none }
        actions:
          go: { payload: \(payload), increment: { n: { var: payload.by } }, set: { word: { var: payload.word } } }
        """
    }
    private static let alike = "{ by: { type: integer, default: 1 }, word: string }"
    private static let other = "{ by: { type: integer, default: 2 }, word: string }"

    private func bus(_ second: String) throws -> (MemoryBus, MemoryClient) {
        let bus = try MemoryBus.logging("one/a", "two/a", "two/b") {
            $0.definitions = [Self.type("one", Self.alike), Self.type("two", second)]
        }
        return (bus, bus.connect(uid: 0))
    }

    private let go = #"{"op":"dispatch","type":"*","action":"go","payload":{"word":"x"}}"#

    /// Actions of the last commit, as `history` tells them.
    private func told(_ client: MemoryClient, _ revision: Int) throws -> [JSON] {
        let reply = try client.reply(to: #"{"op":"history","since":\#(revision - 1)}"#)
        return reply["commits"]?[0]?["actions"]?.array ?? []
    }

    @Test func whereTypesTakeOneItHasTheDefaults() throws {
        let (bus, client) = try bus(Self.alike)
        let watcher = bus.connect()
        try watcher.reply(to: #"{"op":"subscribe","type":"two","actions":true}"#)
        let revision = try client.revision(after: go)
        let action: JSON = ["type": "*", "action": "go", "payload": ["by": 1, "word": "x"]]
        #expect(try told(client, revision) == [action])
        let events = try watcher.all()
        #expect(events.count == 1 && events[0]["type"] == "*" && events[0]["index"] == nil)
        #expect(events.first?["payload"] == ["by": 1, "word": "x"])
        #expect(try bus.isWhatTheLogSays())
    }

    @Test func whereTypesDifferItIsOneActionForEach() throws {
        let (bus, client) = try bus(Self.other)
        let watchers = try ["one", "two"].map { name in
            let watcher = bus.connect()
            try watcher.reply(to: #"{"op":"subscribe","type":"\#(name)","actions":true}"#)
            return watcher
        }
        let cause = bus.connect()
        try cause.reply(to: #"{"op":"subscribe","type":"two","cause":true,"initial":false}"#)
        let reply = try client.reply(to: go)
        #expect(reply["matched"] == 3 && reply["changed"] == 3)
        let revision = try #require(reply["revision"]?.int)
        let actions: [JSON] = [
            ["type": "one", "action": "go", "payload": ["by": 1, "word": "x"]],
            ["type": "two", "action": "go", "payload": ["by": 2, "word": "x"]],
        ]
        #expect(try told(client, revision) == actions)
        #expect(try cause.all().first?["cause"]?["actions"] == .array(actions))
        for (index, watcher) in watchers.enumerated() {
            let events = try watcher.all()
            #expect(events.count == 1 && events[0]["index"] == .int(index), "\(events)")
            #expect(events.first?["type"] == actions[index]["type"])
            #expect(events.first?["payload"] == actions[index]["payload"])
        }
        #expect(try client.state(of: "two/b") == ["n": 2, "word": "x"])
        #expect(try bus.isWhatTheLogSays())
    }

    /// A resumed subscription gets the same as a live one.
    @Test func aResumedSubscriptionGetsTheSame() throws {
        let (bus, client) = try bus(Self.other)
        let live = bus.connect()
        try live.reply(to: #"{"op":"subscribe","type":"two","actions":true}"#)
        let revision = try client.revision(after: go)
        let late = bus.connect()
        late.send(
            #"{"op":"subscribe","type":"two","actions":true,"since":\#(revision - 1),"epoch":"\#(bus.epoch)"}"#
        )
        #expect(try late.all().filter { $0["event"] == "action" } == live.all())
    }

    /// A log that has the payload as it was sent, as builds before wrote it, gives the same states.
    @Test func aLogOfABuildBeforeGivesTheSame() throws {
        let (bus, _) = try bus(Self.other)
        let machine = try bus.past(at: 3)
        let entry =
            #"{"revision":4,"time":1795000000.5,"by":{"uid":0,"pid":1},"actions":[{"type":"*","action":"go","payload":{"word":"x"}}]}"#
        try Array((entry + "\n").utf8).withUnsafeBytes { try machine.replay($0) }
        #expect(machine.state(at: "one/a") == ["n": 1, "word": "x"])
        #expect(machine.state(at: "two/a") == ["n": 2, "word": "x"])
    }

    /// The index of an error is that of the request's action, however many actions come of it.
    @Test func anErrorHasTheIndexOfTheRequest() throws {
        let (_, client) = try bus(Self.other.replacing("default: 2", with: "default: 9223372036854775807"))
        let one = #"{"type":"*","action":"go","payload":{"word":"x"}}"#
        let last = #"{"store":"two/a","action":"go","payload":{"word":"y"}}"#
        #expect(try client.code(of: #"{"op":"dispatch","actions":[\#(one)]}"#) == nil)
        let both = try client.reply(
            to:
                #"{"op":"dispatch","actions":[{"store":"one/a","action":"go","payload":{"word":"x"}},\#(one),\#(last)]}"#
        )
        #expect(both["error"]?["index"] == 1, "\(both)")
        // A batch of one says it, too; what is no batch has none.
        let single = try client.reply(to: #"{"op":"dispatch","actions":[\#(last)]}"#)
        #expect(single["error"]?["code"] == "rejected" && single["error"]?["index"] == 0, "\(single)")
        let plain = try client.reply(
            to: #"{"op":"dispatch","store":"two/a","action":"go","payload":{"word":"y"}}"#)
        #expect(plain["error"]?["code"] == "rejected" && plain["error"]?["index"] == nil, "\(plain)")
    }

    /// A timer keeps what was sent, and is told when it is due.
    @Test func aTimerFillsInDefaultsWhenItIsDue() throws {
        let (bus, client) = try bus(Self.other)
        try client.revision(
            after: #"{"op":"dispatch","type":"*","action":"go","payload":{"word":"x"},"in":5,"timer":"t"}"#)
        let timers = try client.reply(to: #"{"op":"timers"}"#)["timers"]?.array
        #expect(timers?.count == 1 && timers?[0]["payload"] == ["word": "x"] && timers?[0]["type"] == "*")
        bus.advance(milliseconds: 5000)
        #expect(try client.state(of: "two/a") == ["n": 2, "word": "x"])
        #expect(try told(client, bus.engine.revision).count == 2)
        #expect(try bus.isWhatTheLogSays())
    }

    @Test func payloadsThatAreTooLongTogetherAreRefused() throws {
        let names = (0..<6).map { "t\($0)" }
        let bus = try MemoryBus.logging {
            $0.definitions = names.enumerated().map {
                Self.type($1, "{ by: { type: integer, default: \($0) }, word: string }")
            }
        }
        let client = bus.connect(uid: 0)
        let word = String(repeating: "x", count: 900_000)
        let long = #"{"op":"dispatch","type":"*","action":"go","payload":{"word":"\#(word)"}}"#
        #expect(try client.code(of: long) == "too_large")
        #expect(try client.code(of: go) == nil)
        #expect(bus.engine.revision == 1)
    }
}
