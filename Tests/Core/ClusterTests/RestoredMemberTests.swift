import BusCluster
import BusJSON
import BusMachine
import Testing

/// A member that comes from a copy of the bus makes the same of later entries as those that were there.
@Suite struct RestoredMemberTests {
    private static let rules = [BusLimits.rulesOfCopies - 1, BusLimits.rulesOfCopies]

    private func bus(_ rules: Int) throws -> ReplicaBus {
        let bus = try ReplicaBus()
        bus.rules = rules
        return bus
    }

    private func restored(_ bus: ReplicaBus) throws -> Replica {
        try ClusterDisk.restored(bus.replica.snapshot(), build: .usual, omitting: [])
    }

    private static func type(_ name: String) -> JSON {
        ["type": .string(name), "initial": ["n": 0], "actions": ["bump": ["increment": ["n": 1]]]]
    }

    /// Configures these types besides the counter.
    private func define(_ names: [String], on bus: ReplicaBus) throws {
        let types = [ClusterTypes.counter] + names.map(Self.type)
        let text = (["types": .array(types)] as JSON).encoded
        #expect(try bus.ask(.configure(Array(text.utf8)), by: #"{"daemon":true}"#).code == "ok")
    }

    /// A copy has no types that are gone: one that comes back is the last there, and keeps its place elsewhere.
    @Test func theEndOfASessionDropsStoresInOneOrder() throws {
        for rules in Self.rules {
            let bus = try bus(rules)
            try define(["a", "b"], on: bus)
            try define(["b"], on: bus)
            let restored = try restored(bus)
            try define(["a", "b"], on: bus)
            #expect(try bus.repeated(by: restored).link == bus.replica.link)
            for store in ["a/x", "b/y"] {
                let create = #"{"op":"create","store":"\#(store)","ephemeral":true}"#
                #expect(try bus.ask(create).code == "ok")
                #expect(try bus.repeated(by: restored).link == bus.replica.link)
            }
            #expect(try bus.ask(.sessionEnded, by: ReplicaBus.anna).code == "ok")
            #expect(bus.replica.machine.state(at: "b/y") == nil)
            let link = try bus.repeated(by: restored).link
            #expect((link == bus.replica.link) == (rules >= BusLimits.rulesOfCopies), "\(rules)")
        }
    }

    /// A copy has no sessions in which nothing is left.
    @Test func aSessionThatHasBecomeEmptyEndsWithoutANote() throws {
        for rules in Self.rules {
            let bus = try bus(rules)
            #expect(try bus.ask(.sessionNamed("s", linger: 5000), by: ReplicaBus.anna).code == "ok")
            #expect(try bus.ask(#"{"op":"create","store":"counter/x","ephemeral":true}"#).code == "ok")
            #expect(try bus.ask(.sessionEnded, by: ReplicaBus.anna).code == "ok")
            #expect(try bus.ask(#"{"op":"drop","store":"counter/x"}"#).code == "ok")
            let restored = try restored(bus)
            bus.clock += 10_000
            let applied = try bus.propose([])
            #expect(bus.replica.machine.sessionCount == 0)
            let link = try bus.repeated(by: restored).link
            #expect((link == applied.link) == (rules >= BusLimits.rulesOfCopies), "\(rules)")
        }
    }
}
