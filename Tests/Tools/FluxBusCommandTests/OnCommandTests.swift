import BusJSON
import Foundation
import TestServer
import Testing

/// `fluxbus on` for actions: what the command is given, in which order commands run, and how it ends.
@Suite("A command for each action", .timeLimit(.minutes(10)))
struct OnCommandTests {
    @Test func theCommandIsToldWhatHappened() throws {
        let bus = try AutomationBus()
        let trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
        let sent = try bus.run(
            "dispatch", "counter/a", "increment", "by=3", "--traceparent", trace, "--no-ack")
        #expect(sent.status == 0, "\(sent.errors)")
        let first = try #require(bus.ask(["op": "sync"])["revision"]?.int)
        let second = try bus.dispatch("increment", to: "counter")
        try bus.dispatch("ring", to: "counter/a")
        let told = try bus.run(
            "on", "counter/*", "increment", "--since", "start", "--count", "2", "--", "sh", "-c",
            #"echo "$1 $FLUXBUS_STORE $FLUXBUS_ACTION $FLUXBUS_REVISION $FLUXBUS_USER ${TRACEPARENT-none}"; cat; echo "${FLUXBUS_TIME%.*}""#,
            "sh", "n={}")
        #expect(told.status == 0 && told.errors.isEmpty)
        let lines = told.output.split(separator: "\n")
        try #require(lines.count == 6)
        let user = String(cString: getpwuid(getuid()).pointee.pw_name)
        #expect(lines[0] == "n=a counter/a increment \(first) \(user) \(trace)")
        #expect(lines[1] == #"{"by":3}"#)
        // One to all stores is one, too.
        #expect(lines[3] == "n=counter counter increment \(second) \(user) none")
        #expect(try abs(#require(Double(lines[2])) - Date().timeIntervalSince1970) < 100)
    }

    /// The environment says it, too; what is not valid there, and what it says of a dispatch that comes later, does not count.
    @Test func aTraceIsTakenFromTheEnvironment() throws {
        let bus = try AutomationBus()
        let trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
        for (more, variable) in [([], trace), ([], trace.uppercased()), (["--in", "1h"], trace)] {
            let words = ["dispatch", "counter/a", "ring"] + more
            #expect(try bus.start(words, ["TRACEPARENT": variable]).wait().status == 0)
        }
        let commits = try bus.ask(["op": "history", "store": "counter/a"])["commits"]?.array ?? []
        #expect(commits.suffix(3).map { $0["traceparent"]?.string } == [trace, nil, nil])
    }

