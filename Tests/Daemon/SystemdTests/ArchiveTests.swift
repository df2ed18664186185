import Foundation
import TestFiles
import TestServer
import Testing

/// What the installer of the archive (`deploy/install-tarball`) puts where.
@Suite(.timeLimit(.minutes(10))) struct ArchiveTests {
    private let directory = TemporaryDirectory()
    private var path: [String: String] {
        ["PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "TMPDIR": directory.path]
    }

    private func shell(_ script: String, _ words: String...) throws -> RunningProgram.Outcome {
        try RunningProgram(["/bin/sh", "-euc", script, "sh"] + words, environment: path).wait()
    }

    private func succeed(_ outcome: RunningProgram.Outcome) throws {
        try #require(outcome.status == 0, "\(outcome.output)\(outcome.errors)")
    }

    /// What is in the archive, as somebody has unpacked it whose files are nobody else's.
    private func unpack() throws {
        try succeed(
            shell(
                """
                cd "$1"
                deploy/install --prefix /usr --binaries "$2" --destdir "$3"
                cp deploy/install-tarball "$3/install"
                cp deploy/install-functions "$3/"
                cd "$3"
                mkdir -p usr/include usr/lib/pkgconfig
                printf 'prefix=/usr\nlibdir=/usr/lib\n' >usr/lib/pkgconfig/fluxbus.pc
                mv usr/* .
                chmod -R go= .
                """, Repository.root.path, Repository.programs.path, archive))
    }

    private var archive: String { "\(directory.path)/archive" }
    private var root: String { "\(directory.path)/root" }

    private func install(_ more: String...) throws -> RunningProgram.Outcome {
        try RunningProgram(
            ["/bin/sh", "-c", "umask 077; exec \"$@\"", "sh", "\(archive)/install", "--destdir", root] + more,
            environment: path
        ).wait()
    }

    private func files(_ folder: String) throws -> [String] {
        try shell("cd \"$1\" && find . ! -type d | sort", "\(root)/\(folder)").output
            .split(separator: "\n").map(String.init)
    }

    private func text(_ file: String) throws -> String {
        try String(contentsOfFile: "\(root)/\(file)", encoding: .utf8)
    }

    @Test func whatIsInstalledEverybodyMayReadAndIsRemovedAgain() throws {
        try unpack()
        try directory.write("root/usr/local/bin/own", "not of the archive\n")
        try directory.write(
            "root/usr/local/share/doc/fluxbus/examples/fluxbusd.yaml", "of a former version\n")
        try succeed(shell("chmod -R go+rX \"$1\"", root))
        try succeed(install())
        let closed = try shell("find \"$1\" ! -type l ! -perm -444", "\(root)/usr/local/share")
        #expect(closed.output == "")
        for (file, mode) in [
            ("usr/local/bin/fluxbusd", 0o755 as mode_t), ("etc/fluxbus", 0o755),
            ("etc/fluxbus/fluxbusd.yaml", 0o644), ("usr/local/lib/systemd/system/fluxbusd.service", 0o644),
        ] {
            var status = stat()
            #expect(stat("\(root)/\(file)", &status) == 0 && status.st_mode & 0o777 == mode, "\(file)")
        }
        // Whatever names a place names that of the prefix.
        let named = try shell(
            "grep -rn -e '=/usr/share/' -e '/usr/bin/flux' -e '=/usr$' \"$1/etc\" \"$1/usr/local/share/fluxbus/examples\" \"$1/usr/local/lib\" || true",
            root)
        #expect(named.output == "")
        #expect(
            try text("etc/fluxbus/types/counter.yaml").hasPrefix(
                "# yaml-language-server: $schema=/usr/local/share/"))
        #expect(
            try text("usr/local/share/fluxbus/examples/fluxbusd.yaml").contains("$schema=/usr/local/share/"))
        #expect(
            try shell("find \"$1/usr/local/share/doc/fluxbus\" -name examples || true", root).output == "")
        #expect(
            try text("usr/local/lib/pkgconfig/fluxbus.pc") == "prefix=/usr/local\nlibdir=/usr/local/lib\n")

        // Again, for an update.
        let first = try files("usr")
        try directory.write("root/etc/fluxbus/fluxbusd.yaml", "listen: [{ unix: /run/mine }]\n")
        try succeed(install())
        #expect(try files("usr") == first)
        #expect(try text("etc/fluxbus/fluxbusd.yaml") == "listen: [{ unix: /run/mine }]\n")

        try succeed(install("--remove"))
        #expect(try files("usr") == ["./local/bin/own"])
        #expect(try shell("find \"$1/usr\" -name '*fluxbus*'", root).output == "")
        #expect(try text("etc/fluxbus/fluxbusd.yaml") == "listen: [{ unix: /run/mine }]\n")
        #expect(try install("--prefix", "/opt").status == 64)
        #expect(try install("--destdir", "somewhere").status == 64)
        #expect(try install("--check", "--remove").status == 64)
    }

    /// The configuration comes last: where it is, an installation asks for no other sample.
    @Test func whatWasNotInstalledWholeIsInstalledWholeLater() throws {
        try unpack()
        try directory.write("root/etc/fluxbus/types", "no folder\n")
        #expect(try install().status != 0)
        #expect(try !files("etc").contains("./fluxbus/fluxbusd.yaml"))
        try succeed(shell("rm \"$1/etc/fluxbus/types\"", root))
        try succeed(install())
        #expect(
            try Set(files("etc")).isSuperset(of: [
                "./fluxbus/fluxbusd.yaml", "./fluxbus/access.yaml", "./fluxbus/types/counter.yaml",
            ]))
    }

    /// What an operator has beside what is installed: neither written nor closed to him, nor opened to others.
    @Test func whatAnOperatorHasStaysAsItIs() throws {
        try unpack()
        // Programs that only their owner may run, as some umasks leave them.
        try succeed(shell("chmod 744 \"$1\"/bin/*", archive))
        let unit = "usr/local/lib/systemd/system/fluxbus-backup.service"
        try directory.write("root/\(unit)", "ExecStart=/usr/bin/rsync\n")
        try directory.write("root/\(unit.replacing("backup", with: "d")).d/more.conf", "[Service]\n")
        try directory.write("root/etc/fluxbus/access.yaml", "roles: {}\n")
        try directory.write("root/etc/fluxbus/effects/mail.yaml", "secret: yes\n")
        try succeed(
            shell(
                """
                mkdir -p "$1/usr/local/man" "$1/usr/local/share"
                ln -s ../man "$1/usr/local/share/man"
                cd "$1/etc/fluxbus"
                chmod 600 effects/mail.yaml
                ln -s /nowhere effects/gone.yaml
                """, root))
        try succeed(install())
        #expect(try text(unit) == "ExecStart=/usr/bin/rsync\n")
        #expect(try text("etc/fluxbus/access.yaml") == "roles: {}\n")
        #expect(try text("etc/fluxbus/fluxbusd.yaml").contains("counter/main"))
        #expect(try files("usr/local/man").contains("./man1/fluxbus.1"))
        let modes = try shell(
            "cd \"$1\" && stat -c %A etc/fluxbus/effects/* usr/local/bin/fluxbusd && find . -name '*.new'",
            root)
        #expect(modes.output == "lrwxrwxrwx\n-rw-------\n-rwxr-xr-x\n")
    }
}
