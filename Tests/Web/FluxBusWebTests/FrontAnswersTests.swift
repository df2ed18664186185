import FluxBusWeb
import Testing

/// What the front does while an answer is on its way.
@Suite("The front and the ends of answers")
struct FrontAnswersTests {
    private static let request = "GET / HTTP/1.1\r\nhost: localhost\r\n\r\n"
    private static let answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
    private static let stream = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n"
    private static let unknown = "GET / HTTP/2.0\r\nhost: localhost\r\n\r\n"

    /// A client that has got this much of an answer, and the server's side of it.
    private static func begin(
        _ front: FrontFixture, _ part: String
    ) throws -> (WebClient, FrontFixture.Served) {
        let client = try front.client()
        client.send(request)
        let served = try front.accept()
        #expect(served.take(upTo: "\r\n\r\n") == request)
        served.send(part)
        #expect(try client.take(part.utf8.count) == Array(part.utf8))
        return (client, served)
    }

    @Test func anAnswerIsCompleteAlsoWhenTheServerStops() async throws {
        try await onThread {
            let front = try FrontFixture()
            let (client, served) = try Self.begin(front, String(Self.answer.dropLast()))
            front.beginStop()
            served.send("k")
            #expect(try client.rest() == Array("k".utf8))
        }
    }

    @Test func aStreamGivesWayToNobody() async throws {
        try await onThread {
            let front = try FrontFixture { $0.connections = 2 }
            let (client, served) = try Self.begin(front, Self.stream)
            let strangers = try (0..<3).map { _ in try front.client() }
            #expect(try FrontTests.isServed(front))
            served.send("4\r\nmore\r\n")
            #expect(try client.take(9) == Array("4\r\nmore\r\n".utf8))
            withExtendedLifetime(strangers) {}
        }
    }

    /// What it still sends ends nowhere, and it finds that out by itself.
    @Test func aStreamEndsWithItsClient() async throws {
        try await onThread {
            let front = try FrontFixture()
            let (client, served) = try Self.begin(front, Self.stream)
            client.reset()
            #expect(served.isClosed())
        }
    }

    @Test func requestsBeforeOneThatIsRefusedAreAnswered() async throws {
        try await onThread {
            let front = try FrontFixture()
            let client = try front.client()
            client.send(Self.request + Self.request + Self.unknown + Self.request)
            let served = try front.accept()
            #expect(served.take(upTo: "?") == Self.request + Self.request)
            served.send(Self.answer)
            #expect(try client.answer().text == "ok")
            served.send(Self.answer)
            #expect(try client.answer().text == "ok")
            #expect(try client.answer().status == 505)
            #expect(try client.rest().isEmpty)
        }
    }

    @Test(arguments: [(stream, "1\r\n.\r\n0\r\n\r\n"), (String(answer.dropLast()), "k")])
    func aRefusalWaitsForTheEndOfAnAnswer(_ begin: String, _ end: String) async throws {
        try await onThread {
            let front = try FrontFixture()
            let (client, served) = try Self.begin(front, begin)
            client.send(Self.unknown)
            #expect(served.take(upTo: "?").isEmpty)
            served.send(end)
            #expect(try client.take(end.utf8.count) == Array(end.utf8))
            #expect(try client.answer().status == 505)
            #expect(try client.rest().isEmpty)
        }
    }

    /// An answer to HEAD ends with its head, and so does one that says that nothing has changed.
    @Test(arguments: [("HEAD", 200), ("GET", 304), ("GET", 204)])
    func answersWithoutABodyEndWithTheirHead(_ method: String, _ status: Int) async throws {
        try await onThread {
            let front = try FrontFixture()
            let client = try front.client()
            client.send(Self.request.replacing("GET", with: method) + Self.unknown)
            let served = try front.accept()
            #expect(served.take(upTo: "?").hasPrefix(method))
            let head = "HTTP/1.1 \(status) OK\r\nContent-Length: 2\r\n\r\n"
            served.send(head)
            #expect(try client.take(head.utf8.count) == Array(head.utf8))
            #expect(try client.answer().status == 505)
        }
    }

    @Test func aLaterBodyIsAskedForInItsTurn() async throws {
        try await onThread {
            let front = try FrontFixture()
            let client = try front.client()
            let head =
                "PUT /v1/x HTTP/1.1\r\nhost: localhost\r\nexpect: 100-continue\r\n"
                + "transfer-encoding: chunked\r\n\r\n"
            client.send(Self.request + head)
            let served = try front.accept()
            #expect(served.take(upTo: "\r\n\r\n") == Self.request)
            served.send(Self.answer)
            let word = "HTTP/1.1 100 Continue\r\n\r\n"
            #expect(
                try client.take((Self.answer + word).utf8.count) == Array((Self.answer + word).utf8))
            client.send("2\r\nok\r\n0\r\n\r\n")
            #expect(served.take(upTo: "\r\n\r\nok").hasSuffix("content-length: 2\r\n\r\nok"))
        }
    }
}
