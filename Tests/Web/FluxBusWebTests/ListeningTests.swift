import BusSystem
import CLinux
import FluxBus
import FluxBusWeb
import Foundation
import Systemd
import TestCertificates
import TestFiles
import TestServer
import Testing

@Suite("Where it listens")
struct ListeningTests {
    @Test func passedSocketsAreServed() async throws {
        let passed = try Sockets.listen(at: "tcp:127.0.0.1:0")
        let descriptors = [PassedDescriptor(descriptor: passed, name: "web")]
        try await WebFixture.run(passed: descriptors) { setup, _ in
            setup.listen = [.systemd(name: "web")]
        } _: { (web) throws in
            #expect(web.host == "127.0.0.1:\(Sockets.port(of: passed))")
            #expect(try web.webSocket(web.signIn()).ask(#"{"op":"ping"}"#) == #"{"ok":true}"#)
        }
    }

    @Test func passedSocketsAreCheckedAsOwnOnesAre() throws {
        let directory = TemporaryDirectory()
        let inward = try Sockets.listen(at: "tcp:127.0.0.1:0")
        let setup = WebServer.Setup(
            bus: .unix(path: "/x"), stateDirectory: directory.path, runtimeDirectory: directory.path)
        var outward = setup
        outward.listen = [.systemd(name: "web")]
        var none = ListenDescriptors([PassedDescriptor(descriptor: inward, name: "other")])
        #expect(throws: WebFailure.self) { try WebServer.listen(outward, &none) }
        let everywhere = try #require(InternetAddress(parsing: "0.0.0.0:0"))
        // Bound to all addresses, as a socket unit may say it.
        let open = try WebListener.openUnchecked(everywhere)
        var passed = ListenDescriptors([PassedDescriptor(descriptor: open, name: "web")])
        #expect(throws: WebFailure.self) { try WebServer.listen(outward, &passed) }
        close(inward)
    }

