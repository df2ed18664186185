import Foundation
import TestFiles
import TestServer
import Testing

/// A command that a test can't run, because it builds everything, waits for a person, or takes minutes: its programs, their
/// subcommands and their flags are there.
struct HeldCommand {
    /// All of them, as they are printed.
    static let all: Set<String> = [
        // They build, or run all tests.
        "swift build", "swift build -c release", "swift build --build-tests", "swift test list",
        "swift test --filter AtomicityTests",
        "swift test --filter AtomicityTests/refusedBatchChangesNothing",
        "Tests/run", "Tests/run --filter ContractTests", ".ci/run", "deploy/build-docs",
        "deploy/try", "deploy/try-cluster", "deploy/try-upgrade BEFORE AFTER",
        // It writes to the sources.
        "swift format --in-place --recursive Package.swift Sources Tests",
        // It waits for a person.
        "lldb -- .build/debug/FluxBusPackageTests.xctest --testing-library swift-testing --filter AtomicityTests --no-parallel",
        // They take minutes, however short each measurement is.
        "deploy/compare-redis", "deploy/compare-reswift", "deploy/compare-transfer",
        "fluxbus-bench --scenario all",
        "fluxbus-bench --scenario engine",
        // A test of its own runs it, where ptrace is allowed.
        "fluxbus-bench --scenario instructions",
    ]

    private let parts: [[String]]

    init(_ command: String) {
        parts = command.replacing("\\\n", with: " ").replacing("'", with: "").components(separatedBy: " && ")
            .map { $0.split(separator: " ").map(String.init) }
    }

    func check() throws {
        for part in parts { try Self.check(part) }
    }

    private static func check(_ words: [String]) throws {
        let program = try #require(words.first)
        let arguments = Array(words.dropFirst())
        switch program {
        case "swift": try checkSwift(arguments)
        case "lldb":
            #expect(arguments.first == "--")
            try check(Array(arguments.dropFirst()))
        case "fluxbus-bench": try checkBench(arguments)
        default:
            if program.hasSuffix(".xctest") { return try checkTests(program, arguments) }
            try checkScript(program, arguments)
        }
    }

    private static var path: [String: String] { ["PATH": ProcessInfo.processInfo.environment["PATH"] ?? ""] }

    private static func run(_ words: [String]) throws -> RunningProgram.Outcome {
        try RunningProgram(["/usr/bin/env"] + words, environment: path.merging(["LC_ALL": "C"]) { $1 }).wait()
    }

    /// A flag stands in the text on its own, not as the beginning of another.
    private static func expect(_ flags: [String], in help: String, of program: String) {
        for flag in flags {
            let name = String(flag.prefix { $0 != "=" })
            let found = help.split { !($0.isLetter || $0.isNumber || $0 == "-") }.contains { $0 == name }
            #expect(found, "\(program) has no \(name).")
        }
    }

    private static func checkSwift(_ arguments: [String]) throws {
        let command = try #require(arguments.first)
        // Formatting is what `swift format` does when it is told nothing else, and has flags of its own.
        let inner = command == "format" ? "format" : arguments.dropFirst().first { $0 == "list" }
        let words = ["swift", command] + [inner].compactMap { $0 }
        let help = try run(words + ["--help"])
        #expect(help.status == 0, "\(help.errors)")
        expect(arguments.filter { $0.hasPrefix("-") }, in: help.output, of: words.joined(separator: " "))
        try checkFilter(arguments)
        if command == "format" {
            for path in arguments.dropFirst() where !path.hasPrefix("-") {
                let place = Repository.root.appendingPathComponent(path).path
                #expect(FileManager.default.fileExists(atPath: place), "\(path)")
            }
        }
    }

    /// The suite, target or test that is chosen exists.
    private static func checkFilter(_ arguments: [String]) throws {
        guard let index = arguments.firstIndex(of: "--filter") else { return }
        let names = arguments[index + 1].split(separator: "/")
        let folder = Repository.root.appendingPathComponent("Tests").path
        let paths = FileManager.default.enumerator(atPath: folder)?.allObjects as? [String] ?? []
        if paths.contains(where: { $0.hasSuffix("/\(names[0])") }) { return }
        let file = try #require(
            paths.first { $0.hasSuffix("/\(names[0]).swift") }, "There is no \(names[0]).")
        let text = try Repository.text("Tests/\(file)")
        #expect(text.contains("struct \(names[0])"))
        for name in names.dropFirst() { #expect(text.contains("func \(name)("), "There is no \(name).") }
    }

    /// These tests themselves, the chosen ones alone.
    private static func checkTests(_ program: String, _ arguments: [String]) throws {
        let own = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        #expect(own.split(separator: "/").last == program.split(separator: "/").last)
        try checkFilter(arguments)
        let outcome = try RunningProgram([own] + arguments, environment: path).wait()
        // 69 where those were not built.
        #expect([0, 69].contains(outcome.status), "\(outcome.errors)")
        #expect((outcome.output + outcome.errors).contains("Test run with"), "\(outcome.output)")
    }

    /// Flags by the parser itself, which comes to the last complaint only when all before are right.
    private static func checkBench(_ arguments: [String]) throws {
        let outcome = try RunningProgram.run("fluxbus-bench", arguments + ["--list"])
        #expect(outcome.status == 64)
        #expect(
            outcome.errors.contains("--attack and --list go with --scenario hostile."), "\(outcome.errors)")
    }

    private static func checkScript(_ script: String, _ arguments: [String]) throws {
        let path = Repository.root.appendingPathComponent(script).path
        #expect(FileManager.default.isExecutableFile(atPath: path), "\(script) is no program.")
        let outcome = try run(["bash", "-n", path])
        #expect(outcome.status == 0, "\(outcome.errors)")
        // They go on to `swift test`.
        if !arguments.isEmpty { try checkSwift(["test"] + arguments) }
    }
}
