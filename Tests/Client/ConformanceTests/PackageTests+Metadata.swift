import Foundation
import TestFiles
import TestServer
import Testing

/// The packages as they are published: what they say of themselves, and what is in them.
extension PackageTests {
    static let manifest = "Sources/Clients/JavaScript/package.json"

    /// That they have one version, `deploy/release --check` says.
    @Test func packagesHaveOneLicence() throws {
        let licence = try Repository.text("LICENSE")
        for language in ["Python", "JavaScript", "Go", "Rust", "C"] {
            #expect(try Repository.text("Sources/Clients/\(language)/LICENSE") == licence)
        }
    }

    /// Runs a command in a copy of a package, because it leaves files there, and gives what it says.
    private func built(_ language: String, _ command: String) throws -> String {
        let source = "\(Self.clients)/\(language)"
        let words = [
            "/bin/sh", "-ec",
            "cp -r '\(source)' '\(place.path)/package'; cd '\(place.path)/package'; \(command)",
        ]
        let outcome = try RunningProgram(words, environment: environment).wait(atMost: 120)
        #expect(outcome.status == 0, "\(outcome.output)\n\(outcome.errors)")
        return outcome.output
    }

    @Test(.enabled(if: isThere("/usr/bin/pip"), "pip is missing."))
    func wheelHasTypesAndLicence() throws {
        let text = try built(
            "Python",
            """
            /usr/bin/pip wheel -q --no-deps --no-index --no-build-isolation --disable-pip-version-check -w . . >&2
            /usr/bin/python3 -m zipfile -l fluxbus-*-py3-none-any.whl
            /usr/bin/python3 -c 'import sys, zipfile; one = zipfile.ZipFile(sys.argv[1])
            print(*(one.read(name).decode() for name in one.namelist() if name.endswith("METADATA")))' *.whl
            """)
        for part in [
            "fluxbus/py.typed", "fluxbus/aio.py", "dist-info/LICENSE", "License: MIT\n",
            "Requires-Python: >=3.9\n",
            "Classifier: Typing :: Typed\n",
        ] { #expect(text.contains(part), "\(part)") }
    }

    @Test(.enabled(if: isThere("/usr/bin/npm"), "npm is missing."))
    func npmPackageHasTypesAndLicence() throws {
        let text = try built(
            "JavaScript", "npm pack --silent --offline --update-notifier=false; tar tzf fluxbus-*.tgz")
        let files = text.split(separator: "\n").dropFirst().map { $0.replacing("package/", with: "") }
        #expect(Set(files) == ["LICENSE", "README.md", "fluxbus.d.ts", "fluxbus.js", "package.json"])
        #expect(try Repository.text(Self.manifest).contains(#""license": "MIT""#))
    }

    /// What the page says of errors, as it is printed: nothing answers, and code for sockets handles it.
    @Test(.enabled(if: isThere("/usr/bin/python3"), "Python is missing."))
    func errorsOfPythonAreThoseOfSockets() throws {
        let blocks = try MarkdownPage("Sources/Clients/Python/README.md").blocks("python")
        let example = try #require(blocks.first { $0.text.contains("except ConnectionError") })
        let words = ["/usr/bin/python3", try place.write("errors.py", example.text)]
        let outcome = try RunningProgram(words, environment: environment).wait()
        #expect(outcome.output.hasPrefix("no bus: Nothing answers at /nowhere/bus.sock"), "\(outcome.errors)")
        try check([
            "/usr/bin/python3", "-c",
            """
            import copy, fluxbus, logging, pickle
            kinds = {"unreachable": ConnectionError, "untrusted": ConnectionError, "closed": ConnectionError,
                     "outcome_unknown": ConnectionError, "timed_out": TimeoutError}
            for code in [*kinds, "conflict", "invalid_address"]:
                error = fluxbus.BusError(code, "It is so.", {"a": 1})
                for other in [error, pickle.loads(pickle.dumps(error)), copy.copy(error)]:
                    assert isinstance(other, OSError) == (code in kinds), code
                    assert isinstance(other, kinds.get(code, fluxbus.BusError)), code
                    assert (other.code, other.message, other.details) == (code, "It is so.", {"a": 1}), code
                    assert str(other) == f"It is so. ({code})"
            """,
        ])
    }

    /// A program that logs hears that the connection is lost and there again; one that does not hears nothing.
    @Test(.enabled(if: isThere("/usr/bin/python3"), "Python is missing."), arguments: [true, false])
    func pythonLogsThatItReconnects(_ logs: Bool) throws {
        let daemon = try startDaemon()
        let program = try RunningProgram(
            [
                "/usr/bin/python3", "-uc",
                """
                import fluxbus, logging, sys
                if \(logs ? "True" : "False"): logging.basicConfig(level=logging.INFO, format="%(levelname)s %(name)s", stream=sys.stdout)
                with fluxbus.connect(back_off=(0.001, 0.01)) as bus:
                    print("connected")
                    for _ in sys.stdin: print(bus.request("ping")["ok"])
                """,
            ], environment: environment, hasInput: true)
        #expect(program.nextLine() == "connected")
        daemon.kill()
        if logs { #expect(program.nextLine() == "WARNING fluxbus") }
        let again = try startDaemon()
        defer { again.kill() }
        try program.send("ping")
        if logs { #expect(program.nextLine() == "INFO fluxbus") }
        #expect(program.nextLine() == "True")
        try program.endInput()
        let outcome = try program.wait()
        #expect(outcome.status == 0 && outcome.errors.isEmpty, "\(outcome.errors)")
    }
}
