import ArgumentParser
import BusProtocol
import CSQLite
import FluxBusCommand
import Foundation
import TestFiles
import TestServer
import Testing

/// Every command that the README, the articles, the manual pages and the help texts print does what it should on a fresh bus with the
/// sample configuration, as it is printed.
@Suite("Examples of the documents", .timeLimit(.minutes(10)))
struct DocumentationTests {
    /// What readers of an example may take to be there: stores that were made as the documents show it, at revision 10.
    private func prepare(_ bus: FreshBus, for document: Document) throws {
        // Its examples make this one.
        let isAboutCreating = document.name == "fluxbus help create"
        for command in [
            isAboutCreating ? "create counter/other" : "create counter/kitchen count:=10",
            "create thermostat/living", "create todo/home", "create door/front",
            "dispatch counter increment by:=2", "dispatch todo/home add id=milk title='Buy milk'",
            "dispatch thermostat/living setTarget celsius:=21",
            "dispatch thermostat/living setTarget celsius:=28", "dispatch counter increment",
        ] {
            try bus.check("fluxbus \(command)")
        }
        if document.name.contains("ffects") { try bus.check("fluxbus create effect/bell") }
        try bus.check("cp -r etc/types draft && cp -r etc/types types && mkdir -p Sources/House")
    }

    /// Articles with commands for the shell.
    static let articles = [
        "Sources/Daemon/BusServer/BusServer.docc/Operating.md",
        "Sources/Daemon/BusServer/BusServer.docc/TimeTravel.md",
        "Sources/Daemon/BusServer/BusServer.docc/Monitoring.md",
        "Sources/Daemon/BusServer/BusServer.docc/Effects.md",
        "Sources/Core/BusProtocol/BusProtocol.docc/Protocol.md",
        "Sources/Core/BusLogic/BusLogic.docc/Types.md",
        "Sources/Client/FluxBus/FluxBus.docc/GettingStarted.md",
        "Sources/Daemon/BusServer/BusServer.docc/Automate.md",
    ]
    private static let manuals = [
        "fluxbus.1", "fluxbusd.8", "fluxbus-web.8", "fluxbus-effects.8", "fluxbus-types.5", "fluxbusd.yaml.5",
    ]
    private static let documents: [Document] =
        Document.helps() + manuals.compactMap { try? Document.manual($0) }
        + (["README.md"] + articles).compactMap { try? Document.page($0) }

