import Foundation
import TestCertificates
import Testing

/// TLS in the installed service, as an administrator switches it on; and what its clients hear of a restart, which can't
/// hand their keys over.
extension BusTests {
    private static let address = "tls:localhost:7412"
    private static let token = "0123456789abcdef"

    @Test func clientsThroughTLSHearOfARestartAndComeBack() throws {
        let authority = try TestAuthority()
        let issued = try authority.server()
        for (name, path) in [
            ("bus.pem", issued.certificate), ("bus.key", issued.key), ("ca.pem", authority.certificate),
        ] {
            try host.harness.write(
                "/etc/fluxbus/tls/\(name)", try String(contentsOfFile: path, encoding: .utf8))
        }
        try host.harness.write("/etc/fluxbus/tokens", "sensor-hall \(Self.token)\n")
        try host.harness.write("/root/token", Self.token)
        try host.harness.check(
            "chmod", "600", "/etc/fluxbus/tls/bus.key", "/etc/fluxbus/tokens", "/root/token")
        try host.harness.check("chown", "fluxbus", "/etc/fluxbus/tls/bus.key", "/etc/fluxbus/tokens")
        let configuration = "/etc/fluxbus/fluxbusd.yaml"
        let before = try String(contentsOfFile: host.harness.path(configuration), encoding: .utf8)
        let unix = "  - unix: /run/fluxbus/bus.sock\n"
        #expect(before.contains(unix))
        try host.harness.write(
            configuration,
            before.replacingOccurrences(
                of: unix,
                with: "  - systemd: bus\n"
                    + "  - { tls: \"127.0.0.1:7412\", certificate: tls/bus.pem, key: tls/bus.key }\n")
                + "tokens: tokens\n")
        // The unit lets it use Unix sockets only, and names the one of systemd on its command line.
        try host.dropIn(
            "tls",
            [
                "PrivateNetwork=no", "RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6", "IPAddressDeny=",
                "ExecStart=", "ExecStart=/usr/bin/fluxbusd",
            ])
        defer {
            try? host.harness.write(configuration, before)
            _ = try? host.harness.check("rm", "-f", "/run/systemd/system/\(BusHost.service).d/tls.conf")
            _ = try? host.harness.check("systemctl", "daemon-reload")
            try? host.systemctl("restart")
        }
        let start = try host.harness.run("systemctl", "restart", BusHost.service)
        let messages = try host.harness.run("journalctl", "-u", BusHost.service, "-n", "20", "-o", "cat")
            .output
        #expect(start.status == 0, "\(messages)")

        let options = [
            "--address", Self.address, "--ca", "/etc/fluxbus/tls/ca.pem", "--token-file", "/root/token",
        ]
        let whoami = try host.harness.run(["fluxbus", "whoami"] + options)
        #expect(whoami.output.contains("sensor-hall"), "\(whoami)")
        // Without the authority, the bus is not trusted.
        #expect(try host.harness.run("fluxbus", "ping", "--address", Self.address).status != 0)

        try host.harness.write(
            "/run/systemd/system/listener.service",
            """
            [Service]
            ExecStart=/bin/sh -c '(echo "{\\\\"op\\\\":\\\\"hello\\\\",\\\\"token\\\\":\\\\"\(Self.token)\\\\"}"; exec tail -f /dev/null) | exec openssl s_client -quiet -connect localhost:7412 -CAfile /etc/fluxbus/tls/ca.pem'
            StandardOutput=file:/run/listener.txt
            """)
        try host.harness.check("systemctl", "daemon-reload")
        try host.harness.check("systemctl", "start", "listener.service")
        let heard = { try self.host.harness.run("cat", "/run/listener.txt").output }
        #expect(try host.comesTrue { try heard().contains(#""ok":true"#) })
        try host.systemctl("restart")
        #expect(try host.comesTrue { try heard().contains(#""event":"goodbye","code":"restart""#) })
        try host.harness.check("systemctl", "stop", "listener.service")
        #expect(try host.harness.run(["fluxbus", "ping"] + options).status == 0)
    }
}
