import Foundation
import TestFiles
import TestServer
import Testing

/// Every client does the same where the bus says the same: scenarios as data, run against each by a small driver in its own
/// language. "Write a client" (`BusProtocol.docc`) says what each of them proves.
///
/// `FLUXBUS_CONFORMANCE_FULL` runs those under load at their full size.
@Suite(
    "Conformance", .serialized, .timeLimit(.minutes(10)),
    .enabled(
        if: FileManager.default.isExecutableFile(atPath: "/usr/bin/python3"),
        "Python is missing, in which the suite's bus is written; apt-get install python3 installs it."))
struct ConformanceTests {
    private static let folder = Repository.root.appendingPathComponent("Tests/Client/ConformanceTests/Suite")
    private static let hasNode = FileManager.default.isExecutableFile(atPath: "/usr/bin/node")

    private static func path(_ name: String) -> String { folder.appendingPathComponent(name).path }

    private func run(_ arguments: [String]) throws -> RunningProgram.Outcome {
        let directory = TemporaryDirectory()
        var environment = [
            "PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1",
            "TMPDIR": directory.path, "HOME": directory.path,
            "FLUXBUSD": RunningProgram.path(of: "fluxbusd"), "FLUXBUS_TYPES": Repository.sampleTypes,
        ]
        environment["FLUXBUS_CONFORMANCE_FULL"] =
            ProcessInfo.processInfo.environment["FLUXBUS_CONFORMANCE_FULL"]
        let outcome = try RunningProgram(
            ["/usr/bin/python3", Self.path("run.py")] + arguments, environment: environment
        ).wait(atMost: 540)
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path).isEmpty)
        return outcome
    }

    /// All scenarios, each of which says that it was right.
    private func conforms(_ driver: [String]) throws {
        let names = try run(["--list"]).output.split(separator: "\n")
        #expect(names.count > 30)
        let outcome = try run(["--"] + driver)
        #expect(outcome.status == 0, "\(outcome.output)\n\(outcome.errors)")
        #expect(outcome.output.split(separator: "\n") == names.map { "ok \($0)" })
    }

    @Test func swiftClientConforms() throws {
        try conforms([RunningProgram.path(of: "conformance-driver")])
    }

    @Test func pythonClientConforms() throws {
        try conforms(["/usr/bin/python3", Self.path("driver.py")])
    }

    @Test func asyncioClientConforms() throws {
        try conforms(["/usr/bin/python3", Self.path("driver.py"), "--aio"])
    }

    @Test(.enabled(if: hasNode, "Node is missing; deploy/prepare node-typescript installs it."))
    func javaScriptClientConforms() throws {
        try conforms(["/usr/bin/node", Self.path("driver.mjs")])
    }

    /// In one thread, on `poll`; and with threads that hand values to each other.
    @Test(
        .enabled(if: CLibrary.canBuild, "cc, make or pkg-config is missing; deploy/prepare installs them."),
        arguments: [[], ["--threads"]])
    func cClientConforms(_ mode: [String]) throws {
        let library = try CLibrary()
        let driver = try library.build([Self.path("driver.c")], as: "driver")
        try conforms([driver] + mode)
    }

    @Test(.enabled(if: Compilers.hasGo, "Go is missing; deploy/prepare golang-go installs it."))
    func goClientConforms() throws {
        try conforms([Compilers.goProgram(in: Self.path("go"), "go-driver")])
    }

    @Test(.enabled(if: Compilers.hasRust, "Rust is missing; deploy/prepare cargo installs it."))
    func rustClientConforms() throws {
        try conforms([Compilers.rustProgram(Self.path("rust/src/main.rs"), "rust_driver")])
    }

    /// The page lists every scenario, with what it proves.
    @Test func pageSaysWhatEachScenarioProves() throws {
        let page = try String(
            contentsOf: Repository.root.appendingPathComponent(
                "Sources/Core/BusProtocol/BusProtocol.docc/WriteAClient.md"), encoding: .utf8)
        for name in try run(["--list"]).output.split(separator: "\n") {
            #expect(page.contains("| `\(name)` | "), "\(name) is not on the page")
        }
    }
}
