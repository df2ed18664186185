import BusEngine
import BusJSON
import TestModes
import TestSupport
import Testing

/// A type's own timer comes once each time that its condition has held for so long without a break, whatever brings about the
/// states, as a timer does that actions set and take away.
@Suite(.inBothModes) struct TypeTimerTests {
    private static func door(_ timers: String = left, initial: String = "false", _ more: String = "")
        -> String
    {
        """
        type: door
        initial: { open: \(initial), fails: false, count: 0, notes: [] }
        computed: { isOpen: open }
        \(timers)
        actions:
          open: { set: { open: true } }
          close: { set: { open: false } }
          fail: { payload: { is: boolean }, set: { fails: = payload.is } }
          touch: { increment: { count: 1 } }
          dismiss: { timers: { left-open: null } }
          refuse: { require: [{ if: state.count < 0, else: never }] }
          remind: { payload: { note: string }, append: { notes: = payload.note } }
        \(more)
        """
    }
    private static let left = """
        timers:
          left-open:
            for: 10m
            while: isOpen
            action: remind
            payload: { note: '= fails ? string(notes[99]) : "open " + string(count)' }
        """
    /// The same by hand.
    private static let hand = """
        type: hand
        initial: { open: false, count: 0, notes: [] }
        actions:
          open:
            when: "!state.open"
            set: { open: true }
            timers: { left-open: { in: 10m, action: remind, payload: { note: = "open " + string(state.count) } } }
          close: { when: state.open, set: { open: false }, timers: { left-open: null } }
          touch: { increment: { count: 1 } }
          dismiss: { timers: { left-open: null } }
          remind: { payload: { note: string }, append: { notes: = payload.note } }
        """

    private func make(_ door: String = Self.door(), _ stores: [String] = ["door/a", "door/b"]) throws
        -> MemoryBus
    {
        var setup = MemoryBus.Setup()
        setup.definitions = [door, Self.hand]
        setup.stores = stores + ["hand/a"]
        setup.log = MemoryLog()
        return try MemoryBus(setup)
    }

    private static func action(_ name: String, of store: String = "door/a", _ payload: String = "{}")
        -> String
    {
        #"{"op":"dispatch","store":"\#(store)","action":"\#(name)","payload":\#(payload)}"#
    }

    private func notes(_ client: MemoryClient, _ store: String = "door/a") throws -> JSON? {
        try client.state(of: store)?["notes"]
    }

    @Test func comesOnceEachTimeThatItHasHeldForSoLong() throws {
        let bus = try make()
        let client = bus.connect()
        try client.revision(after: Self.action("open"))
        bus.advance(milliseconds: 300_000)
        // What keeps it true is no break.
        for name in ["open", "touch", "open"] { try client.revision(after: Self.action(name)) }
        bus.advance(milliseconds: 299_999)
        #expect(try notes(client) == [])
        bus.advance(milliseconds: 1)
        #expect(try notes(client) == ["open 0"])
        try client.revision(after: Self.action("open"))
        bus.advance(milliseconds: 3_600_000)
        #expect(try notes(client) == ["open 0"])
        for name in ["close", "open"] { try client.revision(after: Self.action(name)) }
        bus.advance(milliseconds: 599_999)
        try client.revision(after: Self.action("close"))
        bus.advance(milliseconds: 3_600_000)
        #expect(try notes(client) == ["open 0"])
        try client.revision(after: Self.action("open"))
        bus.advance(milliseconds: 600_000)
        #expect(try notes(client) == ["open 0", "open 1"])
        #expect(try bus.isWhatTheLogSays())
    }

