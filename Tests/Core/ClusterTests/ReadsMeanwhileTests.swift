import BusJSON
import BusMachine
import BusProtocol
import Testing

/// Lists that are under way while others change the bus.
struct ReadsMeanwhileTests {
    private func answer(_ append: (ByteWriter) -> Bool) throws -> JSON {
        let writer = ByteWriter()
        writer.append("{\"ok\":true")
        #expect(append(writer))
        writer.append("}")
        return try JSON(parsing: writer.bytes)
    }

    /// Each new store finds its place in a long list at once, whoever has asked for the list.
    @Test func newStoresArePutInTheirPlaceWithFewLooks() throws {
        let bus = try ReplicaBus()
        let machine = bus.replica.machine
        func create(_ name: String) throws {
            #expect(try bus.ask(#"{"op":"create","store":"counter/\#(name)"}"#).code == "ok")
        }
        for number in 1...500 { try create("c\(number)") }
        let query = try StoreQuery(
            StoreSelection(
                .list, of: AddressPattern(type: "counter"), after: nil, limit: 1000, view: nil, where: nil),
            in: machine, room: 1 << 20)
        #expect(query.advance { _ in true })
        for name in ["0", "c3x", "z"] {
            try create(name)
            let store = try #require(machine.find("counter/\(name)"))
            #expect((2...11).contains(query.noteCreated(store)))
        }
        let stores = try answer { query.appendAnswer(to: $0) }["stores"]?.array?.compactMap {
            $0["store"]?.string
        }
        #expect(try stores?.count == machine.requireType("counter").count)
        #expect(stores == stores?.sorted())
    }

    /// A client that does not read its answer holds its list of timers up for as long as it likes.
    @Test func timersThatAreSetAgainAndAgainAreKeptOnce() throws {
        let bus = try ReplicaBus()
        let machine = bus.replica.machine
        let set =
            #"{"op":"dispatch","store":"counter/a","action":"add","payload":{"mark":1},"in":60,"timer":"t"}"#
        #expect(try bus.ask(set).code == "ok")
        let list = try #require(
            TimerList(machine, AddressPattern(type: "*"), after: nil, limit: 10, where: { _ in true }))
        #expect(!list.advance { _ in false })
        for _ in 0..<100 { #expect(try bus.ask(set).code == "ok") }
        #expect(machine.timers.keptMeanwhile <= 70)
        #expect(list.advance { _ in true })
        let timers = try answer { list.appendAnswer(to: $0, room: 1 << 20) }["timers"]?.array
        #expect(timers?.map { $0["timer"] } == ["t"])
    }

    /// Nor does one slice look at all timers that were set before.
    @Test func timersThatWereSetMeanwhileAreLookedAtAFewAtATime() throws {
        let bus = try ReplicaBus()
        let machine = bus.replica.machine
        func set(_ name: String, in seconds: Int = 60) throws {
            let request =
                #"{"op":"dispatch","store":"counter/a","action":"add","payload":{"mark":1},"in":\#(seconds),"timer":"\#(name)"}"#
            #expect(try bus.ask(request).code == "ok")
        }
        for number in 0..<10 { try set("a\(number)") }
        let list = try #require(
            TimerList(machine, AddressPattern(type: "*"), after: nil, limit: 1000, where: { _ in true }))
        var looks = 0
        func advance() -> Bool {
            let before = looks
            defer { #expect(looks <= before + 1) }
            return list.advance { step in
                if case .looked = step { looks += 1 }
                return false
            }
        }
        #expect(!advance())
        for number in 0..<10 { try set("b\(number)") }
        while looks < machine.timers.slotCount { #expect(!advance()) }
        // In slots that were passed, and that are looked at again.
        for number in 0..<10 { try set("a\(number)", in: 70) }
        #expect(!advance())
        for number in 0..<10 { try set("c\(number)", in: 80) }
        try set("b0", in: 90)
        while !advance() {}
        let timers = try answer { list.appendAnswer(to: $0, room: 1 << 20) }["timers"]?.array ?? []
        #expect(timers.count == 30)
        #expect(Set(timers.compactMap { $0["timer"]?.string }).count == 30)
        #expect(timers.last?["timer"] == "b0")
    }
}
