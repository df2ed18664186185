import BusEngine
import BusJSON
import BusMachine
import TestModes
import TestSupport
import Testing

/// What a view promises to its clients.
@Suite(.inBothModes) struct ViewContractTests {
    private static let room = """
        type: room
        state:
          floor: { type: string, default: ground }
          measured: { type: [number, "null"], default: null }
          heating: { type: boolean, default: false }
          other: { type: integer, default: 0 }
        actions:
          measure: { payload: { celsius: number }, set: { measured: = payload.celsius } }
          move: { payload: { to: string }, set: { floor: = payload.to } }
          heat: { set: { heating: true } }
          poke: { increment: { other: 1 } }
        """
    private static let climate = """
        view: climate
        of: room
        by: floor
        values:
          rooms: count()
          heating: count(heating)
          coldest: min(measured)
          coldestRoom: argmin(measured)
          average: avg(measured)
        computed: { isCold: "average < 17" }
        """

    private func bus(_ definitions: String..., change: (inout MemoryBus.Setup) -> Void = { _ in }) throws -> (
        MemoryBus, MemoryClient
    ) {
        var setup = MemoryBus.Setup()
        setup.definitions = definitions.isEmpty ? [Self.room, Self.climate] : definitions
        setup.log = MemoryLog()
        change(&setup)
        let bus = try MemoryBus(setup)
        return (bus, bus.connect(uid: 0))
    }

    private func reply(_ client: MemoryClient, _ line: String) throws -> JSON {
        try #require(try client.ask(line).last { $0["ok"] != nil })
    }

    private func create(_ client: MemoryClient, _ address: String, _ state: String = "{}") throws {
        #expect(try reply(client, #"{"op":"create","store":"\#(address)","state":\#(state)}"#)["ok"] == true)
    }

