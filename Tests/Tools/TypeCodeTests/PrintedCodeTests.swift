import BusJSON
import Foundation
import TestFiles
import TestServer
import Testing
import TypeCode

/// What is printed for the sample types, and for types as hard as a definition can be, is accepted by the compilers and
/// checkers of its language without a remark, refuses wrong use, and drives a bus.
@Suite("Printed code", .timeLimit(.minutes(10)))
struct PrintedCodeTests {
    @Test(.enabled(if: Tools.hasSwift, "There is no swiftc in $PATH."))
    func swiftCompilesAndDrivesABus() throws {
        let workshop = try Workshop()
        try workshop.printTypes(option: "--swift") { "\($0).swift" }
        try workshop.copy("Use.swift", to: "main.swift")
        try workshop.write("articles.swift", Self.codeOfArticles())
        // The client library as it was linked into an example, without that.
        let objects = try String(
            contentsOf: Repository.programs.appendingPathComponent(
                "example-counter.product/Objects.LinkFileList"),
            encoding: .utf8
        ).split(separator: "\n").filter { !$0.contains("example_counter.build/") }
        try workshop.write("objects", objects.joined(separator: "\n"))
        let build = Repository.programs.path
        let compiled = try workshop.run(
            [
                "/usr/bin/env", "swiftc", "-swift-version", "6", "-warnings-as-errors", "-default-isolation",
                "MainActor", "-Onone", "-o", "use",
                "-module-cache-path", "\(workshop.path)/modules", "-I", "\(build)/Modules", "-Xcc",
                "-fmodule-map-file=\(build)/CLinux.build/module.modulemap", "-Xcc",
                "-fmodule-map-file=\(Repository.root.path)/Sources/System/COpenSSL/module.modulemap", "-Xcc",
                "-fmodule-map-file=\(Repository.root.path)/Sources/System/CScan/module.modulemap", "-Xcc",
                "-fmodule-map-file=\(Repository.root.path)/Sources/System/CMap/module.modulemap",
                "main.swift", "articles.swift",
            ] + Workshop.files.map { "\($0).swift" } + ["@objects", "-lssl", "-lcrypto"])
        try #require(compiled.status == 0, "\(compiled.errors)")
        let used = try workshop.run(["\(workshop.path)/use"] + workshop.arguments)
        try #require(used.status == 0, "\(used.errors)")
        try Scenario.checkStates(in: workshop)
        #expect(used.output == Self.shownInSwift)
    }

