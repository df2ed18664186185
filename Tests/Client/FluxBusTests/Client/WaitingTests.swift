import BusJSON
import FluxBus
import Synchronization
import TestServer
import Testing

/// Waiting ends: by time, by cancellation, by room; and what a slow consumer costs.
@Suite(.timeLimit(.minutes(10))) struct WaitingTests {
    @Test func silentBusTimesRequestsOut() async throws {
        let silent = try HandmadeBus { bus in
            guard let peer = bus.accept() else { return }
            peer.greet()
            while peer.line() != nil {}
        }
        let bus = try await Bus.connect(silent.address)
        let error = await #expect(throws: BusError.self) {
            try await bus.dispatch("a", to: .everything, timeout: .after(.milliseconds(300)))
        }
        #expect(error?.code == .timedOut)
        #expect(error?.details["written"] == true)
    }

    /// A long line over a slow link: each sign of life that the client asks for finds a piece of it.
    @Test func busThatIsInTheMiddleOfALineIsNotSilent() async throws {
        let slow = try HandmadeBus { bus in
            guard let peer = bus.accept() else { return }
            peer.greet()
            guard let request = peer.request(for: "types") else { return }
            peer.send(part: #"{"id":\#(request),"ok":true,"types":["#)
            var probes: [Int] = []
            while probes.count < 3, let probe = peer.line().flatMap({ try? JSON(parsing: $0) }) {
                probes.append(probe["id"]?.int ?? 0)
                peer.send(part: "  ")
            }
            peer.send("]}")
            for id in probes { peer.send(#"{"id":\#(id),"ok":true}"#) }
            while peer.line() != nil {}
        }
        var options = BusOptions()
        options.keepAlive = .seconds(3)
        options.timeout = .seconds(240)
        let bus = try await Bus.connect(slow.address, options: options)
        var notices = bus.notices.makeAsyncIterator()
        #expect(try await bus.types().isEmpty)
        await bus.close()
        #expect(await notices.next() == nil, "the connection was not lost")
    }

    /// Events wait between two reads; an answer that is waited for brings them at once.
    @Test func eventsWaitForOthersAndAnswersDoNot() async throws {
        let live = try LiveBus()
        let told = Mutex(0)
        let bus = try await live.connect { $0.readInterval = .seconds(600) }
        var options = Bus.SubscriptionOptions()
        options.wantsActions = true
        let handle = try await bus.subscribe(to: .type("counter"), options: options) { event in
            if case .action = event { told.withLock { $0 += 1 } }
        }
        let other = try await live.connect()
        for _ in 1...50 {
            try await other.dispatch("increment", to: .store("counter/main"))
            // The bus has sent the event, and the client has not read it.
            #expect(told.withLock { $0 } == 0)
        }
        try await bus.ping()
        #expect(told.withLock { $0 } == 50)
        handle.cancel()
    }

    @Test func timeSpentReconnectingCounts() async throws {
        let live = try LiveBus()
        let bus = try await live.connect()
        live.stop()
        let code = await code {
            try await bus.dispatch(
                "increment", to: .store("counter/main"), timeout: .after(.milliseconds(30)))
        }
        #expect(code == .timedOut)
    }

    @Test func cancelledTaskStopsWaitingAndTheConnectionGoesOn() async throws {
        let heard = AsyncStream.makeStream(of: Void.self)
        let silent = try HandmadeBus { bus in
            guard let peer = bus.accept() else { return }
            peer.greet()
            guard let cancelled = peer.request(for: "dispatch") else { return }
            heard.continuation.yield()
            // The answer to the cancelled one comes with that to the next.
            guard let ping = peer.request(for: "ping") else { return }
            peer.send(#"{"id":\#(cancelled),"ok":true,"revision":1,"matched":1,"changed":1}"#)
            peer.send(#"{"id":\#(ping),"ok":true,"revision":1}"#)
            _ = peer.request(for: "nothing more")
        }
        let bus = try await Bus.connect(silent.address)
        let task = Task { try await bus.dispatch("a", to: .everything, timeout: .never) }
        for await _ in heard.stream { break }
        task.cancel()
        #expect(await code { try await task.value } == .cancelled)
        try await bus.ping()
    }

    @Test func cancelledBeforeItIsSentIsWithdrawn() async throws {
        let live = try LiveBus()
        let bus = try await live.connect { $0.window = 4 }
        live.stop()
        let tasks = (0..<20).map { _ in
            Task { try await bus.dispatch("increment", to: .store("counter/main")) }
        }
        for task in tasks { task.cancel() }
        for task in tasks { #expect(await code { try await task.value } == .cancelled) }
        try live.start()
        #expect(try await bus.state(of: "counter/main").state["count"] == 0)
    }

    @Test func fullWindowMakesSendersWaitInOrder() async throws {
        let live = try LiveBus()
        let bus = try await live.connect { $0.window = 8 }
        var replies: [PendingReply] = []
        for number in 0..<400 {
            replies.append(
                await bus.startDispatch(
                    "write", to: .store("counter/main"), payload: ["text": .string("\(number)")]))
        }
        var revision = 0
        for reply in replies {
            let next = try await reply.dispatched.revision
            #expect(next > revision)
            revision = next
        }
        #expect(try await bus.state(of: "counter/main").state["note"] == "399")
    }

    @Test func windowIsNeverExceeded() async throws {
        let most = Mutex(0)
        let counting = try HandmadeBus { bus in
            guard let peer = bus.accept() else { return }
            peer.greet()
            // Answers only when the window is full, so whoever sent more would be seen.
            var (id, unanswered) = (1, 0)
            while peer.line() != nil {
                unanswered += 1
                most.withLock { $0 = max($0, unanswered) }
                guard unanswered == 16 else { continue }
                // All in one piece: after some of the answers alone the window is filled up, but not again after the rest,
                // and then this bus would wait for ever.
                let answers = (id + 1...id + 16).map {
                    #"{"id":\#($0),"ok":true,"revision":1,"matched":1,"changed":1}"#
                }
                peer.send(answers.joined(separator: "\n"))
                id += 16
                unanswered = 0
            }
        }
        var options = BusOptions()
        options.window = 16
        // However long 64 tasks may take to get their turn on a busy machine: a sign of life would be one line more.
        options.timeout = nil
        options.keepAlive = nil
        let bus = try await Bus.connect(counting.address, options: options)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<64 { group.addTask { _ = try await bus.dispatch("a", to: .everything) } }
            try await group.waitForAll()
        }
        #expect(most.withLock { $0 } == 16)
    }

    @Test func postedRequestsStandInLineUpToTheirLimit() async throws {
        let live = try LiveBus()
        let bus = try await live.connect {
            $0.window = 2
            $0.postLimit = 10
        }
        live.stop()
        let codes = Mutex<[BusError.Code]>([])
        for _ in 0..<20 {
            bus.postDispatch("increment", to: .store("counter/main")) { reply in
                if case .failure(let error) = reply { codes.withLock { $0.append(error.code) } }
            }
        }
        #expect(codes.withLock { $0 }.allSatisfy { $0 == .limit })
        #expect(codes.withLock { $0.count } == 8)
        try live.start()
        #expect(try await bus.state(of: "counter/main").state["count"] == 12)
    }

    @Test func slowConsumerLosesNothingAndStopsNobody() async throws {
        let live = try LiveBus()
        let bus = try await live.connect { $0.bufferedEvents = 8 }
        let subscription = try await bus.subscribe(to: .store("counter/main"))
        for _ in 0..<1000 { try await bus.dispatch("increment", to: .store("counter/main")) }
        var mirror = BusMirror()
        var events = 0
        for try await event in subscription {
            events += 1
            _ = try mirror.fold(event)
            if mirror.states["counter/main"]?["count"] == 1000 { break }
        }
        #expect(events < 100)
    }

    @Test func lostAnswerInANewEpochIsUnknown() async throws {
        let forgetful = try HandmadeBus { bus in
            serveAgain(bus, serveOnce(bus))
        }
        var options = BusOptions()
        options.backOff = BackOff(first: .milliseconds(1), longest: .milliseconds(1))
        // On a machine so busy that seconds pass, a sign of life would come where the bus expects the dispatch.
        options.keepAlive = nil
        let bus = try await Bus.connect(forgetful.address, options: options)
        let error = await #expect(throws: BusError.self) { try await bus.dispatch("a", to: .everything) }
        #expect(error?.code == .outcomeUnknown)
        #expect(error?.details["original"]?["code"] == "conflict")
        #expect(error?.details["original"]?["message"] == "same key, seen 7 of e1")
    }
}

/// The first connection, which ends without an answer: the request that came.
private func serveOnce(_ bus: LineListener) -> String {
    guard let peer = bus.accept() else { return "" }
    peer.greet(epoch: "e1", revision: 7)
    return peer.line() ?? ""
}

/// The second connection of a bus that began a new epoch: it says in its refusal what came.
private func serveAgain(_ bus: LineListener, _ original: String) {
    guard let peer = bus.accept() else { return }
    peer.greet(epoch: "e2", revision: 1)
    guard let line = peer.line(), let again = try? JSON(parsing: line),
        let first = try? JSON(parsing: original)
    else { return }
    let key = again["key"] == first["key"] ? "same key" : "another key"
    let seen = "seen \(again["after"]?.int ?? -1) of \(again["epoch"]?.string ?? "")"
    let id = again["id"]?.int ?? 0
    peer.send(
        #"{"id":\#(id),"ok":false,"error":{"code":"conflict","message":"\#(key), \#(seen)"}}"#)
    while peer.line() != nil {}
}
