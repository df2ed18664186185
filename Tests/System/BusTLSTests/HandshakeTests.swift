import BusTLS
import TestCertificates
import Testing

/// Who trusts whom.
struct HandshakeTests {
    private let authority: TestAuthority
    private let other: TestAuthority

    init() throws {
        authority = try TestAuthority()
        other = try TestAuthority("Another Authority")
    }

    private func server(
        _ issued: TestAuthority.Issued, clients: TestAuthority? = nil, requires: Bool = false
    ) throws -> TLSContext {
        try TLSContext(
            serverWith: TLSCertificate.all(inPEM: contents(issued.certificate)),
            TLSKey(inPEM: contents(issued.key)),
            clients: clients.map { try TLSCertificate.all(inPEM: contents($0.certificate)) } ?? [],
            requiresCertificate: requires)
    }

    private func client(
        trusting: TestAuthority, _ issued: TestAuthority.Issued? = nil
    ) throws -> TLSContext {
        try TLSContext(
            clientTrusting: TLSCertificate.all(inPEM: contents(trusting.certificate)),
            chain: issued.map { try TLSCertificate.all(inPEM: contents($0.certificate)) } ?? [],
            issued.map { try TLSKey(inPEM: contents($0.key)) })
    }

    @Test(arguments: ["localhost", "127.0.0.1"])
    func bothEndsReadWhatTheOtherWrites(host: String) throws {
        let pair = SessionPair(
            client: try client(trusting: authority), server: try server(authority.server()), host: host)
        #expect(pair.shakeHands() == (nil, nil))
        #expect(pair.client.summary.hasPrefix("TLSv1.3 "))
        try pair.client.write("ping")
        pair.move(from: pair.client, to: pair.server)
        #expect(try pair.read(pair.server) == Array("ping".utf8))
        // One direction ends, the other goes on.
        pair.client.finish()
        pair.move(from: pair.client, to: pair.server)
        #expect(try pair.read(pair.server) == nil)
        try pair.server.write("pong")
        pair.move(from: pair.server, to: pair.client)
        #expect(try pair.read(pair.client) == Array("pong".utf8))
        pair.server.finish()
        pair.move(from: pair.server, to: pair.client)
        #expect(try pair.read(pair.client) == nil)
        #expect(!String(decoding: pair.recorded, as: UTF8.self).contains("ping"))
    }

    @Test func aServerOfAnotherAuthorityIsNotTrusted() throws {
        let pair = SessionPair(client: try client(trusting: other), server: try server(authority.server()))
        let failures = pair.shakeHands()
        #expect(failures.client?.kind == .untrusted)
        #expect(failures.server?.kind == .refusedCertificate)
    }

    @Test(arguments: ["example.org", "127.0.0.2", "localhost.example.org"])
    func aServerOfAnotherNameIsNotTrusted(host: String) throws {
        let pair = SessionPair(
            client: try client(trusting: authority), server: try server(authority.server()), host: host)
        #expect(pair.shakeHands().client?.kind == .wrongName)
        #expect(!pair.client.isEstablished)
    }

    @Test func anExpiredServerIsNotTrusted() throws {
        let issued = try authority.server(days: -1)
        #expect(try TLSCertificate.all(inPEM: contents(issued.certificate))[0].expired != nil)
        let pair = SessionPair(client: try client(trusting: authority), server: try server(issued))
        #expect(pair.shakeHands().client?.kind == .expired)
    }

    @Test func aClientIsKnownByItsCertificate() throws {
        let hall = try authority.client(
            "display-hall", subject: "/O=Home, sweet/CN=display-hällö",
            names: "DNS:hall.home,IP:192.0.2.7,IP:2001:db8::1,email:hall@home,URI:urn:display:hall")
        let pair = SessionPair(
            client: try client(trusting: authority, hall),
            server: try server(authority.server(), clients: authority, requires: true))
        #expect(pair.shakeHands() == (nil, nil))
        let peer = try #require(pair.server.peer)
        #expect(peer.subject == #"CN=display-hällö,O=Home\, sweet"#)
        #expect(
            peer.names == [
                "DNS:hall.home", "IP:192.0.2.7", "IP:2001:db8::1", "email:hall@home", "URI:urn:display:hall",
            ])
    }

    @Test func aCertificateIsWantedOrRequired() throws {
        let issued = try authority.server()
        let wanted = SessionPair(
            client: try client(trusting: authority), server: try server(issued, clients: authority))
        #expect(wanted.shakeHands() == (nil, nil))
        #expect(wanted.server.peer == nil)
        let required = SessionPair(
            client: try client(trusting: authority),
            server: try server(issued, clients: authority, requires: true))
        let failures = required.shakeHands()
        #expect(failures.server?.kind == .noCertificate)
        #expect(failures.client?.kind == .refusedCertificate)
    }

    @Test func aWrongClientIsRefused() throws {
        let server = try server(authority.server(), clients: authority)
        let wrong: [(TestAuthority.Issued, TLSFailure.Kind)] = [
            (try other.client("stranger"), .untrusted), (try authority.client("old", days: -1), .expired),
            // A server's certificate is no client's.
            (try authority.client("server2", use: "serverAuth"), .untrusted),
        ]
        for (issued, kind) in wrong {
            let pair = SessionPair(client: try client(trusting: authority, issued), server: server)
            let failures = pair.shakeHands()
            #expect(failures.server?.kind == kind, "\(issued)")
            #expect(failures.client?.kind == .refusedCertificate, "\(issued)")
            #expect(pair.server.peer == nil)
        }
    }

    @Test func whatIsWrongWithFilesIsSaid() throws {
        func words(_ body: () throws -> Void) -> String? {
            do {
                try body()
                return nil
            } catch {
                return (error as? TLSFailure)?.description
            }
        }
        let server = try authority.server()
        let text = try contents(server.certificate)
        #expect(words { _ = try TLSCertificate.all(inPEM: []) } == "there is no certificate in it")
        #expect(
            words { _ = try TLSCertificate.all(inPEM: contents(server.key)) }
                == "there is no certificate in it")
        #expect(words { _ = try TLSCertificate.all(inPEM: Array(text.prefix(300))) } != nil)
        #expect(words { _ = try TLSKey(inPEM: text) } == "there is no private key in it")
        #expect(words { _ = try TLSKey(inPEM: []) } == "there is no private key in it")
        let certificate = try TLSCertificate.all(inPEM: text)[0]
        #expect(try TLSKey(inPEM: contents(server.key)).fits(certificate))
        #expect(try !TLSKey(inPEM: contents(authority.server("second").key)).fits(certificate))
        #expect(certificate.expired == nil)
        #expect(certificate.begins == nil)
        let weak = try authority.server("weak", key: .weak)
        #expect(words { _ = try self.server(weak) }?.contains("key too small") == true)
    }
}
