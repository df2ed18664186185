import Foundation
import TestServer
import Testing

/// The inspector's server as a service: started by its socket, in its sandbox, before the installed bus.
extension BusTests {
    private static let web = "fluxbus-web.service"
    private static let token = "inspector-0123456789abcdef"

    /// One request on a connection of its own, as the answer's bytes.
    private func ask(_ path: String, _ fields: String...) throws -> String {
        let lines = ["GET \(path) HTTP/1.1", "Host: localhost", "Connection: close"] + fields
        let request = lines.map { $0 + #"\r\n"# }.joined() + #"\r\n"#
        return try host.harness.check(
            "bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/7480; printf '\(request)' >&3; cat <&3")
    }

    @Test func theInspectorIsStartedByItsSocketAndReachesTheBus() throws {
        let harness = host.harness
        try harness.write("/etc/fluxbus/tokens", "inspector \(Self.token)\n")
        try harness.check("chown", "fluxbus", "/etc/fluxbus/tokens")
        try harness.check("chmod", "600", "/etc/fluxbus/tokens")
        try host.dropIn("tokens", ["Environment=FLUXBUS_TOKENS=/etc/fluxbus/tokens"])
        try host.dropIn("tcp", ["ListenStream=127.0.0.1:7411"], unit: "fluxbusd.socket", section: "Socket")
        try host.dropIn("runtime", ["ExecPaths=\(try BusHost.runtimeFolder())"], unit: Self.web)
        defer {
            _ = try? harness.run("systemctl", "stop", "fluxbus-web.socket", Self.web)
            _ = try? harness.run(
                "rm", "/run/systemd/system/fluxbusd.socket.d/tcp.conf",
                "/run/systemd/system/\(BusHost.service).d/tokens.conf")
            _ = try? harness.run("systemctl", "daemon-reload")
            _ = try? harness.run("systemctl", "stop", BusHost.service, "fluxbusd.socket")
            _ = try? harness.run("systemctl", "start", "fluxbusd.socket", BusHost.service)
        }
        try harness.check("systemctl", "stop", BusHost.service, "fluxbusd.socket")
        try harness.check("systemctl", "start", "fluxbusd.socket", BusHost.service, "fluxbus-web.socket")
        #expect(try harness.property("ActiveState", of: Self.web) == "inactive")

        let page = try ask("/")
        let messages = try harness.run("journalctl", "-u", Self.web, "-o", "cat").output
        #expect(
            page.hasPrefix("HTTP/1.1 200 OK\r\n") && page.contains("<title>FluxBus</title>"), "\(messages)")
        #expect(try harness.property("ActiveState", of: Self.web) == "active")
        #expect(try ask("/session").contains(#""signIn":"token""#))
        #expect(try ask("/healthz").hasSuffix("\r\n\r\nok"))
        #expect(try ask("/metrics").hasPrefix("HTTP/1.1 401 "))
        let metrics = try ask("/metrics", "Authorization: Bearer \(Self.token)")
        #expect(metrics.contains("\nfluxbus_"), "\(metrics)")

        // A stop is orderly, and nothing that it is told stands in the journal.
        try harness.check("systemctl", "reload", Self.web)
        try harness.check("systemctl", "stop", Self.web)
        #expect(try harness.property("Result", of: Self.web) == "success")
        try harness.check("journalctl", "--sync")
        let journal = try harness.check("journalctl", "-u", Self.web, "-o", "cat")
        #expect(journal.contains("http://127.0.0.1:7480/") && !journal.contains(Self.token), "\(journal)")
        // The next connection starts it anew.
        #expect(try ask("/healthz").hasSuffix("\r\n\r\nok"))
    }
}
