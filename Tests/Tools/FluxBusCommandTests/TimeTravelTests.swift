import BusJSON
import FluxBusCommand
import Testing

@Suite("Time travel")
struct TimeTravelTests {
    /// Revision 1 and 2 make stores; 3 to 7 count in the kitchen or everywhere; 8 writes a to-do list.
    private func bus(keepsLog: Bool = true) throws -> RememberingBus {
        let bus = try RememberingBus(keepsLog: keepsLog, snapshots: [4])
        try bus.ask(#"{"op":"create","store":"counter/hall"}"#)
        try bus.ask(#"{"op":"create","store":"counter/kitchen","state":{"count":5}}"#)
        for number in 1...4 {
            bus.advance(milliseconds: 1000)
            try bus.ask(
                #"{"op":"dispatch","store":"counter/kitchen","action":"increment","payload":{"by":\#(number)}}"#,
                uid: 1000 + number)
        }
        try bus.ask(#"{"op":"dispatch","type":"counter","action":"decrement"}"#, uid: 1003)
        try bus.ask(#"{"op":"create","store":"todo/home"}"#, uid: 1003)
        return bus
    }

    private func revisions(_ run: CommandRun) -> [Int] {
        run.lines.compactMap { (try? JSON(parsing: $0))?["revision"]?.int }
    }

    // MARK: - log

    @Test func logShowsTheNewestInOrder() throws {
        let bus = try bus()
        let address = try bus.listen()
        #expect(revisions(try CommandRun(["log"], bus: address)) == Array(1...8))
        #expect(revisions(try CommandRun(["log", "-n", "3"], bus: address)) == [6, 7, 8])
        #expect(revisions(try CommandRun(["log", "-n", "2", "--until", "now-2"], bus: address)) == [5, 6])
        #expect(revisions(try CommandRun(["log", "-n", "9", "--since", "6"], bus: address)) == [7, 8])
        #expect(
            revisions(try CommandRun(["log", "--since", "2", "--limit", "4"], bus: address)) == [5, 6, 7, 8])
        #expect(
            revisions(try CommandRun(["log", "--newest", "--since", "2"], bus: address)) == [
                8, 7, 6, 5, 4, 3,
            ])
        bus.stop()
    }

    @Test func logReadsBackwardsUntilItHasEnough() throws {
        let bus = try RememberingBus()
        try bus.ask(#"{"op":"create","store":"counter/a"}"#, uid: 7)
        try bus.ask(#"{"op":"create","store":"counter/b"}"#)
        for _ in 1...200 { try bus.ask(#"{"op":"dispatch","store":"counter/b","action":"increment"}"#) }
        let address = try bus.listen()
        #expect(revisions(try CommandRun(["log", "-n", "3", "--by", "7"], bus: address)) == [1])
        #expect(
            revisions(try CommandRun(["log", "-n", "2", "--action", "create"], bus: address)) == [1, 2])
        // The bus finds them: no other commit is sent.
        #expect(bus.received.filter { $0.contains(#""history""#) }.count == 2)
        bus.stop()
    }

    @Test func logOfATypeThatNeverWasNamesTheOneMeant() throws {
        let bus = try bus()
        let address = try bus.listen()
        let run = try CommandRun(["log", "countr"], bus: address)
        #expect(run.status == .refused)
        #expect(
            run.messages == "fluxbus: There is no state type `countr`; did you mean `counter`?\n")
        bus.stop()
    }

    /// On a terminal silence reads like a failure; programs get nothing but results.
    @Test(arguments: [
        (["log", "door/attic"], "No commit concerns door/attic."),
        (["log", "--by", "4711"], "There is no such commit."),
        (["ls", "t*/attic"], "There is no store that matches `t*/attic`."),
        (["get", "door"], "There is no store that matches door/*."),
        (["at", "2", "todo"], "There is no store that matches todo/*."),
        (["timers"], "There is no timer."),
        (["diff", "3", "3"], "Nothing differs."),
    ])
    func anEmptyResultSaysSo(_ arguments: [String], _ note: String) throws {
        let bus = try bus()
        let address = try bus.listen()
        let terminal = try CommandRun(arguments, bus: address, terminal: true)
        #expect(terminal.status == .success)
        #expect(terminal.output.isEmpty)
        #expect(terminal.messages == note + "\n")
        let pipe = try CommandRun(arguments, bus: address)
        #expect(pipe.status == .success)
        #expect(pipe.output.isEmpty && pipe.messages.isEmpty)
        #expect(try CommandRun(arguments + ["--quiet"], bus: address, terminal: true).messages.isEmpty)
        bus.stop()
    }

    @Test func logFiltersByWhoAndWhat() throws {
        let bus = try bus()
        let address = try bus.listen()
        #expect(revisions(try CommandRun(["log", "--by", "1003"], bus: address)) == [5, 7, 8])
        #expect(revisions(try CommandRun(["log", "--by", "100"], bus: address)) == [])
        #expect(revisions(try CommandRun(["log", "--action", "decrement"], bus: address)) == [7])
        #expect(
            revisions(try CommandRun(["log", "--action", "create", "--since", "1"], bus: address)) == [2, 8])
        #expect(revisions(try CommandRun(["log", "counter/hall"], bus: address)) == [1, 7])
        #expect(revisions(try CommandRun(["log", "todo"], bus: address)) == [8])
        bus.stop()
    }

    @Test func logLooksAtPayloads() throws {
        let bus = try bus()
        let address = try bus.listen()
        #expect(revisions(try CommandRun(["log", "--where", "by > 2"], bus: address)) == [5, 6])
        #expect(
            revisions(
                try CommandRun(
                    ["log", "--newest", "counter", "--where", "by < 3"], bus: address))
                == [7, 4, 3])
        #expect(
            revisions(try CommandRun(["log", "-n", "1", "--where", "by > 0", "--by", "1001"], bus: address))
                == [3])
        #expect(try CommandRun(["log", "--where", "by >"], bus: address).status == .refused)
        bus.stop()
    }

    @Test func logOfAStoreTellsOfAReloadInALine() throws {
        let bus = try RememberingBus(definitions: ["type: lamp\ninitial: { on: false }"])
        for store in ["lamp/a", "lamp/b", "counter/a"] {
            try bus.ask(#"{"op":"create","store":"\#(store)"}"#)
        }
        bus.definitions = ["type: lamp\ninitial: { on: false, level: 3 }"]
        try bus.ask(#"{"op":"reload"}"#, uid: 0)
        let address = try bus.listen()
        #expect(revisions(try CommandRun(["log", "counter/a"], bus: address)) == [3])
        let line = try JSON(
            parsing: try #require(try CommandRun(["log", "lamp/a"], bus: address).lines.last))
        #expect(line["revision"] == 4 && line["definitions"] == ["lamp"])
        #expect(line["states"] == ["lamp/a": ["on": false, "level": 3]])
        let whole = try CommandRun(["log", "lamp/a", "--definitions"], bus: address)
        let definitions = try JSON(parsing: try #require(whole.lines.last))["definitions"]
        #expect(definitions?[0]?["initial"]?["level"] == 3)
        let text = try CommandRun(["log", "lamp/a", "--human"], bus: address)
        #expect(text.lines.last?.hasSuffix("reload lamp") == true && text.lines.count == 3)
        bus.stop()
    }

    /// `--timeout` is of the whole command, but of one that goes on.
    @Test func theTimeOfACommandRunsOn() throws {
        var options = try LogCommand.parse([]).options
        options.timeout = try LogCommand.parse(["--timeout", "1ms"]).options.timeout
        let context = CommandContext(
            environment: [:], input: -1, output: Channel(memoryAsTerminal: false),
            messages: Channel(memoryAsTerminal: false))
        let whole = CommandSession(options: options, context: context, isOpenEnded: false)
        let first = whole.replyDeadline
        while !first.hasPassed {}
        #expect(whole.replyDeadline.hasPassed)
        options.timeout = try LogCommand.parse(["--timeout", "1h"]).options.timeout
        #expect(
            !CommandSession(options: options, context: context, isOpenEnded: true).replyDeadline.hasPassed)
        for (arguments, isOpenEnded) in [
            (["log"], false), (["log", "--follow"], true), (["blame", "a/b"], false), (["watch", "a"], true),
            (["export"], true), (["dispatch", "-"], true), (["dispatch", "a", "b"], false),
        ] {
            let command = try #require(try RootCommand.parseAsRoot(arguments) as? any BusCommand)
            #expect(command.isOpenEnded == isOpenEnded, "\(arguments)")
        }
    }

    @Test func logForPeopleHasColumns() throws {
        let bus = try bus()
        try bus.ask(#"{"op":"revert","store":"counter/kitchen","revision":2}"#)
        let address = try bus.listen()
        let run = try CommandRun(["log", "-n", "3", "--human"], bus: address)
        let lines = run.lines
        #expect(lines.first?.split(separator: " ") == ["REVISION", "TIME", "BY", "ACTIONS"])
        #expect(lines.count == 4)
        let column = try #require(lines.first?.range(of: "ACTIONS")?.lowerBound.utf16Offset(in: lines[0]))
        func actions(_ line: String) -> String { String(line.dropFirst(column)) }
        #expect(actions(lines[1]) == #"counter decrement {"by":1}"#)
        #expect(actions(lines[2]).hasPrefix("todo/home create {"))
        #expect(actions(lines[3]) == "counter/kitchen revert to revision 2")
        bus.stop()
    }

    @Test func logBeginsWhereTheLogBegins() throws {
        let bus = try bus()
        bus.forget(before: 4)
        let address = try bus.listen()
        #expect(revisions(try CommandRun(["log"], bus: address)) == [5, 6, 7, 8])
        let all = try CommandRun(["log", "--since", "0"], bus: address)
        #expect(revisions(all) == [5, 6, 7, 8] && all.messages.isEmpty)
        let named = try CommandRun(["log", "--since", "2"], bus: address)
        #expect(revisions(named) == [5, 6, 7, 8])
        #expect(
            named.messages == "Commits up to revision 4 are no longer kept; the log begins after it.\n")
        bus.stop()
    }

    @Test(.timeLimit(.minutes(10))) func followShowsEveryCommitOnceAndInOrder() throws {
        let bus = try bus()
        // Commits come while it reads the past, between its subscriptions, and later; some change nothing, and some are
        // no dispatches.
        bus.onLine = { bus, line in
            if line.contains("subscribe") {
                try bus.ask(#"{"op":"create","store":"counter/c\#(bus.revision)"}"#, uid: 5)
            } else if line.contains("history"), bus.revision < 30 {
                try bus.ask(#"{"op":"dispatch","type":"door","action":"rang"}"#, uid: 5)
                bus.afterReply = {
                    try $0.ask(#"{"op":"create","store":"counter/c\#($0.revision)"}"#, uid: 5)
                }
            }
        }
        let address = try bus.listen()
        let run = try CommandRun(["log", "--since", "6", "--follow", "--limit", "22"], bus: address)
        #expect(run.status == .success)
        #expect(revisions(run) == Array(7...28))
        bus.stop()
    }

    @Test(.timeLimit(.minutes(10))) func followWakesUpForActionsThatChangeNothing() throws {
        let bus = try bus()
        // It is committed when all before has been read, so that only an event can wake it.
        bus.onLine = { bus, line in
            guard line.contains("history"), !line.contains("until") else { return }
            bus.afterReply = { try $0.ask(#"{"op":"dispatch","type":"door","action":"rang"}"#, uid: 5) }
        }
        let address = try bus.listen()
        let run = try CommandRun(["log", "--since", "8", "--follow", "--limit", "3"], bus: address)
        #expect(revisions(run) == [9, 10, 11])
        bus.stop()
    }

    // MARK: - at, diff

    @Test func atShowsStatesAsTheyWere() throws {
        let bus = try bus()
        let address = try bus.listen()
        let all = try CommandRun(["at", "4"], bus: address)
        #expect(
            all.lines == [
                #"{"store":"counter/hall","state":{"count":0,"isEven":true}}"#,
                #"{"store":"counter/kitchen","state":{"count":8,"isEven":true}}"#,
            ])
        let one = try CommandRun(["at", "now-1", "counter/kitchen", "--human"], bus: address)
        #expect(one.lines.contains(#"  "count": 14,"#))
        #expect(try CommandRun(["at", "1", "counter/kitchen"], bus: address).status == .no)
        #expect(try CommandRun(["at", "now-9"], bus: address).status == .usage)
        bus.stop()
    }

    @Test func diffTellsWhatCameWentAndChanged() throws {
        let bus = try bus()
        try bus.ask(#"{"op":"drop","store":"counter/hall"}"#)
        let address = try bus.listen()
        let run = try CommandRun(["diff", "6", "now"], bus: address)
        #expect(run.status == .no)
        #expect(
            run.lines == [
                #"{"old":{"count":0,"isEven":true},"path":"","store":"counter/hall"}"#,
                #"{"new":14,"old":15,"path":"/count","store":"counter/kitchen"}"#,
                #"{"new":true,"old":false,"path":"/isEven","store":"counter/kitchen"}"#,
                #"{"new":{"items":{},"order":[],"total":0},"path":"","store":"todo/home"}"#,
            ])
        let text = try CommandRun(["diff", "6", "now", "--human"], bus: address)
        #expect(
            text.lines == [
                "counter/hall  dropped", "counter/kitchen  count 15 → 14",
                "                 isEven false → true",
                #"todo/home        created {"items":{},"order":[],"total":0}"#,
            ])
        bus.stop()
    }

    /// Of a type without a past only the present states are known: they did not come in between.
    @Test func diffLeavesOutTypesWithoutAPast() throws {
        let bus = try RememberingBus(definitions: ["type: beat\nlog: { keep: none }\ninitial: { n: 0 }"])
        for store in ["counter/hall", "beat/a", "counter/attic"] {
            try bus.ask(#"{"op":"create","store":"\#(store)"}"#)
        }
        let address = try bus.listen()
        let run = try CommandRun(["diff", "1", "now"], bus: address)
        #expect(run.lines == [#"{"new":{"count":0,"isEven":true},"path":"","store":"counter/attic"}"#])
        #expect(run.messages.contains("Left out: beat;"), "\(run.messages)")
        bus.stop()
    }

    @Test func diffOfEqualStatesIsSilentAndSucceeds() throws {
        let bus = try bus()
        let address = try bus.listen()
        let run = try CommandRun(["diff", "7", "8", "counter"], bus: address)
        #expect(run.status == .success && run.output.isEmpty)
        // Absent on one side is a difference; absent on both is a mistake.
        #expect(try CommandRun(["diff", "7", "8", "todo/home"], bus: address).status == .no)
        let absent = try CommandRun(["diff", "7", "8", "todo/nowhere"], bus: address)
        #expect(absent.status == .no && !absent.messages.isEmpty && absent.output.isEmpty)
        bus.stop()
    }

    // MARK: - revert, no log

    @Test func revertSaysWhereItWent() throws {
        let bus = try bus()
        let address = try bus.listen()
        let run = try CommandRun(
            ["revert", "counter/kitchen", "--to", "now-5", "--if-revision", "7", "--human"], bus: address)
        #expect(run.output == "counter/kitchen is as it was at revision 3; this is revision 9\n")
        #expect(
            bus.received.last
                == #"{"op":"revert","id":2,"store":"counter/kitchen","revision":3,"ifRevision":7}"#)
        #expect(try bus.now()["counter/kitchen"]?["count"] == 6)
        bus.stop()
    }

    @Test(arguments: [
        ["log"], ["log", "--since", "0"], ["log", "--follow"], ["at", "1"], ["diff", "1", "now"],
        ["blame", "counter/hall"],
        ["revert", "counter/hall", "--to", "1"], ["export"],
    ])
    func withoutALogItIsUnavailable(_ arguments: [String]) throws {
        let bus = try bus(keepsLog: false)
        let address = try bus.listen()
        let run = try CommandRun(arguments, bus: address)
        #expect(run.status == .temporary)
        #expect(run.messages.contains("action log"))
        #expect(run.output.isEmpty)
        bus.stop()
    }

    @Test(arguments: [
        ["log", "counter/*"], ["log", "--limit", "0"], ["log", "--follow", "--until", "3"],
        ["log", "--follow", "--newest"],
        ["log", "-n", "1", "--limit", "2"], ["at"], ["at", "-1"], ["at", "then"], ["diff", "1"],
        ["blame", "counter"], ["blame", "counter/a", "count"], ["revert", "counter/a"],
        ["revert", "counter", "--to", "1"], ["import"], ["replay", "--check", "x"],
        ["replay", "x"], ["replay", "--check", "-", "--types", "y"],
    ])
    func aWrongCommandLineEndsWith64(_ arguments: [String]) {
        #expect {
            try RootCommand.parseAsRoot(arguments)
        } throws: { error in
            RootCommand.exitCode(for: error).rawValue == 64
        }
    }
}
