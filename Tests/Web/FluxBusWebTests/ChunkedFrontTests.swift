import FluxBusWeb
import Testing

@Suite("The front and bodies in chunks")
struct ChunkedFrontTests {
    private static let head = "PUT /v1/x HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n"
    private static let answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

    private static func passed(_ body: String) -> String {
        "PUT /v1/x HTTP/1.1\r\nhost: localhost\r\ncontent-length: \(body.utf8.count)\r\n\r\n\(body)"
    }

    /// The server gets this body, and the client its answer.
    private static func expectServed(_ client: WebClient, _ front: FrontFixture, _ body: String) throws {
        let served = try front.accept()
        #expect(served.take(upTo: body) == passed(body))
        served.send(answer)
        #expect(try client.answer().text == "ok")
    }

    @Test func theServerKnowsLengthsOnly() async throws {
        try await onThread {
            let front = try FrontFixture()
            let client = try front.client()
            client.send(Self.head + "4\r\nbo")
            // Nothing is passed on before the body is complete.
            #expect(try FrontTests.isServed(front))
            client.send("dy\r\n0\r\n\r\n" + Self.head + "1\r\nx\r\n0\r\n\r\n")
            let served = try front.accept()
            #expect(served.take(upTo: "1\r\n\r\nx") == Self.passed("body") + Self.passed("x"))
            served.send(Self.answer + Self.answer)
            for _ in 0..<2 { #expect(try client.answer().text == "ok") }
        }
    }

    @Test func aBodyThatWaitsIsAskedFor() async throws {
        try await onThread {
            let front = try FrontFixture()
            let client = try front.client()
            client.send(Self.head.replacing("host:", with: "Expect: 100-continue\r\nhost:"))
            let word = "HTTP/1.1 100 Continue\r\n\r\n"
            #expect(try client.take(word.utf8.count) == Array(word.utf8))
            client.send("4\r\nbody\r\n0\r\n\r\n")
            try Self.expectServed(client, front, "body")
            // Too much is said also to whom it was asked for.
            let other = try front.client()
            other.send(Self.head.replacing("host:", with: "Expect: 100-continue\r\nhost:"))
            #expect(try other.take(word.utf8.count) == Array(word.utf8))
            other.send("100001\r\n")
            #expect(try other.answer().status == 413)
        }
    }

    @Test func aRefusalIsTheEnd() async throws {
        try await onThread {
            let front = try FrontFixture()
            for (chunks, status) in [("+1\r\nx", 400), ("fffff1\r\n", 413), ("0\r\n\n", 400)] {
                let client = try front.client()
                client.send(Self.head + chunks + "GET / HTTP/1.1\r\nhost: localhost\r\n\r\n")
                #expect(try client.answer().status == status)
                #expect(try client.rest().isEmpty)
            }
            let client = try front.client()
            client.send(Self.head.replacing("chunked", with: "gzip, chunked"))
            let answer = String(decoding: try client.rest(), as: UTF8.self)
            #expect(
                answer.hasPrefix("HTTP/1.1 501 Not Implemented\r\n")
                    && answer.contains("\r\nConnection: close\r\n"))
            // The server has heard of none of them.
            #expect(try FrontTests.isServed(front))
        }
    }

    @Test func whoSendsSlowlyGoes() async throws {
        try await onThread {
            let front = try FrontFixture()
            let slow = try front.client()
            slow.send(Self.head + "4\r\n")
            #expect(try FrontTests.isServed(front))
            front.clockMoved(by: .seconds(9))
            slow.send("body\r\n0\r\nA: b\r\n")
            #expect(try FrontTests.isServed(front))
            front.clockMoved(by: .seconds(1))
            #expect(try slow.rest().isEmpty)
        }
    }

    @Test func whoGoesBeforeTheEndHasSentNothing() async throws {
        try await onThread {
            let front = try FrontFixture()
            let client = try front.client()
            client.send(Self.head + "4\r\nbody\r\n0\r\n")
            client.finishSending()
            #expect(try client.rest().isEmpty)
            #expect(try FrontTests.isServed(front))
        }
    }

    /// The longest one gives way, and of these the one that has been coming longest.
    @Test func allOfThemTakeSoMuch() async throws {
        try await onThread {
            let front = try FrontFixture { $0.heldBodies = 20 }
            // The first one has sent little for longest.
            let clients = try (0..<3).map { index in
                let client = try front.client()
                client.send(Self.head + "a\r\n" + String(repeating: "x", count: index == 0 ? 1 : 10))
                #expect(try FrontTests.isServed(front))
                front.clockMoved(by: .seconds(1))
                return client
            }
            #expect(try clients[1].answer().status == 503)
            for (client, rest) in [(clients[0], "xxxxxxxxx"), (clients[2], "")] {
                client.send(rest + "\r\n0\r\n\r\n")
                try Self.expectServed(client, front, "xxxxxxxxxx")
            }
        }
    }

    /// Also those that the server does not take.
    @Test func whatTheServerDoesNotTakeCounts() async throws {
        try await onThread {
            let front = try FrontFixture { $0.heldBodies = 1 << 20 }
            let lost = try front.client()
            let body = String(repeating: "x", count: 1 << 20)
            lost.send(Self.head + "100000\r\n" + body + "\r\n0\r\n\r\n")
            let served = try front.accept()
            front.clockMoved(by: .seconds(1))
            let client = try front.client()
            let other = String(repeating: "y", count: 0x80000)
            client.send(Self.head + "80000\r\n" + other)
            #expect(try lost.rest().isEmpty)
            client.send("\r\n0\r\n\r\n")
            try Self.expectServed(client, front, other)
            // It was cut off, as its length says.
            #expect(served.take(upTo: "?").utf8.count < 1 << 20)
        }
    }

    /// A body with its length waits for the server as well, and is not what takes so much.
    @Test func othersAreNotCutOffForThem() async throws {
        try await onThread {
            let front = try FrontFixture { $0.heldBodies = 5 }
            let patient = try front.client()
            // More than the kernel holds for the server, and less than it holds for both.
            let body = String(repeating: "x", count: 330_000)
            patient.send(Self.passed(body))
            let served = try front.accept()
            front.clockMoved(by: .seconds(1))
            let client = try front.client()
            client.send(Self.head + "a\r\nxxxxxxxxxx")
            #expect(try client.answer().status == 503)
            #expect(served.take(upTo: body) == Self.passed(body))
            served.send(Self.answer)
            #expect(try patient.answer().text == "ok")
        }
    }

    /// A request was passed on before: a refusal at once would be taken for its answer.
    @Test func whoWaitsForAnAnswerGetsItBeforeTheRefusal() async throws {
        try await onThread {
            let front = try FrontFixture { $0.heldBodies = 5 }
            let client = try front.client()
            client.send(Self.head + "1\r\nx\r\n0\r\n\r\n" + Self.head + "a\r\nxxxxxxxxxx")
            let served = try front.accept()
            #expect(served.take(upTo: "?") == Self.passed("x"))
            served.send(Self.answer)
            #expect(try client.answer().text == "ok")
            #expect(try client.answer().status == 503)
            #expect(try client.rest().isEmpty)
        }
    }
}
