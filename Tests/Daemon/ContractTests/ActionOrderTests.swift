import BusEngine
import BusJSON
import TestModes
import TestSupport
import Testing

/// A subscription receives equal actions live, late and resumed. And the events of one connection
/// come by their revisions.
@Suite(.inBothModes) struct ActionOrderTests {
    private static let patterns = [
        #""type":"counter""#, #""store":"counter/none""#, #""match":"counter/x*""#, #""match":"*/a""#,
        #""match":"d*/*""#, #""store":"counter/a""#, #""match":"value/*z""#,
    ]
    private static let dispatches = [
        #"{"op":"dispatch","type":"counter","action":"increment"}"#, Line.increment,
        #"{"op":"dispatch","type":"door","action":"rang"}"#,
        #"{"op":"dispatch","type":"*","action":"close"}"#,
        #"{"op":"dispatch","type":"*","action":"increment"}"#,
        #"{"op":"dispatch","actions":[{"type":"door","action":"rang"},{"store":"counter/a","action":"increment"},{"type":"counter","action":"reset"}]}"#,
        #"{"op":"create","store":"counter/x1"}"#, #"{"op":"dispatch","type":"counter","action":"increment"}"#,
        #"{"op":"dispatch","store":"counter/x1","action":"increment"}"#,
        #"{"op":"drop","store":"counter/x1"}"#, #"{"op":"dispatch","type":"counter","action":"increment"}"#,
        #"{"op":"dispatch","type":"value","action":"set","payload":{"value":1}}"#,
    ]

    private func subscribe(_ pattern: String, _ further: String = "") -> String {
        #"{"op":"subscribe",\#(pattern),"actions":true\#(further)}"#
    }

    private func told(_ client: MemoryClient) throws -> [JSON] {
        try client.all().filter { $0["event"] == "action" }
    }

    @Test(
        arguments: patterns) func pastActionsAreThoseToldLive(_ pattern: String) throws
    {
        let bus = try MemoryBus.logging("counter/a", "door/d")
        let (live, root, slow) = (bus.connect(), bus.connect(uid: 0), bus.connect())
        for client in [live, slow] { try client.reply(to: subscribe(pattern)) }
        slow.isReading = false
        for line in Self.dispatches { try root.revision(after: line) }
        let events = try told(live)
        for bus in [bus, try bus.crash()] {
            let late = bus.connect()
            late.send(subscribe(pattern, #","since":2,"epoch":"\#(bus.epoch)""#))
            #expect(try told(late) == events)
        }
        slow.isReading = true
        #expect(try told(slow) == events)
    }

    /// What is addressed to every type concerns those that have the action.
    @Test func historyOfATypeHasWhatItKnows() throws {
        let bus = try MemoryBus.logging("counter/a", "door/d")
        let client = bus.connect()
        let close = try client.revision(after: #"{"op":"dispatch","type":"*","action":"close"}"#)
        let increment = try client.revision(after: #"{"op":"dispatch","type":"*","action":"increment"}"#)
        func history(_ subject: String) throws -> [Int] {
            let reply = try client.reply(to: #"{"op":"history",\#(subject),"since":2}"#)
            return try #require(reply["commits"]?.array?.compactMap { $0["revision"]?.int }, "\(reply)")
        }
        #expect(try history(#""type":"door""#) == [close])
        #expect(try history(#""store":"door/d""#) == [close])
        #expect(try history(#""type":"counter""#) == [increment])
        #expect(try history(#""store":"counter/a""#) == [increment])
        #expect(try history(#""limit":9"#) == [close, increment])
    }

    /// Several subscriptions of one connection that falls behind, of states and of actions, from the log and from memory.
    @Test func revisionsOfOneConnectionNeverGoBack() throws {
        let bus = try MemoryBus.logging("counter/a") { $0.limits.daemon.outbox = 4096 }
        let (client, other) = (bus.connect(), bus.connect())
        for line in [
            #"{"op":"subscribe","type":"counter","initial":false}"#, subscribe(#""type":"counter""#),
            #"{"op":"subscribe","store":"counter/a","initial":false,"format":"state"}"#,
            subscribe(#""store":"counter/a""#),
        ] { try client.reply(to: line) }
        client.isReading = false
        for _ in 0..<300 { try other.increment() }
        // The log takes its time, and others go on.
        bus.answersPast = false
        client.isReading = true
        for _ in 0..<20 { try other.increment() }
        bus.answersPast = true
        for _ in 0..<10 { try other.increment() }
        let events = try client.all()
        let places = try events.map { event in
            (try #require(event["revision"]?.int), try #require(event["sub"]?.int))
        }
        for (before, after) in zip(places, places.dropFirst()) {
            #expect(before.0 <= after.0, "\(before) then \(after)")
        }
        for sub in [2, 4] {
            #expect(places.filter { $0.1 == sub }.map(\.0) == Array(2...331))
        }
        #expect(places.suffix(4).map(\.1) == [1, 2, 3, 4])
    }

    /// Past actions are delivered a slice at a time, however many are in one batch.
    @Test(.aloneOnly(because: "It looks at each slice of an engine of its own."))
    func thePastIsToldInSlices() throws {
        let bus = try SlicedLog(commits: 2000)
        let most = try bus.subscribe(#""type":"item""#)
        #expect(most < DaemonLimits().sliceWork + 20_000)
        #expect(bus.turns > 20)
        #expect(bus.events == 2000)
    }
}

/// An engine with a log in memory, whose slices are looked at one by one.
private final class SlicedLog {
    private let engine: Engine
    private(set) var turns = 0
    private(set) var events = 0

    /// Few batches have all the commits.
    init(commits: Int) throws {
        let configuration = EngineConfiguration(
            epoch: "7c1f6a52-9a43-4a7e-8c55-2f0d8e5b1a90", ownUID: 990, version: "test")
        let item = "type: item\ninitial: { text: x }\nactions: { write: { payload: { text: string } } }"
        engine = Engine(configuration, types: try SampleTypes.load(and: [item]))
        engine.beginTurn(at: 1_795_000_000_000)
        engine.beginLogging()
        let sender = engine.connect(.unix(uid: 1000, pid: 1))
        for number in 0..<commits {
            send(
                #"{"op":"dispatch","type":"item","action":"write","payload":{"text":"\#(number)"}}"#,
                from: sender)
            engine.serveAll()
        }
        engine.takeReady { _ in }
        // A sender past its share of a batch waits for the disk, and goes on in the next one.
        while engine.sealBatch() != nil {
            engine.confirmBatch()
            _ = engine.takeOutput(of: sender)
            engine.serveAll()
            engine.takeReady { _ in }
        }
        engine.beginTurn(at: 1_795_000_001_000)
    }

    private func send(_ line: String, from connection: ConnectionID) {
        Array((line + "\n").utf8).withUnsafeBytes { engine.receive(connection, $0) }
    }

    /// The most work of one slice.
    func subscribe(_ pattern: String) throws -> Int {
        let client = engine.connect(.unix(uid: 1001, pid: 2))
        let began = engine.workOfTurn
        send(
            #"{"op":"subscribe",\#(pattern),"actions":true,"since":0,"epoch":"\#(engine.epoch)"}"#,
            from: client)
        var most = engine.workOfTurn - began
        while engine.hasWork {
            let before = engine.workOfTurn
            _ = engine.serveNext()
            most = max(most, engine.workOfTurn - before)
            turns += 1
        }
        engine.takeReady { _ in }
        events = engine.takeOutput(of: client).count { $0 == 10 } - 1
        return most
    }
}
