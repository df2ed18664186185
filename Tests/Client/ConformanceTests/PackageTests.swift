import Foundation
import TestFiles
import TestServer
import Testing

func isThere(_ tool: String) -> Bool { FileManager.default.isExecutableFile(atPath: tool) }

/// The packages in other languages as their users find them: typed, and with examples that run.
@Suite("Client packages", .timeLimit(.minutes(10))) struct PackageTests {
    static let clients = Repository.root.appendingPathComponent("Sources/Clients").path
    let place = TemporaryDirectory()

    var environment: [String: String] {
        [
            "PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1",
            "HOME": place.path, "TMPDIR": place.path, "MYPYPATH": "\(Self.clients)/Python",
            "PYTHONPATH": "\(Self.clients)/Python", "FLUXBUS_ADDRESS": "unix:\(place.path)/s",
        ]
    }

    func check(_ words: [String]) throws {
        let outcome = try RunningProgram(words, environment: environment).wait(atMost: 120)
        #expect(outcome.status == 0, "\(outcome.output)\n\(outcome.errors)")
    }

    @Test(.enabled(if: isThere("/usr/bin/mypy"), "mypy is missing; deploy/prepare mypy installs it."))
    func pythonIsTypedStrictly() throws {
        let python = "\(Self.clients)/Python"
        let mypy = ["/usr/bin/mypy", "--strict", "--cache-dir", "/dev/null"]
        #expect(FileManager.default.fileExists(atPath: "\(python)/fluxbus/py.typed"))
        try check(mypy + ["\(python)/fluxbus", "\(python)/examples/counter.py"])
        try check(mypy + ["\(python)/examples/presence.py"])
    }

    @Test(
        .enabled(
            if: isThere("/usr/bin/tsc"), "TypeScript is missing; deploy/prepare node-typescript installs it.")
    )
    func declarationsFitTheirUse() throws {
        try check([
            "/usr/bin/tsc", "--noEmit", "--strict", "--target", "es2021", "--lib", "es2021,dom", "--module",
            "esnext", "--moduleResolution", "node", "\(Self.clients)/JavaScript/examples/types.ts",
        ])
    }

    /// What is declared is exported, and the methods that are declared are there.
    @Test(
        .enabled(if: isThere("/usr/bin/node"), "Node is missing; deploy/prepare node-typescript installs it.")
    )
    func declarationsNameWhatIsThere() throws {
        try check([
            "/usr/bin/node", "--input-type=module", "--eval",
            """
            import {readFileSync} from "node:fs";
            const folder = "\(Self.clients)/JavaScript/";
            const module = await import(folder + "fluxbus.js");
            const text = readFileSync(folder + "fluxbus.d.ts", "utf8");
            const body = /export class Bus \\{([^]*?)\\n\\}/.exec(text)[1];
            const declared = [...body.matchAll(/^\\t(?:readonly )?([a-z]\\w*)/gm)].map(found => found[1]);
            const names = declared.filter(name => !["private", "constructor"].includes(name));
            const there = Object.getOwnPropertyNames(module.Bus.prototype).filter(name => !/^_|^constructor$/.test(name));
            const bus = new module.Bus({});
            const missing = names.filter(name => !(name in bus)).concat(there.filter(name => !names.includes(name)));
            if (missing.length || names.length < 10) throw new Error(`these differ: ${missing}`);
            const classes = [...text.matchAll(/export (?:class|function) (\\w+)/g)].map(found => found[1]);
            if (classes.length < 5) throw new Error(`there are only ${classes}`);
            for (const name of classes) if (!module[name]) throw new Error(name);
            """,
        ])
    }

    @Test(.enabled(if: isThere("/usr/bin/python3"), "Python is missing."))
    func changeCostsLargePythonMirrorNoMore() throws {
        let suite = Repository.root.appendingPathComponent("Tests/Client/ConformanceTests/Suite")
        try check(["/usr/bin/python3", suite.appendingPathComponent("mirror_cost.py").path])
    }

    @Test(
        .enabled(if: isThere("/usr/bin/python3"), "Python is missing."),
        arguments: ["python_options", "python_requests"])
    func pythonDoesWhatItSays(_ name: String) throws {
        let suite = Repository.root.appendingPathComponent("Tests/Client/ConformanceTests/Suite")
        try check(["/usr/bin/python3", suite.appendingPathComponent("\(name).py").path])
    }

    @Test(
        .enabled(if: isThere("/usr/bin/node"), "Node is missing."),
        arguments: ["javascript_options", "javascript_requests"])
    func javaScriptDoesWhatItSays(_ name: String) throws {
        let suite = Repository.root.appendingPathComponent("Tests/Client/ConformanceTests/Suite")
        try check(["/usr/bin/node", suite.appendingPathComponent("\(name).mjs").path])
    }

    private static let go = "\(clients)/Go"
    private static let rust = "\(clients)/Rust"

    private func succeeds(_ words: [String], in folder: String) throws {
        let outcome = try Compilers.run(words, in: folder)
        #expect(outcome.status == 0, "\(outcome.output)\n\(outcome.errors)")
    }

    @Test(.enabled(if: Compilers.hasGo, "Go is missing; deploy/prepare golang-go installs it."))
    func goIsFormattedVettedAndTested() throws {
        let go = try #require(Compilers.go)
        for folder in [Self.go, Repository.root.path + "/Tests/Client/ConformanceTests/Suite/go"] {
            let formatted = try Compilers.run(
                [go.replacing(/go$/, with: "gofmt"), "-l", "."], in: folder)
            #expect(formatted.status == 0 && formatted.output.isEmpty, "\(formatted.output)")
            try succeeds([go, "vet", "./..."], in: folder)
        }
        try succeeds([go, "test", "./..."], in: Self.go)
    }

    @Test(.enabled(if: Compilers.hasCargo, "Cargo is missing; deploy/prepare cargo installs it."))
    func rustIsLintedAndTested() throws {
        try succeeds(["/usr/bin/env", "cargo", "test", "--offline", "--locked", "-q"], in: Self.rust)
        if Compilers.hasClippy {
            let lint = [
                "cargo", "clippy", "--offline", "--locked", "-q", "--all-targets", "--", "-D", "warnings",
            ]
            try succeeds(["/usr/bin/env"] + lint, in: Self.rust)
        }
    }

    func startDaemon() throws -> RunningProgram {
        let daemon = try RunningProgram(
            "fluxbusd", ["--listen", "unix:\(place.path)/s", "--types", Repository.sampleTypes])
        let message = try #require(daemon.nextMessage())
        try #require(message.contains("listening"), "\(message)")
        return daemon
    }

    func counts(_ first: [String], _ second: [String]) throws {
        let daemon = try startDaemon()
        defer { daemon.kill() }
        let one = try RunningProgram(first, environment: environment, hasInput: true)
        #expect(one.nextLine() == "0")
        let two = try RunningProgram(second, environment: environment, hasInput: true)
        #expect(two.nextLine() == "0")
        try one.send("3")
        #expect(one.nextLine() == "3")
        #expect(two.nextLine() == "3")
        try two.send("reset")
        #expect(one.nextLine() == "0")
        for program in [one, two] {
            try program.endInput()
            #expect(try program.wait().status == 0)
        }
    }

    @Test(.enabled(if: isThere("/usr/bin/python3") && isThere("/usr/bin/node"), "Python or Node is missing."))
    func counterIsSeenAcrossLanguages() throws {
        try counts(
            ["/usr/bin/python3", "\(Self.clients)/Python/examples/counter.py"],
            ["/usr/bin/node", "\(Self.clients)/JavaScript/examples/counter.mjs"])
    }

    @Test(.enabled(if: Compilers.hasGo && Compilers.hasRust, "Go or Rust is missing."))
    func counterIsSeenFromGoAndRust() throws {
        try counts(
            [Compilers.goProgram(in: "\(Self.go)/examples/counter", "go-counter")],
            [Compilers.rustProgram("\(Self.rust)/examples/counter.rs", "rust_counter")])
    }

    /// A whole program, as it is printed, that prints what changes: in so many lines can a newcomer have it.
    private func mirrors(
        _ page: String, _ kind: String, number: Int = 0, _ build: (String) throws -> [String]
    ) throws {
        let example = try MarkdownPage(page).blocks(kind)[number]
        #expect(example.text.split(separator: "\n").count <= 15)
        let daemon = try startDaemon()
        defer { daemon.kill() }
        let client = try LineClient("unix:\(place.path)/s")
        _ = try client.ask(#"{"op":"create","store":"counter/kitchen"}"#)
        let program = try RunningProgram(build(example.text), environment: environment)
        #expect(program.nextLine()?.contains("counter/kitchen") == true)
        let increment =
            #"{"op":"dispatch","store":"counter/kitchen","action":"increment","payload":{"by":42}}"#
        _ = try client.ask(increment)
        let line = try #require(program.nextLine())
        #expect(line.contains("counter/kitchen") && line.contains("42"), "\(line)")
        program.kill()
    }

    @Test(.enabled(if: Compilers.hasGo, "Go is missing; deploy/prepare golang-go installs it."))
    func mirrorOfTheGoPageRuns() throws {
        try mirrors("Sources/Clients/Go/README.md", "go") { text in
            try place.write("mirror/main.go", text)
            try place.write(
                "mirror/go.mod",
                "module mirror\n\nrequire fluxbus v0.0.0\n\nreplace fluxbus => \"\(Self.go)\"\n")
            return [try Compilers.goProgram(in: "\(place.path)/mirror", "go-mirror")]
        }
    }

    @Test(.enabled(if: Compilers.hasRust, "Rust is missing; deploy/prepare cargo installs it."))
    func mirrorOfTheRustPageRuns() throws {
        try mirrors("Sources/Clients/Rust/README.md", "rust") { text in
            let source = try place.write("mirror.rs", text)
            return [try Compilers.rustProgram(source, "rust_mirror")]
        }
    }

    @Test(.enabled(if: isThere("/usr/bin/python3"), "Python is missing."))
    func mirrorOfThePythonPageRuns() throws {
        try mirrors("Sources/Clients/Python/README.md", "python", number: 1) { text in
            ["/usr/bin/python3", try place.write("mirror.py", text)]
        }
    }

    @Test(
        .enabled(if: isThere("/usr/bin/node"), "Node is missing; deploy/prepare node-typescript installs it.")
    )
    func mirrorOfTheJavaScriptPageRuns() throws {
        try mirrors("Sources/Clients/JavaScript/README.md", "js", number: 1) { text in
            let program = try place.write("mirror/mirror.mjs", text)
            try place.write("mirror/node_modules/fluxbus/package.json", Repository.text(Self.manifest))
            for name in ["fluxbus.js", "fluxbus.d.ts"] {
                let source = try Repository.text("Sources/Clients/JavaScript/\(name)")
                try place.write("mirror/node_modules/fluxbus/\(name)", source)
            }
            return ["/usr/bin/node", program]
        }
    }

    @Test(.enabled(if: isThere("/usr/bin/python3"), "Python is missing."))
    func presenceListEmptiesItselfWhenAProgramIsKilled() throws {
        let daemon = try startDaemon()
        defer { daemon.kill() }
        let example = ["/usr/bin/python3", "\(Self.clients)/Python/examples/presence.py"]
        let ada = try RunningProgram(example + ["ada"], environment: environment, hasInput: true)
        #expect(ada.reads("ada"))
        let bert = try RunningProgram(example + ["bert"], environment: environment, hasInput: true)
        #expect(ada.reads("ada bert"))
        bert.kill()
        #expect(ada.reads("ada"))
        try ada.endInput()
        #expect(try ada.wait().status == 0)
    }
}
