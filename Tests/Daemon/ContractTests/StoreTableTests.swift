import BusEngine
import BusJSON
import BusMachine
import TestSupport
import Testing

/// Stores come and go in any number and order: the index that grows bit by bit finds each of them, and no other.
struct StoreTableTests {
    @Test(arguments: [1, 2, 3] as [UInt64]) func storesAreFoundWhileTheirIndexGrowsAndShrinks(
        _ seed: UInt64
    ) throws {
        var random = SeededGenerator(seed: seed)
        let bus = try MemoryBus()
        let client = bus.connect(uid: 0)
        var model: [String: Int] = [:]
        var made = 0
        // Up to some thousands, down to a few, and up again.
        for target in [3000, 40, 5000, 10] {
            while model.count != target {
                let grows = model.count < target
                if Int.random(in: 0..<10, using: &random) < (grows ? 9 : 1) {
                    made += 1
                    let name = "counter/s\(made)"
                    #expect(try client.code(of: #"{"op":"create","store":"\#(name)"}"#) == nil)
                    model[name] = 0
                } else if let name = model.keys.randomElement(using: &random) {
                    #expect(try client.code(of: #"{"op":"drop","store":"\#(name)"}"#) == nil)
                    model[name] = nil
                }
                if made % 7 == 0, let name = model.keys.randomElement(using: &random) {
                    try client.increment(name)
                    model[name]! += 1
                    #expect(try client.code(of: #"{"op":"create","store":"\#(name)"}"#) == "exists")
                    #expect(
                        try client.code(of: #"{"op":"get","store":"counter/s\#(made + 1)"}"#)
                            == "unknown_store")
                }
            }
            #expect(bus.engine.storeCount == model.count)
            for (name, count) in model { #expect(bus.engine.state(at: name)?["count"]?.int == count) }
            // The list of a type's members is brought together meanwhile, and names each once.
            let reply = try client.reply(to: #"{"op":"dispatch","type":"counter","action":"increment"}"#)
            #expect(reply["matched"]?.int == model.count)
            #expect(reply["changed"]?.int == model.count)
            for name in model.keys { model[name]! += 1 }
            bus.engine.giveBackMemory()
        }
        #expect(bus.engine.addresses(ofType: "counter").sorted() == model.keys.sorted())
    }

    /// What has gone is remembered by the page: whoever resumes after more than are remembered starts from nothing, and
    /// whoever does within them hears of each.
    @Test func dropsAreRememberedUpToTheirLimit() throws {
        let bus = try MemoryBus()
        let client = bus.connect(uid: 0)
        var revisions: [Int] = []
        for number in 0..<BusLimits.rememberedDrops + 1500 {
            client.send(#"{"op":"create","store":"counter/a\#(number)"}"#)
            client.send(#"{"op":"drop","store":"counter/a\#(number)"}"#)
            revisions.append(bus.engine.revision)
        }
        _ = try client.all()
        func resume(after number: Int) throws -> [JSON] {
            let watcher = bus.connect()
            let lines = try watcher.ask(
                #"{"op":"subscribe","type":"counter","since":\#(revisions[number]),"epoch":"\#(bus.epoch)"}"#)
            defer { watcher.close() }
            return Array(lines.dropFirst())
        }
        let last = revisions.count - 1
        #expect(try resume(after: last - 3).map { $0["dropped"]?.array?.count } == [3])
        #expect(try resume(after: 10).first?["reset"] == true)
        // One event, in parts.
        let dropped = try resume(after: last - 2000).flatMap { $0["dropped"]?.array ?? [] }
        #expect(dropped.count == 2000)
        #expect(Set(dropped.compactMap(\.string)).count == 2000)
        // Between what is forgotten and what is remembered nothing is missed.
        var (forgotten, known) = (10, last - 2000)
        while known - forgotten > 1 {
            let middle = (forgotten + known) / 2
            if try resume(after: middle).first?["reset"] == true {
                forgotten = middle
            } else {
                known = middle
            }
        }
        #expect(
            try resume(after: known).reduce(0) { $0 + ($1["dropped"]?.array?.count ?? 0) } == last - known)
        #expect(last - known >= BusLimits.rememberedDrops)
    }
}
