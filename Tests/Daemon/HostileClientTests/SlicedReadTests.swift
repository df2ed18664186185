import BusEngine
import BusJSON
import TestModes
import TestSupport
import Testing

/// A long read is done a slice at a time, and others commit in between. Its answer is what it would have been in one go.
@Suite(.inBothModes) struct SlicedReadTests {
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

    /// `isChosen`: whether `where` says which of the stores are meant.
    @Test(arguments: [1, 2, 3, 4] as [UInt64], [false, true])
    func readsAreExactWhateverIsCommittedMeanwhile(_ seed: UInt64, _ isChosen: Bool) throws {
        var random = SeededGenerator(seed: seed)
        var limits = Limits()
        limits.daemon.sliceWork = 700
        let bus = try SlowBus(limits: limits)
        let (writer, reader) = (bus.connect(), bus.connect())
        for number in 0..<100 { bus.send(#"{"op":"create","store":"counter/s\#(number)"}"#, from: writer) }
        bus.engine.serveAll()
        var interrupted = 0
        for round in 0..<150 {
            let rest = round % 2
            let condition = isChosen ? #","where":"count % 2 == \#(rest)""# : ""
            func meant(_ world: World) -> World { isChosen ? world.filter { $0.value % 2 == rest } : world }
            bus.turn()
            _ = try bus.lines(of: writer)
            let prefix = ["counter/", "counter/s1", "counter/s"].randomElement(using: &random)!
            let after =
                Bool.random(using: &random) ? "" : "counter/s\(Int.random(in: 0..<120, using: &random))"
            let limit = [1, 10, 1000].randomElement(using: &random)!
            let op = Bool.random(using: &random) ? "get" : "stores"
            let page = after.isEmpty ? "" : #","after":"\#(after)""#
            bus.send(
                #"{"op":"\#(op)","match":"\#(prefix)*","limit":\#(limit)\#(page)\#(condition)}"#, from: reader
            )
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
                world = meant(try #require(worlds[revision]))
                let expected = Self.expected(world, prefix: prefix, after: after, limit: limit)
                let states = try #require(answer["states"]?.object)
                #expect(states.keys.sorted { UTF8Order.precedes($0, $1) } == expected)
                for address in expected { #expect(states[address]?["count"]?.int == world[address]) }
            } else {
                world = meant(Self.world(bus.engine))
                let told = try #require(answer["stores"]?.array).compactMap { $0["store"]?.string }
                #expect(told == Self.expected(world, prefix: prefix, after: after, limit: limit))
            }
            #expect(
                (answer["next"] != nil)
                    == (Self.expected(world, prefix: prefix, after: after, limit: .max).count > limit))
        }
        #expect(interrupted > (BusMode.current == .shared ? 20 : 50))
    }

    /// Each store in turn is the one that was looked at last.
    @Test func aStoreThatGoesAndComesAgainIsRead() throws {
        var limits = Limits()
        limits.daemon.sliceWork = 700
        let bus = try SlowBus(limits: limits)
        let (writer, reader) = (bus.connect(), bus.connect())
        let stores = (10..<40).map { "counter/s\($0)" }
        for store in stores { bus.send(#"{"op":"create","store":"\#(store)"}"#, from: writer) }
        bus.engine.serveAll()
        bus.turn()
        bus.send(#"{"op":"stores","match":"counter/*","limit":1000}"#, from: reader)
        var (reply, turns) = (try bus.lines(of: reader), 0)
        while reply.isEmpty {
            for store in stores {
                bus.send(#"{"op":"drop","store":"\#(store)"}"#, from: writer)
                bus.send(#"{"op":"create","store":"\#(store)"}"#, from: writer)
            }
            turns += 1
            _ = bus.engine.serveNext()
            reply = try bus.lines(of: reader)
        }
        #expect(turns > 1)
        #expect(try #require(reply.first?["stores"]?.array).compactMap { $0["store"]?.string } == stores)
    }

    /// Stores of views come and go with those that they are made of.
    @Test(arguments: [1, 2] as [UInt64]) func viewsAreExactWhateverChangesMeanwhile(_ seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        var limits = Limits()
        limits.daemon.sliceWork = 700
        let bus = try SlowBus(
            limits: limits, definitions: ["view: texts\nof: item\nby: text\nvalues: { n: count() }"])
        let (writer, reader) = (bus.connect(), bus.connect())
        for number in 0..<60 {
            bus.send(
                #"{"op":"create","store":"item/i\#(number)","state":{"text":"t\#(number)"}}"#, from: writer)
        }
        bus.engine.serveAll()
        var interrupted = 0
        for _ in 0..<40 {
            bus.turn()
            _ = try bus.lines(of: writer)
            bus.send(#"{"op":"stores","match":"texts/*","limit":1000}"#, from: reader)
            var (reply, steps) = (try bus.lines(of: reader), 0)
            while reply.isEmpty {
                let (item, text) = (
                    Int.random(in: 0..<60, using: &random), Int.random(in: 0..<60, using: &random)
                )
                bus.send(
                    #"{"op":"dispatch","store":"item/i\#(item)","action":"write","payload":{"text":"t\#(text)"}}"#,
                    from: writer)
                steps += 1
                _ = bus.engine.serveNext()
                reply = try bus.lines(of: reader)
            }
            if steps > 1 { interrupted += 1 }
            let told = try #require(reply.first?["stores"]?.array).compactMap { $0["store"]?.string }
            #expect(told == bus.engine.addresses(ofType: "texts").sorted { UTF8Order.precedes($0, $1) })
        }
        #expect(interrupted > 10)
    }

    /// A bus that does as little as it can at a time, with some stores.
    private func bus(_ stores: String...) throws -> (SlowBus, ConnectionID, ConnectionID) {
        var limits = Limits()
        limits.daemon.sliceWork = 1
        let bus = try SlowBus(limits: limits)
        let (writer, reader) = (bus.connect(), bus.connect())
        for store in stores { bus.send(#"{"op":"create","store":"\#(store)"}"#, from: writer) }
        bus.engine.serveAll()
        bus.turn()
        _ = try bus.lines(of: writer)
        return (bus, writer, reader)
    }

    private func add(_ store: String, _ count: Int) -> String {
        #"{"op":"dispatch","store":"counter/\#(store)","action":"increment","payload":{"by":\#(count)}}"#
    }

    /// The store for which a page has a next one ceases to be meant at some moment.
    @Test func aPageHasANextOneWhereMoreFollow() throws {
        let (bus, writer, reader) = try bus("counter/A", "counter/b", "counter/c")
        func isEven() -> Bool { bus.engine.state(at: "counter/c")?["isEven"] == true }
        for moment in 0..<60 {
            if !isEven() { bus.send(add("c", 1), from: writer) }
            bus.engine.serveAll()
            bus.turn()
            bus.send(
                #"{"op":"get","match":"counter/*","limit":1,"where":"store != 'counter/A' && isEven"}"#,
                from: reader)
            var follows = [bus.engine.revision: isEven()]
            var reply: [JSON] = []
            for step in 0..<500 where reply.isEmpty {
                // Whatever changes is looked at again.
                if step < 60 { bus.send(add("A", 2), from: writer) }
                if step == moment { bus.send(add("c", 1), from: writer) }
                follows[bus.engine.revision] = isEven()
                _ = bus.engine.serveNext()
                follows[bus.engine.revision] = isEven()
                reply = try bus.lines(of: reader)
            }
            let answer = try #require(reply.first)
            #expect(answer["states"]?.object?.keys == ["counter/b"])
            let revision = try #require(answer["revision"]?.int)
            #expect(answer["next"] == (follows[revision] == true ? "counter/b" : nil), "\(moment): \(answer)")
        }
    }

    /// The time and the revision are the same for all stores, whatever is committed meanwhile.
    @Test func anExpressionSeesTheMomentAtWhichTheReadBegan() throws {
        let (bus, writer, reader) = try bus("counter/a", "counter/b", "counter/c", "counter/d")
        let begun = bus.engine.revision
        bus.send(#"{"op":"get","match":"counter/*","where":"meta.revision == \#(begun)"}"#, from: reader)
        var reply: [JSON] = []
        for step in 0..<100 where reply.isEmpty {
            if step < 3 { bus.send(add("a", 1), from: writer) }
            _ = bus.engine.serveNext()
            reply = try bus.lines(of: reader)
        }
        let answer = try #require(reply.first)
        #expect(try #require(answer["revision"]?.int) > begun)
        #expect(answer["states"]?.object?.count == 4)
    }

    /// An expression that takes long on each store lets others go first.
    @Test(arguments: ["get", "stores", "subscribe"]) func whatAnExpressionTakesIsOfTheSlice(_ op: String)
        throws
    {
        let bus = try SlowBus()
        let (writer, reader) = (bus.connect(), bus.connect())
        for number in 0..<50 { bus.send(#"{"op":"create","store":"counter/s\#(number)"}"#, from: writer) }
        bus.engine.serveAll()
        func slices(_ condition: String) throws -> Int {
            bus.turn()
            bus.send(#"{"op":"\#(op)","match":"counter/*","where":"\#(condition)"}"#, from: reader)
            var lines = try bus.lines(of: reader)
            var count = 0
            while count < 1000, !lines.contains(where: { $0["states"] != nil || $0["stores"] != nil }) {
                bus.turn()
                _ = bus.engine.serveNext()
                lines += try bus.lines(of: reader)
                count += 1
            }
            return count
        }
        let digits = "[1,2,3,4,5,6,7,8,9]"
        let long =
            "\(digits).all(a, \(digits).all(b, \(digits).all(c, \(digits).all(d, a + b + c + d >= count))))"
        #expect(try slices("count >= 0") < 10)
        #expect((40..<1000).contains(try slices(long)))
    }

    /// Timers are set, cancelled and fired while they are listed; the page is the one that would have come in one go.
    @Test(arguments: [1, 2, 3] as [UInt64]) func timersAreExactWhateverIsSetMeanwhile(_ seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        var limits = Limits()
        limits.daemon.sliceWork = 700
        let bus = try SlowBus(limits: limits)
        let (writer, reader) = (bus.connect(), bus.connect())
        func set(_ random: inout SeededGenerator) {
            let number = Int.random(in: 0..<40, using: &random)
            let delay = Double(Int.random(in: 1...300, using: &random)) / 100
            let name = #""timer":"t\#(Int.random(in: 0..<5, using: &random))""#
            let store = #""store":"counter/s\#(number)""#
            bus.send(
                Bool.random(using: &random)
                    ? #"{"op":"cancel",\#(store),\#(name)}"#
                    : #"{"op":"dispatch",\#(store),"action":"increment","in":\#(delay),\#(name)}"#,
                from: writer)
        }
        for number in 0..<40 { bus.send(#"{"op":"create","store":"counter/s\#(number)"}"#, from: writer) }
        for _ in 0..<100 { set(&random) }
        bus.engine.serveAll()
        var interrupted = 0
        for _ in 0..<60 {
            bus.turn(after: 20)
            bus.engine.serveAll()
            _ = try bus.lines(of: writer)
            let limit = [1, 7, 1000].randomElement(using: &random)!
            let request = #"{"op":"timers","limit":\#(limit)}"#
            bus.send(request, from: reader)
            var (reply, steps) = (try bus.lines(of: reader), 0)
            while reply.isEmpty {
                set(&random)
                steps += 1
                _ = bus.engine.serveNext()
                reply = try bus.lines(of: reader)
            }
            if steps > 1 { interrupted += 1 }
            let answer = try #require(reply.first)
            // Nothing else was done since the answer was made.
            let revision = try #require(answer["revision"]?.int)
            guard revision == bus.engine.revision else { continue }
            let all = try #require(answer["timers"]?.array)
            #expect(all.count <= limit)
            var again: [JSON] = []
            bus.engine.serveAll()
            if bus.engine.revision == revision {
                bus.send(request, from: reader)
                bus.engine.serveAll()
                again = try bus.lines(of: reader).last?["timers"]?.array ?? []
                #expect(Array(again.prefix(all.count)) == all)
                if limit == 1000 { #expect(again == all) }
            }
        }
        #expect(interrupted > 10)
    }
}
