import BusJSON
import TestModes
import TestSupport
import Testing

/// What `select` leaves equal is not sent, however the rest changed; and one commit that is delivered late is still one.
@Suite(.inBothModes) struct SelectedChangeTests {
    private static let pair = """
        type: pair
        initial: { a: 0, b: 0 }
        actions:
          setA: { payload: { to: integer }, set: { a: { var: payload.to } } }
          setB: { payload: { to: integer }, set: { b: { var: payload.to } } }
        """
    private let setB = #"{"op":"dispatch","store":"pair/x","action":"setB","payload":{"to":5}}"#

    private func bus() throws -> (MemoryBus, root: MemoryClient, watcher: MemoryClient) {
        let bus = try MemoryBus.logging("pair/x") { $0.definitions = [Self.pair] }
        return (bus, bus.connect(uid: 0), bus.connect())
    }

    @Test(arguments: ["merge", "patch", "state"])
    func aRevertThatLeavesTheSelectionEqualIsNotTold(_ format: String) throws {
        let (_, root, watcher) = try bus()
        let before = try root.revision(after: setB)
        try root.revision(after: setB.replacing("5", with: "6"))
        try watcher.reply(
            to: #"{"op":"subscribe","store":"pair/x","select":["/a"],"format":"\#(format)"}"#)
        try root.revision(after: #"{"op":"revert","store":"pair/x","revision":\#(before)}"#)
        #expect(try watcher.all() == [])
        try root.revision(after: setB.replacing("setB", with: "setA"))
        #expect(try watcher.all().count == 1)
        try root.revision(after: #"{"op":"revert","store":"pair/x","revision":\#(before)}"#)
        #expect(try watcher.all().map { $0["states"]?["pair/x"] } == [["a": 0]])
    }

    @Test func aReloadThatLeavesTheSelectionEqualIsNotTold() throws {
        let (bus, root, watcher) = try bus()
        let whole = bus.connect()
        try watcher.reply(to: #"{"op":"subscribe","store":"pair/x","select":["/a"]}"#)
        try whole.reply(to: #"{"op":"subscribe","store":"pair/x"}"#)
        bus.definitions = [
            "version: 2\nmigrate: { 1: { set: { b: 9 } } }\n" + Self.pair
        ]
        try root.revision(after: #"{"op":"reload"}"#)
        #expect(try whole.all().count == 1)
        #expect(try watcher.all() == [])
    }

    /// A reader whose outbox is full receives the next commit when it has read.
    @Test(arguments: [true, false]) func oneCommitToldLateHasItsCause(isAlone: Bool) throws {
        let bus = try MemoryBus.with("value/v", "counter/a") { $0.limits.daemon.outbox = 4096 }
        let (slow, other) = (bus.connect(), bus.connect())
        try slow.reply(to: #"{"op":"subscribe","store":"value/v","cause":true}"#)
        slow.isReading = false
        let long = String(repeating: "x", count: 3000)
        func set(_ text: String) throws -> Int {
            try other.revision(
                after:
                    #"{"op":"dispatch","store":"value/v","action":"set","payload":{"value":"\#(text)"}}"#)
        }
        let first = try set(long)
        let second = try set("late")
        if !isAlone { try other.increment() }
        slow.isReading = true
        let events = try slow.all()
        #expect(events.first?["revision"]?.int == first)
        // What others commit meanwhile may make it two parts, of which the first has `from`.
        #expect(events.dropFirst().first?["from"]?.int == first)
        let late = try #require(events.last)
        #expect(late["revision"]?.int == (isAlone ? second : second + 1))
        if isAlone {
            #expect(late["coalesced"] == nil)
            #expect(late["cause"]?["actions"]?[0]?["payload"] == ["value": "late"])
        } else {
            #expect(late["coalesced"] == 2)
            #expect(late["cause"] == nil)
        }
    }
}