    /// Random runs beside a type whose actions set and take away the same timer by hand.
    @Test(arguments: Seeds.some(12 as UInt64)) func isLikeATimerSetByHand(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        var bus = try make()
        var client = bus.connect()
        for step in 0..<120 {
            switch Int.random(in: 0..<10, using: &random) {
            case 0...2: bus.advance(milliseconds: Int.random(in: 0...400_000, using: &random))
            case 3 where step % 7 == 0:
                bus = try bus.crash()
                client = bus.connect()
            default:
                let name = ["open", "close", "touch", "dismiss"].randomElement(using: &random)!
                for store in ["door/a", "hand/a"] {
                    try client.revision(after: Self.action(name, of: store))
                }
            }
            let timers = try client.reply(to: #"{"op":"timers"}"#)["timers"]?.array ?? []
            let (own, byHand) = (
                timers.filter { $0["store"] == "door/a" }, timers.filter { $0["store"] == "hand/a" }
            )
            #expect(own.map { $0["due"] } == byHand.map { $0["due"] })
            #expect(own.map { $0["payload"] } == byHand.map { $0["payload"] })
            #expect(own.map { $0["by"] } == byHand.map { $0["by"] })
            #expect(try notes(client) == notes(client, "hand/a"))
        }
        #expect(try bus.isWhatTheLogSays())
    }

    /// What counts is the state before and after a commit.
    @Test func whatABatchDoesInBetweenIsNoBreak() throws {
        let bus = try make()
        let client = bus.connect()
        func batch(_ names: String...) -> String {
            let actions = names.map { #"{"store":"door/a","action":"\#($0)"}"# }
            return #"{"op":"dispatch","actions":[\#(actions.joined(separator: ","))]}"#
        }
        try client.revision(after: batch("open", "touch", "close"))
        #expect(try client.timers() == [])
        try client.revision(after: batch("close", "open"))
        bus.advance(milliseconds: 599_999)
        try client.revision(after: batch("close", "open", "close", "open"))
        bus.advance(milliseconds: 1)
        #expect(try notes(client) == ["open 1"])
    }

    @Test func storesOfATypeAreTurnedEachForItself() throws {
        let bus = try make()
        let client = bus.connect()
        try client.revision(after: Self.action("open", of: "door/b"))
        bus.advance(milliseconds: 1000)
        try client.revision(after: #"{"op":"dispatch","type":"door","action":"open"}"#)
        #expect(try client.timers() == ["door/b left-open", "door/a left-open"])
        try bus.connect(uid: 0).revision(after: #"{"op":"drop","store":"door/b"}"#)
        #expect(try client.timers() == ["door/a left-open"])
    }

    /// A timer that can't be set rejects what asks for it, all of it.
    @Test func whatCannotBeSetRejects() throws {
        let bus = try make()
        let client = bus.connect()
        try client.revision(after: Self.action("fail", #"{"is":true}"#))
        let digest = bus.engine.stateDigest
        let reply = try client.reply(to: Self.action("open"))
        #expect(reply["error"]?["code"] == "rejected" && reply["error"]?["store"] == "door/a")
        #expect(
            reply["error"]?["message"]?.string?.hasPrefix(
                "door/a refused open: in the timer left-open, ") == true)
        #expect(
            try client.code(of: #"{"op":"dispatch","type":"door","action":"open"}"#) == "rejected")
        #expect(bus.engine.stateDigest == digest)
        let create = #"{"op":"create","store":"door/c","state":{"open":true,"fails":true}}"#
        #expect(try client.code(of: create) == "rejected")
        #expect(try client.state(of: "door/c") == nil)
        try client.revision(after: Self.action("open", of: "door/b"))
        #expect(try client.timers() == ["door/b left-open"])
    }

    /// The payload of a timer is as long as a state at most, also where the store is new.
    @Test func timerOfANewStoreIsAsShortAsAnyOther() throws {
        let note = "{ note: '= notes[0] + notes[0]' }"
        let long = Self.door("timers: { t: { for: 1m, while: open, action: remind, payload: \(note) } }")
        var setup = MemoryBus.Setup()
        setup.definitions = [long, Self.hand]
        setup.limits.bus.state = 4096
        let bus = try MemoryBus(setup)
        let client = bus.connect()
        func create(_ store: String, isOpen: Bool, _ count: Int) -> String {
            let note = String(repeating: "x", count: count)
            return
                #"{"op":"create","store":"\#(store)","state":{"open":\#(isOpen),"notes":["\#(note)"]}}"#
        }
        try client.revision(after: create("door/a", isOpen: false, 3000))
        #expect(try client.code(of: Self.action("open")) == "rejected")
        #expect(try client.code(of: create("door/b", isOpen: true, 3000)) == "rejected")
        #expect(
            try client.code(
                of: #"{"op":"dispatch","actions":[\#(create("door/b", isOpen: true, 3000))]}"#)
                == "rejected")
        #expect(try client.state(of: "door/b") == nil)
        try client.revision(after: create("door/b", isOpen: true, 1000))
        #expect(try client.timers() == ["door/b t"])
        // So it is where a definition brings the timer.
        bus.definitions = [Self.door(""), Self.hand]
        let root = bus.connect(uid: 0)
        for line in [#"{"op":"reload"}"#, Self.action("open")] { try root.revision(after: line) }
        bus.definitions = [long, Self.hand]
        let refusal = try root.reply(to: #"{"op":"reload"}"#)["error"]?["message"]?.string
        #expect(refusal?.contains("door/a: a timer's payload would be longer than 4096 bytes.") == true)
    }

    // MARK: Other ways to a state

    @Test func newStoreBeginsWithWhatItsStateAsksFor() throws {
        let bus = try make(Self.door(initial: "true"), ["door/a"])
        let client = bus.connect()
        #expect(try client.timers() == ["door/a left-open"])
        try client.revision(after: #"{"op":"create","store":"door/shut","state":{"open":false}}"#)
        try client.revision(after: #"{"op":"create","store":"door/open","ttl":"1h"}"#)
        #expect(try client.timers() == ["door/a left-open", "door/open left-open"])
        #expect(try bus.isWhatTheLogSays())
        bus.advance(milliseconds: 600_000)
        #expect(try notes(client, "door/open") == ["open 0"])
        #expect(try notes(client, "door/shut") == [])
        let successor = try bus.crash()
        #expect(successor.engine.stateDigest == bus.engine.stateDigest)
    }

    @Test func revertTurnsThem() throws {
        let bus = try make()
        let root = bus.connect(uid: 0)
        let shut = bus.engine.revision
        let open = try root.revision(after: Self.action("open"))
        bus.advance(milliseconds: 1000)
        try root.revision(after: #"{"op":"revert","store":"door/a","revision":\#(shut)}"#)
        #expect(try root.timers() == [])
        bus.advance(milliseconds: 700_000)
        try root.revision(after: #"{"op":"revert","store":"door/a","revision":\#(open)}"#)
        #expect(try root.timers() == ["door/a left-open"])
        bus.advance(milliseconds: 599_999)
        try root.revision(after: #"{"op":"revert","store":"door/a","revision":\#(open)}"#)
        bus.advance(milliseconds: 1)
        #expect(try notes(root) == ["open 0"])
        #expect(try bus.isWhatTheLogSays())
    }

    @Test func newDefinitionTurnsThem() throws {
        let bus = try make(Self.door(""))
        let root = bus.connect(uid: 0)
        try root.revision(after: Self.action("open"))
        bus.definitions = [Self.door(), Self.hand]
        try root.revision(after: #"{"op":"reload"}"#)
        #expect(try root.timers() == ["door/a left-open"])
        #expect(
            try root.reply(to: #"{"op":"timers"}"#)["timers"]?[0]?["by"] == ["daemon": true])
        // One that is set stays as it was set.
        bus.advance(milliseconds: 1000)
        let due = try root.reply(to: #"{"op":"timers"}"#)["timers"]?[0]?["due"]
        bus.definitions = [Self.door(Self.left, "summary: A door."), Self.hand]
        try root.revision(after: #"{"op":"reload"}"#)
        #expect(try root.reply(to: #"{"op":"timers"}"#)["timers"]?[0]?["due"] == due)
        #expect(try root.timers() == ["door/a left-open"])
        let migrate = "version: 2\nmigrate: { 1: { set: { open: = !state.open } } }"
        bus.definitions = [Self.door(Self.left, migrate), Self.hand]
        try root.revision(after: #"{"op":"reload"}"#)
        #expect(try root.timers() == ["door/b left-open"])
        bus.definitions = [Self.door("", migrate), Self.hand]
        try root.revision(after: #"{"op":"reload"}"#)
        #expect(try root.timers() == [])
        #expect(try bus.isWhatTheLogSays())
        let successor = try bus.crash()
        #expect(successor.engine.stateDigest == bus.engine.stateDigest)
    }

    /// A definition is refused by which a store would have a timer that can't be set.
    @Test func definitionThatAStoreCannotFollowIsRefused() throws {
        let bus = try make(Self.door(""))
        let root = bus.connect(uid: 0)
        for line in [Self.action("fail", #"{"is":true}"#), Self.action("open")] {
            try root.revision(after: line)
        }
        bus.definitions = [Self.door(), Self.hand]
        let reply = try root.reply(to: #"{"op":"reload"}"#)
        #expect(reply["error"]?["message"]?.string?.contains("door/a: in the timer left-open, ") == true)
        #expect(try root.timers() == [])
    }

    /// Without a log, too, the next daemon goes on with what the last one had set.
    @Test(.aloneOnly(because: "A member of a shared bus hands nothing over."))
    func handOverTurnsThem() throws {
        var setup = MemoryBus.Setup()
        setup.definitions = [Self.door()]
        setup.stores = ["door/a", "door/b"]
        let bus = try MemoryBus(setup)
        let client = bus.connect()
        try client.revision(after: Self.action("open"))
        bus.advance(milliseconds: 1000)
        try bus.restart()
        #expect(try client.timers() == ["door/a left-open"])
        try bus.restart(definitions: [Self.door("")])
        #expect(try client.timers() == [])
        try client.revision(after: Self.action("open", of: "door/b"))
        try bus.restart(definitions: [Self.door()])
        #expect(try client.timers() == ["door/a left-open", "door/b left-open"])
        // What the daemon before did is nothing that a refusal takes back.
        #expect(try client.code(of: Self.action("refuse")) == "rejected")
        #expect(try client.timers() == ["door/a left-open", "door/b left-open"])
        bus.advance(milliseconds: 600_000)
        #expect(try notes(client) == ["open 0"])
    }
}
