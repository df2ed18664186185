import Foundation
import TestFiles
import TestServer
import Testing

/// The client library in C, built in a directory of its own by its own makefile.
struct CLibrary {
    static let folder = Repository.root.appendingPathComponent("Sources/Clients/C").path
    static let canBuild = ["cc", "make", "pkg-config"].allSatisfy { isThere("/usr/bin/\($0)") }
    private static let strict = ["-std=gnu11", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-I", folder]

    private let place = TemporaryDirectory()
    var path: String { place.path }

    init(_ options: [String] = []) throws {
        try Self.run(
            [
                "/usr/bin/make", "-s", "-C", Self.folder, "BUILD=\(path)/built", "CPPFLAGS=-Werror",
                "CFLAGS=-O1 -g",
            ] + options)
    }

    /// A program of these files and options, with the library inside.
    func build(_ words: [String], as name: String) throws -> String {
        let packages = try Self.run(["/usr/bin/pkg-config", "--libs", "openssl"]).split(
            whereSeparator: \.isWhitespace)
        try Self.run(
            ["/usr/bin/cc"] + Self.strict + words + ["\(path)/built/libfluxbus.a", "-pthread"]
                + packages.map(String.init)
                + ["-o", "\(path)/\(name)"])
        return "\(path)/\(name)"
    }

    @discardableResult
    static func run(_ words: [String]) throws -> String {
        let environment = ["PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8"]
        let outcome = try RunningProgram(words, environment: environment).wait(atMost: 120)
        try #require(
            outcome.status == 0 && outcome.errors.isEmpty, "\(words): \(outcome.output)\(outcome.errors)")
        return outcome.output
    }
}
