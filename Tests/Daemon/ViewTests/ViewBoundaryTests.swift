import BusEngine
import BusJSON
import TestModes
import TestSupport
import Testing

/// What views may take, and what a bus with views is for whoever keeps it, reads its past or takes it over.
@Suite(.inBothModes) struct ViewBoundaryTests: ClimateTests {
    // MARK: Limits

    @Test func storesOfViewsCountForTheLimitOfStores() throws {
        let (_, client) = try bus { $0.limits.bus.stores = 3 }
        try create(client, "room/a")
        try create(client, "room/b")
        let refused = try reply(client, #"{"op":"create","store":"room/c"}"#)
        #expect(refused["error"]?["code"] == "limit", "\(refused)")
    }

    @Test func whatViewsRememberOfTheirSourcesCountsAsMemory() throws {
        func rooms(_ definitions: String...) throws -> Int {
            let (_, client) = try bus(definitions) { $0.limits.daemon.memory = 400_000 }
            for number in 0..<5000 {
                let reply = try reply(client, #"{"op":"create","store":"room/r\#(number)"}"#)
                if reply["error"]?["code"] == "limit" { return number }
            }
            return 5000
        }
        let values = (0..<60).map { "v\($0): min(measured)" }.joined(separator: ", ")
        let (without, with) = (
            try rooms(Self.room), try rooms(Self.room, "view: all\nof: room\nvalues: { \(values) }")
        )
        #expect(with > 0 && with * 4 < without, "\(with) rooms instead of \(without)")
    }

    @Test func aDispatchIsRefusedWhereViewsHaveUsedUpTheMemory() throws {
        let values = (0..<60).map { "v\($0): min(measured)" }.joined(separator: ", ")
        let (_, client) = try bus([Self.room, "view: all\nof: room\nvalues: { \(values) }"]) {
            $0.limits.daemon.memory = 400_000
        }
        var number = 0
        while try reply(client, #"{"op":"create","store":"room/r\#(number)"}"#)["ok"] == true { number += 1 }
        let floor = String(repeating: "f", count: 2000)
        let refused = try reply(
            client, #"{"op":"dispatch","store":"room/r0","action":"move","payload":{"to":"\#(floor)"}}"#)
        #expect(refused["error"]?["code"] == "limit", "\(refused)")
    }

    /// Ten operations for each view, and four for each of its values.
    @Test func aDispatchPaysForEachViewAndValue() throws {
        func cost(_ definitions: String...) throws -> Int {
            var (least, most) = (1, 200)
            while least < most {
                let limit = (least + most) / 2
                let (_, client) = try bus(definitions) { $0.limits.bus.commit = limit }
                try reply(client, #"{"op":"create","store":"room/a"}"#)
                if try reply(client, measure(16))["ok"] == true { most = limit } else { least = limit + 1 }
            }
            return least
        }
        let alone = try cost(Self.room)
        #expect(try cost(Self.room, Self.climate) == alone + 10 + 3 * 4)
        #expect(
            try cost(Self.room, Self.climate, "view: all\nof: room\nvalues: { n: count() }")
                == alone + 2 * 10 + (3 + 1) * 4)
    }

    @Test func aBatchPaysForTheViewsOfTheStoresThatItCreates() throws {
        func reaches(_ definitions: String...) throws -> JSON {
            let (_, client) = try bus(definitions) { $0.limits.bus.commit = 150 }
            let rooms = (0..<10).map { #"{"op":"create","store":"room/r\#($0)"}"# }
            return try reply(client, #"{"op":"dispatch","actions":[\#(rooms.joined(separator: ","))]}"#)
        }
        #expect(try reaches(Self.room)["ok"] == true)
        let refused = try reaches(Self.room, Self.climate)
        #expect(
            refused["error"]?["code"] == "rejected"
                && refused["error"]?["message"]?.string?.contains("budget") == true, "\(refused)")
    }

    /// When views are brought up to date nothing can be refused any more, so what many long states make them evaluate is paid for
    /// before.
    @Test(arguments: [(20, true), (100, false)]) func aDispatchPaysForWhatViewsEvaluate(
        shelves: Int, isAffordable: Bool
    ) throws {
        let shelf = """
            type: shelf
            state:
              items: { type: array, items: integer, default: [] }
              least: { type: integer, default: 0 }
              other: { type: integer, default: 0 }
            actions:
              raise: { set: { least: = state.least + 1 } }
              touch: { set: { other: = state.other + 1 } }
            """
        let view = "view: filled\nof: shelf\nvalues: { n: 'sum(items.filter(i, i > least).size())' }"
        let (bus, client) = try bus([shelf, view])
        let items = Array(repeating: "1", count: 10_000).joined(separator: ",")
        for number in 0..<shelves {
            try create(client, "shelf/s\(number)", #","state":{"items":[\#(items)]}"#)
        }
        let before = bus.engine.revision
        let raised = try reply(client, #"{"op":"dispatch","type":"shelf","action":"raise"}"#)
        #expect(raised["ok"] == .bool(isAffordable), "\(raised)")
        if !isAffordable {
            #expect(raised["error"]?["message"]?.string?.contains("change fewer stores") == true, "\(raised)")
            #expect(bus.engine.revision == before)
        }
        // What the view does not read costs nothing.
        #expect(try reply(client, #"{"op":"dispatch","type":"shelf","action":"touch"}"#)["ok"] == true)
        #expect(
            try views(client, "filled/*")?["filled/all"]?["n"]
                == .int(isAffordable ? 0 : shelves * 10_000))
    }

    // MARK: What a bus is

    /// Whoever verifies a log compares what clients made, also with a bus that works views out otherwise.
    @Test func theDigestIsThatOfWhatClientsMade() throws {
        func digest(_ definitions: String...) throws -> String {
            let (bus, client) = try bus(definitions)
            try create(client, "room/a")
            return bus.engine.stateDigest
        }
        #expect(
            try digest(Self.room, Self.climate)
                == digest(Self.room, "view: all\nof: room\nvalues: { n: count() }"))
    }

    /// Whoever sees a part of a view sees when that part changed last, also after a restart.
    @Test func partsOfAViewKeepTheirRevisions() throws {
        let (bus, client) = try guardedBus()
        let list = #"{"op":"stores"}"#
        try create(client, "room/a")
        let revision = bus.engine.revision
        try reply(client, measure(16))
        let seen = try reply(bus.connect(uid: 1), list)["stores"]
        #expect(seen?[0]?["revision"]?.int == revision)
        bus.written?.takeSnapshot(bus.engine.snapshot(), at: bus.engine.revision)
        let next = try bus.crash()
        #expect(try reply(next.connect(uid: 1), list)["stores"] == seen)
    }

    @Test func aDryRunOfAMigrationShowsWhatItMakesOfViews() throws {
        let (bus, client) = try bus()
        try create(client, "room/a", #","state":{"measured":20}"#)
        try create(client, "room/b", #","state":{"floor":"attic"}"#)
        bus.definitions = [
            Self.room.replacing(
                "type: room",
                with:
                    "type: room\nversion: 2\nmigrate: { 1: { set: { measured: '= state.measured == null ? null : 5' } } }"
            ),
            Self.climate,
        ]
        let shown = try reply(client, #"{"op":"reload","dryRun":true}"#)["states"]
        #expect(Set(shown?.object?.keys ?? []) == ["room/a", "climate/ground"], "\(shown ?? .null)")
        #expect(shown?["climate/ground"]?["coldest"] == 5)
        #expect(try views(client)?["climate/ground"]?["coldest"] == 20)
    }

    @Test func aReloadOfAViewSeesTheStatesThatItMigrates() throws {
        let (bus, client) = try bus()
        try create(client, "room/a", #","state":{"measured":20}"#)
        bus.definitions = [
            Self.room.replacing(
                "type: room", with: "type: room\nversion: 2\nmigrate: { 1: { set: { measured: 5 } } }"),
            "view: climate\nof: room\nvalues: { warmest: max(measured) }",
        ]
        #expect(try reply(client, #"{"op":"reload"}"#)["ok"] == true)
        #expect(try views(client) == ["climate/all": ["warmest": 5]])
    }

    @Test func aReloadedViewFollowsWhatNoViewReadBefore() throws {
        let (bus, client) = try bus([Self.room, "view: climate\nof: room\nvalues: { n: count() }"])
        try create(client, "room/a")
        try reply(client, measure(16))
        bus.definitions = [Self.room, "view: climate\nof: room\nvalues: { coldest: min(measured) }"]
        #expect(try reply(client, #"{"op":"reload"}"#)["ok"] == true)
        try reply(client, measure(12))
        #expect(try views(client) == ["climate/all": ["coldest": 12]])
    }

    @Test func theStatesOfViewsAreNeitherInTheLogNorInASnapshot() throws {
        let (bus, client) = try bus()
        try create(client, "room/a", #","state":{"measured":271828}"#)
        let snapshot = bus.engine.snapshot()
        let text = withExtendedLifetime(snapshot) { String(decoding: snapshot.bytes, as: UTF8.self) }
        #expect(text.split(separator: "271828", omittingEmptySubsequences: false).count == 2)
        let lines = try #require(bus.written?.lines)
        #expect(lines.contains { $0.contains("room/a") } && !lines.contains { $0.contains("climate/") })
    }

    @Test func theHistoryOfAViewOverViewsIsThatOfTheirSources() throws {
        let (_, client) = try bus([Self.room, Self.climate, "view: all\nof: climate\nvalues: { n: count() }"])
        try create(client, "counter/x")
        try create(client, "room/a")
        let commits = try reply(client, #"{"op":"history","type":"all"}"#)["commits"]?.array
        #expect(commits?.last?["created"]?.object?.keys == ["room/a"])
        #expect(commits?.contains { $0["created"]?["counter/x"] != nil } == false)
    }

    // MARK: A daemon that takes over

    @Test(.aloneOnly(because: "a member of a shared bus hands nothing over"))
    func whereNoViewDiffersATakeOverIsNoCommit() throws {
        let (bus, client) = try bus()
        try create(client, "room/a")
        let revision = bus.engine.revision
        try bus.restart()
        #expect(bus.engine.revision == revision)
        #expect(try views(client)?.object?.keys == ["climate/ground"])
    }

    @Test(.aloneOnly(because: "a member of a shared bus hands nothing over"))
    func aViewBecomesATypeByATakeOver() throws {
        let (bus, client) = try bus()
        try create(client, "room/a")
        let watcher = bus.connect(uid: 0)
        try watcher.ask(#"{"op":"subscribe","match":"climate/*"}"#)
        try bus.restart(definitions: [Self.room, "type: climate\ninitial: {}"])
        #expect(try watcher.all().last?["dropped"] == ["climate/ground"])
        try create(client, "climate/x")
    }

    @Test(.aloneOnly(because: "a member of a shared bus hands nothing over"))
    func aTypeWithStoresBecomesNoViewByATakeOver() throws {
        let (bus, client) = try bus([Self.room, "type: climate\ninitial: { n: 1 }"])
        try create(client, "climate/x")
        let error = #expect(throws: (any Error).self) {
            try bus.restart(definitions: [Self.room, Self.climate])
        }
        #expect(
            String(describing: error).contains("climate is a view now but has 1 store"),
            "\(String(describing: error))")
    }
}
