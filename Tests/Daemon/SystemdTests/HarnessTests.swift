import Foundation
import Glibc
import TestFiles
import Testing

/// The harness itself: whoever runs the tests must find the machine as it was.
@Suite(.harness, .timeLimit(.minutes(10))) struct HarnessTests {
    /// A system of its own, booted by the script.
    private struct Booted {
        let script = Process()
        let lifeline = Pipe()
        let process: Int32

        init(_ directories: String...) throws {
            let output = Pipe()
            script.executableURL = Harness.package.appendingPathComponent("Tests/Support/SystemdHarness/boot")
            script.arguments = directories
            script.standardInput = lifeline
            script.standardOutput = output
            script.standardError = FileHandle.nullDevice
            try script.run()
            let words = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
                .split(whereSeparator: \.isWhitespace)
            process = try #require(Int32(words.last ?? ""))
        }

        /// What it keeps outside of its namespaces: the control group and the folder are named after the script.
        func remains() throws -> [String] {
            let places = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified", NSTemporaryDirectory()]
            return places.flatMap { (try? FileManager.default.contentsOfDirectory(atPath: $0)) ?? [] }
                .filter { $0.hasPrefix("fluxbus-harness-\(script.processIdentifier)") }
        }
    }

    @Test func nothingIsLeftWhenItsLifelineEnds() throws {
        let booted = try Booted()
        #expect(try booted.remains().count == 2)
        try booted.lifeline.fileHandleForWriting.close()
        booted.script.waitUntilExit()
        #expect(kill(booted.process, 0) == -1 && errno == ESRCH)
        #expect(try booted.remains() == [])
    }

    /// A clone of this repository may stand where units see nothing.
    @Test func unitsSeeWhatHasAPlaceThoughItStandsInTmp() throws {
        let directory = TemporaryDirectory()
        try directory.write("program", "#!/bin/sh\necho seen\n", mode: 0o755)
        chmod(directory.path, 0o755)
        let booted = try Booted("\(directory.path):/srv/fluxbus/programs")
        let unit = Process()
        let output = Pipe()
        unit.executableURL = URL(fileURLWithPath: "/usr/bin/nsenter")
        let service = """
            [Service]
            Type=oneshot
            DynamicUser=yes
            PrivateTmp=yes
            ProtectHome=yes
            ExecStart=/srv/fluxbus/programs/program
            StandardOutput=file:/run/seen.txt
            """
        unit.arguments =
            ["-t", String(booted.process), "-a", "--", "sh", "-c"]
            + [
                "printf '%s\\n' \"$1\" >/run/systemd/system/seen.service && systemctl daemon-reload && "
                    + "systemctl start seen.service && cat /run/seen.txt", "sh", service,
            ]
        unit.standardOutput = output
        try unit.run()
        let text = try output.fileHandleForReading.readToEnd() ?? Data()
        unit.waitUntilExit()
        #expect(String(decoding: text, as: UTF8.self) == "seen\n")
        try booted.lifeline.fileHandleForWriting.close()
        booted.script.waitUntilExit()
    }

    @Test func systemEndsEvenWhenItsScriptIsKilled() throws {
        let booted = try Booted()
        kill(booted.script.processIdentifier, SIGKILL)
        // Waits until the process is gone.
        let waiter = try Process.run(
            URL(fileURLWithPath: "/usr/bin/timeout"),
            arguments: ["20", "tail", "--pid=\(booted.process)", "-f", "/dev/null"])
        waiter.waitUntilExit()
        #expect(waiter.terminationStatus == 0)
        #expect(kill(booted.process, 0) == -1 && errno == ESRCH)
        // What the script has left behind reads from the lifeline, and Foundation takes a process for ended only when
        // nothing that it started is left.
        try booted.lifeline.fileHandleForWriting.close()
        booted.script.waitUntilExit()
        // Its group and folder could not be removed; the next one does it.
        let next = try Booted()
        #expect(try booted.remains() == [])
        try next.lifeline.fileHandleForWriting.close()
        next.script.waitUntilExit()
    }
}
