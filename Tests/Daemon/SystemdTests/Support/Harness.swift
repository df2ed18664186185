import Foundation
import TestFiles
import TestServer
import Testing

/// A real systemd with journald, booted once for all tests of this process (Tests/Support/SystemdHarness/boot says how).
///
/// It ends with this process, however that ends: it lives on a pipe that only this process holds. Suites that need it say
/// `@Suite(.harness)` and are skipped with a sentence where the machine does not allow it.
final class Harness: Sendable {
    struct Failure: Error, CustomStringConvertible { let description: String }

    typealias Outcome = RunningProgram.Outcome

    /// The process 1 of the system, as seen from here.
    let process: Int32
    /// Only whoever boots it and whoever ends it use this.
    private nonisolated(unsafe) let boot: RunningProgram

    private static let booted: Result<Harness, any Error> = Result {
        let harness = try Harness()
        // Tests end by `exit`: wait until nothing is left of the system.
        atexit { if let harness = try? Harness.shared() { harness.end() } }
        return harness
    }
    /// Why there can be none on this machine; nil if there is one, or if booting it failed, which is a failed test.
    static var refusal: String? {
        if case .failure(let failure as Refusal) = booted { return failure.description }
        return nil
    }
    static func shared() throws -> Harness { try booted.get() }

    private struct Refusal: Error { let description: String }

    /// The folder with this package.
    static let package = Repository.root

    /// The folder with the executables that were built, `systemd-probe` among them: they stand beside the tests.
    static let executables = Repository.programs.path

    /// Where the two are inside: not under their own paths, which units may not see.
    static let packageInside = "/srv/fluxbus/package"
    static let executablesInside = "/srv/fluxbus/executables"

    init() throws {
        boot = try Self.boot([
            "\(Self.package.path):\(Self.packageInside)", "\(Self.executables):\(Self.executablesInside)",
        ])
        guard let process = Self.process(of: boot) else {
            let outcome = try boot.wait()
            if outcome.status == 77 {
                throw Refusal(description: outcome.errors.trimmingCharacters(in: .whitespacesAndNewlines))
            }
            throw Failure(description: "The harness did not boot: \(outcome.errors)")
        }
        self.process = process
    }

    func end() { try? Self.end(boot) }

    /// Starts the script that boots a system with these directories; its input is the lifeline.
    static func boot(_ directories: [String]) throws -> RunningProgram {
        try RunningProgram(
            [package.appendingPathComponent("Tests/Support/SystemdHarness/boot").path] + directories,
            environment: ProcessInfo.processInfo.environment, hasInput: true)
    }

    /// The process 1 of the system that the script has booted; nil if it could not.
    static func process(of boot: RunningProgram) -> Int32? {
        let words = boot.nextLine()?.split(separator: " ") ?? []
        return words.first == "booted" && words.count == 2 ? Int32(words[1]) : nil
    }

    static func end(_ boot: RunningProgram) throws {
        try boot.endInput()
        _ = try boot.wait()
    }

    /// A path of the system as it is called from here. Sockets may be connected to through it, too.
    func path(_ inside: String) -> String { "/proc/\(process)/root\(inside)" }

    /// Runs a command inside, outside of all units.
    @discardableResult
    func run(_ command: String...) throws -> Outcome { try run(command) }

    func run(_ command: [String]) throws -> Outcome {
        let enter = [
            "/usr/bin/nsenter", "-t", "\(process)", "-a", "--", "env", "-i", "LANG=C.UTF-8", "SYSTEMD_PAGER=",
            "TERM=dumb", "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            // A net: what waits for a job that never ends should fail its test, not stop all of them.
            "timeout", "60",
        ]
        return try RunningProgram(enter + command).wait(atMost: 90)
    }

    /// Runs a command inside that has to succeed; its output without the last line's end.
    @discardableResult
    func check(_ command: String...) throws -> String { try check(command) }

    @discardableResult
    func check(_ command: [String]) throws -> String {
        let outcome = try run(command)
        guard outcome.status == 0 else {
            throw Failure(
                description: "\(command.joined(separator: " ")) ended with \(outcome.status): "
                    + outcome.errors + outcome.output)
        }
        return outcome.output.trimmingCharacters(in: .newlines)
    }

    /// One property of a unit: `property("ActiveState", of: "a.service")`.
    func property(_ name: String, of unit: String) throws -> String {
        try check("systemctl", "show", "--value", "--property=\(name)", unit)
    }

    /// Writes a file of the system; its folders are made.
    func write(_ inside: String, _ text: String) throws {
        let file = URL(fileURLWithPath: path(inside))
        try FileManager.default.createDirectory(
            at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(text.utf8).write(to: file)
    }
}

extension Trait where Self == ConditionTrait {
    /// Runs only where a systemd can be booted; says why it does not elsewhere.
    static var harness: Self {
        .enabled(if: Harness.refusal == nil, Comment(rawValue: Harness.refusal ?? "A systemd is booted."))
    }
}
