import BusJSON
import FluxBus
import Synchronization
import Testing

/// A bus runs on any transport: its turns need neither a socket nor a thread of their own.
@Suite(.timeLimit(.minutes(10))) struct TransportTests {
    /// A bus that counts what it commits, and knows keys.
    private final class Counter: Sendable {
        private let state = Mutex((revision: 0, keys: [String: Int](), seen: [Int]()))

        var seen: [Int] { state.withLock { $0.seen } }

        func reply(to request: JSON, hidesReply: Bool = false) -> QueueTransport.Answer {
            guard request["op"] == "dispatch" else { return .greeting(request) }
            let key = request["key"]?.string ?? ""
            let revision = state.withLock { state in
                if let revision = state.keys[key] { return revision }
                state.revision += 1
                state.keys[key] = state.revision
                state.seen.append(request["payload"]?["by"]?.int ?? 0)
                return state.revision
            }
            if hidesReply { return .cut }
            return .reply(to: request, #""revision":\#(revision),"matched":1,"changed":1"#)
        }
    }

    @Test func requestsAreAnsweredInTheirOrder() async throws {
        let counter = Counter()
        let transport = QueueTransport { counter.reply(to: $1) }
        let bus = try await transport.connect { $0.window = 8 }
        #expect(bus.address == QueueTransport.address && bus.greeting.epoch == "e1")
        var replies: [PendingReply] = []
        for number in 1...200 {
            replies.append(await bus.startDispatch("add", to: .store("a/b"), payload: ["by": .int(number)]))
        }
        for (number, reply) in replies.enumerated() {
            #expect(try await reply.dispatched.revision == number + 1)
        }
        await bus.close()
        #expect(counter.seen == Array(1...200))
    }

    @Test func connectionThatIsLostIsMadeAgain() async throws {
        let counter = Counter()
        let transport = QueueTransport { attempt, request in
            counter.reply(to: request, hidesReply: attempt < 3)
        }
        let bus = try await transport.connect()
        #expect(try await bus.dispatch("add", to: .store("a/b"), payload: ["by": 7]).revision == 1)
        await bus.close()
        #expect(counter.seen == [7])
    }

    @Test(arguments: ["clients", "samples"]) func whatOnlyReadsIsAskedAgain(operation: String) async throws {
        let transport = QueueTransport { attempt, request in
            if request["op"] == "hello" { return .greeting(request) }
            return attempt == 1 ? .cut : .reply(to: request, #""clients":[]"#)
        }
        let bus = try await transport.connect()
        #expect(try await bus.request(BusRequest(operation))["clients"] == [])
        await bus.close()
    }

    @Test func reconnectingDoesNotWait() async throws {
        let counter = Counter()
        let transport = QueueTransport { attempt, request in
            counter.reply(to: request, hidesReply: attempt < 2)
        }
        let bus = try await transport.connect {
            $0.backOff = BackOff(first: .seconds(3600), longest: .seconds(3600))
        }
        // Where none is waited for, nothing happens.
        bus.reconnect()
        var notices = bus.notices.makeAsyncIterator()
        let reply = await bus.startDispatch("add", to: .store("a/b"), payload: ["by": 7])
        guard case .lost = await notices.next() else {
            Issue.record("The connection is not lost.")
            return
        }
        bus.reconnect()
        #expect(try await reply.dispatched.revision == 1)
        await bus.close()
        #expect(counter.seen == [7])
    }

    /// Under the same number another history has something else.
    @Test func revisionsOfAnEarlierHistoryAreAConflict() async throws {
        let read = Mutex<[String]>([])
        let transport = QueueTransport { attempt, request in
            guard let op = request["op"]?.string, op != "hello" else {
                return .greeting(request, epoch: "e\(attempt)")
            }
            if attempt == 1 { return .cut }
            read.withLock { $0.append(op) }
            return .reply(to: request, #""revision":9,"states":{},"commits":[]"#)
        }
        let bus = try await transport.connect {
            $0.backOff = BackOff(first: .seconds(3600), longest: .seconds(3600))
        }
        var notices = bus.notices.makeAsyncIterator()
        // The first one is written once before the connection is lost.
        var replies = [await bus.start(BusRequest("get", ["store": "a/b", "revision": 7]))]
        guard case .lost = await notices.next() else {
            Issue.record("The connection is not lost.")
            return
        }
        for request in [
            BusRequest("get", ["store": "a/b", "revision": 7]),
            BusRequest("revert", ["store": "a/b", "revision": 7]),
            BusRequest("history", ["since": 7]), BusRequest("history", ["until": 7]),
        ] { replies.append(await bus.start(request)) }
        let current = await bus.start(BusRequest("get", ["store": "a/b"]))
        bus.reconnect()
        for reply in replies {
            let error = await #expect(throws: BusError.self) { try await reply.value }
            #expect(error?.code == .conflict)
        }
        _ = try await current.value
        #expect(read.withLock { $0 } == ["get"])
        await bus.close()
    }

    /// Nothing but the time that has passed leads to the next attempt, and to the end of a request.
    @Test func turnsComeWhenTheyAreDue() async throws {
        let counter = Counter()
        let transport = QueueTransport(accepts: { $0 > 3 }) { _, request in
            request["op"] == "ping" ? .lines([]) : counter.reply(to: request)
        }
        let bus = try await transport.connect {
            // The ping is not answered, so closing waits for nothing.
            ($0.patience, $0.closeTimeout) = (.seconds(240), .zero)
        }
        let error = await #expect(throws: BusError.self) {
            try await bus.request(BusRequest("ping"), timeout: .after(.milliseconds(5)))
        }
        #expect(error?.code == .timedOut)
        await bus.close()
    }
}
