import Foundation
import Glibc
import TestFiles
import TestServer
import Testing

/// The harness itself: whoever runs the tests must find the machine as it was.
@Suite(.harness, .timeLimit(.minutes(10))) struct HarnessTests {
    /// A system of its own, booted by the script.
    private struct Booted {
        let script: RunningProgram
        let process: Int32

        init(_ directories: String...) throws {
            script = try Harness.boot(directories)
            process = try #require(Harness.process(of: script))
        }

        func end() throws { try Harness.end(script) }

        /// What it keeps outside of its namespaces: the control group and the folder are named after the script.
        func remains() throws -> [String] {
            let places = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified", NSTemporaryDirectory()]
            return places.flatMap { (try? FileManager.default.contentsOfDirectory(atPath: $0)) ?? [] }
                .filter { $0.split(separator: ".").first == "fluxbus-harness-\(script.process)" }
        }
    }

    @Test func nothingIsLeftWhenItsLifelineEnds() throws {
        let booted = try Booted()
        #expect(try booted.remains().count == 2)
        try booted.end()
        #expect(kill(booted.process, 0) == -1 && errno == ESRCH)
        #expect(try booted.remains() == [])
    }

    /// A clone of this repository may stand where units see nothing.
    @Test func unitsSeeWhatHasAPlaceThoughItStandsInTmp() throws {
        let directory = TemporaryDirectory()
        try directory.write("program", "#!/bin/sh\necho seen\n", mode: 0o755)
        chmod(directory.path, 0o755)
        let booted = try Booted("\(directory.path):/srv/fluxbus/programs")
        let service = """
            [Service]
            Type=oneshot
            DynamicUser=yes
            PrivateTmp=yes
            ProtectHome=yes
            ExecStart=/srv/fluxbus/programs/program
            StandardOutput=file:/run/seen.txt
            """
        let unit = try RunningProgram([
            "/usr/bin/nsenter", "-t", String(booted.process), "-a", "--", "sh", "-c",
            "printf '%s\\n' \"$1\" >/run/systemd/system/seen.service && systemctl daemon-reload && "
                + "systemctl start seen.service && cat /run/seen.txt", "sh", service,
        ])
        #expect(try unit.wait().output == "seen\n")
        try booted.end()
    }

    @Test func systemEndsEvenWhenItsScriptIsKilled() throws {
        let booted = try Booted()
        kill(booted.script.process, SIGKILL)
        // Waits until the process is gone.
        let waiter = try RunningProgram([
            "/usr/bin/timeout", "50", "tail", "--pid=\(booted.process)", "-f", "/dev/null",
        ])
        #expect(try waiter.wait().status == 0)
        #expect(kill(booted.process, 0) == -1 && errno == ESRCH)
        // What the script has left behind reads from the lifeline.
        try booted.end()
        // Its group and folder could not be removed; the next one does it.
        let next = try Booted()
        #expect(try booted.remains() == [])
        try next.end()
    }
}
