import BusEngine
import BusJSON
import TestModes
import TestSupport
import Testing

/// What is done later than at once: who is told after a pause, in the middle of a turn, from memory that is not all taken at once.
@Suite(.inBothModes) struct LaterTests {
    private static let increment = #"{"op":"dispatch","store":"counter/a","action":"increment"}"#

    /// Goes on as long as there is something to do, for some milliseconds.
    private func wait(_ bus: SlowBus, milliseconds: Int) {
        for _ in 0..<milliseconds {
            bus.turn()
            bus.engine.serveAll()
        }
    }

    /// Who was late because there were too many to tell hears of the next change after a pause, and of the newest then.
    @Test func whoRestsIsToldAfterItsPause() throws {
        let bus = try SlowBus()
        let writer = bus.connect()
        bus.send(#"{"op":"create","store":"counter/a"}"#, from: writer)
        let readers = (0..<20).map { _ in bus.connect() }
        for reader in readers {
            for _ in 0..<1000 {
                bus.send(#"{"op":"subscribe","store":"counter/a","initial":false}"#, from: reader)
            }
            bus.engine.serveAll()
            _ = try bus.lines(of: reader)
        }
        bus.send(Self.increment, from: writer)
        wait(bus, milliseconds: 20)
        // All have been told of it, live or late; about twenty thousand were late, so two hundred milliseconds are to pass.
        var late = 0
        for reader in readers {
            let lines = try bus.lines(of: reader)
            #expect(lines.filter { $0["changes"] != nil || $0["states"] != nil }.count == 1000)
            // One commit told late is whole states, and still one.
            if lines.contains(where: { $0["states"] != nil }) { late += 1 }
            #expect(lines.allSatisfy { $0["coalesced"] == nil })
        }
        #expect(late >= 19)
        for _ in 0..<10 { bus.send(Self.increment, from: writer) }
        wait(bus, milliseconds: 100)
        // Who was late among the first rests for less, the last ones for two hundred milliseconds.
        var events = try readers.map { try bus.lines(of: $0) }
        #expect(events.last == [])
        wait(bus, milliseconds: 400)
        for (place, reader) in readers.enumerated() {
            events[place] += try bus.lines(of: reader)
            #expect(Set(events[place].compactMap { $0["sub"]?.int }).count == 1000)
            let last = try #require(events[place].last)
            #expect((last["changes"] ?? last["states"])?["counter/a"]?["count"]?.int == 11)
        }
    }

    /// Who catches up slice by slice, while in the same turn the others are told together, hears what comes after that in it.
    @Test func whoCatchesUpBetweenCommitsOfATurnMissesNone() throws {
        var limits = Limits()
        limits.daemon.sliceWork = 4000
        let bus = try SlowBus(limits: limits)
        let writer = bus.connect()
        for number in 0..<60 { bus.send(#"{"op":"create","store":"counter/s\#(number)"}"#, from: writer) }
        bus.send(#"{"op":"create","store":"counter/a"}"#, from: writer)
        let others = (0..<3).map { _ in bus.connect() }
        for other in others {
            bus.send(#"{"op":"subscribe","type":"counter","initial":false}"#, from: other)
        }
        bus.engine.serveAll()
        bus.turn()
        let reader = bus.connect()
        bus.send(#"{"op":"subscribe","type":"counter"}"#, from: reader)
        // All of it in one turn.
        for _ in 0..<200 {
            bus.send(Self.increment, from: writer)
            _ = bus.engine.serveNext()
        }
        let count = try #require(bus.engine.state(at: "counter/a")?["count"]?.int)
        var counts: [Int] = []
        for event in try bus.lines(of: reader) {
            guard let state = (event["changes"] ?? event["states"])?["counter/a"] else { continue }
            counts.append(try #require(state["count"]?.int))
        }
        #expect(counts.last == count)
        // First as it was when it was told, then each change.
        #expect(counts.count > 10)
        #expect(zip(counts, counts.dropFirst()).allSatisfy { $1 == $0 + 1 || $0 == counts.first })
    }

    /// A commit larger than what is encoded at once is told a part at a time.
    @Test func hugeCommitIsNotHeldWhole() throws {
        let bus = try SlowBus()
        let writer = bus.connect()
        for number in 0..<14 { bus.send(#"{"op":"create","store":"item/s\#(number)"}"#, from: writer) }
        func write(_ letter: String) -> String {
            let text = String(repeating: letter, count: 900_000)
            // Long enough for the gate, which the one before has closed.
            bus.turn(after: 60_000)
            bus.send(
                #"{"op":"dispatch","type":"item","action":"write","payload":{"text":"\#(text)"}}"#,
                from: writer)
            return text
        }
        // As much work as it is where nobody hears of it.
        _ = write("w")
        let unheard = bus.engine.workOfTurn
        let reader = bus.connect()
        bus.send(#"{"op":"subscribe","type":"item","initial":false}"#, from: reader)
        bus.engine.serveAll()
        _ = try bus.lines(of: reader)
        let text = write("x")
        // Right behind the commit, before anybody else has had a turn: what was encoded beside it is bounded.
        #expect(bus.waiting(for: reader) < 9 << 20)
        // Finding what changed takes as much as what changed is long.
        #expect(bus.engine.workOfTurn - unheard < 14 * text.utf8.count + 10 << 20)
        var told: Set<String> = []
        for _ in 0..<100 {
            bus.turn()
            bus.engine.serveAll()
            for event in try bus.lines(of: reader) {
                for member in (event["changes"] ?? event["states"])?.object ?? [:] {
                    #expect(member.value["text"]?.string == text)
                    told.insert(member.key)
                }
            }
        }
        #expect(told.count == 14)
    }

    /// And it is one commit all the same: its last part has the cause, and none says that it is several.
    @Test func hugeCommitToldInPartsHasItsCause() throws {
        let bus = try SlowBus()
        let (writer, reader) = (bus.connect(), bus.connect())
        for number in 0..<14 { bus.send(#"{"op":"create","store":"item/s\#(number)"}"#, from: writer) }
        let text = String(repeating: "x", count: 900_000)
        bus.turn(after: 60_000)
        bus.send(
            #"{"op":"dispatch","type":"item","action":"write","payload":{"text":"\#(text)"}}"#, from: writer)
        bus.engine.serveAll()
        bus.send(
            #"{"op":"subscribe","type":"item","format":"state","cause":true,"initial":false}"#, from: reader)
        bus.engine.serveAll()
        _ = try bus.lines(of: reader)
        bus.turn(after: 60_000)
        bus.send(#"{"op":"dispatch","type":"item","action":"add"}"#, from: writer)
        // Little of it has been encoded beside it.
        #expect(bus.waiting(for: reader) < 9 << 20)
        var events: [JSON] = []
        for _ in 0..<100 {
            bus.turn()
            bus.engine.serveAll()
            events += try bus.lines(of: reader)
        }
        #expect(Set(events.flatMap { ($0["states"]?.object ?? [:]).members.map { $0.key } }).count == 14)
        #expect(events.allSatisfy { $0["coalesced"] == nil })
        #expect(events.filter { $0["cause"] != nil }.count == 1)
        #expect(events.last?["cause"]?["actions"]?[0]?["action"] == "add")
        #expect(events.last?["more"] == nil)
    }

    /// The end of a client that leaves much behind is rare beside others, as all that takes long.
    @Test(
        .aloneOnly(
            because: "On a shared bus a session ends where its log has come to that, on all members alike."))
    func longEndWaitsAtTheGate() throws {
        let bus = try SlowBus()
        let (leaving, other) = (bus.connect(), bus.connect())
        for number in 0..<3000 {
            bus.send(#"{"op":"create","store":"counter/e\#(number)","ephemeral":true}"#, from: leaving)
        }
        bus.engine.serveAll()
        bus.turn(after: 60_000)
        func ping() {
            bus.send(#"{"op":"ping"}"#, from: other)
            bus.engine.serveAll()
        }
        ping()
        bus.engine.noteTime(20_000_000)
        bus.engine.disconnect(leaving)
        for _ in 0..<29 {
            bus.turn(after: 100)
            ping()
        }
        #expect(bus.engine.storeCount == 3000)
        for _ in 0..<3 {
            bus.turn(after: 100)
            ping()
        }
        #expect(bus.engine.storeCount == 0)
    }

    /// Of what the gone have sent, what they wanted to read costs nothing, and what they wanted to be done is done.
    @Test func readsOfTheGoneAreForgotten() throws {
        let bus = try SlowBus()
        let (writer, gone) = (bus.connect(), bus.connect())
        for number in 0..<500 { bus.send(#"{"op":"create","store":"counter/s\#(number)"}"#, from: writer) }
        bus.send(#"{"op":"create","store":"counter/a"}"#, from: writer)
        bus.engine.serveAll()
        bus.turn()
        bus.engine.losePeer(of: gone)
        let before = bus.engine.workOfTurn
        bus.send(#"{"op":"get","type":"counter"}"#, Self.increment, from: gone)
        bus.engine.serveAll()
        #expect(bus.engine.workOfTurn - before < 5000)
        #expect(bus.engine.state(at: "counter/a")?["count"]?.int == 1)
    }

    /// Many large first requests wait at the places where they will be done: little comes before them.
    @Test func littleComesBeforeMuchThatNobodyKnewOf() throws {
        let bus = try SlowBus()
        let values = Array(repeating: "1", count: 15_000).joined(separator: ",")
        let large = #"{"op":"ping","id":[\#(values)]}"#
        let greedy = (0..<50).map { _ in bus.connect() }
        let little = bus.connect()
        bus.turn()
        for one in greedy { bus.engine.awaitTurn(one) }
        bus.engine.awaitTurn(little)
        var served = 0
        while let id = bus.engine.serveNext(), id != little {
            bus.send(large, from: id)
            served += try bus.lines(of: id).count
        }
        #expect(served <= 2)
    }

    /// A session whose end waits for its turn is nobody's: who comes with its name has another one, which stays.
    @Test(.aloneOnly(because: "On a shared bus ends have their places in the log, and wait for no turn."))
    func sessionWhoseEndWaitsIsNotTakenOver() throws {
        let bus = try SlowBus()
        let (busy, gone, next) = (bus.connect(), bus.connect(), bus.connect())
        let hello = #"{"op":"hello","session":"gate"}"#
        bus.send(
            hello, #"{"op":"create","store":"counter/a"}"#,
            #"{"op":"create","store":"counter/gone","ephemeral":true}"#,
            #"{"op":"will","actions":[{"store":"counter/a","action":"increment"}]}"#, from: gone)
        bus.turn()
        bus.engine.awaitTurn(busy)
        bus.engine.disconnect(gone)
        bus.send(hello, #"{"op":"create","store":"counter/next","ephemeral":true}"#, from: next)
        #expect(try bus.lines(of: next).first?["resumed"] == false)
        bus.engine.serveAll()
        bus.deliver()
        #expect(bus.engine.state(at: "counter/a")?["count"]?.int == 1)
        #expect(bus.engine.state(at: "counter/gone") == nil)
        #expect(bus.engine.state(at: "counter/next") != nil)
        bus.engine.disconnect(next)
        bus.engine.serveAll()
        bus.deliver()
        #expect(bus.engine.state(at: "counter/a")?["count"]?.int == 1)
        #expect(bus.engine.state(at: "counter/next") == nil)
    }

    /// Who has gone and still waits for its turn has something to be heard.
    @Test func whoWaitsIsNotFinished() throws {
        let bus = try SlowBus()
        let (busy, gone) = (bus.connect(), bus.connect())
        bus.turn()
        bus.engine.awaitTurn(busy)
        bus.engine.losePeer(of: gone)
        bus.engine.awaitTurn(gone)
        #expect(bus.engine.hasUnfinishedInput(gone))
        while let id = bus.engine.serveNext(), id != gone {}
        #expect(!bus.engine.hasUnfinishedInput(gone))
    }
}
