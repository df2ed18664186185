import BusJSON
import FluxBus
import FluxBusCommand
import Testing

@Suite("What people see")
struct OutputTests {
    private let time = 1_795_219_985_072
    private var stamp: String { ClockText.time(milliseconds: time) }
    private let blank = "              "

    private func lines(
        _ events: JSONObject..., width: Int? = nil, coloured: Bool = false, startingAt: Int? = nil
    ) throws -> [String] {
        var text = ChangeText(style: Style(isColoured: coloured), width: width)
        var mirror = BusMirror(startingAt: startingAt)
        var lines: [String] = []
        for event in events {
            lines = try mirror.fold(event).map { text.lines($0, cause: event["cause"], at: time) } ?? []
        }
        return lines
    }

    private let reset: JSONObject = [
        "event": "change", "from": 0, "revision": 42, "reset": true,
        "states": ["counter/kitchen": ["count": 2, "even": true], "counter/b": ["count": 9, "log": [1]]],
    ]

    private func change(_ members: JSONObject) -> JSONObject {
        var event = members
        event["event"] = "change"
        event["from"] = 42
        event["revision"] = 57
        return event
    }

    @Test func aFirstStateListsTheStores() throws {
        #expect(
            try lines(reset) == [
                "\(stamp)  counter/b        {\"count\":9,\"log\":[1]}",
                "\(blank)counter/kitchen  {\"count\":2,\"even\":true}",
            ])
    }

    @Test func anEmptyFirstStateSaysSo() throws {
        let empty: JSONObject = ["event": "change", "from": 0, "revision": 42, "reset": true, "states": [:]]
        #expect(try lines(empty) == ["\(stamp)  · no stores yet"])
    }

    @Test func aChangeShowsOldAndNewOfEachPart() throws {
        let event = change([
            "changes": [
                "counter/kitchen": ["count": 3, "even": .null],
                "counter/b": ["log": [1, "x"], "at.home": 1.5],
            ]
        ])
        #expect(
            try lines(reset, event) == [
                "\(stamp)  counter/b        \"at.home\" + 1.5",
                "\(blank)                 log[1] + \"x\"",
                "\(blank)counter/kitchen  count 2 → 3",
                "\(blank)                 even − true",
            ])
    }

    @Test func creationsDropsAndMergedCommitsAreTold() throws {
        let event = change([
            "coalesced": 15, "dropped": ["counter/b"], "states": ["counter/c": ["count": 0]],
            "cause": [
                "by": ["uid": 1000, "pid": 4711],
                "actions": [["type": "counter", "action": "x", "payload": ["by": 1]]],
            ],
        ])
        #expect(
            try lines(reset, event) == [
                "\(stamp)  counter/b        dropped",
                "\(blank)counter/c        created {\"count\":0}",
                "\(blank)                 · 15 commits merged",
                "\(blank)                 · counter x {\"by\":1} by uid 1000 pid 4711",
            ])
    }

    @Test func withoutAFirstStateTheChangeItselfIsShown() throws {
        let event = change(["changes": ["counter/b": ["count": 3]]])
        #expect(try lines(event, startingAt: 42) == ["\(stamp)  counter/b  changed {\"count\":3}"])
        let whole = change(["states": ["counter/b": ["count": 3]]])
        #expect(try lines(whole, startingAt: 42) == ["\(stamp)  counter/b  now {\"count\":3}"])
    }

    @Test func coloursSetOldAndNewApart() throws {
        let event = change(["changes": ["counter/b": ["count": 10]]])
        let line = try #require(try lines(reset, event, coloured: true).first)
        #expect(line.contains("\u{1b}[36mcounter/b\u{1b}[0m"))
        #expect(line.contains("count \u{1b}[31m9\u{1b}[0m → \u{1b}[32m10\u{1b}[0m"))
    }

    @Test func longValuesAreCutToTheTerminal() throws {
        let long = JSON.string(String(repeating: "x", count: 500))
        let event = change(["changes": ["counter/b": ["count": long, "more": long]]])
        for line in try lines(reset, event, width: 80) {
            #expect(line.count <= 80)
            #expect(line.hasSuffix("…"))
        }
    }

    @Test func nothingFromTheBusReachesTheTerminalAsAControl() throws {
        let event = change(["changes": ["counter/b": ["count": "\u{1b}[2J\u{9b}31m\u{202e}"]]])
        let line = try #require(try lines(reset, event).first)
        #expect(line.contains(#""\u001b[2J\u009b31m\u202e""#))
        #expect(ScreenText.safe("a\nb\u{7f}") == "a\\u000ab\\u007f")
    }

    /// Two texts that look the same are the same.
    @Test(
        arguments: [
            (0x200b, "200b"), (0x2028, "2028"), (0x2029, "2029"), (0xfeff, "feff"), (0xad, "00ad"),
            (0x2060, "2060"), (0x180e, "180e"), (0x3164, "3164"), (0x200e, "200e"), (0xe0041, "e0041"),
            (0xfffa, "fffa"), (0x200d, "200d"), (0xfe0f, "fe0f"),
        ] as [(UInt32, String)])
    func whatCannotBeSeenIsWrittenOut(_ value: UInt32, _ digits: String) throws {
        let scalar = Character(try #require(Unicode.Scalar(value)))
        #expect(ScreenText.safe("a\(scalar)b") == "a\\u\(digits)b")
        #expect(ScreenText.value(.string("a\(scalar)")) == "\"a\\u\(digits)\"")
    }

    @Test(arguments: ["Zürich → 日本", "👩\u{200d}👧", "❤\u{fe0f}", "می\u{200c}خواهم"])
    func writingStaysAsItIs(_ text: String) {
        #expect(ScreenText.safe(text) == text)
    }

    @Test func anActionShowsWhoSentIt() {
        var text = ChangeText(style: .plain, width: nil)
        let event: JSONObject = [
            "type": "door", "action": "rang", "payload": ["a": 1],
            "by": ["uid": 0, "pid": 7, "unit": "bell.service"],
            "time": 1795219985.072,
        ]
        #expect(
            text.line(action: event, at: 0) == "\(stamp)  door  rang {\"a\":1}  by bell.service uid 0 pid 7")
    }

    @Test func arraysAreComparedByElementOnlyWhereThatTellsMore() {
        let grown = StateDifference.between(["l": [1, 2]], ["l": [1, 2, 3]])
        #expect(grown == [.init(path: [.key("l"), .index(2)], old: nil, new: 3)])
        let changed = StateDifference.between(["l": [["a": 1], 2]], ["l": [["a": 2], 2]])
        #expect(changed == [.init(path: [.key("l"), .index(0), .key("a")], old: 1, new: 2)])
        let shifted = StateDifference.between(["l": [1, 2, 3, 4]], ["l": [2, 3, 4]])
        #expect(shifted == [.init(path: [.key("l")], old: [1, 2, 3, 4], new: [2, 3, 4])])
        #expect(StateDifference.between(["a": 1], ["a": 1]).isEmpty)
        #expect(StateDifference.between(["a": 1], ["a": 1.0]).count == 1)
    }

    @Test func tablesAlignAndEndWithoutSpaces() {
        var table = Table("STORE", "REVISION", "")
        table.add(.init("counter/kitchen"), .init("7"), .init("ephemeral"))
        table.add(.init("a/b"), .init("1234"), .init(""))
        #expect(
            table.lines(style: .plain, width: nil) == [
                "STORE            REVISION",
                "counter/kitchen  7         ephemeral",
                "a/b              1234",
            ])
        #expect(table.lines(style: .plain, width: 36)[1] == "counter/kitchen  7         ephemeral")
        #expect(table.lines(style: .plain, width: 35)[1] == "counter/kitchen  7         ephemer…")
    }

    @Test func colourIsForTerminalsThatWantIt() {
        func coloured(_ mode: ColorMode, terminal: Bool, _ environment: [String: String] = [:]) -> Bool {
            Style(mode: mode, isTerminal: terminal, environment: environment).isColoured
        }
        #expect(coloured(.auto, terminal: true))
        #expect(!coloured(.auto, terminal: false))
        #expect(!coloured(.auto, terminal: true, ["NO_COLOR": "1"]))
        #expect(coloured(.auto, terminal: true, ["NO_COLOR": ""]))
        #expect(!coloured(.auto, terminal: true, ["TERM": "dumb"]))
        #expect(coloured(.always, terminal: false, ["NO_COLOR": "1"]))
        #expect(!coloured(.never, terminal: true))
    }

    @Test(
        arguments: [
            ("500ms", Duration.milliseconds(500)), ("30s", .seconds(30)), ("2m", .seconds(120)),
            ("1h", .seconds(3600)), ("2d", .seconds(172_800)), ("1w", .seconds(604_800)),
            ("1m30s", .seconds(90)), ("1.5s", .milliseconds(1500)), ("10", .seconds(10)), ("0", .zero),
            ("never", nil),
        ] as [(String, Duration?)])
    func timesAreReadAsWritten(_ text: String, _ duration: Duration?) throws {
        #expect(try #require(TimeSpan(argument: text)).duration == duration)
    }

    @Test(arguments: [
        "", "s", "-1s", "1x", "1s2", "1 s", "Never", "nan", "inf", "1e400s", "0x10", "99999999999999h",
        "1001w1y",
        "60000w",
    ])
    func otherTimesAreRefused(_ text: String) {
        #expect(TimeSpan(argument: text) == nil)
    }
}
