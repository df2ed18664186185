import BusJSON
import FluxBus
import TestServer
import Testing

/// States that a Swift program reads without asking.
@Suite(.timeLimit(.minutes(5))) struct StateMapTests {
    private func map(_ bus: LiveBus, _ type: String = "counter") throws(BusError) -> StateMap {
        try StateMap(type, at: .unix(path: bus.path("s")))
    }

    @Test func statesAreReadAtTheirRevisions() throws {
        let bus = try LiveBus()
        let (map, client) = (try map(bus), try bus.client())
        #expect(try map.state(of: "main")?.state["count"] == 0)
        #expect(try map.state(of: "hall") == nil)
        _ = try client.ask(#"{"op":"dispatch","store":"counter/main","action":"increment"}"#)
        let (state, revision) = try #require(try map.state(of: "main"))
        #expect(state["count"] == 1 && revision == 2)
        // One that is longer than most.
        let text = String(repeating: "x", count: 5000)
        _ = try client.ask(
            #"{"op":"dispatch","store":"counter/main","action":"write","payload":{"text":"\#(text)"}}"#)
        #expect(try map.state(of: "main")?.state["note"] == .string(text))
        #expect(map.isKept)
    }

    @Test func mapThatHasEndedSaysSo() throws {
        let bus = try LiveBus()
        let map = try map(bus)
        bus.stop()
        #expect(throws: BusError.self) { try map.state(of: "main") }
        #expect(!map.isKept)
        #expect { try self.map(bus) } throws: { ($0 as? BusError)?.code == .unreachable }
        try bus.start()
        #expect(try self.map(bus).state(of: "main")?.state["count"] == 0)
    }

    /// The kernel counts it for the daemon.
    @Test func memoryOfAnEndedMapIsCountedUntilItIsLetGo() throws {
        let bus = try LiveBus()
        let client = try bus.client()
        func counted() throws -> Int? {
            try JSON(parsing: client.reply(to: #"{"op":"stats"}"#))["stats"]?["memory"]?["maps"]?.int
        }
        var ended: StateMap? = try map(bus)
        let one = try #require(try counted())
        #expect(one > 0)
        // It has no place for so many.
        for start in stride(from: 0, to: 1100, by: 100) {
            let creations = (start..<start + 100).map { #"{"op":"create","store":"counter/s\#($0)"}"# }
            _ = try client.ask(#"{"op":"dispatch","actions":[\#(creations.joined(separator: ","))]}"#)
        }
        #expect { try ended?.state(of: "main") } throws: { ($0 as? BusError)?.code == .closed }
        #expect(try counted() == one)
        let other = try map(bus)
        #expect(try other.state(of: "s1099") != nil)
        let both = try #require(try counted())
        #expect(both > one)
        ended = nil
        // The kernel tells the daemon.
        while let now = try counted(), now != both - one { try #require(now == both) }
        withExtendedLifetime(other) {}
    }

    @Test func whatTheBusRefusesIsThrown() throws {
        let bus = try LiveBus()
        #expect { try self.map(bus, "kettle") } throws: { ($0 as? BusError)?.code == .unknownType }
        #expect { try self.map(bus, "no type") } throws: { ($0 as? BusError)?.code == .invalidRequest }
        #expect {
            try StateMap("counter", at: .tcp(host: "127.0.0.1", port: 1))
        } throws: { ($0 as? BusError)?.code == .unavailable }
    }
}