    @Test func aViewChangesInTheEventOfTheCommitThatChangedItsSource() throws {
        let (bus, client) = try bus()
        let watcher = bus.connect()
        try watcher.ask(#"{"op":"subscribe","match":"*/*","cause":true}"#)
        try create(client, "room/a", #"{"measured":20}"#)
        var event = try #require(try watcher.all().only)
        #expect(
            event["states"]?["climate/ground"] == [
                "rooms": 1, "heating": 0, "coldest": 20, "coldestRoom": "room/a", "average": .double(20),
                "isCold": false,
            ])
        try client.ask(#"{"op":"dispatch","store":"room/a","action":"measure","payload":{"celsius":16}}"#)
        event = try #require(try watcher.all().only)
        #expect(
            event["changes"] == [
                "room/a": ["measured": 16],
                "climate/ground": ["coldest": 16, "average": .double(16), "isCold": true],
            ])
        #expect(event["revision"]?.int == bus.engine.revision)
        // What it does not read, it does not follow.
        try client.ask(#"{"op":"dispatch","store":"room/a","action":"poke"}"#)
        event = try #require(try watcher.all().only)
        #expect(event["changes"] == ["room/a": ["other": 1]])
        // The last source leaves, and the store goes; it comes to another.
        try client.ask(#"{"op":"dispatch","store":"room/a","action":"move","payload":{"to":"attic"}}"#)
        event = try #require(try watcher.all().only)
        #expect(event["dropped"] == ["climate/ground"])
        #expect(event["states"]?["climate/attic"]?["rooms"] == 1)
        try client.ask(#"{"op":"drop","store":"room/a"}"#)
        event = try #require(try watcher.all().only)
        #expect(Set(event["dropped"]?.array?.compactMap(\.string) ?? []) == ["climate/attic", "room/a"])
    }

    /// Its stores come and go by what their sources make of them.
    @Test func itsStoresAreChosenByWhatTheyAreLike() throws {
        let (bus, client) = try bus()
        let watcher = bus.connect()
        try watcher.ask(#"{"op":"subscribe","type":"climate","where":"coldest < 18"}"#)
        func told(_ action: String) throws -> [JSON] {
            try client.ask(#"{"op":"dispatch","store":"room/a","action":\#(action)}"#)
            return try watcher.all()
        }
        try create(client, "room/a", #"{"measured":20}"#)
        #expect(try watcher.all() == [])
        let entered = try told(#""measure","payload":{"celsius":16}"#)
        #expect(entered.map { $0["states"]?["climate/ground"]?["coldest"] } == [16])
        let moved = try told(#""move","payload":{"to":"attic"}"#)
        #expect(moved.map { $0["dropped"] } == [["climate/ground"]])
        #expect(moved.map { $0["states"]?.object?.keys } == [["climate/attic"]])
        let left = try told(#""measure","payload":{"celsius":19}"#)
        #expect(left.map { $0["dropped"] } == [["climate/attic"]])
        let found = try reply(client, #"{"op":"get","match":"*/*","where":"isCold == false"}"#)
        #expect(found["states"]?.object?.keys == ["climate/attic"])
    }

    @Test func aDispatchCountsTheStoresThatItReaches() throws {
        let (_, client) = try bus()
        try create(client, "room/a")
        try create(client, "room/b")
        let reply = try reply(client, #"{"op":"dispatch","type":"room","action":"heat"}"#)
        #expect(reply["matched"] == 2 && reply["changed"] == 2)
    }

    @Test func aStoreOfAViewHasTheRevisionOfItsLastChange() throws {
        let (_, client) = try bus()
        try create(client, "room/a")
        try client.ask(#"{"op":"dispatch","store":"room/a","action":"poke"}"#)
        let stores = try #require(try reply(client, #"{"op":"stores"}"#)["stores"]?.array)
        #expect(
            stores.first == [
                "store": "climate/ground", "revision": stores[0]["revision"]!, "ephemeral": false,
                "view": true,
            ])
        #expect(stores[0]["revision"]!.int! + 1 == stores[1]["revision"]!.int!)
        #expect(stores[1]["view"] == nil)
    }

    @Test(arguments: [
        #"{"op":"dispatch","store":"climate/ground","action":"heat"}"#,
        #"{"op":"dispatch","type":"climate","action":"heat"}"#,
        #"{"op":"dispatch","actions":[{"type":"climate","action":"heat"}]}"#,
        #"{"op":"create","store":"climate/attic"}"#, #"{"op":"create","store":"climate/ground"}"#,
        #"{"op":"create","store":"climate/ground","ifMissing":true}"#,
        #"{"op":"dispatch","actions":[{"op":"create","store":"climate/attic"}]}"#,
        #"{"op":"dispatch","actions":[{"op":"drop","store":"climate/ground"}]}"#,
        #"{"op":"drop","store":"climate/ground"}"#,
        #"{"op":"will","actions":[{"type":"climate","action":"heat"}]}"#,
    ])
    func nobodyChangesAView(_ line: String) throws {
        let (bus, client) = try bus()
        try create(client, "room/a")
        let revision = bus.engine.revision
        let reply = try reply(client, line)
        #expect(reply["error"]?["code"] == "rejected", "\(reply)")
        #expect(
            reply["error"]?["message"]?.string?.contains("climate is a view: its stores follow those of room")
                == true)
        #expect(bus.engine.revision == revision)
    }

    /// Nobody can create the store of a view that is missing.
    @Test func aStoreThatAViewLacksIsExplained() throws {
        let (_, client) = try bus()
        let absent = try reply(client, #"{"op":"get","store":"climate/ground"}"#)
        #expect(
            absent["error"]?["message"]
                == "There is no store climate/ground; climate is a view, whose stores are there as long as something counts in them."
        )
    }

    @Test(.aloneOnly(because: "The local copy of a shared bus keeps all of each type, as its log does."))
    func aPastThatAViewLacksIsThatOfItsSource() throws {
        let (bus, client) = try bus(Self.room + "\nlog: { keep: latest }", Self.climate)
        try create(client, "room/a")
        try create(client, "room/b")
        let past = try reply(
            client, #"{"op":"get","store":"climate/ground","revision":\#(bus.engine.revision - 1)}"#)
        #expect(
            past["error"]?["message"]?.string?.contains(
                "is made of room, which has no past: its type says log: { keep: latest }") == true, "\(past)")
    }

    @Test func aViewCantGoBackByItself() throws {
        let (_, client) = try bus()
        try create(client, "room/a")
        let reply = try reply(client, #"{"op":"revert","store":"climate/ground","revision":1}"#)
        #expect(reply["ok"] == false)
    }

    /// Expressions of other types see views as they were before the commit.
    @Test func whoWaitsForAViewReadsItAsItWas() throws {
        let (_, client) = try bus(
            Self.room, Self.climate,
            """
            type: boiler
            waitFor: [climate]
            state: { seen: { type: [number, "null"], default: null } }
            actions: { heat: { set: { seen: '= stores["climate/ground"].heating' } } }
            """)
        try create(client, "room/a")
        try create(client, "boiler/b")
        try client.ask(#"{"op":"dispatch","type":"*","action":"heat"}"#)
        #expect(try reply(client, #"{"op":"get","store":"boiler/b"}"#)["states"]?["boiler/b"]?["seen"] == 0)
        #expect(
            try reply(client, #"{"op":"get","store":"climate/ground"}"#)["states"]?["climate/ground"]?[
                "heating"] == 1)
        try client.ask(#"{"op":"dispatch","type":"*","action":"heat"}"#)
        #expect(try reply(client, #"{"op":"get","store":"boiler/b"}"#)["states"]?["boiler/b"]?["seen"] == 1)
    }

    /// More values than a state may have, and then fewer again.
    @Test func countsOfTooManyValuesAreNull() throws {
        let (_, client) = try bus(
            Self.room, "view: floors\nof: room\nvalues: { rooms: counts(floor), first: 'list(store, 2)' }")
        for batch in 0..<3 {
            let rooms = (0..<500).map { number in
                let name = 1000 + batch * 500 + number
                return #"{"op":"create","store":"room/r\#(name)","state":{"floor":"f\#(name)"}}"#
            }
            #expect(
                try reply(client, #"{"op":"dispatch","actions":[\#(rooms.joined(separator: ","))]}"#)["ok"]
                    == true)
            let view = try #require(
                try reply(client, #"{"op":"get","store":"floors/all"}"#)["states"]?["floors/all"])
            #expect(view["rooms"]?.object?.count == (batch < 2 ? (batch + 1) * 500 : nil))
            #expect(view["first"] == ["room/r1000", "room/r1001"])
        }
        try client.ask(#"{"op":"dispatch","type":"room","action":"move","payload":{"to":"one"}}"#)
        #expect(
            try reply(client, #"{"op":"get","store":"floors/all"}"#)["states"]?["floors/all"]?["rooms"] == [
                "one": 1500
            ])
    }

    @Test func aDispatchPaysForTheViewsThatFollowIt() throws {
        func reaches(_ definitions: String...) throws -> JSON {
            var setup = MemoryBus.Setup()
            setup.limits.bus.commit = 200
            setup.definitions = definitions
            let bus = try MemoryBus(setup)
            let client = bus.connect(uid: 0)
            for number in 0..<10 { try create(client, "room/r\(number)") }
            return try reply(client, #"{"op":"dispatch","type":"room","action":"heat"}"#)
        }
        #expect(try reaches(Self.room)["matched"] == 10)
        let refused = try reaches(Self.room, Self.climate)
        #expect(
            refused["error"]?["code"] == "rejected"
                && refused["error"]?["message"]?.string?.contains("budget") == true, "\(refused)")
    }

    // MARK: Definitions

    @Test func aReloadMakesViewsAnewInItsCommit() throws {
        let (bus, client) = try bus()
        try create(client, "room/a", #"{"measured":20}"#)
        try create(client, "room/b", #"{"floor":"attic"}"#)
        let watcher = bus.connect()
        try watcher.ask(#"{"op":"subscribe","match":"*/*"}"#)
        let other = "view: climate\nof: room\nwhere: measured != null\nby: floor\nvalues: { n: count() }"
        bus.definitions = [Self.room, other, "view: all\nof: climate\nvalues: { floors: count() }"]
        let rehearsal = try reply(client, #"{"op":"reload","dryRun":true}"#)
        #expect(
            rehearsal["states"] == ["climate/ground": ["n": 1], "all/all": ["floors": 1]], "\(rehearsal)")
        #expect(try watcher.all() == [])
        try client.ask(#"{"op":"reload"}"#)
        var event = try #require(try watcher.all().only)
        #expect(event["dropped"] == ["climate/attic"])
        #expect(event["states"]?["all/all"] == ["floors": 1])
        #expect(
            try reply(client, #"{"op":"get","match":"climate/*"}"#)["states"] == ["climate/ground": ["n": 1]])
        // A view that is gone takes its stores along.
        bus.definitions = [Self.room]
        try client.ask(#"{"op":"reload"}"#)
        event = try #require(try watcher.all().only)
        #expect(Set(event["dropped"]?.array?.compactMap(\.string) ?? []) == ["climate/ground", "all/all"])
        // And what is a view may become a type, but not with stores the other way round.
        bus.definitions = [Self.room, "type: climate\ninitial: {}"]
        #expect(try reply(client, #"{"op":"reload"}"#)["ok"] == true)
        try create(client, "climate/x")
        bus.definitions = [Self.room, other]
        let refused = try reply(client, #"{"op":"reload"}"#)
        #expect(
            refused["error"]?["message"]?.string?.contains("climate is a view now but has 1 store of its own")
                == true, "\(refused)")
    }

    /// A type whose states change by a reload changes the views that read it.
    @Test func aMigrationChangesTheViewsOfItsType() throws {
        let (bus, client) = try bus()
        try create(client, "room/a", #"{"measured":20}"#)
        bus.definitions = [
            Self.room.replacing(
                "type: room", with: "type: room\nversion: 2\nmigrate: { 1: { set: { measured: 5 } } }"),
            Self.climate,
        ]
        #expect(try reply(client, #"{"op":"reload"}"#)["ok"] == true)
        #expect(
            try reply(client, #"{"op":"get","store":"climate/ground"}"#)["states"]?["climate/ground"]?[
                "coldest"] == 5)
    }

    @Test(.aloneOnly(because: "a member of a shared bus hands nothing over"))
    func aDaemonThatTakesOverTellsWhatItsViewsChange() throws {
        var setup = MemoryBus.Setup()
        setup.definitions = [Self.room, Self.climate, "view: gone\nof: room\nvalues: { n: count() }"]
        let bus = try MemoryBus(setup)
        let client = bus.connect(uid: 0)
        try create(client, "room/a", #"{"measured":20}"#)
        let watcher = bus.connect()
        try watcher.ask(#"{"op":"subscribe","match":"*/*"}"#)
        try bus.restart()
        #expect(try watcher.all() == [])
        try client.ask(#"{"op":"dispatch","store":"room/a","action":"heat"}"#)
        #expect(try #require(try watcher.all().only)["changes"]?["climate/ground"] == ["heating": 1])
        try bus.restart(definitions: [
            Self.room, "view: climate\nof: room\nby: floor\nvalues: { n: count() }",
            "view: new\nof: room\nvalues: { n: count() }",
        ])
        let event = try #require(try watcher.all().only)
        #expect(event["dropped"] == ["gone/all"])
        #expect(event["states"]?["new/all"] == ["n": 1])
        #expect(
            try reply(client, #"{"op":"get","match":"climate/*"}"#)["states"] == ["climate/ground": ["n": 1]])
    }

    // MARK: Access

    @Test func readingAViewIsARightOfItsOwn() throws {
        let (bus, client) = try bus { setup in
            setup.users = [0: ("root", []), 1: ("eve", []), 2: ("mallory", [])]
            setup.access = """
                roles: { admin: [{ user: root }], guest: [{ user: eve }], other: [{ user: mallory }] }
                rules:
                  - { role: admin, may: all }
                  - { role: guest, may: read, match: climate/*, select: [/rooms] }
                  - { role: other, may: read, match: room/* }
                """
        }
        try create(client, "room/a", #"{"measured":20}"#)
        let (guest, other) = (bus.connect(uid: 1), bus.connect(uid: 2))
        #expect(
            try reply(guest, #"{"op":"get","match":"*/*"}"#)["states"] == ["climate/ground": ["rooms": 1]])
        #expect(try reply(other, #"{"op":"get","match":"*/*"}"#)["states"]?.object?.keys == ["room/a"])
        #expect(try reply(other, #"{"op":"get","store":"climate/ground"}"#)["error"]?["code"] == "forbidden")
        try guest.ask(#"{"op":"subscribe","match":"*/*"}"#)
        try client.ask(#"{"op":"dispatch","store":"room/a","action":"heat"}"#)
        #expect(try guest.all().filter { $0["changes"] != nil } == [])
        try create(client, "room/b")
        #expect(try #require(try guest.all().only)["changes"] == ["climate/ground": ["rooms": 2]])
    }
}

extension Collection {
    /// The element, where there is one and no other.
    fileprivate var only: Element? { count == 1 ? first : nil }
}
