import Foundation
import TestServer
import Testing

/// Started by the first connection, and by units that need it.
extension BusTests {
    @Test func socketsByNameStartItAndNoConnectionIsLost() throws {
        let harness = host.harness
        try harness.write("/etc/fluxbus/tokens", "laptop 0123456789abcdef0123456789abcdef\n")
        try harness.check("chown", "fluxbus", "/etc/fluxbus/tokens")
        try harness.check("chmod", "600", "/etc/fluxbus/tokens")
        try host.dropIn("tokens", ["Environment=FLUXBUS_TOKENS=/etc/fluxbus/tokens"])
        try host.dropIn(
            "tcp", ["ListenStream=127.0.0.1:7411", "ListenStream=[::1]:7411"], unit: "fluxbusd.socket",
            section: "Socket")
        try harness.check("systemctl", "stop", BusHost.service, "fluxbusd.socket")
        try harness.check("systemctl", "start", "fluxbusd.socket")
        #expect(try host.property("ActiveState") == "inactive")

        let clients = try (0..<50).map { _ in try host.connect() }
        for client in clients { try client.send(#"{"op":"ping"}"#) }
        for client in clients { #expect(try client.line() == #"{"ok":true}"#) }
        let hello = #"{"op":"hello","token":"0123456789abcdef0123456789abcdef"}"#
        for address in ["127.0.0.1", "::1"] {
            let answer = try harness.check(
                "bash", "-c", "exec 3<>/dev/tcp/\(address)/7411; echo '\(hello)' >&3; head -n 1 <&3")
            #expect(answer.contains(#""token":"laptop""#), "\(answer)")
        }
        #expect(try host.property("NRestarts") == "0")
    }

    /// As the manual says it, but without the tokens.
    @Test func aTCPSocketWithoutTokensRefusesItsClientsAndNobodyElse() throws {
        let harness = host.harness
        try host.dropIn("tokens", ["Environment=FLUXBUS_TOKENS="])
        try host.dropIn("tcp", ["ListenStream=127.0.0.1:7412"], unit: "fluxbusd.socket", section: "Socket")
        try harness.check("systemctl", "stop", BusHost.service, "fluxbusd.socket")
        try harness.check("systemctl", "start", "fluxbusd.socket")
        let client = try host.connect()
        #expect(try client.ask(#"{"op":"ping"}"#) == #"{"ok":true}"#)
        #expect(try host.property("ActiveState") == "active")
        let answer = try harness.check(
            "bash", "-c",
            #"exec 3<>/dev/tcp/127.0.0.1/7412; echo '{"op":"hello","token":"0123456789abcdef"}' >&3; cat <&3"#
        )
        #expect(answer.contains(#""code":"unauthorized""#), "\(answer)")
        let messages = try host.journal("SYSLOG_IDENTIFIER=fluxbusd", "PRIORITY=4")
        #expect(
            messages.contains {
                ($0["MESSAGE"] as? String)?.hasPrefix(
                    "tcp:127.0.0.1:7412 was passed, but there are no tokens")
                    == true
            })
        try harness.check("rm", "/run/systemd/system/fluxbusd.socket.d/tcp.conf")
        try harness.check("systemctl", "daemon-reload")
        try harness.check("systemctl", "stop", BusHost.service, "fluxbusd.socket")
        try harness.check("systemctl", "start", "fluxbusd.socket", BusHost.service)
    }

    @Test func unitsWaitForItAndTellIt() throws {
        let harness = host.harness
        let client = try host.connect()
        for store in ["door/unit", "counter/starts"] {
            _ = try client.ask(#"{"op":"create","store":"\#(store)","ifMissing":true}"#)
        }
        func unit(_ name: String, _ lines: String...) throws {
            try harness.write(
                "/run/systemd/system/\(name).service",
                "[Unit]\nWants=fluxbusd.socket\nAfter=fluxbusd.socket\n[Service]\nType=oneshot\n"
                    + lines.joined(separator: "\n") + "\n")
            try harness.check("systemctl", "daemon-reload")
        }
        try unit(
            "needs", "ExecStartPre=/usr/bin/fluxbus wait counter/starts --timeout 20s",
            "ExecStart=/usr/bin/fluxbus dispatch counter/starts increment by:=2",
            "ExecStopPost=/usr/bin/fluxbus dispatch counter/starts increment by:=40")
        try harness.check("systemctl", "start", "needs.service")
        #expect(try client.ask(#"{"op":"get","store":"counter/starts"}"#).contains(#""count":42"#))

        // Runs only while the expression holds; else it is skipped, which is no failure.
        let condition = #"'{"<": [{"var": "count"}, 43]}'"#
        try unit(
            "only", "ExecCondition=/usr/bin/fluxbus wait counter/starts \(condition) --timeout 0s",
            "ExecStart=/usr/bin/fluxbus dispatch counter/starts increment")
        for _ in 0..<3 {
            try harness.check("systemctl", "start", "only.service")
            #expect(try client.ask(#"{"op":"get","store":"counter/starts"}"#).contains(#""count":43"#))
        }
    }

    @Test func usersOwnBusServesItsUser() throws {
        let harness = host.harness
        let home = "/run/user-home"
        try harness.write(
            "\(home)/.config/fluxbus/types/tally.yaml", "type: tally\ninitial: { count: 0 }\nactions: {}\n")
        try harness.write("\(home)/.config/fluxbus/fluxbusd.yaml", "types: types\nstores: [tally/mine]\n")
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
        defer { _ = try? harness.run("systemctl", "stop", "user-manager.service") }
        let user = try harness.check("id", "-u", "nobody")
        func manager(_ words: String...) throws -> String {
            try harness.check(
                [
                    "setpriv", "--reuid", user, "--clear-groups", "env", "HOME=\(home)",
                    "XDG_RUNTIME_DIR=\(home)/run",
                ] + words)
        }
        _ = try manager("systemctl", "--user", "start", "fluxbusd.socket")
        let client = try LineClient(service: harness.path("\(home)/run/fluxbus/bus.sock"))
        #expect(try client.ask(#"{"op":"get","store":"tally/mine"}"#).contains(#""count":0"#))
        // The command line finds it by itself, and a restart keeps the clients here, too.
        #expect(try manager("fluxbus", "ls").contains("tally/mine"))
        _ = try manager("systemctl", "--user", "restart", "fluxbusd.service")
        #expect(try client.ask(#"{"op":"ping"}"#) == #"{"ok":true}"#)
        _ = try manager("systemctl", "--user", "reload", "fluxbusd.service")
        #expect(try client.ask(#"{"op":"ping"}"#) == #"{"ok":true}"#)
    }
}
