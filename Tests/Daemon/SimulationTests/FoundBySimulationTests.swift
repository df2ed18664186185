import BusEngine
import BusJSON
import TestModes
import TestSupport
import Testing

/// What simulations have found, each in few lines.
@Suite(.inBothModes) struct FoundBySimulationTests {
    private static func bus(_ change: (inout Limits) -> Void, stores: [String]) throws -> MemoryBus {
        var setup = MemoryBus.Setup()
        change(&setup.limits)
        setup.natives = try SimulatedTypes.load()
        setup.stores = stores
        return try MemoryBus(setup)
    }

    private static func dispatch(_ store: String, _ action: String, _ payload: String = "{}") -> String {
        #"{"op":"dispatch","store":"\#(store)","action":"\#(action)","payload":\#(payload)}"#
    }

    /// Whoever resumes is told what changed in its part before another subscriber began to lag, though the store has changed
    /// elsewhere since.
    @Test func resumptionTellsWhatChangedBeforeAnotherSubscriberLagged() throws {
        let bus = try Self.bus({ $0.daemon.outbox = 600 }, stores: ["note/a", "note/b"])
        let (slow, writer) = (bus.connect(), bus.connect())
        let filter = #""op":"subscribe","type":"note","select":["/count"]"#
        try slow.ask("{\(filter)}")
        let since = bus.engine.revision
        try writer.ask(Self.dispatch("note/a", "add", #"{"by":5}"#))
        slow.isReading = false
        for _ in 0..<20 { try writer.ask(Self.dispatch("note/b", "add", #"{"by":1}"#)) }
        try writer.ask(Self.dispatch("note/a", "flip"))

        let resumed = try bus.connect().ask("{\(filter),\"since\":\(since),\"epoch\":\"\(bus.epoch)\"}")
        #expect(resumed.last?["states"]?["note/a"]?["count"] == 5)
    }

    /// A store that changes while a subscription is still looking for its stores is told of, too.
    @Test(.aloneOnly(because: "It calls the engine step by step, and the shared log has no turn."))
    func changeDuringTheSearchForStoresIsTold() throws {
        let stores = (10..<60).map { "note/s\($0)" }
        let bus = try Self.bus({ $0.daemon.sliceWork = 200 }, stores: stores)
        let engine = bus.engine
        let reader = engine.connect(.unix(uid: 1000, pid: 1))
        let writer = engine.connect(.unix(uid: 1000, pid: 2))
        func send(_ line: String, from connection: ConnectionID) {
            Array((line + "\n").utf8).withUnsafeBytes { engine.receive(connection, $0) }
        }
        send(
            #"{"op":"subscribe","match":"note/s*","select":["/count"],"initial":false}"#, from: reader)
        #expect(engine.hasWork)
        send(Self.dispatch("note/s59", "add", #"{"by":5}"#), from: writer)
        engine.serveAll()
        let told = String(decoding: engine.takeOutput(of: reader), as: UTF8.self)
        #expect(told.contains(#""note/s59":{"count":5}"#))
    }
}
