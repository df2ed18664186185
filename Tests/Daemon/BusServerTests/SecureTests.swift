import BusServer
import BusTLS
import Foundation
import TestCertificates
import TestFiles
import TestServer
import Testing

/// TCP clients with TLS.
@Suite(.timeLimit(.minutes(10))) struct SecureTests {
    @Test func aTokenIsShownThroughTLS() throws {
        let secure = try SecureBus()
        #expect(secure.address.hasPrefix("tls:127.0.0.1:"))
        let client = try secure.client().shakeHands()
        #expect(
            try client.ask(SecureBus.hello).contains(#""token":"phone"}"#))
        #expect(try client.ask(SecureBus.ping) == SecureBus.pong)
        // A half-closed connection is answered.
        try client.send(SecureBus.ping)
        try client.finishSending()
        #expect(try client.rest() == [SecureBus.pong])
        // Plain bytes are no handshake.
        let plain = try LineClient(secure.address, isResetAnEnd: true)
        try plain.send(SecureBus.hello)
        #expect(try plain.rest().filter { $0.contains("{") }.isEmpty)
    }

    @Test func aCertificateIsAnIdentity() throws {
        let secure = try SecureBus(clients: true)
        let hall = try secure.authority.client("display-hall", names: "DNS:hall.home")
        let client = try secure.client(hall).shakeHands()
        // No token, and any request may come first.
        #expect(
            try client.ask(#"{"op":"subscribe","store":"counter/main","actions":true}"#).contains(
                #""ok":true"#))
        try client.send(#"{"op":"dispatch","type":"counter","action":"increment","ack":false}"#)
        let event = try #require(try client.line())
        #expect(
            event.contains(#""certificate":"CN=display-hall,O=Home"},"time""#), "\(event)"
        )
        // Later tokens change nothing.
        #expect(
            try client.ask(SecureBus.hello).contains(#""certificate":"CN=display-hall,O=Home"}"#))
        // With a token in the first line, that is the identity.
        let phone = try secure.client(hall).shakeHands()
        #expect(try phone.ask(SecureBus.hello).contains(#""token":"phone"}"#))
        // A hello without one is enough.
        let second = try secure.client(hall).shakeHands()
        #expect(
            try second.ask(#"{"op":"hello"}"#).contains(
                #""certificate":"CN=display-hall,O=Home"}"#))
        // A wrong token is not made good by a certificate.
        let guesser = try secure.client(hall).shakeHands()
        #expect(try guesser.ask(#"{"op":"hello","token":"wrong"}"#).contains(#""code":"unauthorized""#))
        #expect(try guesser.rest().first?.contains(#""code":"protocol""#) == true)
        #expect(secure.refusals.count == 1)
        #expect(secure.refusals.first?.metadata["certificate"]?.description == "CN=display-hall,O=Home")
        // A mistake in the first line ends nothing, and a long one may come first.
        let clumsy = try secure.client(hall).shakeHands()
        #expect(try clumsy.ask("[").contains(#""code":"parse_error""#))
        #expect(try clumsy.ask(SecureBus.ping) == SecureBus.pong)
        let wordy = try secure.client(hall).shakeHands()
        let id = String(repeating: "x", count: 50_000)
        #expect(try wordy.ask(#"{"op":"ping","id":"\#(id)"}"#) == #"{"id":"\#(id)","ok":true}"#)
    }

    @Test func withoutACertificateATokenIsNeeded() throws {
        let secure = try SecureBus(clients: true)
        let client = try secure.client().shakeHands()
        #expect(try client.ask(SecureBus.ping).contains(#""code":"unauthorized""#))
        #expect(try client.rest().first?.contains(#""code":"protocol""#) == true)
        #expect(secure.refusals.count == 1)
    }

    @Test func aRequiredOrWrongCertificateIsNotedAndSlowed() throws {
        let secure = try SecureBus(clients: true, ", require: true")
        let other = try TestAuthority("Another Authority")
        let stranger = try other.client("display-hall")
        let old = try secure.authority.client("old", days: -1)
        let start = ContinuousClock.now
        for issued in [nil, stranger, old] {
            let client = try secure.client(issued)
            do {
                try client.shakeHands()
                _ = try client.ask(SecureBus.hello)
                Issue.record("This certificate was taken.")
            } catch let failure as TLSFailure {
                #expect(failure.kind == .refusedCertificate, "\(failure)")
            }
        }
        // The second waits for 100 milliseconds before its handshake, the third for 200.
        #expect(start.duration(to: .now) >= .milliseconds(300))
        #expect(secure.refusals.count == 3)
        let words = secure.refusals.map(\.message)
        #expect(words.first?.contains("the client shows no certificate") == true, "\(words)")
        #expect(words.last?.contains("certificate has expired") == true, "\(words)")
        let known = try secure.client(secure.authority.client("display-hall")).shakeHands()
        #expect(try known.ask(SecureBus.ping) == SecureBus.pong)
    }

    @Test func newCertificatesAreForNewConnections() throws {
        let secure = try SecureBus(clients: true)
        let before = try secure.client().shakeHands()
        _ = try before.ask(SecureBus.hello)
        // Another authority now issues both sides' certificates; the files keep their names.
        let next = try TestAuthority("Next Authority")
        let issued = try next.server()
        for (new, old) in [
            (issued.certificate, "server.pem"), (issued.key, "server.key"), (next.certificate, "ca.pem"),
        ] {
            try secure.authority.directory.write(old, String(contentsOfFile: new, encoding: .utf8))
        }
        // Files are read off the bus queue: the reply comes when they are in force, or refused.
        _ = try secure.bus.client().ask(#"{"op":"reload"}"#)
        #expect(try before.ask(SecureBus.ping) == SecureBus.pong)
        let after = try SecureClient(secure.address, trusting: next.certificate)
        #expect(try after.shakeHands().ask(SecureBus.hello).contains(#""ok":true"#))
        let hall = try next.client("display-hall")
        let known = try SecureClient(
            secure.address, trusting: next.certificate, (hall.certificate, hall.key))
        #expect(try known.shakeHands().ask(SecureBus.ping) == SecureBus.pong)
        #expect(try before.ask(SecureBus.ping) == SecureBus.pong)
        // A reload that finds a wrong key changes nothing.
        try secure.authority.directory.write(
            "server.key", String(contentsOfFile: hall.key, encoding: .utf8))
        // Files are read off the bus queue: the reply comes when they are in force, or refused.
        _ = try secure.bus.client().ask(#"{"op":"reload"}"#)
        let last = try SecureClient(secure.address, trusting: next.certificate)
        #expect(try last.shakeHands().ask(SecureBus.hello).contains(#""ok":true"#))
        #expect(secure.log.notes.contains { $0.message.contains("does not belong to the certificate") })
    }

    @Test func aClientHearsThatTheBusStops() throws {
        let secure = try SecureBus()
        let known = try secure.client().shakeHands()
        _ = try known.ask(SecureBus.hello)
        let silent = try secure.client().shakeHands()
        // Its handshake is complete when somebody later is answered.
        let later = try secure.client().shakeHands()
        _ = try later.ask(SecureBus.hello)
        let begun = try secure.client()
        try begun.sayClientHello()
        secure.bus.stop()
        for client in [known, silent] {
            #expect(try client.rest().map { $0.contains(#""code":"shutdown""#) } == [true])
        }
    }

    @Test func muchGoesBothWaysExactly() throws {
        let secure = try SecureBus { setup in
            setup.types["note"] = """
                type: note
                initial: { text: "" }
                actions:
                  write: { payload: { text: string }, set: { text: { var: payload.text } } }
                """
            setup.stores.append("note/a")
        }
        let client = try secure.client().shakeHands()
        _ = try client.ask(SecureBus.hello)
        var text = ""
        for count in 0..<90_000 { text += "\(count)," }
        // Longer than sockets hold, and the client reads nothing meanwhile.
        #expect(
            try client.ask(
                #"{"op":"dispatch","store":"note/a","action":"write","payload":{"text":"\#(text)"}}"#
            )
            .contains(#""ok":true"#))
        for id in 0..<12 { try client.send(#"{"id":\#(id),"op":"get","store":"note/a"}"#) }
        // Somebody else is served while this one's output waits.
        #expect(try secure.bus.client().ask(SecureBus.ping) == SecureBus.pong)
        for id in 0..<12 {
            let line = try #require(try client.line())
            #expect(line.hasPrefix(#"{"id":\#(id),"ok":true"#))
            #expect(line.contains(#"{"text":"\#(text)"}"#))
        }
    }
}