    /// What can never happen is not waited for, and mistakes have the names of the command line.
    @Test func whatCanNeverHappenIsRefused() throws {
        let bus = try AutomationBus()
        for (words, status, sentence) in [
            (["counter", "incremen"], 65, "counter has no action `incremen`; did you mean `increment`?"),
            (
                ["counter/a", "xyzzy"], 65,
                "counter has no action `xyzzy`; `fluxbus types counter` lists them."
            ),
            (
                ["counter", "increment", "--since", "99"], 65,
                "Revision 99 has not happened: the bus is at revision "
            ),
            (["counter", "--becomes", "count >"], 65, "--becomes can't be understood: line 1"),
        ] {
            let told = try bus.start(["on"] + words + ["--", "true"]).wait()
            #expect(
                told.status == status && told.errors.hasPrefix("fluxbus: " + sentence), "\(words): \(told)")
        }
        // What another history had is gone, whatever its number was.
        let other = try bus.start([
            "on", "counter", "ring", "--since", "1", "--epoch", "5bd1a5a6-3c1f-4d0e-9d3c-0123456789ab",
            "--count", "1",
            "--", "echo", "{}",
        ])
        #expect(other.waitFor("The bus has begun another history since"))
        try bus.dispatch("ring", to: "counter/a")
        #expect(other.nextLine() == "a")
        #expect(try other.wait().status == 0)
    }

    /// Who asks for one store hears of what went to all as of that one.
    @Test func anActionToAllStoresIsOneToThatWhichIsMeant() throws {
        let bus = try AutomationBus()
        try bus.dispatch("ring", to: "counter")
        let told = try bus.run(
            "on", "counter/b", "ring", "--since", "start", "--count", "1", "--", "echo", "{}")
        #expect(told.output == "b\n")
    }

    /// A payload is only ever read: no word of it becomes a word of a command, or a variable.
    @Test func hostilePayloadsReachNoShell() throws {
        let bus = try AutomationBus()
        let stolen = bus.path("stolen")
        let texts = [
            "$(touch \(stolen))", "`touch \(stolen)`", "'; touch \(stolen); '", "\"\ntouch \(stolen)\n\"",
            "-rf {} \\ \u{1b}[2J",
            "a\u{0}b", String(repeating: "x y\n", count: 200_000),
        ]
        for text in texts { try bus.dispatch("write", to: "counter/a", ["text": .string(text)]) }
        let told = try bus.run(
            "on", "counter/a", "write", "--since", "start", "--count", "\(texts.count)", "--", "sh", "-c",
            "cat")
        #expect(told.status == 0, "\(told.errors)")
        let read = try told.output.split(separator: "\n").map {
            try JSON(parsing: String($0))["text"]?.string
        }
        #expect(read == texts)
        #expect(!FileManager.default.fileExists(atPath: stolen))
    }

    @Test func oneStoreKeepsItsOrderAndOthersRunMeanwhile() throws {
        let bus = try AutomationBus()
        try bus.makeGate("gate")
        let first = try bus.dispatch("ring", to: "counter/a")
        for store in ["a", "a", "b", "b"] { try bus.dispatch("ring", to: "counter/\(store)") }
        // The first one of `a` ends when the second one of `b` has begun.
        let script = """
            echo begin {} $FLUXBUS_REVISION
            [ $FLUXBUS_REVISION = \(first) ] && timeout 50 cat gate
            [ $FLUXBUS_REVISION = \(first + 4) ] && : > gate
            echo end {} $FLUXBUS_REVISION
            """
        let told = try bus.run(
            "on", "counter/*", "ring", "--since", "start", "--count", "5", "--jobs", "2", "--", "sh", "-c",
            script)
        #expect(told.status == 0, "\(told.errors)")
        let lines = told.output.split(separator: "\n").map(String.init)
        for (store, revisions) in ["a": first...first + 2, "b": first + 3...first + 4] {
            let expected = revisions.flatMap { ["begin \(store) \($0)", "end \(store) \($0)"] }
            #expect(lines.filter { $0.contains(" \(store) ") } == expected)
        }
        let place = { (line: String) in try #require(lines.firstIndex(of: line)) }
        #expect(try place("begin b \(first + 4)") < place("end a \(first)"))
    }

    @Test func oneThatIsAboutAllStoresRunsAlone() throws {
        let bus = try AutomationBus()
        for target in ["counter/a", "counter/b", "counter", "counter/a", "counter", "counter/c"] {
            try bus.dispatch("ring", to: target)
        }
        let told = try bus.run(
            "on", "counter", "ring", "--since", "start", "--count", "6", "--jobs", "8", "--", "sh", "-c",
            "echo begin {}; echo end {}")
        let lines = told.output.split(separator: "\n").map(String.init)
        try #require(lines.count == 12)
        #expect(Set(lines.prefix(4)) == ["begin a", "begin b", "end a", "end b"])
        #expect(
            lines.suffix(8) == [
                "begin counter", "end counter", "begin a", "end a", "begin counter", "end counter", "begin c",
                "end c",
            ])
    }

    // MARK: What fails

    @Test func whatFailsIsToldAndTheNextOneRuns() throws {
        let bus = try AutomationBus()
        let revisions = try ["a", "b", "c"].map { try bus.dispatch("ring", to: "counter/\($0)") }
        let told = try bus.run(
            "on", "counter/*", "ring", "--since", "start", "--count", "3", "--", "sh", "-c",
            "case {} in a) exit 3;; b) kill -9 $$;; *) echo well;; esac")
        #expect(told.status == 0 && told.output == "well\n")
        #expect(
            told.errors == """
                fluxbus: sh for counter/a (revision \(revisions[0])) ended with status 3.
                fluxbus: sh for counter/b (revision \(revisions[1])) was ended by signal 9.

                """)
    }

    @Test(arguments: [("exit 3", Int32(3)), ("kill -9 $$", 137), ("exit 0", 0)])
    func failFastEndsWithTheStatusOfTheCommand(_ command: (script: String, status: Int32)) throws {
        let bus = try AutomationBus()
        let first = try bus.dispatch("ring", to: "counter/a")
        try bus.dispatch("ring", to: "counter/a")
        let told = try bus.run(
            "on", "counter/*", "ring", "--since", "start", "--count", "2", "--fail-fast", "--", "sh", "-c",
            "echo ran; \(command.script)")
        #expect(told.status == command.status)
        #expect(told.output == (command.status == 0 ? "ran\nran\n" : "ran\n"))
        // The one that failed is not done.
        #expect(
            told.errors.contains("--since \(first - 1) --epoch") == (command.status != 0), "\(told.errors)")
    }

    @Test func aCommandThatIsNotThereIsAFailure() throws {
        let bus = try AutomationBus()
        try bus.dispatch("ring", to: "counter/a")
        let told = try bus.run(
            "on", "counter/*", "ring", "--since", "start", "--fail-fast", "--", "no-such-command")
        #expect(told.status == 127 && told.errors.contains("can't be started: No such file"))
    }

    // MARK: Its end

    @Test func itsEndEndsTheCommandsAndTellsHowToContinue() throws {
        let bus = try AutomationBus()
        let first = try bus.dispatch("ring", to: "counter/a")
        let last = try bus.dispatch("ring", to: "counter/b")
        // What the shell has started hears of it, too, and the shell waits for its end.
        let on = try bus.start(
            "on", "counter/*", "ring", "--since", "start", "--", "sh", "-c",
            "[ {} = b ] || exit 0; trap 'echo bye; wait; exit 0' TERM; sleep 50 & echo $!; wait")
        let line = try #require(on.nextLine())
        let process = try #require(Int32(line))
        let told = try on.end()
        #expect(told.status == 0 && told.output == "\(process)\nbye\n")
        #expect(!isSleeping(process))
        #expect(first < last && told.errors.contains("To continue: --since \(last - 1) --epoch "))
        let words = told.errors.split(separator: " ").map { $0.trimmingCharacters(in: .newlines) }
        let again = try bus.run(
            "on", "counter/*", "ring", "--since", words[3], "--epoch", words[5], "--count", "1", "--", "echo",
            "{}")
        #expect(again.output == "b\n")
    }

    /// Whether a number is that of a process which runs `sleep`: another one may have it by now.
    private func isSleeping(_ process: Int32) -> Bool {
        let command = try? String(contentsOfFile: "/proc/\(process)/cmdline", encoding: .utf8)
        return command?.hasPrefix("sleep") ?? false
    }

    /// Without waiting for ten seconds.
    @Test func aSecondSignalKillsWhatDoesNotListen() throws {
        let bus = try AutomationBus()
        try bus.dispatch("ring", to: "counter/a")
        let on = try bus.start(
            "on", "counter/*", "ring", "--since", "start", "--", "sh", "-c",
            "trap 'echo no' TERM; echo up; for i in $(seq 50); do sleep 1; done")
        #expect(on.reads("up"))
        let begin = ContinuousClock.now
        on.signal(SIGTERM)
        #expect(on.reads("no"))
        on.signal(SIGINT)
        #expect(try on.wait().status == 0)
        #expect(ContinuousClock.now - begin < .seconds(8))
    }
}
