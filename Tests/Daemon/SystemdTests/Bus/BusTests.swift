import Foundation
import Glibc
import TestServer
import Testing

/// The real fluxbusd with the units that are shipped, under a real systemd. One daemon serves all of these tests, so they
/// run one after the other; each uses stores of its own and leaves the daemon running.
@Suite(.harness, .serialized, .timeLimit(.minutes(10))) struct BusTests {
    let host: BusHost
    init() throws { host = try BusHost.shared() }

    @Test func installedServiceIsActiveAndItsUnitsAreSound() throws {
        #expect(try host.property("ActiveState") == "active")
        #expect(try host.fluxbus("ping").status == 0)
        // At most 0.5 of 10; the option counts in tenths.
        try host.harness.check("systemd-analyze", "security", "--threshold=5", BusHost.service)
        let remarks = try host.harness.run(
            "systemd-analyze", "verify", "--man=no", BusHost.service, "fluxbusd.socket")
        #expect(remarks.errors.split(separator: "\n").filter { $0.contains("fluxbus") } == [])
        let ready = try host.journal("MESSAGE_ID=21e034080f6945808bc7358250a4ba93")
        #expect(ready.last?["PRIORITY"] as? String == "5")
        #expect(ready.last?["SYSLOG_IDENTIFIER"] as? String == "fluxbusd")
    }

    /// What a shell does when somebody presses the tab key.
    @Test func completionsAreInstalledAndKnowTheBus() throws {
        let folder = "/usr/share/bash-completion/completions"
        let words =
            #"COMP_WORDS=(fluxbus get counter/ma); COMP_CWORD=2; COMP_POINT=23; COMP_LINE="${COMP_WORDS[*]}""#
        let offered = try host.harness.check(
            "bash", "-c",
            "source \(folder)/fluxbus; \(words); $(complete -p fluxbus | sed 's/.*-F \\([^ ]*\\).*/\\1/'); echo ${COMPREPLY[@]}"
        )
        #expect(offered.contains("counter/main"), "\(offered)")
        let flags = try host.harness.check("cat", "\(folder)/fluxbusd")
        #expect(flags.contains("--verify"))
    }

    @Test func activeOnlyOnceAClientCanConnect() throws {
        // One that opens its socket itself: who connects too early is refused.
        try host.harness.write(
            "/run/systemd/system/own.service",
            """
            [Service]
            Type=notify
            RuntimeDirectory=own
            Environment=FLUXBUS_LOG=/run/own/bus.sqlite
            ExecStart=/usr/bin/fluxbusd --listen unix:/run/own/bus.sock
            """)
        try host.harness.check("systemctl", "daemon-reload")
        for _ in 0..<5 {
            try host.harness.check("systemctl", "start", "own.service")
            let client = try LineClient(service: host.harness.path("/run/own/bus.sock"))
            #expect(try client.ask(#"{"op":"ping"}"#) == #"{"ok":true}"#)
            try host.harness.check("systemctl", "stop", "own.service")
        }
    }

    @Test func statusCountsStoresClientsAndRevision() throws {
        let clients = try (0..<3).map { _ in try host.connect() }
        for client in clients { _ = try client.ask(#"{"op":"ping"}"#) }
        let reply = try clients[0].ask(#"{"op":"create","store":"counter/status"}"#)
        let revision = try #require(reply.firstMatch(of: /"revision":([0-9]+)/)?.output.1)
        let isTold = try host.comesTrue {
            try host.property("StatusText").hasSuffix(" stores, 3 clients, revision \(revision)")
        }
        let text = try host.property("StatusText")
        // They count until here; an optimised program would let go of them before.
        withExtendedLifetime(clients) {}
        #expect(isTold, "\(text)")
    }

    @Test func stopSaysGoodbyeAndIsClean() throws {
        let client = try host.connect()
        _ = try client.ask(#"{"op":"ping"}"#)
        try host.systemctl("stop")
        #expect(try client.line()?.hasPrefix(#"{"event":"goodbye","code":"shutdown""#) == true)
        #expect(try client.line() == nil)
        #expect(try host.property("Result") == "success")
        #expect(try host.property("ExecMainStatus") == "0")
        // The socket is still there, and starts it again.
        #expect(try host.connect().ask(#"{"op":"ping"}"#) == #"{"ok":true}"#)
    }

    @Test func wrongConfigurationFailsOnceAndTurnsClientsAway() throws {
        try host.harness.write("/etc/fluxbus/types/wrong.yaml", "type: wrong\ninitial: {}\nactiens: {}\n")
        #expect(try host.harness.run("systemctl", "restart", BusHost.service).status != 0)
        #expect(try host.property("ExecMainStatus") == "78")
        #expect(try host.property("NRestarts") == "0")
        #expect(try host.property("ActiveState") == "failed")
        let entry = try host.journal("MESSAGE_ID=390c2e3a470c46549d577a9e23900235").last
        #expect((entry?["MESSAGE"] as? String)?.contains("/etc/fluxbus/types/wrong.yaml:3:1: ") == true)
        #expect(entry?["PRIORITY"] as? String == "3")
        // Who connects starts it in vain, sees the end at once, and starts no loop.
        for _ in 0..<3 { #expect(try host.connect().line() == nil) }
        #expect(try host.property("NRestarts") == "0")
        #expect(try host.harness.property("ActiveState", of: "fluxbusd.socket") == "active")

        try FileManager.default.removeItem(atPath: host.harness.path("/etc/fluxbus/types/wrong.yaml"))
        #expect(try host.connect().ask(#"{"op":"ping"}"#) == #"{"ok":true}"#)
    }

    @Test func killedDaemonIsStartedAgain() throws {
        let client = try host.connect()
        _ = try client.ask(#"{"op":"ping"}"#)
        let process = try host.property("MainPID")
        try host.systemctl("kill", "--signal=KILL", "--kill-whom=main")
        #expect(try client.line() == nil)
        #expect(try host.connect().ask(#"{"op":"ping"}"#) == #"{"ok":true}"#)
        #expect(try host.property("MainPID") != process)
        #expect(try host.property("NRestarts") != "0")
    }

    @Test func watchdogEndsADaemonThatHangsAndSparesABusyOne() throws {
        try host.dropIn("watchdog", ["WatchdogSec=4s", "TimeoutAbortSec=1s"])
        defer {
            try? FileManager.default.removeItem(
                atPath: host.harness.path("/run/systemd/system/fluxbusd.service.d/watchdog.conf"))
            _ = try? host.harness.check("systemctl", "daemon-reload")
            try? host.systemctl("restart")
        }
        try host.systemctl("restart")
        let process = try host.property("MainPID")

        let busy = try host.connect()
        _ = try busy.ask(#"{"op":"create","store":"counter/busy"}"#)
        let burst = String(
            repeating: #"{"op":"dispatch","store":"counter/busy","action":"increment"}"# + "\n", count: 500)
        let end = ContinuousClock.now + .seconds(8)
        while ContinuousClock.now < end {
            try busy.send(String(burst.dropLast()))
            for _ in 0..<500 { _ = try busy.line() }
        }
        #expect(try host.property("MainPID") == process)
        #expect(try host.property("ActiveState") == "active")

        try host.systemctl("kill", "--signal=STOP", "--kill-whom=main")
        #expect(try busy.line() == nil)
        #expect(try host.connect().ask(#"{"op":"ping"}"#) == #"{"ok":true}"#)
        #expect(try host.property("MainPID") != process)
        let messages = try host.harness.check("journalctl", "-u", BusHost.service, "-o", "cat")
        #expect(messages.contains("Watchdog timeout"))
    }
}
