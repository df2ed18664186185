import BusJSON
import FluxBusCommand
import Synchronization
import Testing

#if canImport(Glibc)
    import Glibc
#endif

@Suite("Commands against a scripted bus")
struct CommandTests {
    private func bus(_ script: @escaping @Sendable (String) -> [String]?) throws -> ScriptedBus {
        try ScriptedBus(script)
    }

    @Test func aTargetWithASlashIsAStore() throws {
        let bus = try bus { [ScriptedBus.reply(to: $0)] }
        _ = try CommandRun(
            ["dispatch", "counter/a", "add", "--if-revision", "7", "--key", "k"], bus: bus.address)
        _ = try CommandRun(["dispatch", "*", "reset", "--dry-run"], bus: bus.address)
        #expect(
            bus.received == [
                #"{"op":"dispatch","id":1,"store":"counter/a","action":"add","ifRevision":7,"key":"k"}"#,
                #"{"op":"dispatch","id":1,"type":"*","action":"reset","dryRun":true}"#,
            ])
        bus.stop()
    }

    @Test func globalOptionsStandBeforeOrBehindTheCommand() throws {
        let bus = try bus { [ScriptedBus.reply(to: $0, ["revision": 7, "matched": 1, "changed": 1])] }
        for arguments in [
            ["--address", bus.address, "--human", "dispatch", "counter", "add"],
            ["dispatch", "counter", "add", "--human", "--address", bus.address],
            ["--human", "dispatch", "--address", bus.address, "counter", "add"],
        ] {
            #expect(try CommandRun(arguments).output == "revision 7: 1 store matched, 1 changed\n")
        }
        bus.stop()
    }

    @Test func aTerminalGetsTextAndAPipeGetsObjects() throws {
        let bus = try bus { [ScriptedBus.reply(to: $0, ["revision": 7, "matched": 2, "changed": 0])] }
        let arguments = ["dispatch", "counter", "add"]
        let piped = try CommandRun(arguments, bus: bus.address)
        #expect(piped.output == #"{"changed":0,"matched":2,"ok":true,"revision":7}"# + "\n")
        let seen = try CommandRun(arguments, bus: bus.address, terminal: true)
        #expect(seen.output == "revision 7: 2 stores matched, 0 changed\n")
        let asked = try CommandRun(arguments + ["--json"], bus: bus.address, terminal: true)
        #expect(asked.output == piped.output)
        bus.stop()
    }

    @Test func withoutAcknowledgementNothingIsPrintedUnlessRefused() throws {
        let bus = try bus { line in
            if ScriptedBus.op(of: line) == "ping" { return [ScriptedBus.reply(to: line)] }
            return line.contains("bad")
                ? [ScriptedBus.refusal(of: line, "unknown_action", "No action bad.")] : []
        }
        let fine = try CommandRun(["dispatch", "counter", "add", "--no-ack"], bus: bus.address)
        #expect(fine.status == .success && fine.output.isEmpty && fine.messages.isEmpty)
        let refused = try CommandRun(["dispatch", "counter", "bad", "--no-ack"], bus: bus.address)
        #expect(refused.status == .refused)
        #expect(refused.messages == "fluxbus: No action bad.\n")
        bus.stop()
    }

    @Test func getTurnsEveryPage() throws {
        let bus = try bus { line in
            let after = (try? JSON(parsing: line))?["after"]?.string
            switch after {
            case nil: return [ScriptedBus.reply(to: line, ["states": ["c/a": ["n": 1]], "next": "c/a"])]
            case "c/a": return [ScriptedBus.reply(to: line, ["states": ["c/b": ["n": 2]], "next": "c/b"])]
            default: return [ScriptedBus.reply(to: line, ["states": ["c/c": ["n": 3]]])]
            }
        }
        let run = try CommandRun(["get", "c"], bus: bus.address)
        #expect(
            run.lines == [
                #"{"store":"c/a","state":{"n":1}}"#, #"{"store":"c/b","state":{"n":2}}"#,
                #"{"store":"c/c","state":{"n":3}}"#,
            ])
        #expect(bus.received.first == #"{"op":"get","id":1,"type":"c"}"#)
        bus.stop()
    }

    @Test func selectorsAreStoresTypesOrPatterns() {
        #expect(StoreSelector("counter/a") == .store("counter/a"))
        #expect(StoreSelector("counter") == .type("counter"))
        #expect(StoreSelector("counter/*") == .match("counter/*"))
        #expect(StoreSelector("c?unter/a") == .match("c?unter/a"))
        #expect(StoreSelector("*") == .match("*/*"))
        #expect(StoreSelector("counter").pattern == "counter/*")
    }

    @Test func watchPassesEventsAsTheyCameAndEndsAfterCount() throws {
        let events = [
            #"{"event": "change", "sub":1,"from":0,"revision":4,"reset":true,"states":{},"more":true}"#,
            #"{"event": "change", "sub":1,"revision":4,"states":{}}"#,
            #"{"event": "bookmark","sub":1,"revision":9}"#,
            #"{"event": "change", "sub":1,"from":9,"revision":10,"changes":{}}"#,
            #"{"event": "change", "sub":1,"from":10,"revision":11,"changes":{}}"#,
        ]
        let bus = try bus { [ScriptedBus.reply(to: $0, ["sub": 1, "revision": 4, "epoch": "e"])] + events }
        let run = try CommandRun(
            ["watch", "c/*", "--select", "/a", "--select", "/b/c", "--count", "2", "--cause"],
            bus: bus.address)
        #expect(run.status == .success)
        #expect(run.lines == Array(events[..<4]))
        #expect(
            bus.received == [#"{"op":"subscribe","id":1,"match":"c/*","select":["/a","/b/c"],"cause":true}"#])
        bus.stop()
    }

    @Test func watchEndsWhenNobodyReadsItAnyMore() throws {
        var ends: [Int32] = [0, 0]
        try #require(pipe(&ends) == 0)
        close(ends[0])
        defer { close(ends[1]) }
        // Nothing ever happens on this bus: only the missing reader can end the watch.
        let bus = try bus { [ScriptedBus.reply(to: $0, ["sub": 1])] }
        let run = try CommandRun(["watch"], bus: bus.address, output: Channel(descriptor: ends[1]))
        #expect(run.status == .success)
        #expect(run.messages.isEmpty)
        bus.stop()
    }

    @Test(arguments: [
        (["dispach", "counter"], "dispatch"), (["--json", "--address", "get", "wach"], "watch"),
        (["lst"], "ls"),
    ])
    func anUnknownCommandNamesTheOneMeant(_ arguments: [String], _ meant: String) throws {
        let sentence = try #require(CommandLineEntry.unknownCommand(in: arguments))
        #expect(sentence.hasSuffix("did you mean `\(meant)`?"))
    }

    /// Who comes from Redis, MQTT, NATS or a shell types what is called so there.
    @Test(arguments: [
        (["publish", "counter", "increment"], "dispatch"), (["subscribe", "counter"], "watch"),
        (["keys", "*"], "ls"), (["delete", "counter/main"], "drop"),
        (["set", "counter/main", "3"], "dispatch"),
        (["--json", "LIST"], "ls"), (["help", "publish"], "dispatch"),
    ])
    func aVerbOfAnotherToolNamesTheCommandHere(_ arguments: [String], _ meant: String) throws {
        let sentence = try #require(CommandLineEntry.unknownCommand(in: arguments))
        #expect(sentence.hasSuffix("; use `fluxbus \(meant)`."))
    }

    @Test func noVerbOfAnotherToolIsACommand() {
        for (verb, command) in CommandLineEntry.otherTools {
            #expect(CommandLineEntry.unknownCommand(in: [verb]) != nil)
            #expect(CommandLineEntry.unknownCommand(in: [command]) == nil)
        }
    }

    @Test func helpOnAnUnknownCommandSaysSo() throws {
        let sentence = try #require(CommandLineEntry.unknownCommand(in: ["help", "dispach"]))
        #expect(sentence == "There is no command `dispach`; did you mean `dispatch`?")
    }

    @Test(arguments: [
        ["dispatch"], ["--address", "wach", "get"], [], ["--version"], ["help"], ["--bogus", "wach"],
        ["help", "dispatch"], ["help", "help"],
    ])
    func aKnownCommandIsNotDoubted(_ arguments: [String]) {
        #expect(CommandLineEntry.unknownCommand(in: arguments) == nil)
    }

    @Test func watchResumes() throws {
        let event = #"{"event":"change","sub":1,"from":42,"revision":43,"changes":{"c/a":{"n":1}}}"#
        let bus = try bus { [ScriptedBus.reply(to: $0, ["sub": 1, "revision": 43]), event] }
        let run = try CommandRun(
            ["watch", "--since", "42", "--epoch", "e", "--count", "1", "--human"], bus: bus.address)
        #expect(run.output.hasSuffix("c/a  changed {\"n\":1}\n"))
        #expect(bus.received == [#"{"op":"subscribe","id":1,"match":"*/*","since":42,"epoch":"e"}"#])
        bus.stop()
    }

    @Test func eachPatternHasItsOwnSubscription() throws {
        let bus = try bus { line in
            let sub = line.contains("\"a/x\"") ? 1 : 2
            let store = sub == 1 ? "a/x" : "b/y"
            return [
                ScriptedBus.reply(to: line, ["sub": .int(sub)]),
                #"{"event":"change","sub":\#(sub),"from":0,"revision":1,"reset":true,"states":{"\#(store)":{}}}"#,
            ]
        }
        let run = try CommandRun(["watch", "a/x", "b", "--count", "2", "--human"], bus: bus.address)
        #expect(run.lines.map { $0.split(separator: " ")[1] } == ["a/x", "b/y"])
        bus.stop()
    }

    @Test(arguments: [
        ("shutdown", CommandStatus.unreachable), ("slow_consumer", .temporary), ("protocol", .internal),
    ])
    func watchTellsWhyTheBusSaidGoodbye(_ code: String, _ status: CommandStatus) throws {
        let goodbye = #"{"event":"goodbye","code":"\#(code)","message":"It ends."}"#
        let bus = try bus { [ScriptedBus.reply(to: $0, ["sub": 1]), goodbye] }
        let run = try CommandRun(["watch"], bus: bus.address)
        #expect(run.status == status)
        #expect(run.messages == "fluxbus: It ends.\n")
        bus.stop()
    }

    @Test func aMissingEventStopsAWatchForPeople() throws {
        let bus = try bus {
            [
                ScriptedBus.reply(to: $0, ["sub": 1]),
                #"{"event":"change","sub":1,"from":0,"revision":1,"reset":true,"states":{"c/a":{}}}"#,
                #"{"event":"change","sub":1,"from":2,"revision":3,"changes":{"c/a":{"n":1}}}"#,
            ]
        }
        #expect(try CommandRun(["watch", "--human"], bus: bus.address).status == .internal)
        bus.stop()
    }

    @Test func waitReturnsWhenTheStoreAppears() throws {
        let bus = try bus {
            [
                ScriptedBus.reply(to: $0, ["sub": 1]),
                #"{"event":"change","sub":1,"from":0,"revision":1,"reset":true,"states":{}}"#,
                #"{"event":"change","sub":1,"from":1,"revision":2,"states":{"c/a":{}}}"#,
            ]
        }
        #expect(try CommandRun(["wait", "c/a"], bus: bus.address).status == .success)
        #expect(bus.received == [#"{"op":"subscribe","id":1,"store":"c/a"}"#])
        bus.stop()
    }

    @Test func waitReturnsWhenTheExpressionHolds() throws {
        let changes = (1...5).map {
            #"{"event":"change","sub":1,"from":\#($0),"revision":\#($0 + 1),"changes":{"c/a":{"n":\#($0)}}}"#
        }
        let reset = #"{"event":"change","sub":1,"from":0,"revision":1,"reset":true,"states":{"c/a":{"n":0}}}"#
        let bus = try bus { [ScriptedBus.reply(to: $0, ["sub": 1]), reset] + changes }
        func wait(_ expression: String, within time: String = "30s") throws -> CommandRun {
            try CommandRun(["wait", "c/a", expression, "--timeout", time], bus: bus.address)
        }
        #expect(try wait(#"{">":[{"var":"n"},4]}"#).status == .success)
        let never = try wait(#"{"==":[{"var":"n"},9]}"#, within: "50ms")
        #expect(never.status == .temporary)
        #expect(never.messages == "fluxbus: The expression did not become true on c/a within 50ms.\n")
        // Divides by zero at first, and has a value later.
        #expect(try wait(#"{"==":[{"/":[6,{"var":"n"}]},2]}"#).status == .success)
        #expect(try wait("n > 4 && state.n == n").status == .success)
        #expect(try wait("n == 9", within: "50ms").status == .temporary)
        #expect(try wait("6 / n == 2").status == .success)
        let wrong = try wait("n > ")
        #expect(
            wrong.status == .usage
                && wrong.messages.contains("`n > ` is not an expression: line 1, column 5:"))
        #expect(try wait("size(n)").messages.contains("a condition needs true or false"))
        #expect(try wait("{").status == .usage)
        #expect(try wait(#"{"no such":[]}"#).status == .usage)
        bus.stop()
    }

    @Test func waitTimesOutWith75AndLooksOnceWith1() throws {
        let bus = try bus {
            [
                ScriptedBus.reply(to: $0, ["sub": 1]),
                #"{"event":"change","sub":1,"from":0,"revision":1,"reset":true,"states":{}}"#,
            ]
        }
        let late = try CommandRun(["wait", "c/a", "--timeout", "20ms"], bus: bus.address)
        #expect(late.status == .temporary)
        #expect(late.messages == "fluxbus: c/a was not created within 20ms.\n")
        #expect(try CommandRun(["wait", "c/a", "--timeout", "0"], bus: bus.address).status == .no)
        bus.stop()
        let nobody = try CommandRun(["wait", "--timeout", "30ms"], bus: "unix:/nowhere")
        #expect(nobody.status == .temporary)
        #expect(try CommandRun(["wait", "--timeout", "0"], bus: "unix:/nowhere").status == .unreachable)
    }

    @Test func waitStartsOverWhenAConnectionEnds() throws {
        let attempts = Atomic(0)
        let bus = try bus { line in
            attempts.add(1, ordering: .relaxed).newValue == 1 ? nil : [ScriptedBus.reply(to: line)]
        }
        #expect(try CommandRun(["wait"], bus: bus.address).status == .success)
        #expect(attempts.load(ordering: .relaxed) == 2)
        bus.stop()
    }

    @Test func createGivesMembersAndOptions() throws {
        let bus = try bus { [ScriptedBus.reply(to: $0, ["revision": 3, "created": true])] }
        let run = try CommandRun(["create", "c/a", "n:=1", "--if-missing"], bus: bus.address)
        #expect(run.output == #"{"created":true,"ok":true,"revision":3}"# + "\n")
        #expect(bus.received == [#"{"op":"create","id":1,"store":"c/a","state":{"n":1},"ifMissing":true}"#])
        bus.stop()
    }

    @Test func anEphemeralStoreKeepsTheCommandRunning() throws {
        let bus = try bus {
            [ScriptedBus.reply(to: $0, ["revision": 3, "created": true]), ScriptedBus.hangUp]
        }
        // It would run for ever; here the bus ends it.
        let run = try CommandRun(["create", "c/a", "--ephemeral"], bus: bus.address)
        #expect(run.status == .unreachable)
        #expect(run.lines == [#"{"created":true,"ok":true,"revision":3}"#])
        #expect(run.messages.hasPrefix("c/a lives until this command ends (Ctrl-C).\n"))
        bus.stop()
    }

    @Test func anEphemeralStoreThatWasThereBeforeIsNotHeld() throws {
        let bus = try bus { [ScriptedBus.reply(to: $0, ["revision": 3, "created": false])] }
        let run = try CommandRun(["create", "c/a", "--ephemeral", "--if-missing"], bus: bus.address)
        #expect(run.status == .success)
        #expect(run.messages == "c/a existed already, so it stays when this command ends.\n")
        bus.stop()
    }

    @Test func overTCPTheFirstLineIsAHelloWithTheToken() throws {
        let bus = try ScriptedBus(overTCP: true) { [ScriptedBus.reply(to: $0)] }
        let run = try CommandRun(["reload"], bus: bus.address, token: "secret")
        #expect(run.status == .success)
        #expect(
            bus.received == [
                #"{"op":"hello","id":1,"protocol":1,"client":"fluxbus","token":"secret"}"#,
                #"{"op":"reload","id":2}"#,
            ])
        let refused = try CommandRun(["reload"], bus: bus.address)
        #expect(refused.status == .forbidden)
        #expect(refused.messages.contains("--token-file"))
        bus.stop()
    }

    @Test(arguments: [
        ("secret\n", "secret"), ("\n# comment\nkitchen secret \n", "secret"), ("", nil), ("# only\n", nil),
    ])
    func aTokenFileHoldsATokenOrANameAndAToken(_ text: String, _ token: String?) {
        #expect(TokenSource.token(in: text) == token)
    }

    @Test func tablesOfStoresAndTypes() throws {
        let bus = try bus { line in
            ScriptedBus.op(of: line) == "stores"
                ? [
                    ScriptedBus.reply(
                        to: line, ["stores": [["store": "c/a", "revision": 4, "ephemeral": true]]])
                ]
                : [
                    ScriptedBus.reply(
                        to: line,
                        [
                            "types": [
                                [
                                    "type": "c", "summary": "A counter.", "initial": ["n": 0],
                                    "log": ["keep": "none"],
                                    "state": [
                                        "n": ["type": "integer", "default": 0, "summary": "How many."],
                                        "note": "string?",
                                    ],
                                    "computed": ["even": ["%": [["var": "n"], 2]]],
                                    "actions": [
                                        "add": [
                                            "payload": [
                                                "by": ["type": "integer", "default": 1], "why": "string?",
                                            ]
                                        ]
                                    ],
                                ]
                            ]
                        ])
                ]
        }
        let stores = try CommandRun(["ls"], bus: bus.address, terminal: true)
        #expect(stores.output.contains("c/a"))
        let plain = try CommandRun(["ls", "c", "--human"], bus: bus.address)
        #expect(plain.output == "STORE  REVISION\nc/a    4         ephemeral\n")
        #expect(bus.received.last == #"{"op":"stores","id":1,"match":"c/*"}"#)
        #expect(
            try CommandRun(["types", "--human"], bus: bus.address).output
                == "TYPE  LOG         ACTIONS\nc     keep: none  add      A counter.\n")
        #expect(
            try CommandRun(["types", "c", "--human"], bus: bus.address).output
                == """
                c  A counter.
                initial  {"n":0}
                log  {"keep":"none"}
                state
                  n     integer = 0  How many.
                  note  string?
                computed
                  even  {"%":[{"var":"n"},2]}
                actions
                  add  by: integer = 1, why: string?

                """)
        bus.stop()
    }
}
