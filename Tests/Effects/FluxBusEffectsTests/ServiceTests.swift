import BusJSON
import FluxBus
import Foundation
import TestFiles
import TestServer
import Testing

/// The service on a real bus: programs that it starts, actions that it dispatches, and where it says that it stands.
@Suite struct ServiceTests {
    private let note =
        "on: { action: echo, of: log/* }\ndo: { dispatch: { store: log/main, action: note, payload: { number: = payload.number } } }"

    /// What clients send is never a word of a shell, and no more than an argument and the input of the program that root chose.
    @Test func hostilePayloadsReachNoShell() async throws {
        let fixture = try EffectsFixture([
            "hostile":
                "on: { action: echo, of: log/* }\ndo:\n  run: [/bin/sh, -c, 'printf \"%s\\0\" \"$1\" >> \"$OUT/args\"; cat >> \"$OUT/events\"', sh, = payload.text]"
        ])
        try fixture.start()
        let bus = try await fixture.bus()
        let texts = [
            "$(touch \(fixture.directory.path)/pwned)", "`touch \(fixture.directory.path)/pwned`",
            "'; touch \(fixture.directory.path)/pwned; '", "\" && touch \(fixture.directory.path)/pwned \"",
            "-rf", "a\nb", "%n%s", "${IFS}", "\u{1b}[2J", "*", "ü",
        ]
        for text in texts {
            try await bus.dispatch("echo", to: .store("log/a"), payload: ["text": .string(text)])
        }
        try await fixture.waits(for: "effect/hostile", bus) { $0["succeeded"]?.int == texts.count }
        let words = try String(contentsOfFile: "\(fixture.directory.path)/args", encoding: .utf8)
        #expect(words.split(separator: "\0").map(String.init) == texts)
        let events = fixture.lines("events").compactMap { try? JSON(parsing: Array($0.utf8)) }
        #expect(events.compactMap { $0["payload"]?["text"]?.string } == texts)
        #expect(
            events.allSatisfy {
                $0["store"] == "log/a" && $0["by"]?["uid"] != nil && $0["effect"] == "hostile"
            })
        #expect(!FileManager.default.fileExists(atPath: "\(fixture.directory.path)/pwned"))
        #expect(try fixture.stop() == 0)
    }

    /// What follows from an action of a trace belongs to it; of one without, to none.
    @Test func aTraceGoesOn() async throws {
        let fixture = try EffectsFixture([
            "note": note,
            "write":
                "on: { action: echo, of: log/* }\ndo: { run: [/bin/sh, -c, 'echo \"${TRACEPARENT-none}\" >> \"$OUT/traces\"'] }",
        ])
        try fixture.start(["TRACEPARENT": "inherited"])
        let bus = try await fixture.bus()
        let trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
        try await bus.dispatch("echo", to: .store("log/a"), payload: ["number": 1], traceparent: trace)
        try await bus.dispatch("echo", to: .store("log/a"), payload: ["number": 2])
        try await fixture.waits(for: "log/main", bus) { $0["notes"] == [1, 2] }
        try await fixture.waits(for: "effect/write", bus) { $0["succeeded"] == 2 }
        let commits = try await bus.history(of: .store("log/main")).commits.suffix(2)
        #expect(commits.map { $0["traceparent"]?.string } == [trace, nil])
        #expect(fixture.lines("traces") == [trace, "none"])
        #expect(try fixture.stop() == 0)
    }

    @Test func whatFailsIsSetAsideAndTriedAgainWhenSomebodyAsks() async throws {
        let fixture = try EffectsFixture(["note": note + "\nretry: { times: 1, first: 10ms }"])
        try fixture.start()
        let bus = try await fixture.bus()
        try await bus.dispatch("shut", to: .store("log/main"), payload: ["shut": true])
        for number in 1...2 {
            try await bus.dispatch("echo", to: .store("log/a"), payload: ["number": .int(number)])
        }
        try await fixture.waits(for: "effect/note", bus) { $0["failed"]?.object?.count == 2 }
        let failed = try await bus.state(of: "effect/note").state["failed"]?.object?.members.sorted {
            ($0.key.count, $0.key) < ($1.key.count, $1.key)
        }
        let first = try #require(failed?.first)
        #expect(first.value["tries"] == 2 && first.value["store"] == "log/a")
        #expect(first.value["reason"]?.string?.contains("it is shut") == true, "\(first.value)")
        // They are not tried again by themselves, also by the next service.
        try fixture.stop()
        try await bus.dispatch("shut", to: .store("log/main"), payload: ["shut": false])
        try fixture.start()
        try await bus.dispatch("retry", to: .store("effect/note"), payload: ["event": .string(first.key)])
        try await fixture.waits(for: "effect/note", bus) { $0["succeeded"] == 1 && $0["again"] == [:] }
        #expect(try await bus.state(of: "log/main").state["notes"] == [1])
        let second = try #require(failed?.last)
        try await bus.dispatch("skip", to: .store("effect/note"), payload: ["event": .string(second.key)])
        try await fixture.waits(for: "effect/note", bus) { $0["failed"] == [:] }
        #expect(try await bus.state(of: "log/main").state["notes"] == [1])
    }

    @Test func oneThatFailsStopsNoOther() async throws {
        let fixture = try EffectsFixture([
            "note": note,
            "none": "on: { action: echo, of: log/* }\ndo: { run: [/nonexistent] }\nretry: { times: 0 }",
            "type": "on: { action: rang, of: nothing/* }\ndo: { run: [/bin/true] }",
        ])
        try fixture.start()
        let bus = try await fixture.bus()
        try await bus.dispatch("echo", to: .store("log/a"), payload: ["number": 1])
        try await fixture.waits(for: "effect/none", bus) { $0["failures"] == 1 }
        try await fixture.waits(for: "log/main", bus) { $0["notes"] == [1] }
        #expect(try #require(fixture.service).waitFor("nothing"))
    }

    @Test func aPausedEffectWaitsAndGoesOn() async throws {
        let fixture = try EffectsFixture(["note": note])
        try fixture.start()
        let bus = try await fixture.bus()
        try await bus.dispatch("pause", to: .store("effect/note"))
        for number in 1...3 {
            try await bus.dispatch("echo", to: .store("log/a"), payload: ["number": .int(number)])
        }
        try await fixture.waits(for: "effect/note", bus) { $0["waiting"] == 3 }
        // The pause outlives the service.
        try fixture.stop()
        try fixture.start()
        try await fixture.waits(for: "effect/note", bus) { $0["waiting"] == 3 && $0["paused"] == "by hand" }
        #expect(try await bus.state(of: "log/main").state["notes"] == [])
        try await bus.dispatch("resume", to: .store("effect/note"))
        try await fixture.waits(for: "log/main", bus) { $0["notes"] == [1, 2, 3] }
    }

    @Test func anActionToAllStoresIsAnEventForEach() async throws {
        let fixture = try EffectsFixture([
            "each":
                "on: { action: echo, of: log/* }\nif: name != 'main' && state.shut == false\ndo: { run: [/bin/sh, -c, 'echo $1 >> $OUT/stores', sh, = store] }\nlimit: { for: all }"
        ])
        try fixture.start()
        let bus = try await fixture.bus()
        try await bus.dispatch("echo", to: .type("log"))
        try await bus.dispatch("shut", to: .store("log/a"), payload: ["shut": true])
        try await bus.dispatch("echo", to: .type("log"))
        try await bus.dispatch([
            ActionRequest("echo", to: .store("log/b")), ActionRequest("echo", to: .store("log/b")),
        ])
        try await fixture.waits(for: "effect/each", bus) { $0["succeeded"] == 5 && $0["running"] == 0 }
        #expect(fixture.lines("stores") == ["log/a", "log/b", "log/b", "log/b", "log/b"])
    }

    @Test func aLoopIsPaused() async throws {
        let fixture = try EffectsFixture([
            "loop":
                "on: { action: echo, of: log/* }\ndo: { dispatch: { store: log/a, action: echo, payload: { number: = payload.number + 1 } } }"
        ])
        try fixture.start()
        let bus = try await fixture.bus()
        try await bus.dispatch("echo", to: .store("log/a"))
        try await fixture.waits(for: "effect/loop", bus) {
            $0["paused"]?.string?.contains("causes itself") == true
        }
        try await fixture.waits(for: "effect/loop", bus) { $0["waiting"] == 1 && $0["running"] == 0 }
        #expect(try await bus.state(of: "effect/loop").state["succeeded"]?.int.map { $0 < 50 } == true)
    }

    @Test(arguments: [("all", [1, 2, 3, 4]), ("newest", [2, 3, 4]), ("none", [4])])
    func whatHappenedMeanwhileIsHandledAsTheFileSays(_ word: String, _ numbers: [Int]) async throws {
        let fixture = try EffectsFixture(["note": note + "\nlimit: { for: store }\nafter-downtime: \(word)"])
        try fixture.start()
        try fixture.stop()
        let bus = try await fixture.bus()
        for (store, number) in [("log/a", 1), ("log/b", 2), ("log/a", 3)] {
            try await bus.dispatch("echo", to: .store(store), payload: ["number": .int(number)])
        }
        try fixture.start()
        try await fixture.waits(for: "effect/note", bus) { $0["running"] == 0 }
        try await bus.dispatch("echo", to: .store("log/b"), payload: ["number": 4])
        try await fixture.waits(for: "log/main", bus) { $0["notes"]?.array?.contains(4) == true }
        let notes = try await bus.state(of: "log/main").state["notes"]?.array?.compactMap(\.int)
        #expect(notes?.sorted() == numbers)
    }

    /// The bus and the service's files change, and the service stays: whatever waits is handled.
    @Test(arguments: ["newest", "none"]) func onlyADowntimeOfTheServiceIsOne(_ word: String) async throws {
        let text = note + "\nlimit: { rate: 1/s }\nafter-downtime: \(word)"
        let fixture = try EffectsFixture(["note": text])
        try fixture.start()
        var bus = try await fixture.bus()
        for number in 1...3 {
            try await bus.dispatch("echo", to: .store("log/a"), payload: ["number": .int(number)])
        }
        try await fixture.waits(for: "log/main", bus) { $0["notes"]?.array?.count ?? 0 > 0 }
        try fixture.write("note", text + "\ntimeout: 20s")
        try #require(fixture.service).signal(SIGHUP)
        try await fixture.waits(for: "log/main", bus) { $0["notes"]?.array?.count == 3 }
        for number in 4...6 {
            try await bus.dispatch("echo", to: .store("log/a"), payload: ["number": .int(number)])
        }
        try await fixture.waits(for: "log/main", bus) { $0["notes"]?.array?.count ?? 0 > 3 }
        await bus.close()
        try fixture.restartDaemon()
        bus = try await fixture.bus()
        try await bus.dispatch("echo", to: .store("log/a"), payload: ["number": 7])
        try await fixture.waits(for: "log/main", bus) { $0["notes"]?.array?.count == 7 }
        #expect(try await bus.state(of: "log/main").state["notes"]?.array?.compactMap(\.int) == Array(1...7))
    }

    /// It took three events in, and was killed before it handled them.
    @Test(arguments: [("newest", [1, 2, 3, 5, 6]), ("none", [1, 2, 3, 6])])
    func whatAKilledServiceHadTakenInIsHandled(_ word: String, _ numbers: [Int]) async throws {
        let fixture = try EffectsFixture(["note": note + "\nafter-downtime: \(word)"])
        try fixture.start()
        let bus = try await fixture.bus()
        func echo(_ number: Int) async throws {
            try await bus.dispatch("echo", to: .store("log/a"), payload: ["number": .int(number)])
        }
        try await bus.dispatch("pause", to: .store("effect/note"))
        for number in 1...3 { try await echo(number) }
        try await fixture.waits(for: "effect/note", bus) { $0["waiting"] == 3 }
        try #require(fixture.service).kill()
        try await fixture.waits(for: "effect/note", bus) { $0["owner"] == "" }
        for number in 4...5 { try await echo(number) }
        try fixture.start()
        try await bus.dispatch("resume", to: .store("effect/note"))
        try await fixture.waits(for: "effect/note", bus) { $0["paused"] == .null && $0["isClean"] == false }
        try await fixture.waits(for: "log/main", bus) { $0["notes"]?.array?.contains(3) == true }
        try await echo(6)
        try await fixture.waits(for: "log/main", bus) { $0["notes"]?.array?.contains(6) == true }
        #expect(try await bus.state(of: "log/main").state["notes"]?.array?.compactMap(\.int) == numbers)
    }

    /// What a downtime leaves out takes up no room: of more events than fit into memory the last one is handled.
    @Test(arguments: ["newest", "none"]) func aLongDowntimeIsPassed(_ word: String) async throws {
        let fixture = try EffectsFixture(["note": note + "\nafter-downtime: \(word)"])
        try fixture.start()
        try fixture.stop()
        let bus = try await fixture.bus()
        try await bus.dispatch("echo", to: .store("log/b"), payload: ["number": 1])
        for _ in 0..<5 {
            try await bus.dispatch(
                (0..<700).map { ActionRequest("echo", to: .store("log/a"), payload: ["number": .int($0)]) })
        }
        try fixture.start()
        try await fixture.waits(for: "effect/note", bus) { $0["skipped"]?.int ?? 0 >= 3499 }
        try await bus.dispatch("echo", to: .store("log/a"), payload: ["number": 7])
        try await fixture.waits(for: "log/main", bus) { $0["notes"]?.array?.last == 7 }
        let notes = try await bus.state(of: "log/main").state["notes"]
        #expect(notes == (word == "none" ? [7] : [1, 699, 7]))
    }

    /// An action that its type lacks never happens, and a dispatch of it is refused.
    @Test func unknownActionsAreReported() async throws {
        let fixture = try EffectsFixture([
            "typo":
                "on: { action: [echo, ecko], of: log/* }\ndo: { dispatch: { store: log/main, action: notte } }"
        ])
        try fixture.start()
        let service = try #require(fixture.service)
        #expect(service.waitFor("typo: log has no action ecko; did you mean `echo`?"))
        #expect(service.waitFor("typo: log has no action notte; did you mean `note`?"))
    }

    /// In the order of the bus for each store, as if they had not been set aside.
    @Test func eventsAreTriedAgainInTheirOrder() async throws {
        let script = #"test -e "$OUT/repaired" && echo "$FLUXBUS_REVISION" >>"$OUT/done""#
        let fixture = try EffectsFixture([
            "fails":
                "on: { action: echo, of: log/* }\ndo: { run: [/bin/sh, -c, \(JSON.string(script).encoded)] }\nretry: { times: 0 }\nlimit: { running: 16 }"
        ])
        try fixture.start()
        let bus = try await fixture.bus()
        var revisions: [String] = []
        for number in 1...60 {
            let reply = try await bus.dispatch(
                "echo", to: .store("log/a"), payload: ["number": .int(number)])
            revisions.append("\(reply.revision)")
        }
        try await fixture.waits(for: "effect/fails", bus) { $0["failed"]?.object?.count == 60 }
        try fixture.directory.write("repaired", "")
        let failed = try await bus.state(of: "effect/fails").state["failed"]?.object?.members ?? []
        let retries = failed.shuffled().map { event -> JSON in
            ["store": "effect/fails", "action": "retry", "payload": ["event": .string(event.key)]]
        }
        _ = try await bus.request(BusRequest("dispatch", ["actions": .array(retries)]))
        try await fixture.waits(for: "effect/fails", bus) { $0["succeeded"] == 60 }
        #expect(fixture.lines("done") == revisions)
    }

    /// Its children, too, also those that do not listen.
    @Test func aProgramThatTakesTooLongIsEndedWhole() async throws {
        let script = #"sh -c 'trap "" TERM; echo $$ >"$OUT/child"; exec sleep 557' & wait"#
        let fixture = try EffectsFixture([
            "slow":
                "on: { action: echo, of: log/* }\ndo: { run: [/bin/sh, -c, \(JSON.string(script).encoded)] }\nretry: { times: 0 }\ntimeout: 1s"
        ])
        try fixture.start()
        let bus = try await fixture.bus()
        try await bus.dispatch("echo", to: .store("log/a"), payload: ["number": 1])
        try await fixture.waits(for: "effect/slow", bus) { $0["failed"]?.object?.count == 1 }
        let child = try #require(fixture.lines("child").first)
        func isThere() -> Bool {
            let words = (try? String(contentsOfFile: "/proc/\(child)/stat", encoding: .utf8)) ?? ""
            // Whoever takes it over may not have looked at it yet.
            return !words.isEmpty && !words.contains(") Z ")
        }
        for _ in 0..<10_000 where isThere() { try await bus.ping() }
        #expect(!isThere())
    }

    @Test func aHistoryThatIsGoneIsSaid() async throws {
        let fixture = try EffectsFixture(["note": note], hasLog: false)
        try fixture.start()
        var bus = try await fixture.bus()
        try await bus.dispatch("echo", to: .store("log/a"), payload: ["number": 1])
        try await fixture.waits(for: "log/main", bus) { $0["notes"] == [1] }
        // Nothing of what an effect was there for is missing.
        #expect(try await bus.state(of: "effect/note").state["lost"] == .null)
        await bus.close()
        try fixture.restartDaemon()
        #expect(try #require(fixture.service).waitFor("a new history"))
        bus = try await fixture.bus()
        try await fixture.waits(for: "effect/note", bus) { $0["epoch"]?.string == bus.greeting.epoch }
        try await fixture.waits(for: "effect/note", bus, within: 60) { $0["lost"] != .null }
        // It has said that it begins, and may not follow yet: where there is no log, what happens in between is gone.
        var isHandled = false
        for _ in 0..<20 where !isHandled {
            try await bus.dispatch("echo", to: .store("log/a"), payload: ["number": 2])
            isHandled =
                (try? await fixture.waits(for: "log/main", bus, within: 2) { $0["notes"] != [] }) != nil
        }
        #expect(isHandled)
        let notes = try await bus.state(of: "log/main").state["notes"]?.array ?? []
        #expect(notes.allSatisfy { $0 == 2 })
    }

    @Test func aReloadTakesWhatHasChangedAndRefusesWhatIsWrong() async throws {
        let fixture = try EffectsFixture(["note": note])
        try fixture.start()
        let service = try #require(fixture.service)
        let bus = try await fixture.bus()
        try fixture.write("note", "on: 1")
        service.signal(SIGHUP)
        #expect(service.waitFor("the effects stay as they were"))
        try await bus.dispatch("echo", to: .store("log/a"), payload: ["number": 1])
        try await fixture.waits(for: "log/main", bus) { $0["notes"] == [1] }
        try fixture.write("note", note.replacing("= payload.number", with: "= payload.number * 10"))
        try fixture.write("other", note.replacing("= payload.number", with: "= payload.number * 100"))
        service.signal(SIGHUP)
        try await fixture.waits(for: "effect/other", bus) { $0["epoch"] != "" }
        #expect(service.waitFor("again"))
        try await fixture.waits(for: "effect/note", bus) { $0["isClean"] == false }
        try await bus.dispatch("echo", to: .store("log/a"), payload: ["number": 2])
        try await fixture.waits(for: "log/main", bus) { $0["notes"]?.array?.count == 3 }
        let notes = try await bus.state(of: "log/main").state["notes"]?.array?.compactMap(\.int)
        #expect(notes?.sorted() == [1, 20, 200])
        #expect(try fixture.stop() == 0)
    }

    @Test func whatIsWrongIsSaidWithItsPlace() throws {
        let directory = TemporaryDirectory()
        try directory.write("bad.yaml", "effect: bad\nonn: {}\n")
        for more in [["--check"], []] {
            let outcome = try RunningProgram.run("fluxbus-effects", ["--effects", directory.path] + more)
            #expect(outcome.status == 78)
            #expect(outcome.errors.contains("bad.yaml:2:1: unknown key `onn` in effect; did you mean `on`?"))
        }
        #expect(try RunningProgram.run("fluxbus-effects", ["--nonsense"]).status == 64)
    }

    /// `--help` and the manual page have the same flags and exit codes.
    @Test func theManualAgreesWithTheHelp() throws {
        let help = try RunningProgram.run("fluxbus-effects", ["--help"]).output
        let manual = try Repository.text("deploy/man/fluxbus-effects.8").replacing("\\-", with: "-")
        let flags = Set(help.matches(of: /(?m)^  (?:-h, )?(--[a-z-]+)/).map { String($0.1) })
        #expect(flags.isSuperset(of: ["--effects", "--address", "--check"]))
        for flag in flags.subtracting(["--help", "--version"]) { #expect(manual.contains(flag), "\(flag)") }
        for code in help.matches(of: /(?m)^ +([0-9]+) {4}/) { #expect(manual.contains(".B \(code.1)\n")) }
    }

    @Test func aBusWithoutTheTypeIsRefused() async throws {
        let live = try LiveBus()
        let directory = TemporaryDirectory()
        let outcome = try RunningProgram.run(
            "fluxbus-effects", ["--effects", directory.path, "--address", live.address])
        #expect(outcome.status == 78 && outcome.errors.contains("no type effect"), "\(outcome.errors)")
    }
}
