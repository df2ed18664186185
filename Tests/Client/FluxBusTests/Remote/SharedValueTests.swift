import BusJSON
import FluxBus
import Synchronization
import TestServer
import Testing

/// One value for all processes.
@Suite(.timeLimit(.minutes(10))) struct SharedValueTests {
    private static let type = """
        type: value
        initial: { value: null }
        actions:
          set:
            payload: { value: any }
            set: { value: { var: payload.value } }
        """

    private func live() throws -> LiveBus { try LiveBus(types: ["value": Self.type]) }

    @Test func valueIsReadSetAndObservedByAll() async throws {
        let live = try live()
        let (first, second) = (try await live.connect(), try await live.connect())
        let volume = try await first.value("volume", default: 50)
        let same = try await second.value("volume", default: 10)
        #expect(same.value == 50, "the first one made it")
        var values = same.values.makeAsyncIterator()
        #expect(await values.next() == 50)
        try await volume.set(60)
        #expect(volume.value == 60)
        #expect(await values.next() == 60)
    }

    /// Whoever has been told that a value is set may tell another one, who reads it.
    @Test func readHoldsWhatOthersHaveBeenToldIsSet() async throws {
        let live = try live()
        let (first, second) = (try await live.connect(), try await live.connect())
        let written = try await first.value("level", default: 0)
        let read = try await second.value("level", default: 0)
        let optimistic = try await second.store("level", of: SharedValueState.self, isOptimistic: true)
        for level in 1...300 {
            try await written.set(level)
            #expect(try await read.read().value == level)
            try await written.set(-level)
            optimistic.actions.dispatch(.set(value: .string("mine \(level)")))
            let state = try await optimistic.confirmed().state.value
            #expect(state == .string("mine \(level)") || state == .int(-level))
        }
    }

    @Test func setWithAnOldRevisionIsAConflict() async throws {
        let live = try live()
        let bus = try await live.connect()
        let mode = try await bus.value("mode", default: "auto")
        let (value, revision) = try await mode.read()
        #expect(value == "auto")
        let next = try await mode.set("manual", ifRevision: revision)
        let error = await #expect(throws: BusError.self) { try await mode.set("off", ifRevision: revision) }
        #expect(error?.code == .conflict)
        #expect(error?.details["revision"] == .int(next))
        #expect(mode.value == "manual")
    }

    @Test func concurrentUpdatesLoseNothing() async throws {
        let live = try live()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<4 {
                let bus = try await live.connect()
                group.addTask {
                    let total = try await bus.value("total", default: 0)
                    for _ in 0..<25 { try await total.update { $0 + 1 } }
                }
            }
            try await group.waitForAll()
        }
        let bus = try await live.connect()
        #expect(try await bus.value("total", default: 0).value == 100)
    }

    /// A bus that says of `value/level` which own revision it has, one after another; what follows comes before the next barrier.
    /// It refuses actions for another revision than the last one, but not for ever, and tells of the change that led to that.
    private static func bus(
        saying own: [(revision: Int, next: String?)],
        refusing refusal: (change: String?, revision: Int) = (nil, 9),
        asked: @escaping @Sendable (Int) -> Void
    ) throws -> HandmadeBus {
        try HandmadeBus { bus in
            guard let peer = bus.accept() else { return }
            peer.greet(revision: 5)
            var (asks, refusals) = (own[...], 0)
            var next: String?
            while let request = peer.line().flatMap({ try? JSON(parsing: $0) }) {
                var reply = #""ok":true,"revision":9"#
                var event: String?
                switch request["op"] {
                case "subscribe":
                    reply = #""ok":true,"sub":1,"revision":5,"epoch":"e1""#
                    event =
                        #"{"event":"change","sub":1,"from":0,"revision":5,"reset":true,"states":{"value/level":{"value":1}}}"#
                case "stores":
                    guard let ask = asks.popFirst() else { return }
                    reply = #""ok":true,"stores":[{"store":"value/level","revision":\#(ask.revision)}]"#
                    next = ask.next
                case "sync": if let event = next.take() { peer.send(event) }
                case "dispatch":
                    asked(request["ifRevision"]?.int ?? 0)
                    reply = #""ok":true,"revision":10,"matched":1,"changed":1"#
                    if request["ifRevision"]?.int != own.last?.revision, refusals < 20 {
                        refusals += 1
                        if let change = refusal.change { peer.send(change) }
                        reply =
                            #""ok":false,"error":{"code":"conflict","message":"Newer.","revision":\#(refusal.revision)}"#
                    }
                default: break
                }
                peer.send(#"{"id":\#(request["id"]?.int ?? 0),\#(reply)}"#)
                if let event { peer.send(event) }
            }
        }
    }

    /// The bus is asked for the store's own revision; before what it says counts, several commits come as one change.
    @Test func revisionThatIsOlderThanTheStateIsNotTakenForIts() async throws {
        let asked = Mutex<[Int]>([])
        let change =
            #"{"event":"change","sub":1,"from":5,"revision":9,"coalesced":4,"changes":{"value/level":{"value":2}}}"#
        let scripted = try Self.bus(saying: [(7, change), (9, nil)]) { revision in
            asked.withLock { $0.append(revision) }
        }
        let bus = try await Bus.connect(scripted.address)
        let level = try await bus.value("level", default: 1)
        #expect(try await level.update { $0 + 1 } == 3)
        #expect(asked.withLock { $0 } == [9])
        await bus.close()
    }

    /// A client that is slow hears of several commits at a time only, and never which of them changed the store: here the first of
    /// two. So many times it comes only after the bus was asked for the store's own revision.
    private static func lateChanges(_ count: Int) -> [(revision: Int, next: String?)] {
        (0..<count).map { round in
            let from = 5 + 2 * round
            return (
                from + 1,
                #"{"event":"change","sub":1,"from":\#(from),"revision":\#(from + 2),"coalesced":2,"changes":{"value/level":{"value":\#(round)}}}"#
            )
        }
    }

    @Test func changesThatKeepComingTogetherDoNotHoldUpAnUpdate() async throws {
        let asked = Mutex<[Int]>([])
        let own = Self.lateChanges(10) + [(24, nil)]
        let scripted = try Self.bus(saying: own) { revision in asked.withLock { $0.append(revision) } }
        let bus = try await Bus.connect(scripted.address)
        let level = try await bus.value("level", default: 1)
        #expect(try await level.update { $0 + 1 } == 10)
        #expect(asked.withLock { $0 } == [24], "the state is right up to 25, and has changed at 24")
        await bus.close()
    }

    /// No revision is made up, and nobody waits for ever.
    @Test func revisionThatCannotBeKnownIsAnError() async throws {
        let asked = Mutex<[Int]>([])
        let scripted = try Self.bus(saying: Self.lateChanges(150)) { revision in
            asked.withLock { $0.append(revision) }
        }
        let bus = try await Bus.connect(scripted.address)
        let level = try await bus.value("level", default: 1)
        let error = await #expect(throws: BusError.self) { try await level.update { $0 + 1 } }
        #expect(error?.code == .unavailable && asked.withLock { $0 }.isEmpty)
        await bus.close()
    }

    /// A conflict comes behind the change that it is over, so the bus need not be asked again.
    @Test func conflictNamesTheRevisionOfTheStateThatHasCome() async throws {
        let asked = Mutex<[Int]>([])
        let scripted = try Self.bus(
            saying: [(5, nil), (4, nil), (6, nil)], refusing: (Self.lateChanges(1)[0].next, 6)
        ) { revision in asked.withLock { $0.append(revision) } }
        let bus = try await Bus.connect(scripted.address)
        let level = try await bus.value("level", default: 1)
        #expect(try await level.update { $0 + 1 } == 1)
        #expect(asked.withLock { $0 } == [5, 6])
        await bus.close()
    }

    /// The store has changed, and nothing says so, as where rules hide the part that has.
    @Test func revisionThatIsRefusedIsAskedForAgain() async throws {
        let asked = Mutex<[Int]>([])
        let scripted = try Self.bus(saying: [(7, nil), (8, nil)]) { revision in
            asked.withLock { $0.append(revision) }
        }
        let bus = try await Bus.connect(scripted.address)
        let level = try await bus.value("level", default: 1)
        #expect(try await level.update { $0 + 1 } == 2)
        #expect(asked.withLock { $0 } == [7, 8])
        await bus.close()
    }

    @Test func anyCodableValueWillDo() async throws {
        struct Song: Codable, Sendable, Equatable {
            var title: String
            var seconds: Double?
        }
        let live = try live()
        let bus = try await live.connect()
        let song = try await bus.value("song", default: [Song(title: "Hush")])
        try await song.set([Song(title: "Hush", seconds: 201.5), Song(title: "Rush")])
        #expect(song.value.map(\.title) == ["Hush", "Rush"])
        #expect(song.value[0].seconds == 201.5)
    }

    @Test func valueOfAnotherKindIsToldNotGuessed() async throws {
        let live = try live()
        let bus = try await live.connect()
        let number = try await bus.value("level", default: 1)
        try await bus.dispatch("set", to: .store("value/level"), payload: ["value": "loud"])
        #expect(number.value == 1)
        let error = await #expect(throws: BusError.self) { try await number.read() }
        #expect(error?.code == .unfitState)
    }
}
