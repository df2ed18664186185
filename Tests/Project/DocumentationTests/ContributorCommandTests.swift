import Foundation
import TestFiles
import TestServer
import Testing

/// The commands for whoever works on the bus, measures it, or writes programs for it: as they are printed, each is run on a fresh
/// bus; of those that build, debug or take minutes, the programs, their subcommands and flags are there.
@Suite("Commands for contributors", .serialized, .timeLimit(.minutes(10)))
struct ContributorCommandTests {
    static let performance = "Sources/Core/BusProtocol/BusProtocol.docc/Performance.md"
    static let writeAClient = "Sources/Core/BusProtocol/BusProtocol.docc/WriteAClient.md"
    static let contributing = ".github/CONTRIBUTING.md"
    static let python = "Sources/Clients/Python/README.md"
    static let javaScript = "Sources/Clients/JavaScript/README.md"
    static let c = "Sources/Clients/C/README.md"
    static let flux = "Sources/Client/Flux/Flux.docc/Flux.md"
    static let pages = [performance, writeAClient, contributing, python, javaScript, c, flux]

    private static let documents: [Document] =
        pages.compactMap { try? Document.page($0) }
        + [
            try? Document.table(
                "| to | command |", in: contributing,
                beginning: ["swift ", "Tests/", ".ci/", "deploy/", ".build/debug/"]),
            try? Document.help(of: "fluxbus-bench"),
        ].compactMap { $0 }
    private static let commands = documents.flatMap(\.examples)
    private static let run = commands.filter { !HeldCommand.all.contains($0.command) }

