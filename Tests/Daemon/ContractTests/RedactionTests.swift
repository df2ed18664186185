import BusJSON
import TestModes
import TestSupport
import Testing

/// What an action redacts is judged, and neither kept nor shown.
@Suite(.inBothModes) struct RedactionTests {
    private static let safe = """
        type: safe
        state:
          code: { type: string, default: "4711" }
          opened: { type: integer, default: 0 }
        actions:
          unlatch:
            payload: { code: { type: string, minLength: 4, maxLength: 4 }, who: string? }
            redact: [/code]
            require: [{ if: payload.code == state.code, else: wrong }]
            increment: { opened: 1 }
          change:
            payload: { code: string, to: string }
            redact: [/code]
            require: [{ if: payload.code == state.code }]
            set: { code: = payload.to }
        """
    private static let diary = """
        type: diary
        initial: { codes: [] }
        actions: { unlatch: { payload: { code: string }, append: { codes: = payload.code } } }
        """

    private func bus(_ log: MemoryLog) throws -> MemoryBus {
        var setup = MemoryBus.Setup()
        (setup.definitions, setup.stores, setup.log) = (
            [Self.safe, Self.diary], ["safe/hall", "safe/cellar", "diary/all"], log
        )
        return try MemoryBus(setup)
    }

    private static func open(_ target: String, _ code: String) -> String {
        #"{"op":"dispatch",\#(target),"action":"unlatch","payload":{"code":"\#(code)"}}"#
    }

    @Test func onlyADigestLeavesTheBus() throws {
        let log = MemoryLog()
        let bus = try bus(log)
        let (client, watcher) = (bus.connect(), bus.connect())
        try watcher.ask(#"{"op":"subscribe","match":"safe/*","actions":true,"initial":false}"#)
        try watcher.ask(#"{"op":"subscribe","match":"safe/*","cause":true,"initial":false}"#)
        let hall = #""store":"safe/hall""#
        #expect(try client.code(of: Self.open(hall, "1234")) == "rejected")
        #expect(try client.code(of: Self.open(hall, "471")) == "invalid_payload")
        for _ in 0..<2 { try client.revision(after: Self.open(hall, "4711")) }
        try client.revision(after: Self.open(#""store":"safe/cellar""#, "4711"))
        try client.revision(
            after:
                #"{"op":"dispatch","store":"safe/hall","action":"change","payload":{"code":"4711","to":"0815"}}"#
        )
        try client.revision(after: Self.open(hall, "0815"))
        let events = try watcher.all()
        let told = events.compactMap { $0["payload"]?["code"]?.string }
        #expect(
            told.count == 5 && told.allSatisfy { $0.hasPrefix("sha256:") && $0.utf8.count == 71 }, "\(told)")
        // Of one action they are equal where the values are.
        #expect(told[0] == told[1] && told[1] == told[2] && Set(told).count == 3)
        let causes = events.compactMap { $0["cause"]?["actions"]?[0]?["payload"]?["code"]?.string }
        #expect(causes == told)
        let commits = try client.reply(to: #"{"op":"history","type":"safe"}"#)["commits"]?.array ?? []
        #expect(commits.compactMap { $0["actions"]?[0]?["payload"]?["code"]?.string } == told)
        for event in events where event["payload"] != nil { #expect(!event.encoded.contains("4711")) }
        #expect(commits.allSatisfy { !$0["actions"]!.encoded.contains("4711") })
    }

    /// An action that several types take is told as each of them has it told.
    @Test func eachTypeRedactsForItself() throws {
        let bus = try bus(MemoryLog())
        let (client, watcher) = (bus.connect(), bus.connect())
        try watcher.ask(#"{"op":"subscribe","match":"*/*","actions":true,"initial":false}"#)
        try client.revision(after: Self.open(#""type":"*""#, "4711"))
        let told = try watcher.all().filter { $0["event"] == "action" }
        let commits = try client.reply(to: #"{"op":"history"}"#)["commits"]?.array ?? []
        for actions in [told, commits.flatMap { $0["actions"]?.array ?? [] }] {
            let codes = actions.reduce(into: [String: Bool]()) {
                guard let code = $1["payload"]?["code"]?.string else { return }
                for store in $1["stores"]?.array ?? [$1["store"] ?? $1["type"] ?? ""] {
                    $0[String(store.string!.prefix { $0 != "/" })] = code == "4711"
                }
            }
            #expect(codes == ["safe": false, "diary": true], "\(actions)")
        }
    }

    /// The log is enough for the states, and for those of the past.
    @Test func theStatesComeOutTheSame() throws {
        let log = MemoryLog()
        let before = try bus(log)
        let client = before.connect()
        try client.revision(after: Self.open(#""type":"safe""#, "4711"))
        let opened = try client.revision(after: Self.open(#""type":"*""#, "4711"))
        try client.revision(
            after:
                #"{"op":"dispatch","store":"safe/hall","action":"change","payload":{"code":"4711","to":"0815"}}"#
        )
        let states = try client.reply(to: #"{"op":"get","match":"*/*"}"#)["states"]
        #expect(states?["diary/all"]?["codes"] == ["4711"])
        let after = try before.crash().connect()
        #expect(try after.reply(to: #"{"op":"get","match":"*/*"}"#)["states"] == states)
        let past = try after.reply(to: #"{"op":"get","match":"*/*","revision":\#(opened)}"#)["states"]
        #expect(
            past?["safe/hall"] == ["code": "4711", "opened": 2] && past?["diary/all"]?["codes"] == ["4711"])
        // What is live is judged again.
        #expect(try after.code(of: Self.open(#""store":"safe/hall""#, "4711")) == "rejected")
        try after.revision(after: Self.open(#""store":"safe/hall""#, "0815"))
    }

    /// Nothing keeps it until later.
    @Test func itIsNotKeptForLater() throws {
        let client = try bus(MemoryLog()).connect()
        for target in [#""store":"safe/hall""#, #""type":"*""#] {
            let action = Self.open(target, "4711")
            #expect(try client.code(of: action.dropLast() + #","in":"1h"}"#) == "invalid_request")
            let element = action.replacing(#""op":"dispatch","#, with: "")
            #expect(try client.code(of: #"{"op":"will","actions":[\#(element)]}"#) == "invalid_request")
        }
        #expect(try client.reply(to: #"{"op":"timers"}"#)["timers"] == [])
    }
}
