import Foundation
import TestFiles
import TestServer
import Testing
import TypeCode

extension PrintedCodeTests {
    private static let sources = Repository.root.appendingPathComponent("Sources/Clients/C").path

    private static let strict = [
        "/usr/bin/cc", "-std=c11", "-D_POSIX_C_SOURCE=200809L", "-Wall", "-Wextra", "-Wpedantic", "-Werror",
        "-g",
        "-fsanitize=address,undefined", "-fno-sanitize-recover=undefined", "-I", sources,
    ]

    @Test(.enabled(if: Tools.hasC, "cc or make is missing; deploy/prepare installs them."))
    func cCompilesAndDrivesABus() throws {
        // Make takes no path with a space, as the workshop has.
        let place = TemporaryDirectory()
        let workshop = try Workshop()
        try workshop.printTypes(option: "--c") { "\($0).h" }
        try workshop.copy("use.c")
        try workshop.write(
            "article.c",
            "#include \"thermostat.h\"\nvoid article(fluxbus *bus);\nvoid article(fluxbus *bus)\n{\n\(Self.example("c"))}\n"
        )
        try workshop.write("all.c", Workshop.files.map { "#include \"\($0).h\"\n" }.joined() + "int all;\n")
        let made = try workshop.run([
            "/usr/bin/make", "-s", "-C", Self.sources, "TLS=no", "BUILD=\(place.path)/built",
        ])
        try #require(made.status == 0, "\(made.errors)")
        let compiled = try workshop.run(
            Self.strict + [
                "use.c", "article.c", "all.c", "\(place.path)/built/libfluxbus.a", "-pthread", "-o", "use",
            ])
        try #require(compiled.status == 0 && compiled.errors.isEmpty, "\(compiled.errors)")
        let sent = try workshop.run(["\(workshop.path)/use"] + workshop.arguments)
        try #require(sent.status == 0, "\(sent.status) \(sent.output) \(sent.errors)")
        try Scenario.check(requestsAndReplies: sent.output)
        try Scenario.checkStates(in: workshop)
        for mistake in 1...4 {
            let refused = try workshop.run(Self.strict + ["-fsyntax-only", "-DMISTAKE=\(mistake)", "use.c"])
            #expect(refused.status != 0 && refused.errors.contains("error:"), "\(mistake)")
        }
    }

    /// In C++ structs and functions have one scope: where one hides the other, `-Wshadow` tells.
    @Test(.enabled(if: Tools.hasCPlusPlus, "g++ is missing; deploy/prepare installs it."))
    func cPlusPlusTakesTheHeadersWithoutARemark() throws {
        let workshop = try Workshop()
        try workshop.printTypes(option: "--c") { "\($0).h" }
        try workshop.write("all.cc", Workshop.files.map { "#include \"\($0).h\"\n" }.joined())
        let compiled = try workshop.run([
            "/usr/bin/g++", "-std=c++17", "-Wall", "-Wextra", "-Wshadow", "-Werror", "-fsyntax-only", "-I",
            Self.sources, "all.cc",
        ])
        #expect(compiled.status == 0 && compiled.errors.isEmpty, "\(compiled.errors)")
    }
}