    @Test func aUnixSocketIsItsUsersAndGoes() async throws {
        try await WebFixture.run { setup, bus in
            setup.listen = [.unix(path: bus.path("web"))]
        } _: { (web) throws in
            var status = stat()
            let path = web.bus.path("web")
            #expect(stat(path, &status) == 0 && status.st_mode & 0o777 == 0o600)
            #expect(try web.webSocket(web.signIn()).ask(#"{"op":"ping"}"#) == #"{"ok":true}"#)
            var none = ListenDescriptors([])
            #expect(throws: WebFailure.self) {
                try WebListener.open(.unix(path: path), isSecure: false, &none)
            }
            web.stop()
            #expect(stat(path, &status) != 0)
            // One that was left behind by a crash is replaced; a file is not.
            close(try Sockets.listen(at: "unix:\(path)"))
            try web.restart()
            #expect(try web.ask("GET", "/session").status == 200)
            try web.bus.directory.write("file", "")
            #expect(throws: WebFailure.self) {
                try WebListener.open(.unix(path: web.bus.path("file")), isSecure: false, &none)
            }
        }
    }

    @Test func version6IsServed() async throws {
        try await WebFixture.run { setup, _ in
            setup.listen = ["[::1]:0", "127.0.0.1:0"].compactMap { try? WebAddress(parsing: $0) }
        } _: { (web) throws in
            let first = web.server.addresses[0]
            #expect(web.server.link.hasPrefix("http://[::1]:") && web.server.addresses.count == 2)
            let port = try #require(first.split(separator: ":").last)
            let request = #"GET /session HTTP/1.1\r\nHost: \#(first)\r\nConnection: close\r\n\r\n"#
            let outcome = try RunningProgram([
                "/bin/bash", "-c", "exec 3<>/dev/tcp/::1/\(port); printf '\(request)' >&3; cat <&3",
            ]).wait()
            #expect(outcome.output.contains(#""signIn":"link""#), "\(outcome)")
        }
    }

    @Test func certificatesAreReadAnew() async throws {
        let (first, second) = (try TestAuthority("First"), try TestAuthority("Second"))
        let (old, new) = (try first.server(), try second.server())
        let files = TemporaryDirectory()
        @Sendable func put(_ issued: TestAuthority.Issued) throws {
            try files.write("web.pem", String(contentsOfFile: issued.certificate, encoding: .utf8))
            try files.write("web.key", String(contentsOfFile: issued.key, encoding: .utf8))
        }
        try put(old)
        nonisolated(unsafe) let (oldAuthority, newAuthority) = (first, second)
        try await WebFixture.run { setup, _ in
            setup.certificate = CertificateFiles(
                certificate: "\(files.path)/web.pem", key: "\(files.path)/web.key")
        } _: { (web) throws in
            let address = web.address.replacingOccurrences(of: "tcp:", with: "tls:")
            let client = try SecureClient(address, trusting: oldAuthority.certificate).shakeHands()
            #expect(try Self.session(client, web).contains(#""signedIn":false"#))
            try put(new)
            try web.server.reloadCertificate()
            let next = try SecureClient(address, trusting: newAuthority.certificate).shakeHands()
            #expect(try Self.session(next, web).contains(#""signedIn":false"#))
            // Those that were there go on.
            #expect(try Self.session(client, web).contains(#""signedIn":false"#))
            #expect(throws: (any Error).self) {
                try SecureClient(address, trusting: oldAuthority.certificate).shakeHands()
            }
            try files.write("web.key", "nonsense")
            #expect(throws: WebFailure.self) { try web.server.reloadCertificate() }
            _ = try SecureClient(address, trusting: newAuthority.certificate).shakeHands()
        }
    }

    private static func session(_ client: SecureClient, _ web: WebFixture) throws -> String {
        try client.send(bytes: "GET /session HTTP/1.1\r\nHost: \(web.host)\r\n\r\n")
        while let line = try client.line(), line != "\r" {}
        return try client.line() ?? ""
    }

    @Test func overTLSCookiesAreForTLSOnly() async throws {
        let authority = try TestAuthority()
        let issued = try authority.server()
        nonisolated(unsafe) let issuer = authority
        try await WebFixture.run { setup, _ in
            setup.certificate = CertificateFiles(certificate: issued.certificate, key: issued.key)
        } _: { (web) throws in
            #expect(web.server.link.hasPrefix("https://127.0.0.1:"))
            let address = web.address.replacingOccurrences(of: "tcp:", with: "tls:")
            let client = try SecureClient(address, trusting: issuer.certificate).shakeHands()
            try client.send(
                bytes:
                    "POST /session HTTP/1.1\r\nHost: \(web.host)\r\nOrigin: http://\(web.host)\r\nContent-Length: 1\r\n\r\nx"
                    + "POST /session HTTP/1.1\r\nHost: \(web.host)\r\nOrigin: https://\(web.host)\r\nContent-Length: 64\r\n"
                    + "Connection: close\r\n\r\n\(web.token)")
            let lines = try client.rest()
            #expect(lines.first == "HTTP/1.1 403 Forbidden\r")
            let cookie = try #require(lines.first { $0.hasPrefix("Set-Cookie: ") })
            #expect(cookie.hasSuffix("; HttpOnly; SameSite=Strict; Secure\r"))
            // A page of 100 kB and more comes whole.
            let whole = try SecureClient(address, trusting: issuer.certificate).shakeHands()
            try whole.send(
                bytes: String(
                    repeating: "GET /inspector/main.js HTTP/1.1\r\nHost: \(web.host)\r\n\r\n", count: 20)
                    + "GET /inspector/main.js HTTP/1.1\r\nHost: \(web.host)\r\nConnection: close\r\n\r\n")
            #expect(try whole.rest().count { $0 == "HTTP/1.1 200 OK\r" } == 21)
            // Without TLS nothing is said.
            let plain = try web.client()
            plain.send("GET / HTTP/1.1\r\nHost: \(web.host)\r\n\r\n")
            #expect(!String(decoding: try plain.rest(), as: UTF8.self).contains("HTTP/1.1"))
        }
    }
}
