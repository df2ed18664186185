import BusJSON
import FluxBusCommand
import Glibc
import TestServer
import Testing

/// `top` as a program in a terminal.
@Suite("top in a terminal", .timeLimit(.minutes(10)))
struct TopTerminalTests {
    private func top(
        _ bus: LiveBus, _ arguments: [String] = [], environment: [String: String] = ["LANG": "C.UTF-8"],
        rows: Int = 24, columns: Int = 80
    ) throws -> TerminalProgram {
        try TerminalProgram(
            [RunningProgram.path(of: "fluxbus"), "top", "--interval", "100ms"] + arguments,
            environment: environment.merging(["FLUXBUS_ADDRESS": bus.address, "TERM": "xterm"]) { own, _ in
                own
            },
            rows: rows, columns: columns)
    }

    /// The screen, the cursor and the keys are as they were.
    private func isRestored(_ program: TerminalProgram) -> Bool {
        !program.screen.isAlternate && !program.screen.hidesCursor && program.screen.wraps && program.isCooked
    }

    @Test func itFillsTheScreenFollowsTheSizeAndLeavesNothing() throws {
        let bus = try LiveBus()
        defer { bus.stop() }
        let program = try top(bus)
        #expect(program.shows { $0.text.last?.hasPrefix("q quit") == true && $0.all.contains("commits 0/s") })
        #expect(program.screen.isAlternate && program.screen.hidesCursor && !program.isCooked)
        #expect(!program.screen.hasOverflowed)
        for (rows, columns) in [(10, 40), (50, 200), (1, 10), (24, 80)] {
            program.resize(rows: rows, columns: columns)
            // Where there is room for one thing only, it is what changes.
            let isRight = program.shows { screen in
                screen.text[0].hasPrefix(columns < 20 ? "every" : "fluxbus")
                    && screen.text[0].count == columns
                    && (rows < 10 || screen.all.contains("TYPE"))
            }
            #expect(isRight, "\(rows) × \(columns): \(program.screen.text)")
        }
        program.type("3")
        #expect(program.shows("WATCHES"))
        program.type("?")
        #expect(program.shows("update less often"))
        program.type("qq")
        #expect(program.wait() == 0)
        #expect(isRestored(program))
        #expect(program.screen.text.allSatisfy { $0.isEmpty })
    }

    @Test func whatHappensIsSeen() throws {
        let bus = try LiveBus()
        defer { bus.stop() }
        let program = try top(bus)
        #expect(program.shows("TYPE"))
        let client = try bus.client()
        #expect(try client.ask(#"{"op":"dispatch","type":"counter","action":"increment"}"#).contains("true"))
        #expect(program.shows { $0.text.contains { $0.hasPrefix("counter  increment") } })
        program.type(" ")
        #expect(program.shows("paused"))
        program.type(" ")
        #expect(program.shows("every 100 ms"))
        program.type("q")
        #expect(program.wait() == 0)
    }

    @Test(arguments: [SIGTERM, SIGHUP, SIGQUIT]) func aSignalEndsItAndTheTerminalIsGivenBack(_ number: Int32)
        throws
    {
        let bus = try LiveBus()
        defer { bus.stop() }
        let program = try top(bus)
        #expect(program.shows("TYPE"))
        program.signal(number)
        #expect(program.wait() == -number)
        #expect(isRestored(program))
    }

    @Test func controlCEndsIt() throws {
        let bus = try LiveBus()
        defer { bus.stop() }
        let program = try top(bus)
        #expect(program.shows("TYPE"))
        program.type("\u{3}")
        #expect(program.wait() == -SIGINT)
        #expect(isRestored(program))
    }

    @Test func stoppedItGivesTheTerminalBackAndContinues() throws {
        let bus = try LiveBus()
        defer { bus.stop() }
        let program = try TerminalProgram(
            [
                "/bin/bash", "--norc", "-c",
                "set -m; \"$0\" top; stty -a | grep -o ' icanon' ; echo stopped here; read word; fg; echo over",
                RunningProgram.path(of: "fluxbus"),
            ],
            environment: [
                "FLUXBUS_ADDRESS": bus.address, "TERM": "xterm", "LANG": "C.UTF-8", "PATH": "/usr/bin:/bin",
            ])
        #expect(program.shows("TYPE"))
        program.type("\u{1a}")
        #expect(program.shows { $0.all.contains("stopped here") && !$0.isAlternate })
        #expect(isRestored(program) && program.screen.all.contains("icanon"))
        program.type("\n")
        #expect(program.shows { $0.isAlternate && $0.all.contains("TYPE") })
        #expect(!program.isCooked)
        program.type("q")
        #expect(program.shows("over"))
        #expect(program.wait() == 0)
        #expect(isRestored(program))
    }

    @Test func aLostConnectionIsSaidAndTriedAgain() throws {
        let bus = try LiveBus()
        defer { bus.stop() }
        let program = try top(bus)
        #expect(program.shows("TYPE"))
        bus.stop()
        #expect(program.shows("connection lost, trying again"))
        try bus.start()
        #expect(program.shows { $0.text[0].contains("every 100 ms") })
        program.type("q")
        #expect(program.wait() == 0)
    }

    @Test func anErrorStandsOnTheScreenThatWasThere() throws {
        let bus = try LiveBus()
        defer { bus.stop() }
        let program = try top(bus, ["--timeout", "300ms"])
        #expect(program.shows("TYPE"))
        bus.stop()
        #expect(program.wait() == CommandStatus.unreachable.rawValue)
        #expect(isRestored(program) && program.screen.all.contains("fluxbus:"))
        let none = try top(bus, ["--timeout", "300ms"])
        #expect(none.wait() == CommandStatus.unreachable.rawValue)
        #expect(isRestored(none) && !none.output.contains(0x9b))
    }

    @Test func itSendsNoColoursAndNoBarsWhereTheyAreNotWanted() throws {
        let bus = try LiveBus()
        defer { bus.stop() }
        let plain = try top(bus, environment: ["NO_COLOR": "1", "LANG": "C"])
        #expect(plain.shows("TYPE"))
        plain.type("q")
        #expect(plain.wait() == 0)
        let text = String(decoding: plain.output, as: UTF8.self)
        #expect(!text.contains("[1m") && !text.contains("[36m") && plain.output.allSatisfy { $0 < 0x80 })
    }

    // MARK: - Without a terminal

    @Test func withoutATerminalItIsPrintedOnce() throws {
        let bus = try LiveBus()
        let refused = try CommandRun(["top"], bus: bus.address)
        #expect(refused.status == .usage && refused.messages.contains("--once"))
        let object = try CommandRun(["top", "--once", "--interval", "100ms"], bus: bus.address)
        #expect(object.status == .success && object.lines.count == 1)
        #expect(try JSON(parsing: object.lines[0])["rates"]?["commits"] == 0)
        let table = try CommandRun(["top", "--once", "--human", "--interval", "100ms"], bus: bus.address)
        #expect(table.lines[0].hasPrefix("fluxbus") && table.output.contains("COMMITS/S"))
        for arguments in [
            ["--json"], ["--interval", "never"], ["--interval", "1ms"], ["--once", "--interval", "2h"],
        ] {
            #expect(throws: (any Error).self) { try RootCommand.parseAsRoot(["top"] + arguments) }
        }
    }
}
