import BusJSON
import TestModes
import TestSupport
import Testing

/// Who may know of whom, and disconnect whom, under access rules.
@Suite(.inBothModes) struct ClientAccessTests {
    private func ids(_ client: MemoryClient) throws -> [Int] {
        try #require(try client.answer(#"{"op":"clients"}"#)["clients"]?.array).compactMap { $0["id"]?.int }
    }

    @Test func whoManagesSeesAllAndOthersThemselves() throws {
        let bus = try GuardedBus.make()
        let (root, ada, twin, mallory) = (bus.root, bus.ada, bus.ada, bus.mallory)
        #expect(try ids(root) == [1, 2, 3, 4])
        #expect(try ids(ada) == [2, 3])
        #expect(try ids(twin) == [2, 3])
        #expect(try ids(mallory) == [4])
    }

    @Test func whoIsNotSeenCannotBeKicked() throws {
        let bus = try GuardedBus.make()
        let (root, ada, twin, mallory) = (bus.root, bus.ada, bus.ada, bus.mallory)
        for victim in [1, 2, 3, 99] {
            #expect(try mallory.code(#"{"op":"kick","client":\#(victim)}"#) == "unknown_client")
        }
        #expect(try ada.code(#"{"op":"kick","client":4}"#) == "unknown_client")
        #expect(try ada.code(#"{"op":"kick","client":3}"#) == "ok")
        #expect(twin.isEnded)
        #expect(try root.code(#"{"op":"kick","client":4}"#) == "ok")
        #expect(mallory.isEnded)
        #expect(!root.isEnded && !ada.isEnded)
    }

    /// The past by time shows no more than the past by revision.
    @Test func aTimeShowsNoMoreThanARevision() throws {
        let bus = try GuardedBus.make()
        let (root, ada, bob) = (bus.root, bus.ada, bus.bob)
        let then = Double(bus.now) / 1000
        let revision = bus.engine.revision
        bus.advance(milliseconds: 1000)
        #expect(
            try root.code(
                #"{"op":"dispatch","type":"thermostat","action":"hide","payload":{"pin":7}}"#) == "ok")
        for client in [root, ada, bob] {
            for stores in [
                #""match":"*/*""#, #""type":"lamp""#, #""store":"lamp/cellar""#,
                #""store":"thermostat/hall""#,
            ] {
                let byRevision = try client.answer(#"{"op":"get",\#(stores),"revision":\#(revision)}"#)
                let byTime = try client.answer(#"{"op":"get",\#(stores),"time":\#(then)}"#)
                #expect(byTime == byRevision, "\(stores)")
            }
            let since = try client.answer(#"{"op":"history","since":\#(revision)}"#)
            let time = try client.answer(#"{"op":"history","time":\#(then)}"#)
            #expect(time["commits"] == since["commits"])
        }
    }

    /// Counters tell what others do.
    @Test func countersAreForWhoManages() throws {
        let bus = try GuardedBus.make()
        let keys = try #require(try bus.ada.answer(#"{"op":"stats"}"#)["stats"]?.object).keys
        #expect(Set(keys) == ["revision", "epoch"])
        let all = try #require(try bus.root.answer(#"{"op":"stats"}"#)["stats"]?.object)
        #expect(all["histograms"]?["turn"]?["count"] == 0)
        #expect(all["memory"]?["connections"] == 2048)
    }
}
