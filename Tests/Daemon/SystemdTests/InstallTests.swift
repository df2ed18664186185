import Foundation
import TestFiles
import TestServer
import Testing

/// What `deploy/install` puts where, for a package: with the programs as they were built, and without systemd.
@Suite(.timeLimit(.minutes(10))) struct InstallTests {
    private let directory = TemporaryDirectory()
    private var root: String { "\(directory.path)/root" }

    /// As a root does whose files are nobody else's.
    private func install(_ more: String...) throws -> RunningProgram.Outcome {
        let script = Repository.root.appendingPathComponent("deploy/install").path
        return try RunningProgram(
            [
                "/bin/sh", "-c", "umask 077; exec \"$@\"", "sh", script, "--prefix", "/opt/flux",
                "--binaries", Repository.programs.path, "--destdir", root,
            ] + more, environment: ["PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "TMPDIR": directory.path]
        ).wait()
    }

    private func names(in folder: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: "\(root)/\(folder)").sorted()
    }

    private func text(_ file: String) throws -> String {
        try String(contentsOfFile: "\(root)/\(file)", encoding: .utf8)
    }

    /// A sample, whose first line names the schema where it is installed.
    private func sample(_ name: String) throws -> String {
        try Repository.text("config/\(name)").replacing("=/usr/share/", with: "=/opt/flux/share/")
    }

    @Test func samplesPagesAndCompletionsAreInstalledAndRemoved() throws {
        let outcome = try install()
        try #require(outcome.status == 0, "\(outcome.errors)")

        let samples = try FileManager.default.contentsOfDirectory(atPath: Repository.sampleTypes).sorted()
        #expect(samples.count >= 6)
        for (folder, installed) in [
            ("etc/fluxbus/types", Self.activeTypes), ("opt/flux/share/fluxbus/examples/types", samples),
        ] {
            #expect(try names(in: folder) == installed)
            for name in installed {
                #expect(try text("\(folder)/\(name)") == sample("types/\(name)"))
            }
        }
        #expect(
            try text("opt/flux/share/fluxbus/examples/fluxbusd.yaml")
                == sample("fluxbusd.yaml"))
        #expect(
            try text("opt/flux/share/fluxbus/examples/hooks/github.yaml") == sample("hooks/github.yaml"))
        #expect(try names(in: "etc/fluxbus/hooks") == [] && names(in: "etc/fluxbus/effects") == [])
        let schemas = "opt/flux/share/fluxbus/schemas"
        #expect(
            try names(in: schemas)
                == ["access", "config", "effect", "hook", "test", "type"].map { "\($0).schema.json" })
        #expect(try text("\(schemas)/type.schema.json").contains("A state type of FluxBus"))

        // Every page, in the folder of its section.
        let pages = try ManualPages.names()
        #expect(pages.count >= 7)
        for page in pages {
            let section = try #require(page.last)
            #expect(try text("opt/flux/share/man/man\(section)/\(page)") == ManualPages.text(page))
        }

        try completionsAreThoseOfThePrograms()
        for (name, mode) in [("etc/fluxbus", 0o755 as mode_t), ("etc/fluxbus/fluxbusd.yaml", 0o644)] {
            var status = stat()
            #expect(stat("\(root)/\(name)", &status) == 0 && status.st_mode & 0o777 == mode, "\(name)")
        }

        let removal = try install("--remove")
        try #require(removal.status == 0, "\(removal.errors)")
        let left = try FileManager.default.subpathsOfDirectory(atPath: "\(root)/opt").filter { name in
            var isFolder: ObjCBool = false
            _ = FileManager.default.fileExists(atPath: "\(root)/opt/\(name)", isDirectory: &isFolder)
            return !isFolder.boolValue
        }
        #expect(left == [])
        #expect(!FileManager.default.fileExists(atPath: "\(root)/opt/flux/share/doc/fluxbus"))
        // What is in force stays.
        #expect(try names(in: "etc/fluxbus/types") == Self.activeTypes)
    }

    /// No lamp and no thermostat: what any machine has a use for.
    private static let activeTypes = ["counter", "effect", "holders", "lease", "presence", "value"].map {
        "\($0).yaml"
    }

    /// What is in force is right as it is: the rules name only types that are there.
    @Test func theInstalledConfigurationIsRight() throws {
        let outcome = try install()
        try #require(outcome.status == 0, "\(outcome.errors)")
        let check = try RunningProgram.run(
            "fluxbus",
            [
                "access", "check", "--config", "\(root)/etc/fluxbus/fluxbusd.yaml", "--as", "user:root",
                "manage",
            ])
        #expect(check.status == 0, "\(check.errors)")
        // Members of the group have no say over effects.
        for (store, action, status) in [("counter/main", "increment", 0), ("effect/bell", "pause", 77)] {
            let check = try RunningProgram.run(
                "fluxbus",
                [
                    "access", "check", "--config", "\(root)/etc/fluxbus/fluxbusd.yaml", "--as",
                    "group:fluxbus", "dispatch", store, action,
                ])
            #expect(check.status == Int32(status), "\(check.output)\(check.errors)")
        }
        let rules = try text("etc/fluxbus/access.yaml")
        #expect(rules.contains("\n  # sensor:") && rules.contains("\n  #   match: thermostat/*"))
    }

    /// The one list that all packages are made by knows each file, and no part is without one.
    @Test func eachFileBelongsToOnePart() throws {
        let outcome = try install("--prefix", "/usr")
        try #require(outcome.status == 0, "\(outcome.errors)")
        let sorting = try RunningProgram(
            [
                "/bin/bash", "-euo", "pipefail", "-c",
                """
                cd '\(Repository.root.path)' && . deploy/parts && cd '\(root)'
                find . \\( -type f -o -type l \\) -printf '%P\n' | while read -r file; do echo "$(part_of "$file") $file"; done
                ! part_of usr/bin/stranger
                """,
            ], environment: ["PATH": "/usr/bin:/bin"]
        ).wait()
        #expect(
            sorting.status == 0 && sorting.errors.contains("usr/bin/stranger belongs to no part"),
            "\(sorting.errors)")
        let lines = sorting.output.split(separator: "\n").map { $0.split(separator: " ").map(String.init) }
        let parts = Dictionary(grouping: lines, by: { $0[0] }).mapValues { $0.map { $0[1] } }
        #expect(
            Set(parts.keys) == ["fluxbus", "fluxbusd", "fluxbus-web", "fluxbus-effects", "libfluxbus-dev"])
        for (part, files) in parts where part != "libfluxbus-dev" {
            let own = files.filter { $0.hasPrefix("usr/bin/") || $0.contains("/completions/") }
            #expect(Set(own) == ["usr/bin/\(part)", "usr/share/bash-completion/completions/\(part)"])
        }
        #expect(parts["fluxbus-web"]?.contains("usr/lib/systemd/system/fluxbus-web.service") == true)
        #expect(parts["fluxbusd"]?.contains("etc/fluxbus/types/counter.yaml") == true)
        #expect(parts["fluxbusd"]?.contains("usr/share/fluxbus/examples/types/thermostat.yaml") == true)
    }

    private func completionsAreThoseOfThePrograms() throws {
        for program in ["fluxbus", "fluxbusd", "fluxbus-web", "fluxbus-effects"] {
            let files = [
                "bash": "bash-completion/completions/\(program)", "zsh": "zsh/site-functions/_\(program)",
                "fish": "fish/vendor_completions.d/\(program).fish",
            ]
            for (shell, file) in files {
                let completion = try text("opt/flux/share/\(file)")
                let words = [
                    "fluxbus": "typescript", "fluxbusd": "verify", "fluxbus-web": "idle-exit",
                    "fluxbus-effects": "check",
                ]
                let word = try #require(words[program])
                #expect(completion.contains(word), "\(file)")
                guard FileManager.default.fileExists(atPath: "/bin/\(shell)") else { continue }
                let check = try RunningProgram(["/bin/\(shell)", "-n", "\(root)/opt/flux/share/\(file)"])
                    .wait()
                #expect(check.status == 0, "\(file): \(check.errors)")
            }
        }
    }

    /// An update leaves what somebody has written alone, and has the new samples beside it.
    @Test func configurationThatIsThereIsLeftAlone() throws {
        try directory.write("root/etc/fluxbus/fluxbusd.yaml", "listen: [{ unix: /run/mine }]\n")
        let outcome = try install()
        try #require(outcome.status == 0, "\(outcome.errors)")
        #expect(try text("etc/fluxbus/fluxbusd.yaml") == "listen: [{ unix: /run/mine }]\n")
        #expect(!FileManager.default.fileExists(atPath: "\(root)/etc/fluxbus/types"))
        #expect(try names(in: "opt/flux/share/fluxbus/examples/types").contains("counter.yaml"))
    }
}
