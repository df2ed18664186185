import Foundation
import TestServer
import Testing

/// The action log of the installed service: what survives, and what is told when it is in trouble.
extension BusTests {
    private func message(_ identifier: String) throws -> [String: Any]? {
        try host.journal("MESSAGE_ID=\(identifier)", "_SYSTEMD_UNIT=\(BusHost.service)").last
    }

    @Test func installedBusKeepsALog() throws {
        _ = try host.connect().ask(#"{"op":"ping"}"#)
        #expect(try host.harness.check("stat", "-c", "%U %a", "/var/lib/fluxbus/bus.sqlite") == "fluxbus 600")
        #expect(try message("4f2761df0af9463495751949216160db")?["MESSAGE"] != nil)
    }

    @Test func statesOutliveAKillAndAStop() throws {
        let client = try host.connect()
        let epoch = try client.epoch()
        _ = try client.ask(#"{"op":"create","store":"counter/outlives","state":{"count":40}}"#)
        for (number, end) in ["kill --signal=KILL --kill-whom=main", "stop"].enumerated() {
            let reply = try host.connect().ask(
                #"{"op":"dispatch","store":"counter/outlives","action":"increment"}"#)
            #expect(reply.contains(#""changed":1"#))
            let process = try host.property("MainPID")
            try host.harness.check(
                ["systemctl"] + end.split(separator: " ").map(String.init) + [BusHost.service])
            // It is started by the next connection at the latest.
            let next = try host.connect()
            #expect(try next.epoch() == epoch)
            #expect(
                try next.ask(#"{"op":"get","store":"counter/outlives"}"#).contains("\"count\":\(41 + number)")
            )
            #expect(try host.property("MainPID") != process)
        }
        _ = try host.connect().ask(#"{"op":"drop","store":"counter/outlives"}"#)
    }

    /// A restart hands states and clients over, and the log must say the same: else the next daemon lets the clients go.
    @Test func logAndHandOverAgree() throws {
        let setup = try host.connect()
        let epoch = try setup.epoch()
        try Herd.makeStores(setup)
        let herd = try Herd(clients: 40, path: host.harness.path(BusHost.socket))
        for _ in 0..<3 {
            herd.waitForMore(acknowledged: 200)
            try host.systemctl("restart")
        }
        herd.waitForMore(acknowledged: 200)
        // In the end one that nobody hands anything over to.
        let report = herd.finish()
        #expect(report.problems == [])
        #expect(report.broken == 0)
        try host.systemctl("kill", "--signal=KILL", "--kill-whom=main")
        #expect(try setup.line() == nil)
        let next = try host.connect()
        #expect(try next.epoch() == epoch)
        for index in 0..<Herd.storeCount {
            let state = try next.ask(#"{"op":"get","store":"counter/\#(Herd.store(index))"}"#)
            #expect(state.contains(#""count":\#(report.counts[index])"#), "\(state)")
        }
        let verified = try host.harness.run("fluxbusd", "--verify")
        #expect(verified.status == 0, "\(verified.errors)")
        // The kill was followed by a start of the manager's own.
        #expect(try host.property("NRestarts") != "0")
    }

    @Test func troubleWithTheLogIsTold() throws {
        let client = try host.connect()
        _ = try client.ask(#"{"op":"create","store":"counter/trouble","ifMissing":true}"#)
        let process = try host.property("MainPID")
        /// Changes the limit as the daemon's own user, who may do that without any capability.
        func limitFiles(to size: String) throws {
            try host.harness.check(
                "setpriv", "--reuid", "fluxbus", "--regid", "fluxbus", "--clear-groups", "prlimit", "--pid",
                process, "--fsize=\(size):")
        }
        try limitFiles(to: "0")
        let dispatch = #"{"op":"dispatch","store":"counter/trouble","action":"increment"}"#
        #expect(try client.ask(dispatch).contains(#""code":"unavailable""#))
        #expect(
            try host.comesTrue {
                try host.property("StatusText").hasPrefix("The log /var/lib/fluxbus/bus.sqlite ")
            })
        let entry = try message("5fbde6c93e9242c38120fcfff8ef95a5")
        #expect(entry?["PRIORITY"] as? String == "3")
        #expect((entry?["MESSAGE"] as? String)?.contains("are rolled back") == true)
        try limitFiles(to: "unlimited")
        #expect(try host.comesTrue { try message("3cff9e861b864b8eafe01458174db0e1") != nil })
        #expect(try client.ask(dispatch).contains(#""changed":1"#))
        #expect(try client.ask(#"{"op":"get","store":"counter/trouble"}"#).contains(#""count":1"#))
        #expect(
            try host.comesTrue { try host.property("StatusText").wholeMatch(of: /[0-9]+ stores, .*/) != nil })
        #expect(try host.property("MainPID") == process)
    }

    /// Threads of Dispatch end when they are idle, and later the system has no room for others: what was asked waits until it
    /// has, and a stop is carried out all the same.
    @Test func aLackOfThreadsIsSurvived() throws {
        let client = try host.connect()
        let process = try host.property("MainPID")
        let limits = try host.harness.check("cat", "/proc/\(process)/limits")
        let line = try #require(limits.split(separator: "\n").first { $0.hasPrefix("Max processes") })
        let all = String(try #require(line.split(separator: " ").dropFirst(3).first))
        /// As the daemon's own user: for root there is always room.
        func limitThreads(to count: String) throws {
            try host.harness.check(
                "setpriv", "--reuid", "fluxbus", "--regid", "fluxbus", "--clear-groups", "prlimit", "--pid",
                process, "--nproc=\(count):")
        }
        /// One of them waits for events, always.
        func isIdle() throws -> Bool {
            try host.harness.run("sh", "-c", "cat /proc/\(process)/task/*/comm | grep -c qos").output == "1\n"
        }
        /// None is left, and there is room for none; a sign of life may wake one between the two. The limit comes last, because
        /// from then on nothing feeds the watchdog.
        func takeThreads() throws {
            repeat {
                try limitThreads(to: all)
                try #require(try host.comesTrue(isIdle))
                try limitThreads(to: "1")
            } while try !isIdle()
        }
        try takeThreads()
        try client.send(#"{"op":"ping"}"#)
        try limitThreads(to: all)
        #expect(try client.line() == #"{"ok":true}"#)
        try takeThreads()
        try host.harness.check("systemctl", "stop", BusHost.service)
        #expect(try host.property("ExecMainCode") == "1")
        #expect(try host.property("ExecMainStatus") == "71")
        let messages = try host.harness.check(
            "journalctl", "-o", "cat", "-u", BusHost.service, "_PID=\(process)")
        #expect(
            messages.contains("did not react to the request to stop for 10 seconds"), "\(messages)")
        try host.harness.check("systemctl", "reset-failed", BusHost.service)
        try host.harness.check("systemctl", "start", BusHost.service)
        #expect(try host.connect().ask(#"{"op":"ping"}"#) == #"{"ok":true}"#)
    }

    @Test func aLogThatIsConfiguredLaterIsBegunByARestart() throws {
        try host.harness.write("/run/late.yaml", "types: /etc/fluxbus/types\n")
        try host.harness.write(
            "/run/systemd/system/late.service",
            """
            [Service]
            Type=notify
            RuntimeDirectory=late
            RuntimeDirectoryPreserve=yes
            FileDescriptorStoreMax=4
            EnvironmentFile=-/run/late.conf
            ExecStart=/usr/bin/fluxbusd --config /run/late.yaml --listen unix:/run/late/bus.sock
            ExecStop=-/bin/kill -s USR1 $MAINPID
            """)
        try host.harness.check("systemctl", "daemon-reload")
        try host.harness.check("systemctl", "start", "late.service")
        let path = host.harness.path("/run/late/bus.sock")
        let client = try LineClient(service: path)
        let before = try client.epoch()
        _ = try client.ask(#"{"op":"create","store":"counter/late"}"#)
        for _ in 0..<5 { _ = try client.ask(#"{"op":"dispatch","type":"counter","action":"increment"}"#) }
        #expect(try client.ask(#"{"op":"history"}"#).contains("unavailable"))

        try host.harness.write("/run/late.conf", "FLUXBUS_LOG=/run/late/bus.sqlite\n")
        try host.harness.check("systemctl", "restart", "late.service")
        // The same connection, in the same history, which is written down from here on.
        #expect(
            try client.ask(#"{"op":"dispatch","type":"counter","action":"increment"}"#)
                == #"{"ok":true,"revision":7,"matched":1,"changed":1}"#)
        #expect(try client.ask(#"{"op":"history"}"#).contains(#""oldest":6"#))
        try host.harness.check("systemctl", "kill", "--signal=KILL", "--kill-whom=main", "late.service")
        #expect(try client.line() == nil)
        #expect(
            try host.comesTrue { try host.harness.property("ActiveState", of: "late.service") != "active" })
        try host.harness.check("systemctl", "reset-failed", "late.service")
        try host.harness.check("systemctl", "start", "late.service")
        let next = try LineClient(service: path)
        #expect(try next.epoch() == before)
        #expect(try next.ask(#"{"op":"get","store":"counter/late"}"#).contains(#""count":6"#))
        try host.harness.check("systemctl", "stop", "late.service")
        let verified = try host.harness.run(
            "fluxbusd", "--config", "/run/late.yaml", "--listen", "unix:/run/x", "--log",
            "/run/late/bus.sqlite", "--verify")
        #expect(verified.status == 0, "\(verified.errors)")
    }
}
