import Foundation
import TestFiles
import TestServer
import Testing

private let hasPackages = FileManager.default.isExecutableFile(atPath: "/usr/bin/dpkg-deb")

/// Makes packages of the programs in a folder.
private func build(_ folder: TemporaryDirectory, _ more: [String] = []) throws -> RunningProgram.Outcome {
    try RunningProgram(
        [Harness.package.appendingPathComponent("deploy/build-deb").path, "--binaries", folder.path] + more
            + ["--output", folder.path],
        environment: ProcessInfo.processInfo.environment
    ).wait(atMost: 240)
}

/// The Debian package, installed into the booted system: its units, its user, its sandbox. The programs in it are the
/// probe's, which can tell what a service finds inside.
@Suite(.harness, .enabled(if: hasPackages, "dpkg is missing."), .timeLimit(.minutes(10)))
struct PackageTests {
    private let harness: Harness
    init() throws { harness = try Harness.shared() }

    @Test func packageInstallsAndItsServiceIsWhatItShouldBe() throws {
        try install()
        for unit in ["fluxbusd.service", "fluxbusd.socket"] {
            let messages = try harness.check("journalctl", "-u", unit, "-o", "cat")
            #expect(try harness.property("ActiveState", of: unit) == "active", "\(messages)")
        }
        #expect(try harness.check("stat", "-c", "%U:%G %a", "/run/fluxbus/bus.sock") == "root:fluxbus 660")
        #expect(try harness.check("stat", "-c", "%U %a", "/var/lib/fluxbus") == "fluxbus 700")
        #expect(
            try harness.check("journalctl", "--dump-catalog", "390c2e3a470c46549d577a9e23900235")
                .contains("Subject: The configuration is wrong"))
        for (file, shell) in [
            ("bash-completion/completions/fluxbus", "bash"), ("zsh/vendor-completions/_fluxbus", "zsh"),
            ("fish/vendor_completions.d/fluxbus.fish", "fish"),
        ] {
            #expect(try harness.check("cat", "/usr/share/\(file)") == "# completions for \(shell)")
        }
        for page in ["man5/fluxbus-types.5", "man7/fluxbus-operating.7", "man7/fluxbus-protocol.7"] {
            try harness.check("test", "-e", "/usr/share/man/\(page).gz")
        }
        for kind in ["type", "test", "config", "access", "effect", "hook"] {
            try harness.check("test", "-e", "/usr/share/fluxbus/schemas/\(kind).schema.json")
        }
        let examples = try harness.check("ls", "/usr/share/fluxbus/examples/types")
        #expect(examples.split(separator: "\n").contains("thermostat.yaml"))
        // At most 0.5 of 10; the option counts in tenths.
        try harness.check("systemd-analyze", "security", "--threshold=5", "fluxbusd.service")
        // At most 1.0: it has a network, which the daemon has not.
        try harness.check("systemd-analyze", "security", "--threshold=10", "fluxbus-web.service")
        try harness.check("systemd-analyze", "security", "--threshold=5", "fluxbus-effects.service")
        let remarks = try harness.run(
            "systemd-analyze", "verify", "--man=no", "fluxbusd.service", "fluxbusd.socket",
            "fluxbus-web.service", "fluxbus-web.socket", "fluxbus-effects.service")
        #expect(remarks.errors.split(separator: "\n").filter { $0.contains("fluxbus") } == [])

        try identityIsRightInTheSandbox()
        try sandboxHoldsAndLetsTheServiceWork()
        try userUnitServesItsUser()

