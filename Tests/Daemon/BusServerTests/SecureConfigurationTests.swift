import BusServer
import Foundation
import TestCertificates
import TestFiles
import Testing

/// What the configuration says about TLS, and the files it names.
struct SecureConfigurationTests {
    private let authority: TestAuthority
    private let server: TestAuthority.Issued
    private let directory = TemporaryDirectory()

    init() throws {
        authority = try TestAuthority()
        server = try authority.server()
    }

    /// What is wrong with one element of `listen`; nil if it is taken.
    private func mistakes(
        _ element: String, tokens: Bool = false, hasRules: Bool = true
    ) throws -> [String]? {
        let token = tokens ? "tokens: \(try directory.write("tokens", "phone 0123456789abcdef"))\n" : ""
        let rules =
            hasRules
            ? "access: { roles: { admin: [{ user: root }] }, rules: [{ role: admin, may: all }] }\n" : ""
        let file = try directory.write("fluxbusd.yaml", token + rules + "listen:\n  - { \(element) }\n")
        do throws(StartFailure) {
            let setup = try ServerSetup.load(
                flags: ConfigurationOverrides(config: file),
                environment: ConfigurationOverrides(environment: [:]))
            try setup.check()
            return nil
        } catch {
            let failure = error
            #expect(failure.code == .configuration)
            #expect(failure.messages.allSatisfy { $0.hasPrefix("\(file):") })
            return failure.messages
        }
    }

    private func element(
        _ certificate: String, _ key: String, address: String = "0.0.0.0:7412", more: String = ""
    ) -> String {
        "tls: \"\(address)\", certificate: \(certificate), key: \(key)\(more)"
    }

    @Test func rightFilesAreTaken() throws {
        let clients = ", clients: \(authority.certificate)"
        #expect(try mistakes(element(server.certificate, server.key, more: clients)) == nil)
        #expect(try mistakes(element(server.certificate, server.key), tokens: true) == nil)
        let strict = clients + ", require: true"
        #expect(
            try mistakes(element(server.certificate, server.key, address: "[::]:7412", more: strict)) == nil)
    }

    /// Beyond this machine everybody could try an address.
    @Test func beyondThisMachineThereMustBeRules() throws {
        let clients = ", clients: \(authority.certificate)"
        func at(_ address: String) -> String {
            element(server.certificate, server.key, address: address, more: clients)
        }
        #expect(
            try mistakes(at("0.0.0.0:7412"), hasRules: false)?.contains {
                $0.contains("needs access rules")
            }
                == true)
        #expect(try mistakes(at("127.0.0.1:7412"), hasRules: false) == nil)
    }

    @Test func whatIsWrongWithThemIsSaid() throws {
        let other = try authority.server("other")
        let old = try authority.server("old", days: -1)
        let weak = try authority.server("weak", key: .weak)
        let clients = ", clients: \(authority.certificate)"
        let open = try directory.write(
            "open.key", String(contentsOfFile: server.key, encoding: .utf8), mode: 0o644)
        let noKey = try directory.write(
            "no.key", String(contentsOfFile: server.certificate, encoding: .utf8))
        let wrong: [(String, String)] = [
            (element("missing.pem", server.key, more: clients), "missing.pem can't be read: No such file"),
            (
                element(server.certificate, "missing.key", more: clients),
                "missing.key can't be read: No such file"
            ),
            (
                element(server.certificate, server.key, more: ", clients: no.pem"),
                "no.pem can't be read: No such file"
            ),
            (element(server.certificate, other.key, more: clients), "does not belong to the certificate"),
            (element(old.certificate, old.key, more: clients), "has expired"),
            (element(weak.certificate, weak.key, more: clients), "key too small"),
            (element(server.key, server.key, more: clients), "there is no certificate in it"),
            (element(server.certificate, noKey, more: clients), "no private key in it"),
            (element(server.certificate, open, more: clients), "by everybody; run chmod o= on it."),
            (element(server.certificate, server.key), "TLS needs to know its clients"),
            (element(server.certificate, server.key, more: ", require: true"), "require asks every client"),
            (element(server.certificate, server.key, address: "hall.home:7412", more: clients), "in numbers"),
            ("tls: \"0.0.0.0:7412\", key: \(server.key)\(clients)", "name the PEM file under certificate:"),
            ("tcp: \"127.0.0.1:7411\", key: \(server.key)", "key is for tls: only"),
            ("tcp: \"0.0.0.0:7411\"", "Beyond this machine TCP needs encryption"),
        ]
        for (element, words) in wrong {
            let messages = try mistakes(element)
            #expect(messages?.contains { $0.contains(words) } == true, "\(element) gave \(messages ?? [])")
        }
    }
}
