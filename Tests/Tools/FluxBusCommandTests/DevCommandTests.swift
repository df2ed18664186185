import FluxBusCommand
import TestFiles
import TestServer
import Testing

/// `fluxbus dev` as a program in a terminal, on a bus of its own.
@Suite("dev in a terminal", .timeLimit(.minutes(10)))
struct DevCommandTests {
    @Test func itChecksTestsShowsAndReloads() throws {
        let directory = TemporaryDirectory()
        let lamp = """
            type: lamp
            state: { on: { type: boolean, default: false } }
            actions: { flip: { toggle: [on] } }
            tests: [{ dispatch: flip, state: { on: true } }]
            """
        try directory.write("lamp.yaml", lamp)
        let program = try TerminalProgram(
            [RunningProgram.path(of: "fluxbus"), "dev", directory.path],
            environment: ["FLUXBUS_ADDRESS": "unix:\(directory.path)/none.sock", "LANG": "C.UTF-8"], rows: 40,
            columns: 200)
        #expect(program.shows("1 test, all pass"))
        #expect(program.shows("A bus of its own: FLUXBUS_ADDRESS=unix:/"))
        #expect(program.shows("dry run: nothing would change"))
        try directory.write("lamp.yaml", lamp.replacing("toggle: [on]", with: "toggle: [onn]"))
        #expect(program.shows("did you mean `on`?"))
        program.type("r")
        #expect(program.shows("Nothing is reloaded while a file is wrong"))
        try directory.write("lamp.yaml", lamp.replacing("{ on: true }", with: "{ on: false }"))
        #expect(program.shows("on is true, not false."))
        try directory.write(
            "lamp.yaml",
            lamp.replacing(
                "default: false } }", with: "default: false }, level: { type: integer, default: 5 } }"))
        #expect(program.shows("dry run: lamp and 1 store would change"))
        #expect(program.shows(#"lamp/main {"level":5"#))
        program.type("r")
        #expect(program.shows("reloaded, revision"))
        program.type("q")
        #expect(program.wait() == 0)
        #expect(program.isCooked)
    }

    @Test func aReloadThatIsNotAnsweredEndsNothing() throws {
        let bus = try ScriptedBus { line in
            line.contains("reload") && !line.contains("dryRun") ? nil : [ScriptedBus.reply(to: line)]
        }
        defer { bus.stop() }
        let directory = TemporaryDirectory()
        try directory.write("lamp.yaml", "type: lamp\ninitial: { on: false }\n")
        let program = try TerminalProgram(
            [RunningProgram.path(of: "fluxbus"), "dev", directory.path],
            environment: ["FLUXBUS_ADDRESS": bus.address, "LANG": "C.UTF-8"], rows: 40, columns: 200)
        #expect(program.shows("r reloads, q ends"))
        program.type("r")
        #expect(program.shows("it may have been committed or not; look before you send it again."))
        program.type("q")
        #expect(program.wait() == 0)
    }

    /// There is no daemon to start: it says so, and the script that runs it goes on.
    @Test func withoutADaemonOnlyItEnds() throws {
        let directory = TemporaryDirectory()
        try directory.write("types/lamp.yaml", "type: lamp\ninitial: { on: false }\n")
        let program = "\(directory.path)/fluxbus"
        try RunningProgram.copy("fluxbus", to: program)
        // In a process group of its own.
        let script = try RunningProgram(
            [
                "/usr/bin/setsid", "--wait", "/bin/sh", "-c",
                "'\(program)' dev '\(directory.path)/types' > /dev/null; echo status $?",
            ],
            environment: [
                "FLUXBUS_ADDRESS": "unix:\(directory.path)/none.sock", "PATH": directory.path,
                "LANG": "C.UTF-8",
            ])
        let told = try script.wait()
        #expect(told.output == "status 69\n" && told.errors.contains("There is no fluxbusd"), "\(told)")
    }
}
