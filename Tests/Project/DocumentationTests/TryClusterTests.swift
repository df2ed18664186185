import Foundation
import TestEtcd
import TestFiles
import TestServer
import Testing

private let jq = "/usr/bin/jq"

/// `deploy/try-cluster`, which newcomers run, with the programs that are built: it shows what it says, and leaves nothing
/// behind, however it ends.
@Suite(
    "One bus on several machines, tried", .serialized, .timeLimit(.minutes(10)),
    .enabled(
        if: TestEtcd.isInstalled && FileManager.default.isExecutableFile(atPath: jq),
        "etcd or jq is missing; deploy/prepare etcd-server etcd-client jq installs them."))
struct TryClusterTests {
    private let directory = TemporaryDirectory()

    private func start(
        with programs: String = Repository.programs.path, _ script: String = "try-cluster", _ more: String...
    ) throws -> RunningProgram {
        try RunningProgram(
            [Repository.root.appendingPathComponent("deploy/\(script)").path, programs] + more,
            environment: [
                "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8",
                "TMPDIR": directory.path,
            ])
    }

    /// The command lines of processes that have to do with the directory: it stands in what they are called with, or in their
    /// environment.
    private func processesLeft() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: "/proc").filter { Int($0) != nil }.compactMap {
            process in
            // One that ends meanwhile has neither.
            let words = ["cmdline", "environ"].map { name in
                String(decoding: (try? fileBytes("/proc/\(process)/\(name)")) ?? Data(), as: UTF8.self)
            }
            return words.contains { $0.contains(directory.path) } ? words[0] : nil
        }
    }

    /// Files under `/proc` tell no length.
    private func fileBytes(_ path: String) throws -> Data {
        let file = try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
        defer { try? file.close() }
        return try file.readToEnd() ?? Data()
    }

    private func expectNothingIsLeft() throws {
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path).isEmpty)
        #expect(try processesLeft().isEmpty)
    }

    @Test func showsWhatSurvivesWhom() throws {
        let outcome = try start().wait(atMost: 400)
        #expect(outcome.status == 0, "\(outcome.output)\n\(outcome.errors)")
        for words in [
            "people.ada −", "light/adas-phone  dropped", "\"duplicate\":true", "150 steps are answered",
            "\"count\":150", "detached since", "\"outcome\":\"none\"", "Everywhere the count is 152.",
        ] {
            #expect(outcome.output.contains(words), "\(words) is missing in \(outcome.output)")
        }
        try expectNothingIsLeft()
    }

    /// One build takes the place of itself: that of two versions is for who has both.
    @Test func membersAreUpgradedUnderLoad() throws {
        let programs = Repository.programs.path
        let outcome = try start(with: programs, "try-upgrade", programs).wait(atMost: 400)
        #expect(outcome.status == 0, "\(outcome.output)\n\(outcome.errors)")
        for words in ["Replacing cellar", "steps are answered", "Whoever watched has all of it"] {
            #expect(outcome.output.contains(words), "\(words) is missing in \(outcome.output)")
        }
        try expectNothingIsLeft()
    }

    @Test(arguments: ["3. ", "8. "]) func leavesNothingWhenItIsInterrupted(at step: String) throws {
        let program = try start()
        var line = program.nextLine()
        while let next = line, !next.hasPrefix(step) { line = program.nextLine() }
        #expect(line != nil)
        #expect(try !processesLeft().isEmpty)
        program.signal(SIGTERM)
        #expect(try program.wait().status == 143)
        try expectNothingIsLeft()
    }

    @Test func failsAndLeavesNothingWhenAMemberDoesNotStart() throws {
        let programs = TemporaryDirectory()
        try FileManager.default.createSymbolicLink(
            atPath: "\(programs.path)/fluxbus", withDestinationPath: RunningProgram.path(of: "fluxbus"))
        try programs.write("fluxbusd", "#!/bin/sh\necho No room for me. >&2\nexit 74\n", mode: 0o700)
        let outcome = try start(with: programs.path).wait(atMost: 100)
        #expect(outcome.status == 1)
        #expect(outcome.errors.contains("kitchen has ended."), "\(outcome.errors)")
        #expect(outcome.errors.contains("No room for me."), "\(outcome.errors)")
        try expectNothingIsLeft()
    }
}
