import ArgumentParser
import BusDefinitions
import BusJSON
import BusProtocol
import BusSource
import BusSystem
import FluxBus
import Glibc
import TypeTesting

/// `fluxbus types test`: runs the tests of state types, without a bus, or writes one from a commit of a bus.
package struct TypesTestCommand: BusCommand {
    package static let configuration = CommandConfiguration(
        commandName: "test",
        abstract: "Run the tests that files of state types have, or write one from a commit.",
        discussion: """
            Examples:
              fluxbus types test draft
              fluxbus types test draft/thermostat.yaml
              fluxbus types test draft --tap
              fluxbus types test --record now > draft/counter.test.yaml

            Tests are the member `tests` of a type's file, and files *.test.yaml beside it; `man fluxbus-types` describes them. No \
            bus is needed, but for --record. In a pipe each test is a JSON object on a line, or with --tap a line of TAP. Exit \
            code 0: all pass; 1: one fails; 65: a file is wrong.
            """)

    @Argument(
        help: "A directory of types, or a file of one: of that the tests, with the types beside it.",
        completion: .file(extensions: ["yaml", "yml", "json"]))
    package var path = "."

    @Flag(help: "Print the results as TAP, version 14.")
    package var tap = false

    @Option(
        help: ArgumentHelp(
            "Print a file with a test of what the commit with this revision did, instead.",
            valueName: "revision"),
        completion: RevisionArgument.completion, transform: RevisionArgument.parse)
    package var record: RevisionArgument?

    @OptionGroup package var options: GlobalOptions

    package init() {}

    package func perform(in session: CommandSession) throws -> CommandStatus {
        if let record {
            let connection = try session.connect()
            let revision = try record.resolved(on: connection, in: session)
            try session.console.output.write(
                RecordedTest(session, connection, revision: revision).text())
            return .success
        }
        let report = TestReport(session.console, tap: tap)
        return try Self.run(path, report) ? .success : .no
    }

    /// Runs the tests of a directory or a file; false if one fails.
    static func run(_ path: String, _ report: TestReport) throws -> Bool {
        let (directory, file) = Self.parts(of: path)
        if file != nil, access(path, R_OK) != 0 {
            throw CommandFailure(.usage, "\(path) can't be read: \(systemReason()).")
        }
        var errors: [SourceError] = []
        let catalog = TypeCatalog(directory: directory, &errors)
        let suite = TypeTestSuite(catalog, in: directory, &errors)
        guard errors.isEmpty else {
            throw CommandFailure(.refused, errors.inOrder.lines.joined(separator: "\n"))
        }
        let tests = suite.tests.filter {
            file == nil || UTF8Order.equal($0.place.file, "\(directory)/\(file!)")
        }
        try report.begin(tests.count)
        for test in tests { try report.take(test, suite.run(test)) }
        try report.end()
        return report.failed == 0
    }

    /// The directory, and the name of the file in it if the path leads to one.
    private static func parts(of path: String) -> (directory: String, file: String?) {
        let isFile = [".yaml", ".yml", ".json"].contains(where: path.hasSuffix)
        let trimmed = path.count > 1 && path.hasSuffix("/") ? String(path.dropLast()) : path
        guard isFile else { return (trimmed, nil) }
        guard let slash = path.lastIndex(of: "/") else { return (".", path) }
        return (String(path[..<slash]), String(path[path.index(after: slash)...]))
    }
}

/// Tells the results of tests as they come: lines for people, JSON objects, or TAP.
final class TestReport {
    private let console: Console
    private let isTAP: Bool
    private let showsPasses: Bool
    private var count = 0
    private(set) var failed = 0

    init(_ console: Console, tap: Bool, showsPasses: Bool = true) {
        self.console = console
        isTAP = tap
        self.showsPasses = showsPasses
    }

    func begin(_ count: Int) throws {
        if isTAP { try console.line("TAP version 14\n1..\(count)") }
    }

    func take(_ test: TypeTest, _ failures: [SourceError]) throws {
        count += 1
        if !failures.isEmpty { failed += 1 }
        if failures.isEmpty, !showsPasses { return }
        let name = ScreenText.safe("\(test.type): \(test.name)")
        if isTAP {
            try console.line(
                "\(failures.isEmpty ? "ok" : "not ok") \(count) - \(name.replacing("#", with: "\\#"))")
            for failure in failures { try console.line("# \(ScreenText.safe(failure.description))") }
        } else if console.form == .lines {
            try console.row([
                "type": .string(test.type), "test": .string(test.name), "passes": .bool(failures.isEmpty),
                "place": .string("\(test.place.file):\(test.place.line)"),
                "failures": .array(failures.map { .string($0.description) }),
            ])
        } else {
            let style = console.style
            let mark = failures.isEmpty ? style.paint("passes", .new) : style.paint("fails ", .failure)
            try console.line("\(mark)  \(name)")
            for failure in failures { try console.line("        \(ScreenText.safe(failure.description))") }
        }
    }

    func end() throws {
        guard !isTAP, console.form == .text else { return }
        try console.line(
            count == 0
                ? "There is no test."
                : "\(DispatchCommand.count(count, "test")), \(failed == 0 ? "all pass" : "\(failed) fail")")
    }
}
