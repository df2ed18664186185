import Foundation
import TestFiles

/// The compilers of Go and Rust, and what several tests want of them. What they make goes with the process.
package enum Compilers {
    private static let directory = TemporaryDirectory()
    private static let own = ProcessInfo.processInfo.environment

    private static func isThere(_ tool: String) -> Bool {
        FileManager.default.isExecutableFile(atPath: tool)
    }

    /// Nil where there is none.
    package static let go: String? = ["/usr/bin/go", "/usr/local/go/bin/go"].first(where: isThere)

    /// The folder of the Rust that `rustc` in $PATH is, or stands for: who hands over to one of several looks for it below
    /// a home that tests do not have.
    package static let rust: String? = {
        let folders = (own["PATH"] ?? "").split(separator: ":").map(String.init)
        guard let named = folders.map({ "\($0)/rustc" }).first(where: isThere) else { return nil }
        let asked = try? RunningProgram([named, "--print", "sysroot"], environment: own).wait()
        let bin = (asked?.output.trimmingCharacters(in: .whitespacesAndNewlines) ?? "") + "/bin"
        return isThere("\(bin)/rustc") ? bin : nil
    }()

    package static let hasGo = go != nil
    package static let hasRust = rust != nil
    package static let hasCargo = rust.map { isThere("\($0)/cargo") } ?? false
    package static let hasClippy = rust.map { isThere("\($0)/cargo-clippy") } ?? false

    /// Nothing comes from the network, and what is kept for the next build is kept for this process.
    package static var environment: [String: String] {
        [
            "PATH": (rust.map { $0 + ":" } ?? "") + "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8",
            "HOME": directory.path, "TMPDIR": directory.path, "GOCACHE": "\(directory.path)/go",
            "GOPATH": "\(directory.path)/path", "GOFLAGS": "-mod=mod", "GOPROXY": "off",
            "GOTOOLCHAIN": "local",
            "CARGO_HOME": "\(directory.path)/cargo", "CARGO_TARGET_DIR": "\(directory.path)/target",
            "CARGO_NET_OFFLINE": "true", "CARGO_PROFILE_DEV_DEBUG": "0", "CARGO_PROFILE_TEST_DEBUG": "0",
        ]
    }

    package static func run(_ words: [String], in folder: String) throws -> RunningProgram.Outcome {
        try RunningProgram(words, environment: environment, directory: folder).wait(atMost: 240)
    }

    private static func check(_ words: [String], in folder: String) throws {
        let outcome = try run(words, in: folder)
        guard outcome.status == 0 else { throw Sockets.Failure(outcome.output + outcome.errors) }
    }

    /// Builds the program of a folder of a Go module, and gives its path.
    package static func goProgram(in folder: String, _ name: String) throws -> String {
        guard let go else { throw Sockets.Failure("There is no Go.") }
        try check([go, "build", "-o", "\(directory.path)/\(name)", "."], in: folder)
        return "\(directory.path)/\(name)"
    }

    /// The client library in Rust, compiled once.
    private static let rustLibrary = Result {
        let source = Repository.root.appendingPathComponent("Sources/Clients/Rust").path
        try check(rustc + ["--crate-type", "rlib", "--crate-name", "fluxbus", "src/lib.rs"], in: source)
        return "\(directory.path)/libfluxbus.rlib"
    }

    private static var rustc: [String] {
        ["\(rust ?? "")/rustc", "--edition", "2021", "-D", "warnings", "--out-dir", directory.path]
    }

    /// What compiles a program that uses the client library.
    package static func rustCompiler() throws -> [String] {
        try rustc + ["--extern", "fluxbus=\(rustLibrary.get())"]
    }

    /// Builds a program that uses the client library, and gives its path.
    package static func rustProgram(_ source: String, _ name: String) throws -> String {
        try check(rustCompiler() + ["--crate-name", name, source], in: directory.path)
        return "\(directory.path)/\(name)"
    }
}
