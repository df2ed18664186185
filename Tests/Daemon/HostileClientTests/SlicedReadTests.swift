import BusEngine
import BusJSON
import TestSupport
import Testing

/// A long read is done a slice at a time, and others commit in between. Its answer is what it would have been in one go.
@Suite struct SlicedReadTests {
    /// All stores of the type with their counts.
    private typealias World = [String: Int]

    private static func world(_ engine: Engine) -> World {
        var world = World()
        for address in engine.addresses(ofType: "counter") {
            world[address] = engine.state(at: address)?["count"]?.int
        }
        return world
    }

    /// The addresses that a read is to tell, in order.
    private static func expected(_ world: World, prefix: String, after: String, limit: Int) -> [String] {
        Array(
            world.keys.filter { $0.hasPrefix(prefix) && UTF8Order.precedes(after, $0) }
                .sorted { UTF8Order.precedes($0, $1) }.prefix(limit))
    }

    private static func commit(_ bus: SlowBus, _ writer: ConnectionID, _ random: inout SeededGenerator) {
        let store = "counter/s\(Int.random(in: 0..<120, using: &random))"
        switch Int.random(in: 0..<4, using: &random) {
        case 0: bus.send(#"{"op":"create","store":"\#(store)"}"#, from: writer)
        case 1: bus.send(#"{"op":"drop","store":"\#(store)"}"#, from: writer)
        default:
            bus.send(
                #"{"op":"dispatch","store":"\#(store)","action":"increment","payload":{"by":1}}"#,
                from: writer)
        }
    }

    @Test(arguments: [1, 2, 3, 4] as [UInt64]) func readsAreExactWhateverIsCommittedMeanwhile(
        _ seed: UInt64
    ) throws {
        var random = SeededGenerator(seed: seed)
        var limits = Limits()
        limits.daemon.sliceWork = 700
        let bus = try SlowBus(limits: limits)
        let (writer, reader) = (bus.connect(), bus.connect())
        for number in 0..<100 { bus.send(#"{"op":"create","store":"counter/s\#(number)"}"#, from: writer) }
        bus.engine.serveAll()
        var interrupted = 0
        for _ in 0..<150 {
            bus.turn()
            _ = try bus.lines(of: writer)
            let prefix = ["counter/", "counter/s1", "counter/s"].randomElement(using: &random)!
            let after =
                Bool.random(using: &random) ? "" : "counter/s\(Int.random(in: 0..<120, using: &random))"
            let limit = [1, 10, 1000].randomElement(using: &random)!
            let op = Bool.random(using: &random) ? "get" : "stores"
            let page = after.isEmpty ? "" : #","after":"\#(after)""#
            bus.send(#"{"op":"\#(op)","match":"\#(prefix)*","limit":\#(limit)\#(page)}"#, from: reader)
            var worlds: [Int: World] = [bus.engine.revision: Self.world(bus.engine)]
            var reply = try bus.lines(of: reader)
            var commits = 0
            while reply.isEmpty {
                Self.commit(bus, writer, &random)
                worlds[bus.engine.revision] = Self.world(bus.engine)
                commits += 1
                _ = bus.engine.serveNext()
                reply = try bus.lines(of: reader)
            }
            if commits > 1 { interrupted += 1 }
            let answer = try #require(reply.first)
            #expect(answer["ok"] == true)
            let world: World
            if op == "get" {
                let revision = try #require(answer["revision"]?.int)
                world = try #require(worlds[revision])
                let expected = Self.expected(world, prefix: prefix, after: after, limit: limit)
                let states = try #require(answer["states"]?.object)
                #expect(states.keys.sorted { UTF8Order.precedes($0, $1) } == expected)
                for address in expected { #expect(states[address]?["count"]?.int == world[address]) }
            } else {
                world = Self.world(bus.engine)
                let told = try #require(answer["stores"]?.array).compactMap { $0["store"]?.string }
                #expect(told == Self.expected(world, prefix: prefix, after: after, limit: limit))
            }
            #expect(
                (answer["next"] != nil)
                    == (Self.expected(world, prefix: prefix, after: after, limit: .max).count > limit))
        }
        #expect(interrupted > 50)
    }
}
