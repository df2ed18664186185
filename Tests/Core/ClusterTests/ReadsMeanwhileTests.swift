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
        #expect(machine.timers.setMeanwhile.count <= 2)
        #expect(list.advance { _ in true })
        let timers = try answer { list.appendAnswer(to: $0, room: 1 << 20) }["timers"]?.array
        #expect(timers?.map { $0["timer"] } == ["t"])
    }
}
