import BusEngine
import BusJSON
import TestModes
import TestSupport
import Testing

/// `map`: what programs read of a type without asking is what is durable, and nothing else.
@Suite(.inBothModes) struct MapContractTests {
    private let request = #"{"op":"map","id":1,"type":"counter"}"#

    /// The one map that the bus keeps.
    private func entries(_ bus: MemoryBus) throws -> [String: MemoryMaps.Entry] {
        #expect(bus.maps.live.count == 1)
        return try #require(bus.maps.live.first?.value)
    }

    private func expectExact(_ bus: MemoryBus, _ client: MemoryClient) throws {
        let states = try #require(client.reply(to: #"{"op":"get","type":"counter"}"#)["states"]?.object)
        let map = try entries(bus).compactMapValues(\.state)
        #expect(Set(map.keys.map { "counter/" + $0 }) == Set(states.keys))
        for (name, state) in map {
            #expect(try JSON(parsing: state) == states["counter/" + name], "\(name)")
        }
    }

    @Test func mapHasEveryStoreOfTheTypeAndFollows() throws {
        let bus = try MemoryBus.with("counter/a", "counter/b", "todo/t")
        let client = bus.connect()
        let changed = try client.increment("counter/a", by: 3)
        #expect(try client.reply(to: request) == ["id": 1, "ok": true, "epoch": .string(bus.epoch)])
        #expect(bus.maps.given == [client.connection])
        try expectExact(bus, client)
        #expect(try entries(bus)["a"]?.revision == changed)
        // Another one's commits, a commit to all stores, and a batch that creates and drops.
        let other = bus.connect(uid: MemoryBus.ownUID)
        let later = try other.increment("counter/b", by: 4)
        #expect(try entries(bus)["b"]?.revision == later)
        try other.revision(after: #"{"op":"dispatch","type":"counter","action":"increment"}"#)
        try expectExact(bus, client)
        try other.revision(
            after:
                #"{"op":"dispatch","actions":[{"op":"create","store":"counter/c"},{"store":"counter/c","action":"increment"},{"op":"drop","store":"counter/b"}]}"#
        )
        #expect(try entries(bus)["b"]?.state == nil)
        try expectExact(bus, client)
        try other.revision(after: #"{"op":"drop","store":"counter/a"}"#)
        try other.revision(after: #"{"op":"create","store":"counter/a","state":{"count":70}}"#)
        try expectExact(bus, client)
        try other.revision(after: #"{"op":"create","store":"todo/u"}"#)
        try expectExact(bus, client)
        // A commit that drops a store and makes it again shows no moment between the two.
        let remade = try other.revision(
            after:
                #"{"op":"dispatch","actions":[{"op":"drop","store":"counter/a"},{"op":"create","store":"counter/a","state":{"count":7}}]}"#
        )
        try expectExact(bus, client)
        #expect(!bus.maps.shown.contains("\(remade) a -"), "\(bus.maps.shown)")
    }

    @Test func everybodyIsGivenTheSameMapAndItGoesWithTheLast() throws {
        let bus = try MemoryBus.with("counter/a")
        let (one, two) = (bus.connect(), bus.connect())
        #expect(try one.code(of: request) == nil)
        #expect(try two.code(of: request) == nil)
        #expect(try two.code(of: request) == nil)
        #expect(bus.maps.live.count == 1 && bus.maps.given.count == 3)
        #expect(bus.engine.accountedMemory > bus.maps.bytesOfEach)
        one.close()
        try two.increment()
        try expectExact(bus, two)
        two.close()
        #expect(bus.maps.live.isEmpty && bus.maps.ended.count == 1)
        #expect(bus.engine.accountedMemory < bus.maps.bytesOfEach)
        #expect(bus.engine.miscounts.isEmpty)
    }

    /// A view's stores come, change and go by what happens to others.
    @Test func mapOfAViewFollows() throws {
        let bus = try MemoryBus.with { setup in
            setup.definitions = [
                """
                type: room
                state: { floor: { type: string, default: ground }, warm: { type: integer, default: 0 } }
                actions:
                  heat: { increment: { warm: 1 } }
                  move: { payload: { to: string }, set: { floor: = payload.to } }
                """,
                "view: climate\nof: room\nby: floor\nvalues: { rooms: count(), warmth: sum(warm) }",
            ]
        }
        let client = bus.connect()
        try client.revision(after: #"{"op":"create","store":"room/a"}"#)
        #expect(try client.code(of: #"{"op":"map","type":"climate"}"#) == nil)
        #expect(try entries(bus)["ground"]?.state == #"{"rooms":1,"warmth":0}"#)
        try client.revision(after: #"{"op":"dispatch","store":"room/a","action":"heat"}"#)
        #expect(try entries(bus)["ground"]?.state == #"{"rooms":1,"warmth":1}"#)
        try client.revision(
            after: #"{"op":"dispatch","store":"room/a","action":"move","payload":{"to":"attic"}}"#)
        #expect(try entries(bus)["ground"]?.state == nil)
        #expect(try entries(bus)["attic"]?.state == #"{"rooms":1,"warmth":1}"#)
    }

    @Test func whatCanNotBeMappedIsRefused() throws {
        let bus = try MemoryBus.with("counter/a") { $0.tokens = ["0123456789abcdef": "phone"] }
        let client = bus.connect()
        #expect(try client.code(of: #"{"op":"map"}"#) == "invalid_request")
        #expect(try client.code(of: #"{"op":"map","type":5}"#) == "invalid_request")
        #expect(try client.code(of: #"{"op":"map","type":"*"}"#) == "invalid_request")
        #expect(try client.code(of: #"{"op":"map","type":"none"}"#) == "unknown_type")
        #expect(
            try client.code(of: #"{"op":"map","type":"counter","store":"counter/a"}"#) == "invalid_request")
        let remote = bus.connect(.tcp(address: "127.0.0.1:50312"))
        #expect(try remote.code(of: #"{"op":"hello","token":"0123456789abcdef"}"#) == nil)
        #expect(try remote.code(of: request) == "unavailable")
        bus.maps.bytesOfEach = .max
        #expect(try client.code(of: request) == "limit")
        #expect(bus.maps.live.isEmpty && bus.maps.given.isEmpty)
        bus.maps.bytesOfEach = 1000
        #expect(try client.code(of: request) == nil)
    }

    /// All of them would be written at once.
    @Test func typeOfTooManyStoresHasNoMap() throws {
        let bus = try MemoryBus.with()
        let client = bus.connect()
        let names = (0...DaemonLimits.mapStores).map { "counter/s\($0)" }
        for start in stride(from: 0, to: names.count, by: 1000) {
            let creations = names[start..<min(start + 1000, names.count)].map {
                #"{"op":"create","store":"\#($0)"}"#
            }
            try client.revision(
                after: #"{"op":"dispatch","actions":[\#(creations.joined(separator: ","))]}"#)
        }
        #expect(try client.code(of: request) == "limit")
        try client.revision(after: #"{"op":"drop","store":"counter/s0"}"#)
        #expect(try client.code(of: request) == nil)
        #expect(try entries(bus).count == DaemonLimits.mapStores)
    }

    /// Other types grow too large beside each other.
    @Test func allMapsTogetherHaveAPartOfTheMemory() throws {
        let bus = try MemoryBus.with("counter/a", "todo/t") { $0.limits.daemon.memory = 16 << 20 }
        bus.maps.bytesOfEach = 1 << 20
        let client = bus.connect()
        #expect(try client.code(of: request) == nil)
        #expect(try client.code(of: #"{"op":"map","type":"todo"}"#) == nil)
        #expect(try client.code(of: #"{"op":"map","type":"thermostat"}"#) == "limit")
    }

    /// Closing a map is the client's part, and memory is the daemon's.
    @Test func whatProgramsKeepOfEndedMapsIsBounded() throws {
        let bus = try MemoryBus.with("counter/a") { $0.limits.daemon.memory = 16 << 20 }
        (bus.maps.bytesOfEach, bus.maps.areKept) = (1 << 20, true)
        func code(_ uid: Int) throws -> String? {
            let client = bus.connect(uid: uid)
            defer { client.close() }
            return try client.code(of: request)
        }
        // A user may keep half of what all may.
        #expect(try code(1001) == nil && code(1001) == "limit")
        #expect(try code(1002) == nil)
        #expect(bus.engine.accountedMemory > 2 << 20)
        #expect(try code(1003) == "limit")
        bus.engine.mapGone(1)
        #expect(try code(1003) == nil)
        #expect(bus.engine.miscounts.isEmpty)
    }

    @Test func mapThatIsFullEndsAndAnotherOneIsMadeSoOftenAtMost() throws {
        let bus = try MemoryBus.with("counter/a")
        let client = bus.connect()
        bus.maps.mostStores = 1
        for number in 1...DaemonLimits.mapsMade {
            #expect(try client.code(of: request) == nil, "\(number)")
            try client.revision(after: #"{"op":"create","store":"counter/b"}"#)
            #expect(bus.maps.live.isEmpty && bus.maps.ended.count == number)
            try client.revision(after: #"{"op":"drop","store":"counter/b"}"#)
        }
        #expect(try client.code(of: request) == "limit")
        // Another user's are its own.
        #expect(try bus.connect(uid: 1001).code(of: request) == nil)
        bus.advance(milliseconds: DaemonLimits.mapInterval)
        #expect(try client.code(of: request) == nil)
        try expectExact(bus, client)
    }

    @Test func otherDefinitionsEndTheMapsOfTheirType() throws {
        let bus = try MemoryBus.with("counter/a")
        let client = bus.connect(uid: MemoryBus.ownUID)
        #expect(try client.code(of: request) == nil)
        bus.definitions = [
            "type: counter\ninitial: { count: 7, more: 1 }\nactions: { increment: { increment: { count: 1 } } }"
        ]
        #expect(try client.code(of: #"{"op":"reload"}"#) == nil)
        try client.revision(after: #"{"op":"dispatch","type":"counter","action":"increment"}"#)
        #expect(bus.maps.live.isEmpty)
        #expect(try client.code(of: request) == nil)
        try expectExact(bus, client)
    }

    /// A shared bus may begin a new epoch while it runs; revisions of one are nothing in the other.
    @Test func otherHistoryIsInAnotherMap() throws {
        let bus = try MemoryBus.with("counter/a")
        let client = bus.connect()
        #expect(try client.reply(to: request)["epoch"] == .string(bus.epoch))
        let epoch = "00000000-0000-4000-8000-000000000001"
        bus.engine.epoch = epoch
        let shown = bus.maps.shown.count
        try client.increment("counter/a")
        #expect(bus.maps.live.isEmpty && bus.maps.shown.count == shown)
        #expect(try client.reply(to: request)["epoch"] == .string(epoch))
        try expectExact(bus, client)
    }

    /// While the disk is busy nothing of what waits for it is seen, nor is a map made of it.
    @Test func nothingIsSeenBeforeItIsDurable() throws {
        let bus = try MemoryBus.logging("counter/a")
        let client = bus.connect()
        #expect(try client.code(of: request) == nil)
        let before = try entries(bus)
        bus.disk = .isBusy
        client.send(#"{"op":"dispatch","store":"counter/a","action":"increment"}"#)
        client.send(#"{"op":"create","store":"counter/b"}"#)
        let late = bus.connect()
        late.send(#"{"op":"map","id":2,"type":"todo"}"#)
        #expect(try entries(bus) == before)
        #expect(try late.all().isEmpty)
        bus.disk = .works
        let counters = try #require(bus.maps.live.values.first { $0["a"] != nil })
        #expect(counters["a"]?.state == #"{"count":1,"isEven":false}"# && counters["b"]?.state != nil)
        #expect(try late.all().last?["ok"] == true)
        #expect(bus.maps.live.count == 2)
    }

    /// What a suspended member answers is in its maps, as it is in the shared log.
    @Test(
        .aloneOnly(
            because: "The shared log in memory has no member that is suspended; `SuspensionTests` have one."))
    func suspendedMemberHasInItsMapsWhatItAnswers() throws {
        let bus = try MemoryBus.logging("counter/a")
        let client = bus.connect()
        #expect(try client.code(of: request) == nil)
        bus.disk = .isBusy
        // One waits in the batch that can't be written, the other in the next one.
        client.send(#"{"op":"dispatch","store":"counter/a","action":"increment"}"#)
        client.send(#"{"op":"create","store":"counter/b"}"#)
        #expect(try entries(bus)["a"]?.state == #"{"count":0,"isEven":true}"#)
        bus.engine.suspendCommits(reason: "The disk is full.", showing: true)
        bus.settle()
        #expect(try client.all().map { $0["ok"] } == [true, true])
        try expectExact(bus, client)
        #expect(try entries(bus)["b"]?.state != nil)
        #expect(try client.code(of: #"{"op":"map","type":"todo"}"#) == nil)
        bus.disk = .works
        try client.increment("counter/b")
        let counters = try #require(bus.maps.live.values.first { $0["a"] != nil })
        #expect(counters["b"]?.state == #"{"count":1,"isEven":false}"#)
        #expect(bus.maps.ended.isEmpty)
    }

    @Test(.aloneOnly(because: "A member whose disk fails ends, and the bus goes on without it."))
    func nothingThatIsRolledBackIsEverSeen() throws {
        let bus = try MemoryBus.logging("counter/a", "counter/b")
        let (client, waiting) = (bus.connect(), bus.connect())
        #expect(try client.code(of: request) == nil)
        try client.increment(by: 5)
        let (durable, shown) = (bus.engine.revision, bus.maps.shown.count)
        bus.disk = .isBusy
        for _ in 0..<3 { client.send(#"{"op":"dispatch","type":"counter","action":"increment"}"#) }
        client.send(#"{"op":"drop","store":"counter/b"}"#)
        waiting.send(#"{"op":"map","id":9,"type":"todo"}"#)
        bus.disk = .fails
        #expect(bus.engine.revision == durable)
        // The map has ended as it was, and whoever waited for another one is told that it is not there.
        #expect(bus.maps.shown.count == shown && bus.maps.live.isEmpty)
        #expect(try waiting.all().map { $0["error"]?["code"] } == ["unavailable"])
        // Reading goes on: of what is on disk.
        #expect(try client.all().count == 4)
        #expect(try client.code(of: request) == nil)
        try expectExact(bus, client)
        bus.disk = .works
        try client.increment()
        try expectExact(bus, client)
        #expect(bus.maps.shown.allSatisfy { !$0.contains("\"count\":8") })
    }

    /// The reply to `map` itself is taken back with what came before it, and so is the map that it would have brought.
    @Test(.aloneOnly(because: "A member whose disk fails ends, and the bus goes on without it."))
    func replyThatIsTakenBackBringsNoMap() throws {
        let bus = try MemoryBus.logging("counter/a")
        let (one, two) = (bus.connect(), bus.connect())
        #expect(try one.code(of: request) == nil)
        bus.disk = .isBusy
        one.send(#"{"op":"dispatch","store":"counter/a","action":"increment"}"#)
        two.send(request)
        #expect(bus.engine.nextMap(of: two.connection) != nil)
        bus.disk = .fails
        #expect(bus.engine.nextMap(of: two.connection) == nil)
        #expect(try two.all().map { $0["error"]?["code"] } == ["unavailable"])
    }

    @Test func clientThatGoesWhileItWaitsLeavesNothing() throws {
        let bus = try MemoryBus.logging("counter/a")
        let client = bus.connect()
        bus.disk = .isBusy
        client.send(#"{"op":"dispatch","store":"counter/a","action":"increment"}"#)
        let waiting = bus.connect()
        waiting.send(request)
        waiting.close()
        bus.disk = .works
        #expect(bus.maps.live.isEmpty && bus.maps.given.isEmpty)
        #expect(bus.engine.miscounts.isEmpty)
    }
}
