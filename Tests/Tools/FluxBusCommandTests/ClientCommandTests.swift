import BusJSON
import FluxBusCommand
import Synchronization
import TestServer
import Testing

@Suite("Clients of the bus, from the command line", .timeLimit(.minutes(10)))
struct ClientCommandTests {
    private static let ada: JSON = [
        "id": 17, "by": ["uid": 1000, "pid": 4711, "unit": "panel.service"], "client": "panel",
        "address": "unix", "since": 1_763_877_000.5, "idle": 0.25, "subscriptions": 2, "lagging": 1,
        "watches": ["counter/*", "door/front"], "waiting": 2048, "held": 0, "dispatched": 120,
        "delivered": 3400,
    ]
    private static let token: JSON = [
        "id": 18, "by": ["token": "sensor", "address": "10.0.0.5:51234"], "address": "10.0.0.5:51234",
        "since": 1_763_877_060, "idle": 90, "subscriptions": 0, "lagging": 0, "watches": [],
        "waiting": 0, "held": 0, "dispatched": 7, "delivered": 0, "self": true,
    ]

    /// Two pages, one client each.
    private func bus() throws -> ScriptedBus {
        try ScriptedBus { line in
            line.contains(#""after":17"#)
                ? [ScriptedBus.reply(to: line, ["clients": [Self.token]])]
                : [ScriptedBus.reply(to: line, ["clients": [Self.ada], "next": 17])]
        }
    }

    @Test func pagesAreTurnedAndEachClientIsALine() throws {
        let bus = try bus()
        let run = try CommandRun(["clients"], bus: bus.address)
        bus.stop()
        #expect(run.lines == [Self.ada.encoded, Self.token.encoded])
        #expect(bus.received == [#"{"op":"clients","id":1}"#, #"{"op":"clients","id":2,"after":17}"#])
    }

    @Test func peopleSeeWhoWhatAndWhetherItKeepsUp() throws {
        let bus = try bus()
        let run = try CommandRun(["clients", "--human"], bus: bus.address, names: [1000: "ada"])
        bus.stop()
        let rows = run.lines.map {
            $0.split(separator: "  ").map { $0.trimmingPrefix(while: \.isWhitespace) }
        }
        #expect(
            rows.first == [
                "ID", "WHO", "NAME", "ADDRESS", "SINCE", "IDLE", "SUBS", "LAG", "WAITING", "HELD", "SENT",
                "RECEIVED",
                "WATCHES",
            ])
        let since = ClockText.dateAndTime(milliseconds: 1_763_877_000_500)
        #expect(
            rows[1].map(String.init) == [
                "17", "panel.service ada (1000) pid 4711", "panel", "unix", since, "250 ms", "2", "1",
                "2 KiB", "0", "120",
                "3400", "counter/* door/front",
            ])
        #expect(rows[2].prefix(2) == ["18*", "token sensor from 10.0.0.5:51234"])
    }

    @Test func aKickedClientHearsWhy() throws {
        let bus = try LiveBus()
        let victim = try bus.client()
        #expect(try victim.ask(#"{"op":"hello","client":"victim"}"#).contains(#""ok":true"#))
        let list = try CommandRun(["clients"], bus: bus.address)
        let client = try #require(list.lines.map { try JSON(parsing: $0) }.first { $0["client"] == "victim" })
        let id = try #require(client["id"]?.encoded)
        let run = try CommandRun(["kick", id, "--reason", "Go home.", "--human"], bus: bus.address)
        #expect(run.status == .success && run.output == "client \(id) is disconnected\n")
        let goodbye = try JSON(parsing: try #require(try victim.line()))
        #expect(goodbye["event"] == "goodbye" && goodbye["code"] == "kicked")
        #expect(goodbye["message"]?.string?.contains("Go home.") == true)
        let again = try CommandRun(["kick", id], bus: bus.address)
        #expect(again.status == .no && !again.messages.isEmpty)
        #expect(throws: (any Error).self) { try RootCommand.parseAsRoot(["kick", "ada"]) }
        #expect(throws: (any Error).self) {
            try RootCommand.parseAsRoot(["kick", "1", "--reason", String(repeating: "é", count: 513)])
        }
    }

    // MARK: - Names

    @Test func usersHaveNamesWhereSomebodyReads() throws {
        let bus = try RememberingBus()
        try bus.ask(#"{"op":"create","store":"counter/kitchen"}"#, uid: 1001)
        try bus.ask(
            #"{"op":"dispatch","store":"counter/kitchen","action":"increment","in":"1h","timer":"tea"}"#,
            uid: 1001)
        let address = try bus.listen()
        let names = [1001: "ada", 1000: "bob"]
        for arguments in [
            ["log"], ["blame", "counter/kitchen"], ["timers"],
            ["watch", "counter", "--actions", "--since", "0", "--epoch", "e"],
        ].prefix(3) {
            let run = try CommandRun(arguments + ["--human"], bus: address, names: names)
            #expect(run.output.contains("ada (1001)"), "\(arguments): \(run.output)")
            // Programs get what the bus says.
            let lines = try CommandRun(arguments + ["--json"], bus: address, names: names)
            #expect(!lines.output.contains("ada"), "\(arguments)")
        }
        #expect(
            try CommandRun(["whoami", "--human"], bus: address, names: names).output.contains("bob (1000)"))
        #expect(
            try CommandRun(["ping", "--human"], bus: address, names: names).output.contains("bob (1000)"))
        #expect(try CommandRun(["log", "--by", "ada"], bus: address, names: names).lines.count == 2)
        #expect(try CommandRun(["log", "--by", "ad"], bus: address, names: names).lines.isEmpty)
        bus.stop()
    }

    @Test func aNameIsLookedUpOnceAndOnlyWhereItIsOurs() {
        let asked = Mutex<[Int]>([])
        let users = UserNames { uid in
            asked.withLock { $0.append(uid) }
            return uid == 7 ? "ada" : nil
        }
        #expect(users.identity(["uid": 7, "pid": 9]) == "ada (7) pid 9")
        #expect(
            users.identity(["uid": 7, "pid": 9, "comm": "python3", "client": "panel", "via": "192.0.2.7:1"])
                == "ada (7) python3[9] \"panel\" via 192.0.2.7:1")
        #expect(
            users.identity(["uid": 7, "pid": 9, "comm": "panel", "client": "panel"]) == "ada (7) panel[9]")
        #expect(
            users.identity(["token": "phone", "address": "192.0.2.7:1", "client": "app"])
                == "token phone from 192.0.2.7:1 \"app\"")
        #expect(users.identity(["uid": 7]) == "ada (7)")
        #expect(users.identity(["uid": 8]) == "uid 8")
        #expect(users.identity(["uid": 8]) == "uid 8")
        // Another machine's user, and one that the bus names.
        #expect(users.identity(["uid": 7, "member": "attic"]) == "uid 7")
        #expect(users.identity(["uid": 9, "user": "eve"]) == "eve (9)")
        #expect(users.identity(["daemon": true]) == "the daemon")
        #expect(users.identity(["uid": 7, "unit": "a\u{1b}[2J.service"]) == "a\\u001b[2J.service ada (7)")
        #expect(asked.withLock { $0 } == [7, 8])
    }
}
