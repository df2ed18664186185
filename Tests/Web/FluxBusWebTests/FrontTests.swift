import BusJSON
import FluxBusWeb
import Foundation
import TestCertificates
import TestServer
import TestSupport
import Testing

@Suite("The front")
struct FrontTests {
    private static let request = "GET / HTTP/1.1\r\nhost: localhost\r\n\r\n"
    private static let answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

    @Test func requestsAndAnswersAreRelayed() async throws {
        try await onThread {
            let front = try FrontFixture()
            let client = try front.client()
            client.send(Self.request)
            let served = try front.accept()
            for _ in 0..<3 {
                #expect(served.take(upTo: "\r\n\r\n") == Self.request)
                served.send(Self.answer)
                #expect(try client.answer().text == "ok")
                client.send(Self.request)
            }
            #expect(served.take(upTo: "\r\n\r\n") == Self.request)
            client.finishSending()
            #expect(served.take(upTo: "?").isEmpty)
            served.send(Self.answer)
            #expect(try client.answer().text == "ok")
        }
    }

    /// A body that waits for a word is asked for, also a later one; one that has come already is not.
    @Test func aBodyThatWaitsIsAskedFor() async throws {
        try await onThread {
            let front = try FrontFixture()
            let head =
                "PUT / HTTP/1.1\r\nhost: localhost\r\nexpect: 100-Continue\r\ncontent-length: 4\r\n\r\n"
            let passed = "PUT / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 4\r\n\r\n"
            let word = "HTTP/1.1 100 Continue\r\n\r\n"
            let waiting = try front.client()
            waiting.send(head)
            let served = try front.accept()
            #expect(served.take(upTo: "\r\n\r\n") == passed)
            #expect(try waiting.take(word.utf8.count) == Array(word.utf8))
            waiting.send("body")
            #expect(served.take(upTo: "body") == "body")
            served.send(Self.answer)
            #expect(try waiting.answer().text == "ok")
            for client in [waiting, try front.client(), try front.client()] {
                let isOld = client === waiting
                client.send(isOld ? head : head.replacing("HTTP/1.1", with: "HTTP/1.0") + "body")
                let other = isOld ? served : try front.accept()
                if isOld {
                    #expect(other.take(upTo: "\r\n\r\n") == passed)
                    #expect(try client.take(word.utf8.count) == Array(word.utf8))
                    client.send("body")
                }
                #expect(other.take(upTo: "body").hasSuffix("body"))
                other.send(Self.answer)
                #expect(try client.answer().text == "ok")
            }
        }
    }

    /// What the front refuses has the form that errors have under `/v1`.
    @Test func refusalsAreJSON() async throws {
        try await onThread {
            let front = try FrontFixture()
            for (request, code) in [
                ("GET / HTTP/2.0\r\nhost: x\r\n\r\n", "invalid_request"),
                ("GET / HTTP/1.1\r\nhost: x\r\ncontent-length: 99999999\r\n\r\n", "too_large"),
            ] {
                let client = try front.client()
                client.send(request)
                let answer = try client.answer()
                #expect(answer.fields["content-type"] == "application/json")
                let error = try JSON(parsing: answer.text)["error"]
                #expect(error?["code"]?.string == code && error?["message"]?.string?.hasSuffix(".") == true)
            }
        }
    }

    @Test func whoDoesNotSayWhatItWantsGoes() async throws {
        try await onThread {
            let front = try FrontFixture()
            let (silent, slow) = (try front.client(), try front.client())
            slow.send("GET / HT")
            // It is there once a later one is served.
            let busy = try front.client()
            busy.send(Self.request)
            let served = try front.accept()
            #expect(served.take(upTo: "\r\n\r\n") == Self.request)
            front.clockMoved(by: .seconds(9))
            slow.send("TP/1.1\r\nHo")
            served.send(Self.answer)
            #expect(try busy.answer().text == "ok")
            front.clockMoved(by: .seconds(1))
            #expect(try silent.rest().isEmpty)
            #expect(try slow.rest().isEmpty)
            // A second request may take as long, from its first byte.
            busy.send("GET / HTTP/1.1\r\n")
            #expect(try Self.isServed(front))
            front.clockMoved(by: .seconds(9))
            busy.send("host: localhost\r\n\r\n")
            #expect(served.take(upTo: "\r\n\r\n") == Self.request)
            served.send(Self.answer)
            #expect(try busy.answer().text == "ok")
            front.clockMoved(by: .seconds(59))
            #expect(try Self.isServed(front))
            busy.send(Self.request)
            #expect(served.take(upTo: "\r\n\r\n") == Self.request)
            served.send(Self.answer)
            #expect(try busy.answer().text == "ok")
            front.clockMoved(by: .seconds(60))
            #expect(try busy.rest().isEmpty)
        }
    }

    /// What was sent before has been taken in.
    static func isServed(_ front: FrontFixture) throws -> Bool {
        let client = try front.client()
        client.send(request)
        let served = try front.accept()
        guard served.take(upTo: "\r\n\r\n") == request else { return false }
        served.send(answer)
        return try client.answer().text == "ok"
    }