        try harness.check(["dpkg", "--no-triggers", "--purge"] + Self.parts)
        #expect(try harness.run("test", "-e", "/usr/lib/systemd/system/fluxbusd.service").status == 1)
        #expect(try harness.run("test", "-e", "/run/fluxbus/bus.sock").status == 1)
        #expect(
            try harness.run("test", "-e", "/usr/share/bash-completion/completions/fluxbus").status == 1)
    }

    /// Those with programs.
    private static let parts = ["fluxbus", "fluxbusd", "fluxbus-web", "fluxbus-effects"]

    /// How often the service was told that what comes is a restart. Whoever says so ends at once, and the journal then may not
    /// know any more of which unit it was.
    private func announcements() throws -> Int {
        try harness.check("journalctl", "--sync")
        return try harness.check("journalctl", "-o", "cat")
            .components(separatedBy: "restart is announced").count - 1
    }

    private func install() throws {
        let folder = TemporaryDirectory()
        for name in ["fluxbusd", "fluxbus", "fluxbus-web", "fluxbus-effects"] {
            try RunningProgram.copy("systemd-probe", to: "\(folder.path)/\(name)")
        }
        let built = try build(folder, ["--dynamic"])
        try #require(built.status == 0, "\(built.errors)")
        var packages: [String] = []
        for path in built.output.split(separator: "\n").map(String.init) {
            let name = try #require(path.split(separator: "/").last)
            guard Self.parts.contains(where: { name.hasPrefix("\($0)_") }) else { continue }
            packages.append("/root/\(name)")
            try FileManager.default.copyItem(atPath: path, toPath: harness.path("/root/\(name)"))
        }

        // Of the unit nothing else changes. The probe uses the Swift runtime of the toolchain, where it has to be run from.
        try harness.write(
            "/run/systemd/system/fluxbusd.service.d/probe.conf",
            """
            [Service]
            ExecStart=
            ExecStart=/usr/bin/fluxbusd serve --ready
            ExecPaths=\(try BusHost.runtimeFolder())
            """)
        // Images for containers have a policy that keeps packages from starting services.
        try harness.check("rm", "-f", "/usr/sbin/policy-rc.d")
        try harness.check(["dpkg", "--no-triggers", "--install"] + packages)
    }

    private func identityIsRightInTheSandbox() throws {
        try harness.write(
            "/run/systemd/system/client.service",
            """
            [Service]
            Type=oneshot
            RemainAfterExit=yes
            User=nobody
            Group=fluxbus
            ExecStart=\(Harness.executablesInside)/systemd-probe ask /run/fluxbus/bus.sock identity
            StandardOutput=file:/run/client.txt
            """)
        try harness.check("systemctl", "daemon-reload")
        try harness.check("systemctl", "start", "client.service")
        let user = try harness.check("id", "-u", "nobody")
        let process = try harness.property("ExecMainPID", of: "client.service")
        #expect(try harness.check("cat", "/run/client.txt") == "\(user) \(process) client.service")
    }

    private func sandboxHoldsAndLetsTheServiceWork() throws {
        let connection = try LineClient(service: harness.path("/run/fluxbus/bus.sock"))
        let attempts = try connection.order("sandbox").components(separatedBy: ", ")
        #expect(
            attempts == [
                "write: Read-only file system", "state: done",
                "internet: Address family not supported by protocol", "home: Permission denied",
                "owner: Operation not permitted",
            ])
        #expect(try connection.order("journal from inside") == "ok native")
        try harness.check("journalctl", "--sync")
        #expect(
            try harness.check("journalctl", "-u", "fluxbusd", "PROBE_STORE=counter/kitchen", "-o", "cat")
                == "from inside")

        try connection.order("store what travels")
        try connection.order("keep")
        let process = try connection.order("process")
        try harness.check("systemctl", "restart", "fluxbusd.service")
        #expect(try connection.order("process") != process)
        #expect(try connection.order("states") == "what travels")
        let atRestart = try announcements()
        #expect(atRestart == 1)
        try harness.check("systemctl", "stop", "fluxbusd.service")
        let atStop = try announcements()
        #expect(atStop == 1)
    }

    /// A user's own manager, as logging in would start it, with the package's user units.
    private func userUnitServesItsUser() throws {
        let home = "/run/user-home"
        try harness.write(
            "\(home)/.config/systemd/user/fluxbusd.service.d/probe.conf",
            "[Service]\nExecStart=\nExecStart=/usr/bin/fluxbusd serve --ready\n")
        try harness.write(
            "/run/systemd/system/user-manager.service",
            """
            [Service]
            Type=notify
            User=nobody
            Delegate=yes
            Environment=HOME=\(home) XDG_RUNTIME_DIR=\(home)/run
            ExecStart=/lib/systemd/systemd --user --unit=basic.target
            """)
        try harness.check("mkdir", "-m", "700", "\(home)/run")
        try harness.check("chown", "-R", "nobody", home)
        try harness.check("systemctl", "daemon-reload")
        try harness.check("systemctl", "start", "user-manager.service")
        let user = try harness.check("id", "-u", "nobody")
        func manager(_ verb: String, _ unit: String) throws {
            try harness.check(
                "setpriv", "--reuid", user, "--clear-groups", "env", "HOME=\(home)",
                "XDG_RUNTIME_DIR=\(home)/run", "systemctl", "--user", verb, unit)
        }
        try manager("start", "fluxbusd.socket")
        let connection = try LineClient(service: harness.path("\(home)/run/fluxbus/bus.sock"))
        #expect(try connection.order("passed") == "bus:unix")
        try connection.order("keep")
        let process = try connection.order("process")
        try manager("restart", "fluxbusd.service")
        #expect(try connection.order("process") != process)
        try harness.check("systemctl", "stop", "user-manager.service")
        #expect(try connection.line() == nil)
    }
}

/// A package that no Debian machine could run is not made.
@Suite(.enabled(if: hasPackages, "dpkg is missing.")) struct PackageRefusalTests {
    @Test func programsThatNeedSwiftsLibrariesAreRefused() throws {
        let folder = TemporaryDirectory()
        for name in ["fluxbusd", "fluxbus", "fluxbus-web"] {
            try FileManager.default.copyItem(
                atPath: "\(Harness.executables)/systemd-probe", toPath: "\(folder.path)/\(name)")
        }
        let built = try build(folder)
        #expect(built.status == 64)
        #expect(
            built.errors.contains(
                "fluxbusd needs Swift's shared libraries; build it with deploy/build-static"),
            "\(built.errors)")
        let made = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        #expect(!made.contains { $0.hasSuffix(".deb") })
    }
}
