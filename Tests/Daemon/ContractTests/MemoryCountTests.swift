import BusEngine
import BusJSON
import TestModes
import TestSupport
import Testing

/// What clients make the daemon hold is counted: what is added is what is taken off.
@Suite(.inBothModes) struct MemoryCountTests {
    /// A first state takes many slices, so parts of it are kept from one to the next.
    @Test func subscriptionsThatEndLeaveNothingBehind() throws {
        let bus = try MemoryBus()
        let (maker, client) = (bus.connect(), bus.connect())
        for number in 0..<3000 { maker.send(#"{"op":"create","store":"counter/s\#(number)"}"#) }
        _ = try maker.all()
        let before = bus.engine.accountedMemory
        for number in 1...50 {
            client.send(#"{"op":"subscribe","type":"counter"}"#)
            #expect(try client.all().last?["revision"] != nil)
            client.send(#"{"op":"unsubscribe","sub":\#(number)}"#)
            #expect(try client.all().last?["ok"] == true)
            #expect(bus.engine.accountedMemory == before)
            #expect(bus.engine.miscounts.isEmpty)
        }
    }

    /// So do those that end in the middle of it.
    @Test func subscriptionsThatAreCutOffLeaveNothingBehind() throws {
        var setup = MemoryBus.Setup()
        setup.limits.daemon.outbox = 4096
        let bus = try MemoryBus(setup)
        let maker = bus.connect()
        for number in 0..<3000 { maker.send(#"{"op":"create","store":"counter/s\#(number)"}"#) }
        _ = try maker.all()
        let before = bus.engine.accountedMemory
        for _ in 0..<20 {
            let client = bus.connect()
            client.isReading = false
            client.send(#"{"op":"subscribe","type":"counter"}"#)
            #expect(bus.engine.accountedMemory > before)
            #expect(bus.engine.miscounts.isEmpty)
            client.close()
            #expect(bus.engine.accountedMemory == before)
            #expect(bus.engine.miscounts.isEmpty)
        }
    }
}