    @Test func webSocketsStayHoweverQuiet() async throws {
        try await onThread {
            let front = try FrontFixture()
            let client = try front.client()
            client.send(client.request("GET", "/bus", WebClient.handshake))
            // What comes too early waits for the answer.
            client.send(WebSocketClient.bytes(Array("early".utf8)))
            let served = try front.accept()
            #expect(served.take(upTo: "\r\n\r\n").hasPrefix("GET /bus HTTP/1.1\r\n"))
            served.send("HTTP/1.1 101 Switching Protocols\r\n\r\n")
            #expect(try client.answer().status == 101)
            let early = String(decoding: WebSocketClient.bytes(Array("early".utf8)), as: UTF8.self)
            #expect(served.take(upTo: early) == early)
            front.clockMoved(by: .seconds(3600))
            #expect(try Self.isServed(front))
            served.send("still")
            #expect(try client.take(5) == Array("still".utf8))
        }
    }

    @Test func aRefusedWebSocketIsTheLastRequest() async throws {
        try await onThread {
            let front = try FrontFixture()
            let client = try front.client()
            client.send(client.request("GET", "/bus", WebClient.handshake) + Self.request)
            let served = try front.accept()
            #expect(served.take(upTo: "\r\n\r\n").hasPrefix("GET /bus HTTP/1.1\r\n"))
            served.send("HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n")
            #expect(try client.answer().status == 401)
            #expect(served.take(upTo: "?").isEmpty)
        }
    }

    @Test func thereAreSoManyConnections() async throws {
        try await onThread {
            let front = try FrontFixture { $0.connections = 4 }
            let waiting = try (0..<4).map { _ in try front.client() }
            let busy = try (0..<3).map { index in
                let client = try front.client()
                client.send(Self.request)
                let served = try front.accept()
                #expect(served.take(upTo: "\r\n\r\n") == Self.request)
                return (client, served)
            }
            // Those that waited longest have given way, in their order.
            for client in waiting[..<3] { #expect(try client.rest().isEmpty) }
            waiting[3].send(Self.request)
            let last = try front.accept()
            #expect(last.take(upTo: "\r\n\r\n") == Self.request)
            // Now all four are in use, and nobody gives way.
            #expect(try front.client().rest().isEmpty)
            for (client, served) in busy {
                served.send(Self.answer)
                #expect(try client.answer().text == "ok")
            }
            #expect(try Self.isServed(front))
        }
    }

    @Test func nobodyThereIsSaidOnce() async throws {
        try await onThread {
            let front = try FrontFixture(idleExit: .seconds(60))
            #expect(try Self.isServed(front))
            front.clockMoved(by: .seconds(59))
            let client = try front.client()
            client.send(Self.request)
            let served = try front.accept()
            #expect(served.take(upTo: "\r\n\r\n") == Self.request)
            front.clockMoved(by: .seconds(59))
            served.send(Self.answer)
            #expect(try client.answer().text == "ok")
            #expect(front.idle.value == 0)
            client.close()
            #expect(served.take(upTo: "?").isEmpty)
            // Until the front has seen that nobody is there, its time does not begin.
            while front.idle.isThere.wait(timeout: .now() + .milliseconds(20)) == .timedOut {
                front.clockMoved(by: .seconds(60))
            }
            front.clockMoved(by: .seconds(600))
            #expect(try Self.isServed(front))
            #expect(front.idle.value == 1)
        }
    }

    @Test func handshakesTakeSoLongAndSoMuch() async throws {
        let authority = try TestAuthority()
        let issued = try authority.server()
        nonisolated(unsafe) let issuer = authority
        try await onThread {
            let files = CertificateFiles(certificate: issued.certificate, key: issued.key)
            let front = try FrontFixture(certificate: files)
            let slow = try SecureClient(front.address, trusting: issuer.certificate)
            try slow.sayClientHello()
            let (silent, noisy) = (try front.client(), try front.client())
            // A record of TLS that begins a message of 16 MB, and then more of them.
            let record: [UInt8] =
                [0x16, 3, 1, 0x40, 0] + [1, 0xff, 0xff, 0xff] + [UInt8](repeating: 0, count: 16_380)
            for _ in 0..<100 where noisy.send(record) {}
            _ = try noisy.rest()
            let good = try SecureClient(front.address, trusting: issuer.certificate).shakeHands()
            try good.send(bytes: Self.request)
            let served = try front.accept()
            #expect(served.take(upTo: "\r\n\r\n") == Self.request)
            front.clockMoved(by: .seconds(10))
            #expect(try silent.rest().isEmpty)
            // What the server has to say of it was there already; but the connection is over.
            #expect((try? slow.shakeHands().line()).flatMap(\.self) == nil)
            served.send(Self.answer)
            #expect(try good.line() == "HTTP/1.1 200 OK\r")
        }
    }

    /// Bytes of a client that is gone are still taken from the server, which takes it badly otherwise.
    @Test func theServerIsReadToItsEnd() async throws {
        try await onThread {
            let front = try FrontFixture()
            let client = try front.client()
            client.send(Self.request)
            let served = try front.accept()
            #expect(served.take(upTo: "\r\n\r\n") == Self.request)
            client.reset()
            #expect(served.take(upTo: "?").isEmpty)
            // Far more than any buffer holds.
            for _ in 0..<100 { served.send(String(repeating: "x", count: 100_000)) }
            #expect(try Self.isServed(front))
        }
    }
}