    @Test(arguments: documents)
    func examplesRunAsTheyArePrinted(_ document: Document) throws {
        let examples = document.examples.filter { $0.reasonNotToRun == nil }
        guard !examples.isEmpty else { return }
        let bus = try FreshBus()
        try prepare(bus, for: document)
        // For what reads a file that an example elsewhere writes.
        if !examples.contains(where: { $0.command.contains("-o house.ndjson") }) {
            try bus.check("fluxbus export -o house.ndjson && zstd -q house.ndjson")
        }
        if !examples.contains(where: { $0.command.contains("-o history.ndjson") }) {
            try bus.check("fluxbus export --faithful -o history.ndjson")
        }
        for example in examples {
            let command = example.setting + example.command
            // One of two ways to the same copy, and it overwrites none.
            if command.contains("VACUUM INTO") { try bus.check("rm -f copy.sqlite") }
            if example.isForAnotherBus {
                let other = try FreshBus()
                try other.check("cp \(bus.directory.path)/*.ndjson* .")
                let outcome = try other.run(command)
                #expect(outcome.status == 0, "\(example.command): \(outcome.errors)")
            } else if example.isEndless {
                #expect(try !bus.runEndless(command).isEmpty, "\(example.command) said nothing.")
            } else {
                let outcome = try bus.run(command)
                #expect(
                    example.codes.contains(outcome.status),
                    "\(example.command) ended with \(outcome.status): \(outcome.errors)")
                #expect(!outcome.output.split(separator: "\n").contains("null"), "\(example.command)")
            }
        }
    }

    /// So that nothing is left out by a document that is read wrongly.
    @Test func everyDocumentHasExamples() throws {
        #expect(Self.documents.count >= 22 + Self.articles.count)
        for document in Self.documents where document.name != "fluxbus help reload" {
            #expect(!document.examples.isEmpty || document.name == "fluxbusd.8", "\(document.name)")
        }
        // What the README once held alone stands in these now.
        let pages = ["README.md"] + Self.articles.prefix(2)
        let shown = try pages.flatMap { try Document.page($0).examples }
        #expect(shown.count >= 45)
        #expect(shown.filter { $0.reasonNotToRun == nil }.count >= 35)
    }

    @Test func helpTextsAreWrittenForPeople() throws {
        let commands = RootCommand.configuration.groupedSubcommands.flatMap(\.subcommands)
        for command in commands {
            let text = RootCommand.helpMessage(for: command, columns: 100)
            // A default shown as Swift writes it: `beforeNow(0)`, `Optional(…)`.
            #expect(!text.contains(/\(default: [A-Za-z]+\(/), "\(text)")
        }
        let blame = RootCommand.helpMessage(for: BlameCommand.self, columns: 100)
        #expect(blame.contains("(default: now)"))
    }

    /// What the scripts install before they begin, `deploy/prepare` knows, and the README names.
    @Test func scriptsWishForPackagesThatAreKnown() throws {
        let (readme, prepare) = (try Repository.text("README.md"), try Repository.text("deploy/prepare"))
        var wished: Set<String> = []
        for script in ["deploy/try", "deploy/try-cluster", "Tests/run"] {
            let lines = try Repository.text(script).matches(of: /(?m)^ *deploy\/prepare (.+)$/)
            #expect(!lines.isEmpty, "\(script)")
            wished.formUnion(lines.flatMap { $0.1.split(separator: " ").map(String.init) })
        }
        #expect(wished.isSuperset(of: ["jq", "etcd-server", "etcd-client"]))
        for package in wished {
            #expect(prepare.contains("\n        \(package)) "), "\(package)")
            #expect(readme.contains("`\(package)`"), "\(package)")
        }
    }

    /// The watcher of the README: a state first, and only then changes.
    @Test func watchingWithNothingButNetcatBeginsWithTheStates() throws {
        let bus = try FreshBus()
        let example = try #require(
            try Document.page("README.md").examples.first { $0.command.contains("sleep infinity") })
        let text = try bus.runEndless(example.setting + example.command)
        #expect(text.hasPrefix(#"{"counter/main":{"count":0"#), "\(text)")
    }

    /// The Python of the README, as printed, with the client as it stands in the repository.
    @Test(
        .enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/python3"), "Python is missing."))
    func thePythonOfTheReadmeRuns() throws {
        let bus = try FreshBus()
        try bus.check("fluxbus create thermostat/living")
        let block = try #require(Repository.text("README.md").firstMatch(of: /```python\n((?:.|\n)*?)```/)).1
        let client = Repository.root.appendingPathComponent("Sources/Clients/Python").path
        let printed = try bus.check(
            "PYTHONDONTWRITEBYTECODE=1 PYTHONPATH='\(client)' python3 - <<'EOF'\n\(block)EOF\n")
        #expect(printed == "21\n")
    }

    /// Who decides whether to use it learns how old it is, where it was tested, and what it takes the place of.
    @Test func theReadmeSaysWhatToExpect() throws {
        let text = try Repository.text("README.md")
        for word in ["Debian 12", "x86-64", "arm64", "| coming from |"] {
            #expect(text.contains(word), "\(word)")
        }
        for tool in ["Redis", "NATS KV", "MQTT", "etcd"] {
            #expect(text.contains("\n| \(tool) | "), "\(tool)")
        }
        // What is said of it is said in these words.
        for sentence in [
            "**Clients do not notice a `systemctl restart fluxbusd`**: connections, states\nand subscriptions pass to",
            "Once you have read the reply, you have already been sent the change.",
            "nothing about a commit leaves the daemon before it is on disk",
            "of the daemon's CPU with many requests in flight",
        ] {
            #expect(text.contains(sentence), "\(sentence)")
        }
        #expect(text.contains("version \(Version.text)"))
    }

    /// Programs, clients, pages and the list of changes have one version, which programs print with what they speak.
    @Test func thereIsOneVersion() throws {
        let script = Repository.root.appendingPathComponent("deploy/release").path
        let check = try RunningProgram([script, "--check"], environment: ["PATH": "/usr/bin:/bin"]).wait()
        #expect(check.status == 0, "\(check.errors)")
        for (program, form) in [
            ("fluxbusd", ", log form 2"), ("fluxbus", ", log form 2"), ("fluxbus-web", ""),
        ] {
            let printed = try RunningProgram.run(program, ["--version"]).output
            #expect(printed == "\(program) \(Version.text) (work tree, protocol 1\(form))\n")
        }
    }

    /// The questions to the log's file, one after the other; the first is for the newest commits.
    @Test func questionsInSQLAnswerWhatTheySay() throws {
        let bus = try FreshBus()
        // In one write, so that they come into one group.
        try bus.check(
            #"seq 1 40 | sed 's/.*/{"store":"counter\/main","action":"increment","payload":{"by":&}}/' | fluxbus dispatch -"#
        )
        let newest = try #require(Int(bus.check("fluxbus ping --json | jq .revision").dropLast()))
        let page = try Repository.text(Self.articles[0])
        #expect(page.contains("`fluxbus log --limit 1` moves them\ninto the log"))
        _ = try bus.check("fluxbus log --limit 1")
        let block = try #require(page.firstMatch(of: /```sql\n((?:.|\n)*?)```/)).1
        var database: OpaquePointer?
        try #require(sqlite3_open_v2(bus.log, &database, SQLITE_OPEN_READONLY, nil) == SQLITE_OK)
        defer { sqlite3_close(database) }
        var revisions: [[Int]] = []
        for line in block.split(separator: "\n") {
            var statement: OpaquePointer?
            #expect(sqlite3_prepare_v2(database, String(line), -1, &statement, nil) == SQLITE_OK, "\(line)")
            defer { sqlite3_finalize(statement) }
            var rows: [Int] = []
            while sqlite3_step(statement) == SQLITE_ROW {
                rows.append(Int(sqlite3_column_int64(statement, 0)))
            }
            revisions.append(rows)
        }
        #expect(revisions.count == 4)
        #expect(revisions.first == Array((newest - 9...newest).reversed()))
    }

    /// Lines of `dispatch -` are commits of their own: what is refused takes back nothing, and holds up nothing.
    @Test func linesOfDispatchAreCommitsEach() throws {
        let readme = try Repository.text("README.md")
        #expect(readme.contains("| send many requests, each a commit | `… \\| fluxbus dispatch -` |"))
        #expect(
            readme.contains("| change several stores in one commit | `… \\| fluxbus dispatch --atomic -` |"))
        let lines = ["counter/main", "counter/absent", "counter/main"].map {
            #"{"store":"\#($0)","action":"increment"}"#
        }.joined(separator: "\\n")
        for (option, count) in [("", 2), ("--atomic", 0)] {
            let bus = try FreshBus()
            let revision = try #require(Int(bus.check("fluxbus ping --json | jq .revision").dropLast()))
            let outcome = try bus.run("printf '\(lines)\\n' | fluxbus dispatch \(option) -")
            #expect(outcome.status == 1)
            // Of several commits each has its reply; one that is refused is a failed command.
            let told = option.isEmpty ? outcome.output : outcome.errors
            #expect(told.contains("counter/absent"), "\(told)")
            #expect(try bus.check("fluxbus get counter/main --json | jq .state.count") == "\(count)\n")
            #expect(try bus.check("fluxbus ping --json | jq .revision") == "\(revision + count)\n")
        }
    }
}
