import BusJSON
import FluxBus
import Synchronization
import Testing

/// A bus runs on any transport: its turns need neither a socket nor a thread of their own.
@Suite(.timeLimit(.minutes(10))) struct TransportTests {
    private static let address = BusAddress.tcp(host: "nowhere", port: 1)

    /// A bus that counts what it commits, and knows keys.
    private final class Counter: Sendable {
        private let state = Mutex((revision: 0, keys: [String: Int](), seen: [Int]()))

        var seen: [Int] { state.withLock { $0.seen } }

        func reply(to request: JSON, hidesReply: Bool = false) -> QueueTransport.Answer {
            let id = request["id"]?.int ?? 0
            guard request["op"] == "dispatch" else {
                return .lines([
                    #"{"id":\#(id),"ok":true,"protocol":1,"server":"test","version":"1","epoch":"e1","revision":0,"identity":{},"limits":{"line":1048576}}"#
                ])
            }
            let key = request["key"]?.string ?? ""
            let revision = state.withLock { state in
                if let revision = state.keys[key] { return revision }
                state.revision += 1
                state.keys[key] = state.revision
                state.seen.append(request["payload"]?["by"]?.int ?? 0)
                return state.revision
            }
            if hidesReply { return .cut }
            return .lines([#"{"id":\#(id),"ok":true,"revision":\#(revision),"matched":1,"changed":1}"#])
        }
    }

    private static func connect(
        over transport: QueueTransport, _ change: (inout BusOptions) -> Void = { _ in }
    ) async throws -> Bus {
        var options = BusOptions()
        (options.token, options.timeout) = ("secret", .seconds(240))
        options.backOff = BackOff(first: .milliseconds(1), longest: .milliseconds(20))
        change(&options)
        return try await Bus.connect([address], options: options) { transport }
    }

    @Test func requestsAreAnsweredInTheirOrder() async throws {
        let counter = Counter()
        let bus = try await Self.connect(over: QueueTransport { counter.reply(to: $1) }) { $0.window = 8 }
        #expect(bus.address == Self.address && bus.greeting.epoch == "e1")
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
        let bus = try await Self.connect(over: transport)
        #expect(try await bus.dispatch("add", to: .store("a/b"), payload: ["by": 7]).revision == 1)
        await bus.close()
        #expect(counter.seen == [7])
    }

    @Test func reconnectingDoesNotWait() async throws {
        let counter = Counter()
        let transport = QueueTransport { attempt, request in
            counter.reply(to: request, hidesReply: attempt < 2)
        }
        let bus = try await Self.connect(over: transport) {
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

    /// Nothing but the time that has passed leads to the next attempt, and to the end of a request.
    @Test func turnsComeWhenTheyAreDue() async throws {
        let counter = Counter()
        let transport = QueueTransport(accepts: { $0 > 3 }) { _, request in
            request["op"] == "ping" ? .lines([]) : counter.reply(to: request)
        }
        let bus = try await Self.connect(over: transport) {
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
