import Foundation
import TestFiles
import TestServer
import Testing

private let canBuild = CLibrary.canBuild

/// The library in C as its users find it.
extension PackageTests {
    private static let suite = Repository.root.appendingPathComponent("Tests/Client/ConformanceTests/Suite")
        .path

    private static func text(_ name: String) throws -> String {
        try String(contentsOfFile: "\(CLibrary.folder)/\(name)", encoding: .utf8)
    }

    private static func names(_ pattern: Regex<(Substring, Substring)>, in text: String) -> Set<String> {
        Set(text.matches(of: pattern).map { String($0.1) })
    }

    /// What the header declares is what a program can link to, and the manual names no other.
    @Test(.enabled(if: canBuild, "cc or make is missing.")) func cHeaderIsWhatTheLibraryHas() throws {
        let library = try CLibrary(["DESTDIR=\(place.path)/root", "PREFIX=/usr", "install"])
        let header = try Self.text("fluxbus.h").replacing(/\/\*(?:.|\n)*?\*\//, with: "")
            .replacing(/typedef void fluxbus_\w+\(/, with: "")
        let declared = Self.names(/\b(fluxbus_\w+)\(/, in: header).union(["fluxbus_keep"])
        let symbols = try CLibrary.run([
            "/usr/bin/nm", "-D", "--defined-only", "\(place.path)/root/usr/lib/libfluxbus.so.0",
        ])
        #expect(Self.names(/\bT (\w+)@@LIBFLUXBUS_0\.9\n/, in: symbols) == declared)
        let archive = try CLibrary.run([
            "/usr/bin/nm", "-g", "--defined-only", "\(library.path)/built/libfluxbus.a",
        ])
        #expect(Self.names(/\b[A-Z] (\w+)\n/, in: archive) == declared)
        let manual = try Repository.text("deploy/man/fluxbus.3").replacing("\\", with: "")
        #expect(
            Self.names(
                /\b(fluxbus_(?:get|mirror|actions|wait|run|process|await|free|close|leave|connect|forget)\w*)/,
                in: manual
            ).subtracting(["fluxbus_mirror", "fluxbus_actions"]).isSubset(of: declared))
        #expect(declared.count > 50)
    }

    /// All packages have the same version, and the sources are as short as they are said to be.
    @Test(.enabled(if: canBuild, "cc or make is missing.")) func cPackageHasTheVersionOfTheOthers() throws {
        _ = try CLibrary(["DESTDIR=\(place.path)/root", "PREFIX=/usr", "install"])
        let python = try String(contentsOfFile: "\(Self.clients)/Python/pyproject.toml", encoding: .utf8)
        let version = try #require(python.firstMatch(of: /version = "(.+)"/)).1
        let described = try String(
            contentsOfFile: "\(place.path)/root/usr/lib/pkgconfig/fluxbus.pc", encoding: .utf8)
        #expect(described.contains("Version: \(version)\n") && !described.contains("@"))
        let files = try FileManager.default.contentsOfDirectory(atPath: "\(CLibrary.folder)/src").map {
            "src/\($0)"
        }
        let lines = try files.map { file in
            let code = try Self.text(file).replacing(/\/\*(?:.|\n)*?\*\//, with: "")
            return code.split(separator: "\n").count { line in line.contains { !$0.isWhitespace } }
        }
        #expect(files.count > 8 && lines.reduce(0, +) <= 2500)
    }

    @Test(.enabled(if: canBuild, "cc or make is missing.")) func cLibraryNeedsNoOpenSSL() throws {
        let library = try CLibrary(["TLS=no"])
        let needed = try CLibrary.run(["/usr/bin/objdump", "-p", "\(library.path)/built/libfluxbus.so"])
        #expect(Self.names(/NEEDED +(\S+)/, in: needed) == ["libc.so.6"])
    }

    @Test(.enabled(if: canBuild && isThere("/usr/bin/python3"), "cc, make or Python is missing."))
    func counterIsSeenFromC() throws {
        let example = try CLibrary()
        let counter = try example.build(["\(CLibrary.folder)/examples/counter.c"], as: "counter")
        try counts([counter], ["/usr/bin/python3", "\(Self.clients)/Python/examples/counter.py"])
    }

    /// What options say, and what a program may do while it is called.
    @Test(.enabled(if: canBuild, "cc or make is missing."), arguments: ["options", "callbacks"])
    func cDoesWhatItSays(_ name: String) throws {
        let library = try CLibrary()
        let program = try library.build(["\(Self.suite)/\(name).c"], as: name)
        try check([program])
    }

    /// A service on sd-event: each call that could block is looked at. A name that nobody has is no reason to wait, nor is a bus
    /// that goes and comes back.
    @Test(
        .enabled(
            if: canBuild && isThere("/usr/include/systemd/sd-event.h"),
            "cc, make or libsystemd-dev is missing."))
    func sdEventProgramMirrorsAndNeverBlocks() throws {
        let library = try CLibrary()
        let wraps = ["poll", "recv", "send", "connect", "getaddrinfo"].map { "-Wl,--wrap=\($0)" }
        let program = try library.build(
            ["\(CLibrary.folder)/examples/mirror-sd-event.c", "\(Self.suite)/watch_calls.c", "-lsystemd"]
                + wraps, as: "service")
        var environment = environment
        environment["FLUXBUS_ADDRESS"] = "tcp:no-such-host.invalid:7411,unix:\(place.path)/s"
        var daemon = try startDaemon()
        let service = try RunningProgram([program, "counter/*"], environment: environment)
        defer { service.kill() }
        let first = try #require(service.nextLine())
        #expect(first.hasSuffix(" {} []"), "\(first)")
        daemon.kill()
        _ = try daemon.wait()
        daemon = try startDaemon()
        defer { daemon.kill() }
        #expect(try #require(service.nextLine()).hasSuffix(" {} []"))
        try check(["\(RunningProgram.path(of: "fluxbus"))", "create", "counter/main"])
        #expect(try #require(service.nextLine()).contains(#"{"counter/main":{"count":0"#))
        service.signal(SIGTERM)
        #expect(try service.wait().status == 0)
    }

    /// What a busy machine measures is not looked at.
    @Test(.enabled(if: canBuild, "cc or make is missing.")) func cDispatchesAreMeasuredBesideABareLoop()
        throws
    {
        let library = try CLibrary(["CFLAGS=-O2"])
        let program = try library.build(["-O2", "\(Self.suite)/dispatch_cost.c"], as: "cost")
        let daemon = try startDaemon()
        defer { daemon.kill() }
        try check(["\(RunningProgram.path(of: "fluxbus"))", "create", "counter/main"])
        let outcome = try RunningProgram([program, "\(place.path)/s", "2000", "1"], environment: [:]).wait()
        #expect(outcome.output.contains("median ratio ") && outcome.errors.isEmpty, "\(outcome.errors)")
    }

    /// The header for maps stands alone, in C and in C++, and what it reads is what the bus has.
    @Test(.enabled(if: canBuild, "cc or make is missing.")) func cProgramsReadMapsWithoutALibrary() throws {
        let words = [
            "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror", "-O2", "-I", CLibrary.folder,
        ]
        for (source, name) in [
            ("\(CLibrary.folder)/examples/map.c", "map"), ("\(Self.suite)/map_cost.c", "map_cost"),
        ] {
            try CLibrary.run(
                ["/usr/bin/cc", "-std=gnu11"] + words + [source, "-o", "\(place.path)/\(name)"])
        }
        let daemon = try startDaemon()
        defer { daemon.kill() }
        let socket = "\(place.path)/s"
        try check([RunningProgram.path(of: "fluxbus"), "create", "counter/main"])
        let seen = try RunningProgram(
            ["\(place.path)/map", socket, "counter", "main", "1"], environment: [:]
        )
        .wait()
        #expect(seen.status == 0 && seen.output.hasPrefix(#"1 {"count":0"#), "\(seen)")
        let cost = try RunningProgram(
            ["\(place.path)/map_cost", socket, "counter", "main", "100000"], environment: [:]
        ).wait()
        #expect(
            cost.status == 0 && cost.output.contains("100000 reads, 1 changes, 0 torn, 0 backward"), "\(cost)"
        )
        let refused = try RunningProgram(["\(place.path)/map", socket, "kettle", "main"], environment: [:])
            .wait()
        #expect(refused.status == 69 && refused.errors.contains("unknown_type"), "\(refused)")
    }

    /// The example of the page, which prints what changed, has at most fifteen lines. `ContributorCommandTests` runs it.
    @Test func cMirrorIsShort() throws {
        let example = try #require(MarkdownPage("Sources/Clients/C/README.md").blocks("c").first)
        #expect(example.text.split(separator: "\n", omittingEmptySubsequences: false).count <= 16)
        #expect(
            try Repository.text("deploy/man/fluxbus.3").replacing("\\", with: "").contains(
                "fluxbus_mirror_open(bus, \"counter\", NULL, show, NULL);"))
    }
}
