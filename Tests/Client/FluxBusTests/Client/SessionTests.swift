import BusJSON
import FluxBus
import Synchronization
import Testing

/// The session alone, fed by hand: what it writes for which facts.
@Suite struct SessionTests {
    private typealias Desk = SessionDesk
    private static let second = 1_000_000_000

    @Test func silentBusIsAskedForASignOfLifeAndThenGivenUp() {
        let desk = Desk { $0.keepAlive = .seconds(10) }
        #expect(desk.session.nextWake() == 10 * Self.second)
        desk.pass(10 * Self.second)
        #expect(desk.written().map { $0["op"] } == ["ping"])
        desk.pass(9 * Self.second)
        #expect(desk.session.disconnectReason == nil)
        desk.pass(Self.second)
        #expect(desk.session.disconnectReason?.code == .timedOut)
    }

    /// A program that stood still has heard nothing for longer than two signs of life, and has not asked for any.
    @Test func whoStoodStillAsksBeforeItGivesUp() {
        let desk = Desk { $0.keepAlive = .seconds(10) }
        desk.pass(60 * Self.second)
        #expect(desk.session.disconnectReason == nil && desk.session.nextWake() == 70 * Self.second)
        #expect(desk.written().map { $0["op"] } == ["ping"])
        desk.pass(10 * Self.second)
        #expect(desk.session.disconnectReason?.code == .timedOut)
    }

    @Test func signOfLifeKeepsTheConnection() {
        let desk = Desk { $0.keepAlive = .seconds(10) }
        desk.pass(10 * Self.second)
        _ = desk.written()
        desk.reply(#""at":1"#)
        desk.pass(9 * Self.second)
        #expect(desk.session.disconnectReason == nil && desk.session.nextWake() == 20 * Self.second)
    }

    @Test func partOfALineIsASignOfLifeToo() {
        let desk = Desk { $0.keepAlive = .seconds(10) }
        desk.pass(10 * Self.second)
        desk.pass(9 * Self.second)
        desk.session.heard(at: desk.now)
        desk.pass(9 * Self.second)
        #expect(desk.session.disconnectReason == nil && desk.session.nextWake() == 29 * Self.second)
    }

    @Test func unansweredHelloIsGivenUp() {
        var options = BusOptions()
        options.connectTimeout = .seconds(3)
        var session = ClientSession(options: options, seed: 1, now: 0)
        session.connected(at: 0)
        #expect(session.nextWake() == 3 * Self.second)
        session.tick(at: 3 * Self.second)
        #expect(session.disconnectReason?.code == .timedOut)
    }

    @Test func waitForTheHelloEndsWithItsConnection() throws {
        let desk = Desk()
        desk.cut()
        desk.session.connected(at: desk.now)
        desk.pass(6 * Self.second)
        #expect(desk.session.disconnectReason?.code == .timedOut)
        desk.session.lost(BusError(.closed, "cut"), sent: 0, at: desk.now)
        let next = try #require(desk.session.nextWake())
        #expect(next > desk.now)
    }

    /// Until the bus has answered, nobody asks it for a sign of life.
    @Test func signsOfLifeAreDueAfterTheHello() {
        var options = BusOptions()
        (options.connectTimeout, options.keepAlive) = (.seconds(3), .seconds(1))
        var session = ClientSession(options: options, seed: 1, now: 0)
        session.connected(at: 0)
        #expect(session.nextWake() == 3 * Self.second)
    }

    @Test func actionsOfAHalfDeliveredCommitComeOnce() {
        let desk = Desk()
        let seen = Mutex<[String]>([])
        desk.followActions { event in
            if case .action(let action) = event { seen.withLock { $0.append(action.action) } }
            return .goOn
        }
        desk.receive(#"{"event":"action","sub":1,"revision":5,"index":0,"action":"a"}"#)
        desk.session.lost(BusError(.closed, "cut"), sent: 1000, at: desk.now)
        desk.pass(Self.second)
        desk.connect(revision: 6)
        let resumed = desk.written()
        #expect(resumed.last?["since"] == 4 && resumed.last?["epoch"] == "e")
        desk.reply(#""sub":1,"revision":6,"epoch":"e""#)
        for (revision, index, name) in [(5, 0, "a"), (5, 1, "b"), (6, 0, "c")] {
            desk.receive(
                #"{"event":"action","sub":1,"revision":\#(revision),"index":\#(index),"action":"\#(name)"}"#)
        }
        #expect(seen.withLock { $0 } == ["a", "b", "c"])
    }

    @Test func splitEventIsHandedOnWhole() {
        let desk = Desk()
        let mirror = Mutex((BusMirror(), 0))
        let request = SubscriptionRequest(number: 1, request: BusRequest("subscribe", ["type": "door"])) {
            event, _ in
            mirror.withLock {
                _ = try? $0.0.fold(event)
                $0.1 += 1
            }
            return .goOn
        }
        desk.session.submit(Submission(.request(request.request), role: .subscribe(request)))
        _ = desk.written()
        desk.reply(#""sub":3,"revision":4,"epoch":"e""#)
        desk.receive(
            #"{"event":"change","sub":3,"from":0,"revision":4,"reset":true,"states":{"door/a":{"n":1},"door/b":{"n":1}},"more":true}"#
        )
        #expect(mirror.withLock { $0.1 } == 0)
        desk.receive(
            #"{"event":"change","sub":3,"revision":5,"states":{"door/c":{"n":3}},"changes":{"door/a":{"n":2}},"dropped":["door/b"]}"#
        )
        #expect(mirror.withLock { $0.1 } == 1)
        #expect(mirror.withLock { $0.0.states } == ["door/a": ["n": 2], "door/c": ["n": 3]])
        #expect(mirror.withLock { $0.0.revision } == 5)
    }

    @Test func missingChangeGivesTheConnectionUpAndResumes() {
        let desk = Desk()
        let request = SubscriptionRequest(number: 1, request: BusRequest("subscribe", ["type": "door"])) {
            _, _ in
            .goOn
        }
        desk.session.submit(Submission(.request(request.request), role: .subscribe(request)))
        _ = desk.written()
        desk.reply(#""sub":1,"revision":4,"epoch":"e""#)
        desk.receive(#"{"event":"change","sub":1,"from":0,"revision":4,"reset":true,"states":{}}"#)
        desk.receive(#"{"event":"change","sub":1,"from":5,"revision":6,"changes":{}}"#)
        #expect(desk.session.disconnectReason?.code == .gap)
    }
}