    @Test(
        .enabled(
            if: Tools.hasTypeScript, "tsc or node is missing; deploy/prepare node-typescript installs them."))
    func typeScriptPassesItsStrictCompilerAndDrivesABus() throws {
        let workshop = try Workshop()
        try workshop.printTypes(option: "--typescript") { "\($0).ts" }
        try workshop.copy("use.ts")
        try workshop.copy("mistakes.ts")
        try workshop.install("Sources/Clients/JavaScript", as: "node_modules/fluxbus")
        try workshop.write(
            "article.ts",
            """
            import { Bus } from "fluxbus";
            import { thermostat, ThermostatType } from "./thermostat.js";
            export async function article(bus: Bus): Promise<void> {
            \(Self.example("typescript"))}
            """)
        try workshop.write("readme.ts", Self.example("ts", of: "Sources/Clients/JavaScript/README.md"))
        try workshop.write("package.json", #"{ "type": "module" }"#)
        try workshop.write("tsconfig.json", Self.strict)
        try workshop.write(
            "mistakes.json", #"{ "extends": "./tsconfig.json", "include": ["mistakes.ts"], "exclude": [] }"#)
        let compiled = try workshop.run(["/usr/bin/tsc", "--project", "tsconfig.json"])
        try #require(compiled.status == 0, "\(compiled.output)")
        let used = try workshop.run(["/usr/bin/node", "js/use.js"])
        try #require(used.status == 0, "\(used.errors)")
        try Scenario.checkStates(in: workshop)
        #expect(used.output == Self.shownInTypeScript)
        let read = try workshop.run(["/usr/bin/node", "js/readme.js"])
        #expect(read.output == "2\ncounter/kitchen true\n", "\(read.errors)")
        let told = try workshop.run(["/usr/bin/tsc", "--noEmit", "--project", "mistakes.json"])
        let (wrong, found) = try Self.mistakes(in: "mistakes.ts", told: told.output, as: "mistakes.ts")
        #expect(wrong.count == 32 && wrong == found, "\(told.output)")
    }

    private static let shownInTypeScript = """
        2 6 true 23.5
        none 7 true 9 0
        -1
        true

        """

    private static let page = "Sources/Core/BusLogic/BusLogic.docc/Types.md"

    /// The first example of a page in a language that has a word in it.
    static func example(_ language: String, of page: String = page, with word: String = "") throws -> String {
        let blocks = try MarkdownPage(page).blocks(language)
        return try #require(blocks.first { word.isEmpty || $0.text.contains(word) }, "\(language)").text
    }

    /// What the documents show of a printed type, as functions.
    private static func codeOfArticles() throws -> String {
        var code = "import FluxBus\n"
        let articles = ["README.md", page, "Sources/Client/FluxBus/FluxBus.docc/GettingStarted.md"]
        for (number, article) in articles.enumerated() {
            let blocks = try Repository.text(article).matches(of: /```swift\n((?:.|\n)*?)```/)
            let block = try #require(blocks.first { $0.1.contains("Thermostat.self") }, "\(article)")
            code += "func article\(number)(_ bus: Bus) async throws {\n\(block.1)}\n"
        }
        return code
    }

    /// Nothing of the machine's own types comes in.
    private static let strict = """
        {
          "compilerOptions": {
            "strict": true, "noUncheckedIndexedAccess": true, "noUnusedLocals": true, "target": "es2020",
            "module": "esnext", "moduleResolution": "node", "types": [], "outDir": "js"
          },
          "include": ["*.ts"], "exclude": ["mistakes.ts"]
        }
        """

    @Test(.enabled(if: Tools.hasPython, "mypy is missing; deploy/prepare mypy installs it."))
    func pythonPassesItsStrictCheckerAndDrivesABus() throws {
        let workshop = try Workshop()
        try workshop.printTypes(option: "--python") { "\($0).py" }
        try workshop.copy("use.py")
        try workshop.copy("mistakes.py")
        try workshop.install("Sources/Clients/Python/fluxbus", as: "fluxbus")
        try workshop.write(
            "article.py",
            """
            import thermostat
            from fluxbus import Bus


            def article(bus: Bus) -> None:
                \(Self.example("python").replacing("\n", with: "\n    "))
            """)
        let readme = try Self.example(
            "python", of: "Sources/Clients/Python/README.md", with: "counter.Counter")
        try workshop.write("readme.py", readme)
        let mypy = ["/usr/bin/mypy", "--strict", "--python-version", "3.11", "--cache-dir", "/dev/null"]
        let checked = try workshop.run(
            mypy + ["use.py", "article.py", "readme.py"] + Workshop.files.map { "\($0).py" })
        try #require(checked.status == 0, "\(checked.output)")
        let used = try workshop.run(["/usr/bin/python3", "-B", "-W", "error", "use.py"])
        try #require(used.status == 0, "\(used.errors)")
        try Scenario.checkStates(in: workshop)
        #expect(used.output == Self.shownInPython)
        let read = try workshop.run(["/usr/bin/python3", "-B", "readme.py"])
        #expect(read.output == "2 True\n", "\(read.errors)")
        let told = try workshop.run(mypy + ["mistakes.py"])
        let (wrong, found) = try Self.mistakes(in: "mistakes.py", told: told.output, as: "mistakes.py")
        #expect(wrong.count == 28 && wrong == found, "\(told.output)")
    }

    private static let shownInPython = """
        2 7 True
        23.5 auto
        none 7 True [10] []
        True True

        """

    /// The lines of a program of mistakes that are one, and those in which a compiler sees one.
    private static func mistakes(in name: String, told: String, as place: String) throws -> (
        Set<Int>, Set<Int>
    ) {
        let lines = try Repository.text("Tests/Tools/TypeCodeTests/Programs/\(name)").split(
            separator: "\n", omittingEmptySubsequences: false)
        let wrong = lines.indices.filter { lines[$0].hasSuffix(" wrong") }.map { $0 + 1 }
        let found = try told.matches(of: Regex("\(place)[:(]([0-9]+)[:,]", as: (Substring, Substring).self))
        return (Set(wrong), Set(found.compactMap { Int($0.1) }))
    }

    @Test(.enabled(if: Compilers.hasGo, "Go is missing; deploy/prepare golang-go installs it."))
    func goIsVettedAndDrivesABus() throws {
        let go = try #require(Compilers.go)
        let workshop = try Workshop()
        try workshop.printTypes(option: "--go") { "\($0)/\($0).go" }
        try workshop.copy("use.go")
        try workshop.copy("mistakes.go", to: "wrong/main.go")
        let client = Repository.root.appendingPathComponent("Sources/Clients/Go").path
        try workshop.write(
            "go.mod", "module use\n\ngo 1.19\n\nrequire fluxbus v0.0.0\n\nreplace fluxbus => \"\(client)\"\n")
        try workshop.write(
            "article/article.go",
            """
            package article

            import (
            \t"context"

            \t"fluxbus"
            \t"use/thermostat"
            )

            func article(ctx context.Context, bus *fluxbus.Bus) error {
            \t\(Self.example("go"))\treturn err
            }

            """)
        // In comments of declarations it takes two quotes for one of another kind, whatever stands there.
        let plain = Workshop.files.filter { $0 != "awkward" }
        let formatted = try Compilers.run(
            [go.replacing(/go$/, with: "gofmt"), "-l", "use.go", "article"] + plain, in: workshop.path)
        #expect(formatted.status == 0 && formatted.output.isEmpty, "\(formatted.output)\(formatted.errors)")
        let packages = Workshop.files.map { "./\($0)" } + ["./article", "."]
        let vetted = try Compilers.run([go, "vet"] + packages, in: workshop.path)
        try #require(vetted.status == 0, "\(vetted.errors)")
        let built = try Compilers.goProgram(in: workshop.path, "go-use")
        let used = try workshop.run([built])
        try #require(used.status == 0, "\(used.errors)")
        try Scenario.checkStates(in: workshop)
        #expect(used.output == Self.shownInGo)
        let told = try Compilers.run(
            [go, "build", "-gcflags=-e", "-o", "nothing", "./wrong"], in: workshop.path)
        let (wrong, found) = try Self.mistakes(in: "mistakes.go", told: told.errors, as: "wrong/main.go")
        #expect(wrong.count == 9 && wrong == found, "\(told.errors)")
    }

    private static let shownInGo = """
        7 true 9 true 0
        {"door":{"open":false},"measured":null,"mode":"auto"}
        true 1 1 <nil>

        """

    @Test(.enabled(if: Compilers.hasRust, "Rust is missing; deploy/prepare cargo installs it."))
    func rustHasNoWarningAndDrivesABus() throws {
        let workshop = try Workshop()
        try workshop.printTypes(option: "--rust") { "\($0).rs" }
        try workshop.copy("use.rs")
        try workshop.copy("mistakes.rs")
        try workshop.write(
            "article.rs",
            """
            mod thermostat;
            pub fn article(bus: &fluxbus::Bus) -> Result<(), fluxbus::Error> {
            \(Self.example("rust"))Ok(())
            }
            """)
        let modules = Workshop.files.map { "mod \($0);\n" }.joined()
        try workshop.write("all.rs", modules)
        let compiler = try Compilers.rustCompiler()
        for library in ["all", "article"] {
            let compiled = try Compilers.run(
                compiler + ["--crate-type", "lib", "--emit", "metadata", "\(library).rs"], in: workshop.path)
            #expect(compiled.status == 0, "\(compiled.errors)")
        }
        let built = try Compilers.rustProgram("\(workshop.path)/use.rs", "rust_use")
        let used = try workshop.run([built])
        try #require(used.status == 0, "\(used.errors)")
        try Scenario.checkStates(in: workshop)
        #expect(used.output == Self.shownInRust)
        let told = try Compilers.run(compiler + ["mistakes.rs"], in: workshop.path)
        let (wrong, found) = try Self.mistakes(in: "mistakes.rs", told: told.errors, as: "mistakes.rs")
        #expect(wrong.count == 9 && wrong == found, "\(told.errors)")
    }

    private static let shownInRust = """
        2 6
        7 true 9 true
        true 1 1 null
        `"nowhere"` is no Mode: print the type again. (mismatch)

        """

    @Test(
        .enabled(
            if: Tools.hasValidator,
            "Python's jsonschema is missing; deploy/prepare python3-jsonschema installs it."))
    func schemasAcceptWhatABusHasAndTakes() throws {
        let workshop = try Workshop()
        try workshop.printTypes(option: "--json-schema") { "\($0).json" }
        try workshop.copy("validate.py")
        var questions: [(JSON, String)] = []
        func ask(_ file: String, _ definition: JSON, _ value: JSON, _ answer: String) {
            questions.append(([.string("\(file).json"), definition, value], answer))
        }
        let client = try workshop.bus.client()
        for request in Scenario.requests {
            let store = request["store"]?.string?.split(separator: "/").first.map(String.init) ?? "counter"
            let file = store == Definitions.awkwardName ? "awkward" : store
            let action = try #require(request["action"]?.string)
            var payload = try #require(request["payload"]?.object)
            ask(file, .string("payload.\(action)"), .object(payload), "valid")
            payload["no such member"] = 1
            ask(file, .string("payload.\(action)"), .object(payload), "invalid")
            #expect(try client.ask(request.encoded).hasPrefix(#"{"ok":true"#))
        }
        for (type, file) in Workshop.storedTypes {
            let reply = try JSON(parsing: client.ask(#"{"op":"get","store":"\#(type)/main"}"#))
            ask(file, .null, try #require(reply["states"]?["\(type)/main"]), "valid")
            ask(file, "state", 1, "invalid")
        }
        ask("counter", "payload.increment", ["by": 1.5], "invalid")
        ask("thermostat", "payload.setTarget", [:], "invalid")
        askEverything(ask)
        let outcome = try workshop.run(
            ["/usr/bin/python3", "-B", "validate.py"], input: questions.map { $0.0.encoded })
        try #require(outcome.status == 0, "\(outcome.errors)")
        let answers = outcome.output.split(separator: "\n").map(String.init)
        try #require(answers.count == questions.count)
        for (answer, question) in zip(answers, questions) {
            #expect(answer.prefix { $0 != ":" } == question.1, "\(question.0): \(answer)")
        }
    }

    /// Each word of a schema, with a value that it admits and one that it does not.
    private func askEverything(_ ask: (String, JSON, JSON, String) -> Void) {
        guard let state = try? JSON(parsing: Self.initialEverything).object else {
            Issue.record("The state of everything is no JSON.")
            return
        }
        func member(_ name: String, _ value: JSON, _ answer: String) {
            var state = state
            state[name] = value
            ask("everything", .null, .object(state), answer)
        }
        ask("everything", .null, .object(state), "valid")
        let good: [(String, JSON)] = [
            ("count", 100), ("measured", 1.5), ("mode", "*/"), ("maybe", .null), ("step", 5), ("mixed", true),
            ("numbers", [1, 2, 3]), ("grid", [[.null]]), ("ages", ["x": 1]),
            ("undeclared", .null), ("free", ["a": .null]), ("rooms", [:]),
        ]
        for (name, value) in good { member(name, value, "valid") }
        let bad: [(String, JSON)] = [
            ("flag", 1), ("count", 101), ("count", -1), ("count", 1.5), ("count", .null), ("ratio", 0),
            ("measured", "1"), ("title", ""), ("title", .string(String(repeating: "x", count: 65))),
            ("mode", "nowhere"), ("maybe", "c"), ("step", 3), ("mixed", false), ("plain list", [:]),
            ("numbers", [1, 2, 3, 4]), ("numbers", ["1"]), ("grid", [["x"]]), ("free", []),
            ("ages", ["x": "1"]), ("rooms", ["x": [:]]), ("nothing", ["x": 1]),
            ("rooms", ["x": ["size": 1, "note": .null, "self": true, "door": [:]]]),
            ("rooms", ["x": ["size": 1, "note": .null, "self": true, "unknown": 1]]),
        ]
        for (name, value) in bad { member(name, value, "invalid") }
        var payload: JSONObject = ["door": ["open": true], "measured": .null, "mode": "auto"]
        ask("everything", "payload.configure", .object(payload), "valid")
        payload["note"] = .null
        ask("everything", "payload.configure", .object(payload), "valid")
        payload["names"] = ["too long"]
        ask("everything", "payload.configure", .object(payload), "invalid")
    }

    /// The state of a new store, with doubles where the schema has numbers.
    private static let initialEverything = #"""
        {"accent":"e\#u{301}","ages":{"anna b":5},"anything":{"a":[1,2.5,null]},"bounded":0.5,"class":"","count":7,\#
        "either":"x","factor":0.5,"fixed":"club","flag":true,"free":{},"grid":[[1.0,null]],"maybe":"a","measured":null,\#
        "mixed":1,"mode":"by hand","modes":["off"],"nothing":{},"numbers":[1],"numeric":1.0,"plain list":[],"ratio":2.0,\#
        "rooms":{"hall":{"door":{"open":false},"note":null,"self":true,"size":9.0}},\#
        "spot":{"mode":"off","x":0.5,"y":3},"step":2,"tags":["a"],"title":"none","undeclared":1,"union":null}
        """#

    private static let shownInSwift =
        [
            #"{"count":6}"#, #"{"log":[],"measured":null,"mode":"manual","target":23.5}"#,
            #"{"":0,"${x}":0,"9":9,"Action":2,"MyName":6,"Name":null,"String":"s","Type":null,"__proto__":{},"#
                + #""class":null,"dash-ed":true,"default":1,"encode":0,"größe":1,"import":null,"#
                + #""in":[1,{"a":null},"\\(x)\""],"init":2.25,"my name":null,"my_name":4,"quo\"te\\":"","#
                + #""self":{"a b":[true]},"str":0,"\#u{202e}":1,"日本":1}"#,
            "41", "false", initialEverything,
            initialEverything
                .replacing(
                    #""rooms":{"#,
                    with:
                        #""rooms":{"attic":{"both":null,"door":{"open":true},"note":"n","self":false,"size":1.5},"#
                ),
            #"{"configure":{"ages":{},"door":{"open":true},"extra":null,"level":5,"limit":null,"measured":null,"#
                + #""mode":"default","names":["a"],"note":null,"step":1}}"#,
            #"{"configure":{"ages":{},"door":{"open":false},"level":1,"limit":2.0,"measured":3.0,"mode":"","step":1}}"#,
            #"{"quiet":{}}"#, #"{"quiet":{"for":1}}"#, #"{"clear":{}}"#, "",
        ].joined(separator: "\n")
}
