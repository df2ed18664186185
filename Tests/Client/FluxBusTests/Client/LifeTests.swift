import BusJSON
import FluxBus
import Synchronization
import TestServer
import Testing

/// How a bus lives: it is closed, dropped, refused, restarted.
@Suite(.timeLimit(.minutes(10))) struct LifeTests {
    @Test func nobodyAnsweringIsToldAtOnce() async throws {
        #expect(await code { try await Bus.connect(.unix(path: "/nonexistent/bus.sock")) } == .unreachable)
    }

    @Test func patienceWaitsForABusToCome() async throws {
        let live = try LiveBus()
        live.stop()
        var options = BusOptions()
        options.patience = .seconds(30)
        options.backOff = BackOff(first: .milliseconds(1), longest: .milliseconds(5))
        let (address, patient) = (live.busAddress, options)
        async let bus = Bus.connect(address, options: patient)
        try live.start()
        #expect(try await bus.status == .connected)
    }

    @Test func closingAnswersWhatIsOnItsWay() async throws {
        let live = try LiveBus()
        let bus = try await live.connect()
        var replies: [PendingReply] = []
        for _ in 0..<500 { replies.append(await bus.startDispatch("increment", to: .store("counter/main"))) }
        await bus.close()
        for reply in replies { _ = try await reply.dispatched }
        #expect(bus.status == .closed(nil))
        #expect(await code { try await bus.ping() } == .closed)
        let other = try await live.connect()
        #expect(try await other.state(of: "counter/main").state["count"] == 500)
    }

    @Test func droppingTheBusEndsItsSubscriptions() async throws {
        let live = try LiveBus()
        var bus: Bus? = try await live.connect()
        let subscription = try await #require(bus).subscribe(to: .type("counter"))
        bus = nil
        for try await _ in subscription {}
    }

    @Test func closedBusEndsNoticesAndSubscriptions() async throws {
        let live = try LiveBus()
        let bus = try await live.connect()
        let notices = bus.notices
        let subscription = try await bus.subscribe(to: .type("counter"))
        await bus.close()
        // Who comes later finds the end, too.
        for _ in 0..<2 { for try await _ in subscription {} }
        for await _ in notices {}
        for await _ in bus.notices {}
    }

    @Test func tokenOpensABusOnTCP() async throws {
        let live = try LiveBus(listen: ["tcp:127.0.0.1:0"], tokens: "phone s3cret-of-the-phone\n")
        let address = try BusAddress(parsing: try #require(live.addresses.last))
        var options = BusOptions()
        options.token = "s3cret-of-the-phone"
        let bus = try await Bus.connect(address, options: options)
        #expect(bus.greeting.identity["token"] == "phone")
        #expect(try await bus.dispatch("increment", to: .store("counter/main")).changed == 1)
        options.token = "wrong"
        #expect(await code { try await Bus.connect(address, options: options) } == .unauthorized)
    }

    @Test func newEpochResetsMirrorsAndMakesRevisionsNew() async throws {
        let live = try LiveBus()
        let bus = try await live.connect()
        let epoch = bus.greeting.epoch
        try await bus.dispatch("increment", to: .store("counter/main"), payload: ["by": 5])
        var notices = bus.notices.makeAsyncIterator()
        var events = try await bus.subscribe(to: .store("counter/main")).makeAsyncIterator()
        var mirror = BusMirror()
        _ = try mirror.fold(try #require(try await events.next()))
        #expect(mirror.states["counter/main"]?["count"] == 5)
        live.stop()
        try live.start()
        let reset = try #require(try await events.next())
        guard case .change(let change) = reset else { throw BusError(.gap, "No change came.") }
        #expect(change.isReset)
        _ = try mirror.fold(reset)
        #expect(mirror.states["counter/main"]?["count"] == 0)
        #expect(bus.greeting.epoch != epoch)
        var seen: [BusNotice] = []
        while let notice = await notices.next() {
            seen.append(notice)
            if case .reset = notice { break }
        }
        #expect(seen.contains(.resumed(subscriptions: 1)))
        #expect(seen.contains(.epochChanged(from: epoch, to: bus.greeting.epoch)))
        guard case .lost(let error)? = seen.first else { throw BusError(.gap, "\(seen)") }
        #expect(error.details["reason"] == "shutdown")
    }
}
