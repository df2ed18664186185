import Foundation
import TestFiles
import TestServer
import Testing

/// `deploy/empty`, which deletes.
@Suite(.timeLimit(.minutes(10))) struct EmptyTests {
    private let directory = TemporaryDirectory()

    private func run(_ script: String, _ folder: String) throws -> RunningProgram.Outcome {
        try RunningProgram([script, folder], environment: ["PATH": "/usr/bin:/bin"]).wait()
    }

    private func exists(_ file: String) -> Bool {
        FileManager.default.fileExists(atPath: "\(directory.path)/\(file)")
    }

    /// A directory that somebody names by mistake keeps what is in it.
    @Test func onlyDirectoriesOfTheScriptsAreEmptied() throws {
        try directory.write("full/letter", "Dear Ada\n")
        for script in ["stage", "empty"] {
            let path = Repository.root.appendingPathComponent("deploy/\(script)").path
            let outcome = try run(path, "\(directory.path)/full")
            #expect(outcome.status == 64 && outcome.errors.contains("is not empty"), "\(outcome.errors)")
            #expect(exists("full/letter"))
        }
    }

    /// What is built stays, also where a link leads to it.
    @Test func whatTheCompilerKeepsIsNotEmptied() throws {
        try directory.write("tree/deploy/empty", try Repository.text("deploy/empty"))
        let script = "\(directory.path)/tree/deploy/empty"
        #expect(chmod(script, 0o755) == 0)
        let build = "\(directory.path)/tree/.build"
        let kept = [
            "checkouts", "repositories", "artifacts", "plugins/cache", "x86_64-unknown-linux-gnu",
            "aarch64-unknown-linux-gnu/release",
        ]
        for folder in kept + ["packages", "release-0.2.0"] {
            try directory.write("tree/.build/\(folder)/letter", "Dear Ada\n")
        }
        try FileManager.default.createSymbolicLink(
            atPath: "\(build)/release", withDestinationPath: "packages")
        for folder in kept {
            let outcome = try run(script, "\(build)/\(folder)")
            #expect(outcome.status == 64 && outcome.errors.contains("is not empty"), "\(outcome.errors)")
            #expect(exists("tree/.build/\(folder)/letter"))
        }
        for link in ["release", "release/", "release//"] {
            let outcome = try run(script, "\(build)/\(link)")
            #expect(outcome.status == 64 && outcome.errors.contains("is a link"), "\(outcome.errors)")
            #expect(exists("tree/.build/packages/letter"))
        }
        for folder in ["packages", "release-0.2.0/", "new"] {
            #expect(try run(script, "\(build)/\(folder)").status == 0)
            #expect(try FileManager.default.contentsOfDirectory(atPath: "\(build)/\(folder)") == [])
        }
    }
}