    /// So that nothing is left out by a page that is read wrongly, and no exception stays that nothing needs.
    @Test func everyCommandIsRunOrNamedAsOneThatIsNot() throws {
        #expect(Self.documents.count == Self.pages.count + 2)
        for document in Self.documents { #expect(!document.examples.isEmpty, "\(document.name)") }
        #expect(HeldCommand.all.isSubset(of: Self.commands.map(\.command)))
        #expect(Self.run.count >= 12)
    }

    /// Where the reader stands: in the repository, with its programs built, and with a client of the reader's own.
    private func prepare(_ bus: FreshBus) throws {
        let root = Repository.root.path
        let driver = "\(root)/Tests/Client/ConformanceTests/Suite/driver.py"
        try bus.directory.write("my-driver", "#!/bin/sh\nexec python3 '\(driver)'\n", mode: 0o700)
        try bus.check(
            """
            mkdir -p .build Sources/Clients
            ln -s '\(Repository.programs.path)' .build/release && ln -s '\(Repository.programs.path)' .build/debug
            ln -s '\(root)/Tests' Tests && ln -s '\(root)/config' config
            cp -r '\(root)/Sources/Clients/Python' '\(root)/Sources/Clients/JavaScript' '\(root)/Sources/Clients/C' Sources/Clients
            """)
    }

    /// Runs as short as they can be, no questions to the network, and nothing outside of the directory.
    private static func environment(in directory: TemporaryDirectory) -> [String: String] {
        [
            "FLUXBUS_BENCH_DURATION": "0.02", "PYTHONDONTWRITEBYTECODE": "1",
            "PIP_NO_INDEX": "1", "PIP_NO_BUILD_ISOLATION": "0", "PIP_TARGET": "\(directory.path)/packages",
            "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_NO_CACHE_DIR": "1",
            "npm_config_offline": "true", "npm_config_audit": "false", "npm_config_fund": "false",
            "npm_config_update_notifier": "false",
        ]
    }

    /// What a command needs that a machine for tests may lack.
    private static func isRunnable(_ command: String) -> Bool {
        let needs = [
            "pip ": "/usr/bin/pip", "npm ": "/usr/bin/npm", "make ": "/usr/bin/make",
            "Tests/": "/usr/bin/python3",
        ]
        return needs.allSatisfy {
            !command.hasPrefix($0.key) || FileManager.default.isExecutableFile(atPath: $0.value)
        }
    }

    @Test(arguments: run.filter { isRunnable($0.command) }.map { $0.setting + $0.command })
    func commandRunsAsItIsPrinted(_ command: String) throws {
        let bus = try FreshBus()
        try prepare(bus)
        let environment = Self.environment(in: bus.directory)
        let placed = command.replacing("/usr/bin/fluxbusd", with: "'\(RunningProgram.path(of: "fluxbusd"))'")
        if command.hasPrefix(".build/debug/fluxbusd") {
            let text = try bus.runEndless(placed + " 2>&1", environment: environment)
            #expect(text.contains("listening"), "\(text)")
            return
        }
        let outcome = try bus.run(placed, environment: environment)
        // An attack's code is 1 where this machine is too slow for its bounds, and that is an answer, too.
        let codes: Set<Int32> = command.contains("--attack") ? [0, 1] : [0]
        #expect(codes.contains(outcome.status), "\(command): \(outcome.output)\(outcome.errors)")
        #expect(!outcome.output.isEmpty, "\(command) said nothing.")
        try check(command, in: bus, environment)
    }

    /// What the page says of a command that says nothing of it itself.
    private func check(_ command: String, in bus: FreshBus, _ environment: [String: String]) throws {
        if command.contains("--picture") { try bus.check("grep -q '<svg' growth.svg") }
        if command.hasPrefix("pip ") {
            try runExample(of: Self.python, "python", in: bus, environment) {
                "PYTHONPATH=packages python3 - <<'EOF'\n\($0)\nEOF\n"
            }
        }
        if command.hasPrefix("npm ") {
            try runExample(of: Self.javaScript, "js", in: bus, environment) {
                "node --input-type=module - <<'EOF'\n\($0)\nEOF\n"
            }
        }
        if command.hasPrefix("make ") {
            // It never ends by itself: what it says first is what there is, and then what changes.
            try runExample(of: Self.c, "c", in: bus, environment) {
                """
                cat > mirror.c <<'EOF'\n\($0)\nEOF
                export PKG_CONFIG_PATH=root/usr/lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=root LD_LIBRARY_PATH=root/usr/lib
                cc mirror.c $(pkg-config --cflags --libs fluxbus) -o mirror && fluxbus create counter/kitchen && mkfifo said || exit 1
                stdbuf -oL ./mirror > said & exec 3< said
                read -r first <&3 && fluxbus dispatch counter/kitchen increment && read -r second <&3 && kill $! && echo "$second"
                """
            }
        }
    }

    /// The first example of a client's page, with the package as it was just installed: a count, and then the change.
    private func runExample(
        of page: String, _ kind: String, in bus: FreshBus, _ environment: [String: String],
        command: (String) -> String
    ) throws {
        let example = try #require(try MarkdownPage(page).blocks(kind).first)
        let outcome = try bus.run(command(example.text), environment: environment)
        #expect(outcome.status == 0, "\(outcome.errors)")
        #expect(outcome.output.contains("counter/kitchen"), "\(outcome.output)")
    }

    @Test(arguments: HeldCommand.all.sorted()) func commandThatIsNotRunHasItsProgramsAndFlags(
        _ command: String
    ) throws {
        try HeldCommand(command).check()
    }

    /// Scripts and folders that a page names in passing are there.
    @Test(arguments: pages) func filesThatAreNamedExist(_ page: String) throws {
        let text = try Repository.text(page)
        for match in text.matches(of: /`((?:deploy|Tests|Sources|config|\.ci)\/[\w.\/+-]+)/) {
            let path = Repository.root.appendingPathComponent(String(match.1)).path
            #expect(FileManager.default.fileExists(atPath: path), "\(page): \(match.1)")
        }
    }

    /// Every Markdown file with commands for the shell is read by a test.
    @Test func everyPageWithCommandsIsRead() throws {
        let read = Set(Self.pages + DocumentationTests.articles + ["README.md"])
        // Suites of their own run these.
        let others = ["Clustering.md", "HTTP.md"].map { "Sources/Daemon/BusServer/BusServer.docc/" + $0 }
        for path in try LinkTests.documents() where !read.contains(path) && !others.contains(path) {
            let blocks = try MarkdownPage(path).blocks.filter { ["sh", "console", "bash"].contains($0.kind) }
            #expect(blocks.isEmpty, "\(path):\(blocks.first?.line ?? 0)")
        }
    }
}
