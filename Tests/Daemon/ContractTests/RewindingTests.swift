import BusJSON
import TestModes
import TestSupport
import Testing

/// Between a failed write and the moment when the bus is again what the log says: both take their time, and nobody may see
/// what lies between.
@Suite(
    .aloneOnly(because: "A member whose disk fails ends, and the bus goes on without it."))
struct RewindingTests {
    /// A bus that holds a commit which could not be written, and does not know yet what was before it.
    private func suspended() throws -> (MemoryBus, MemoryClient) {
        let bus = try MemoryBus.logging("counter/a")
        let client = bus.connect(uid: 5)
        bus.rewinds = false
        bus.disk = .isBusy
        client.send(Line.increment(id: 1))
        bus.disk = .fails
        #expect(bus.engine.unavailableReason != nil)
        return (bus, client)
    }

    @Test func nothingLeavesAndNothingIsCommitted() throws {
        let (bus, client) = try suspended()
        let other = bus.connect(uid: 6)
        let revision = bus.engine.revision
        other.send(#"{"op":"get","id":1,"store":"counter/a"}"#)
        other.send(Line.increment(id: 2))
        other.send(#"{"op":"subscribe","id":3,"store":"counter/a"}"#)
        other.send(#"{"op":"ping","id":4}"#)
        client.send(Line.increment(id: 2))
        #expect(bus.engine.revision == revision)
        #expect(try client.all().isEmpty)
        #expect(try other.all().isEmpty)

        bus.rewinds = true
        #expect(bus.engine.revision == revision - 1)
        #expect(try client.codes() == ["unavailable", "unavailable"])
        #expect(try other.codes() == ["unavailable", "unavailable", "unavailable", "ok"])
        #expect(try other.state(of: "counter/a")?["count"] == 0)
        bus.disk = .works
        #expect(try client.increment() == revision)
        #expect(try bus.isWhatTheLogSays())
    }

    /// The log can be written again before the bus is what it says: commits wait for both.
    @Test func commitsWaitForTheBusToBeRewound() throws {
        let (bus, client) = try suspended()
        bus.disk = .works
        #expect(bus.engine.unavailableReason != nil)
        client.send(Line.increment(id: 2))
        bus.rewinds = true
        #expect(bus.engine.unavailableReason == nil)
        #expect(try client.codes() == ["unavailable", "unavailable"])
        #expect(try client.increment() == 2)
        #expect(try bus.isWhatTheLogSays())
    }

    /// Who leaves meanwhile has a will all the same.
    @Test func endIsCarriedOutAfterwards() throws {
        let bus = try MemoryBus.logging("counter/a")
        let (client, observer) = (bus.connect(uid: 5), bus.connect())
        try client.ask(#"{"op":"will","actions":[{"store":"counter/a","action":"increment"}]}"#)
        bus.rewinds = false
        bus.disk = .isBusy
        observer.send(Line.increment(id: 1))
        bus.disk = .fails
        client.close()
        let late = bus.connect(uid: 6)
        bus.rewinds = true
        #expect(try observer.codes() == ["unavailable"])
        #expect(try late.state(of: "counter/a")?["count"] == 0)
        bus.disk = .works
        #expect(try late.state(of: "counter/a")?["count"] == 1)
        #expect(try bus.isWhatTheLogSays())
    }
}
