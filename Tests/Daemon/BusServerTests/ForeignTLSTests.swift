import Foundation
import TestCertificates
import TestServer
import Testing

/// Programs that are not ours speak TLS with the daemon.
@Suite(.timeLimit(.minutes(10))) struct ForeignTLSTests {
    private func python(_ script: String, _ arguments: [String]) throws -> RunningProgram.Outcome {
        try RunningProgram(
            ["/usr/bin/env", "python3", "-c", script] + arguments,
            environment: ProcessInfo.processInfo.environment
        ).wait()
    }

    private func port(_ secure: SecureBus) throws -> String {
        String(try #require(secure.address.split(separator: ":").last))
    }

    private func openSSL(_ secure: SecureBus, _ more: [String]) throws -> RunningProgram {
        try RunningProgram(
            ["/usr/bin/openssl", "s_client", "-connect", "127.0.0.1:\(port(secure))", "-CAfile"]
                + [secure.authority.certificate, "-verify_return_error"] + more, hasInput: true)
    }

    @Test(arguments: ["TLSv1_2", "TLSv1_3"])
    func pythonSpeaks(version: String) throws {
        let secure = try SecureBus(clients: true)
        let hall = try secure.authority.client("display-hall")
        let script = """
            import socket, ssl, sys
            port, ca, certificate, key = sys.argv[1:]
            context = ssl.create_default_context(cafile=ca)
            context.minimum_version = context.maximum_version = ssl.TLSVersion.\(version)
            context.load_cert_chain(certificate, key)
            with context.wrap_socket(socket.create_connection(("127.0.0.1", int(port))), server_hostname="localhost") as s:
                lines = s.makefile("rw")
                for count in range(200):
                    lines.write('{"id":%d,"op":"ping"}\\n' % count)
                lines.flush()
                for count in range(200):
                    assert lines.readline() == '{"id":%d,"ok":true}\\n' % count
                lines.write('{"op":"hello"}\\n')
                lines.flush()
                print(s.version(), lines.readline())
            """
        let outcome = try python(
            script, [port(secure), secure.authority.certificate, hall.certificate, hall.key])
        #expect(outcome.status == 0, "\(outcome)")
        #expect(outcome.output.hasPrefix(version.replacing("_", with: ".")))
        #expect(outcome.output.contains(#""certificate":"CN=display-hall,O=Home"}"#), "\(outcome)")
    }

    @Test func openSSLSpeaks() throws {
        let secure = try SecureBus()
        let program = try openSSL(secure, ["-quiet", "-tls1_2"])
        try program.send(SecureBus.hello)
        #expect(program.nextLine()?.contains(#""ok":true,"protocol":1"#) == true)
        try program.send(SecureBus.ping)
        #expect(program.nextLine() == SecureBus.pong)
    }

    /// What one that is to be refused says.
    private func refusal(_ secure: SecureBus, _ more: [String]) throws -> String {
        let program = try openSSL(secure, more)
        try program.endInput()
        let outcome = try program.wait()
        #expect(outcome.status != 0, "\(outcome)")
        return outcome.output + outcome.errors
    }

    @Test(arguments: ["-tls1", "-tls1_1"])
    func oldVersionsAreRefused(version: String) throws {
        let secure = try SecureBus()
        // The client allows itself everything.
        let words = try refusal(secure, [version, "-cipher", "ALL:@SECLEVEL=0"])
        #expect(words.contains("alert protocol version"), "\(words)")
        #expect(secure.refusals.count == 1)
    }

    @Test(arguments: [
        "AES128-SHA", "AES256-GCM-SHA384", "ECDHE-ECDSA-AES128-SHA", "ALL:!ECDHE:@SECLEVEL=0",
        "eNULL:@SECLEVEL=0",
    ])
    func weakCiphersAreRefused(cipher: String) throws {
        let secure = try SecureBus()
        let words = try refusal(secure, ["-tls1_2", "-cipher", cipher])
        #expect(words.contains("handshake failure"), "\(words)")
        #expect(secure.refusals.first?.message.contains("no shared cipher") == true, "\(secure.refusals)")
    }

    @Test func renegotiationIsRefused() throws {
        let secure = try SecureBus()
        let program = try openSSL(secure, ["-tls1_2"])
        #expect(program.reads("---"))
        // A line of an R alone asks for it.
        try program.send("R")
        let outcome = try program.wait()
        #expect(outcome.errors.contains("no renegotiation"), "\(outcome)")
        // It harms nobody.
        let client = try secure.client().shakeHands()
        #expect(try client.ask(SecureBus.hello).contains(#""ok":true"#))
    }
}
