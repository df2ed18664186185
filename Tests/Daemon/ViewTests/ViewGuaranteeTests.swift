import BusEngine
import BusJSON
import TestModes
import TestSupport
import Testing

/// What views follow besides dispatches, and what they do not: stores that end by themselves, commits that never were; and
/// who hears of it.
@Suite(.inBothModes) struct ViewGuaranteeTests: ClimateTests {
    // MARK: Stores that end by themselves

    @Test func aStoreThatGoesWithItsSessionCountsNoMore() throws {
        let (bus, client) = try bus()
        let owner = bus.connect(uid: 0)
        try create(client, "room/a")
        try create(owner, "room/b", #","ephemeral":true"#)
        try reply(
            owner,
            #"{"op":"will","actions":[{"store":"room/a","action":"measure","payload":{"celsius":16}}]}"#)
        #expect(try views(client)?["climate/ground"]?["rooms"] == 2)
        let watcher = bus.connect(uid: 0)
        try watcher.ask(#"{"op":"subscribe","match":"climate/*"}"#)
        owner.close()
        bus.settle()
        let changes = try watcher.all().compactMap { $0["changes"]?["climate/ground"] }
        for (member, value) in [("rooms", 1), ("coldest", 16)] as [(String, JSON)] {
            #expect(changes.compactMap { $0[member] } == [value], "\(changes)")
        }
        let state = try views(client)?["climate/ground"]
        #expect(state?["rooms"] == 1 && state?["coldest"] == 16, "\(state ?? .null)")
    }

    @Test func aStoreWhoseLeaseExpiresCountsNoMore() throws {
        let (bus, client) = try bus()
        try create(client, "room/a", #","ttl":"1m""#)
        #expect(try views(client)?["climate/ground"]?["rooms"] == 1)
        bus.advance(milliseconds: 60_000)
        #expect(try views(client) == [:])
    }

    @Test func aTimerThatFiresChangesTheViewsOfItsStore() throws {
        let (bus, client) = try bus()
        try create(client, "room/a")
        try reply(client, measure(16, #","in":60"#))
        #expect(try views(client)?["climate/ground"]?["coldest"] == .null)
        bus.advance(milliseconds: 60_000)
        #expect(try views(client)?["climate/ground"]?["coldest"] == 16)
    }

    /// A store that is there for one commit alone was in no view.
    @Test func whatABatchCreatesAndDropsChangesNoView() throws {
        let (bus, client) = try bus()
        let watcher = bus.connect(uid: 0)
        try watcher.ask(#"{"op":"subscribe","match":"climate/*"}"#)
        let move = #"{"store":"room/a","action":"move","payload":{"to":"attic"}}"#
        #expect(
            try reply(
                client,
                #"{"op":"dispatch","actions":[{"op":"create","store":"room/a"},\#(move),{"op":"drop","store":"room/a"}]}"#
            )["ok"] == true)
        #expect(try watcher.all() == [])
        #expect(try views(client) == [:])
        try create(client, "room/b")
        #expect(try views(client)?.object?.keys == ["climate/ground"])
    }

    // MARK: Subscriptions

    /// The order does not depend on which source came first, so it is the same after a restart.
    @Test func storesOfAViewAreToldInTheOrderOfTheirNames() throws {
        let (bus, client) = try bus([Self.room])
        for (name, floor) in [("a", "x"), ("b", "z"), ("c", "y")] {
            try create(client, "room/\(name)", #","state":{"floor":"\#(floor)"}"#)
        }
        let watcher = bus.connect(uid: 0)
        try watcher.ask(#"{"op":"subscribe","match":"*/*"}"#)
        bus.definitions = [Self.room, Self.climate]
        #expect(try reply(client, #"{"op":"reload"}"#)["ok"] == true)
        let line = try #require(watcher.nextLine())
        #expect(line.split(separator: "climate/").dropFirst().map(\.first) == ["x", "y", "z"], "\(line)")
    }

    @Test func whoFollowedAStoreOfAViewHearsOfNoOtherAfterItsEnd() throws {
        let (bus, client) = try bus()
        let watcher = bus.connect(uid: 0)
        try watcher.ask(#"{"op":"subscribe","match":"climate/*"}"#)
        try create(client, "room/a")
        #expect(try reply(client, #"{"op":"drop","store":"room/a"}"#)["ok"] == true)
        #expect(try watcher.all().map { $0["dropped"] } == [nil, ["climate/ground"]])
        for name in ["x", "y"] {
            try create(client, "counter/\(name)")
            try reply(client, #"{"op":"dispatch","store":"counter/\#(name)","action":"increment"}"#)
        }
        #expect(try watcher.all() == [])
    }

    /// `where` reads what its client may see, also of a view; a store that comes with the commit is among those it is held against.
    @Test func aSubscriptionChoosesStoresOfViewsByWhatItsClientSees() throws {
        let (bus, client) = try guardedBus()
        let (many, cold) = (bus.connect(uid: 1), bus.connect(uid: 1))
        let subscribe = { (condition: String) in
            #"{"op":"subscribe","type":"climate","where":"\#(condition)"}"#
        }
        #expect(try reply(many, subscribe("rooms > 0"))["ok"] == true)
        #expect(try reply(cold, subscribe("coldest < 30"))["error"]?["code"] == "forbidden")
        try create(client, "room/a", #","state":{"measured":20}"#)
        #expect(try many.all().last?["states"] == ["climate/ground": ["rooms": 1]])
        #expect(try reply(client, #"{"op":"drop","store":"room/a"}"#)["ok"] == true)
        #expect(try many.all().last?["dropped"] == ["climate/ground"])
    }

    // MARK: Commits that never were

    /// What a view counts is what the store is, and not what a commit would have made of it.
    @Test func whatIsRefusedOrTriedChangesNoView() throws {
        let (bus, client) = try bus()
        try create(client, "room/a", #","state":{"measured":20}"#)
        let revision = bus.engine.revision
        #expect(try reply(client, measure(16, #","dryRun":true"#))["ok"] == true)
        let batch =
            #"{"op":"dispatch","actions":[{"store":"room/a","action":"measure","payload":{"celsius":16}},{"store":"room/a","action":"refuse"}]}"#
        #expect(try reply(client, batch)["ok"] == false)
        #expect(bus.engine.revision == revision)
        #expect(try views(client)?["climate/ground"]?["coldest"] == 20)
        try reply(client, measure(16))
        #expect(try views(client)?["climate/ground"]?["coldest"] == 16)
    }

    @Test func aDryRunCreatesAndDropsNoStoreOfAView() throws {
        let (bus, client) = try bus()
        try create(client, "room/a")
        let watcher = bus.connect(uid: 0)
        try watcher.ask(#"{"op":"subscribe","match":"*/*"}"#)
        let batch =
            #"{"op":"dispatch","dryRun":true,"actions":[{"op":"create","store":"room/b","state":{"floor":"attic"}},{"op":"drop","store":"room/a"}]}"#
        #expect(try reply(client, batch)["ok"] == true)
        #expect(try watcher.all() == [])
        #expect(try views(client)?.object?.keys == ["climate/ground"])
        try create(client, "room/b", #","state":{"floor":"attic"}"#)
        #expect(try views(client)?.object?.keys == ["climate/attic", "climate/ground"])
    }

    @Test(.aloneOnly(because: "A member whose disk fails ends, and the bus goes on without it."))
    func aCommitThatCouldNotBeWrittenChangesNoView() throws {
        let (bus, client) = try bus()
        try create(client, "room/a", #","state":{"measured":20}"#)
        let before = try views(client)
        bus.disk = .isBusy
        client.send(measure(16))
        client.send(#"{"op":"create","store":"room/b","state":{"floor":"attic"}}"#)
        bus.disk = .fails
        _ = try client.all()
        #expect(try views(client) == before)
        bus.disk = .works
        try reply(client, measure(16))
        #expect(try views(client)?["climate/ground"]?["coldest"] == 16)
        try create(client, "room/c", #","state":{"floor":"attic"}"#)
        #expect(try views(client)?["climate/attic"]?["rooms"] == 1)
    }

    // MARK: Values

    @Test func textsThatAreTooLongAreNotCounted() throws {
        let (_, client) = try bus([Self.room, "view: all\nof: room\nvalues: { floors: counts(floor) }"])
        let (longest, longer) = (String(repeating: "f", count: 128), String(repeating: "f", count: 129))
        try create(client, "room/a", #","state":{"floor":"\#(longest)"}"#)
        try create(client, "room/b", #","state":{"floor":"\#(longer)"}"#)
        #expect(try views(client, "all/*")?["all/all"]?["floors"] == .object([longest: 1]))
    }

    /// The least of zeros is the same whichever came first.
    @Test func minusZeroIsZero() throws {
        let (_, client) = try bus([Self.room, "view: all\nof: room\nvalues: { coldest: min(measured) }"])
        try create(client, "room/a", #","state":{"measured":-0.0}"#)
        let state = try #require(try views(client, "all/*")?["all/all"])
        #expect(state.encoded == JSON.object(["coldest": .double(0)]).encoded)
    }
}
