import BusEngine
import BusJSON
import TestModes
import TestSupport
import Testing

/// What bounds a turn beside its work, and who waits behind something long.
@Suite(.inBothModes) struct TurnBoundTests {
    /// A turn makes no more output than one sends, however little work it is to share it.
    @Test(
        .aloneOnly(
            because:
                "What comes from the shared log in a turn is bounded by `ClusterLimits.entries`, not by its output."
        ))
    func turnMakesNoMoreOutputThanIsSent() throws {
        let arena = try Arena()
        try arena.makeStores(1)
        for _ in 0..<12 {
            try arena.attack("", preparing: [#"{"op":"subscribe","store":"item/s0","initial":false}"#])
        }
        for letter in "abcdefghij" {
            let text = String(repeating: letter, count: 50_000)
            try arena.attack(
                #"{"op":"dispatch","store":"item/s0","action":"write","payload":{"text":"\#(text)"}}"#)
        }
        try arena.run(turns: 20)
        let before = arena.engine.revision
        try arena.run(turns: 100)
        // The innocent client's own commits tell nobody. Each of the others makes 600 kB, so two of them fill a turn, whose work
        // would be enough for more.
        let commits = arena.engine.revision - before - 100
        #expect((100...220).contains(commits))
    }

    /// What took long closes the gate, whatever its work was estimated at: the next long request waits until the others have
    /// had their time. Who is alone does not wait.
    @Test func whatTookLongIsRareWhateverItWasEstimatedAt() throws {
        let bus = try SlowBus()
        let (greedy, other) = (bus.connect(), bus.connect())
        let values = Array(repeating: "1", count: 45_000).joined(separator: ",")
        let long = #"{"op":"ping","id":[\#(values)]}"#
        bus.send(#"{"op":"create","store":"counter/a"}"#, from: other)
        func ping() throws {
            bus.send(#"{"op":"ping"}"#, from: other)
            bus.engine.serveAll()
            #expect(try bus.lines(of: other).last?["ok"] == true)
        }
        // One that nothing long came before is answered at once.
        try ping()
        bus.send(long, from: greedy)
        bus.engine.serveAll()
        #expect(try bus.lines(of: greedy).count == 1)

        // Long after that, something takes twenty milliseconds: it is followed by three seconds for the others.
        bus.turn(after: 60_000)
        try ping()
        bus.engine.noteTime(20_000_000)
        bus.send(long, from: greedy)
        for _ in 0..<29 {
            bus.turn(after: 100)
            try ping()
        }
        #expect(try bus.lines(of: greedy).isEmpty)
        bus.turn(after: 101)
        try ping()
        #expect(try bus.lines(of: greedy).count == 1)

        // Nobody else has been at work for a while.
        bus.turn(after: 60_000)
        bus.engine.noteTime(20_000_000)
        bus.send(long, from: greedy)
        bus.engine.serveAll()
        #expect(try bus.lines(of: greedy).count == 1)
    }

    /// Subscribers that only wait for changes share one turn of their user's, so that the user's requests don't wait until each of
    /// them has had as much.
    @Test func requestsDoNotWaitForEverySubscriberThatIsBehind() throws {
        let arena = try Arena()
        try arena.makeStores(100)
        // Each sees other parts, so what it is told is written for it alone.
        for number in 0..<3000 {
            let subscribe =
                #"{"op":"subscribe","store":"item/s0","select":["/text","/n\#(number)"],"initial":false}"#
            try arena.attack("", preparing: [subscribe], uid: 1000)
        }
        for letter in ["a", "b"] {
            let text = String(repeating: letter, count: 6000)
            try arena.attack(
                #"{"op":"dispatch","store":"item/s0","action":"write","payload":{"text":"\#(text)"}}"#,
                uid: 1000)
        }
        let before = try arena.coalesced()
        // A page of a hundred states takes as much as several subscribers are told.
        arena.request = #"{"op":"get","type":"item"}"#
        try arena.run(turns: 100)
        #expect(arena.longestWait <= 4 + FairnessTests.log)
        #expect(arena.refusals.isEmpty)
        #expect(try arena.coalesced() > before + 3000)
    }

    /// Who wants to hear of much pays for it with its place in the queue, and not who dispatches.
    @Test func subscribersPayForWhatTheyAreTold() throws {
        let bus = try SlowBus()
        let (writer, subscriber, busy) = (bus.connect(), bus.connect(), bus.connect())
        bus.send(#"{"op":"create","store":"counter/a"}"#, from: writer)
        for number in 0..<200 {
            bus.send(
                #"{"op":"subscribe","store":"counter/a","select":["/count","/none\#(number)"],"initial":false}"#,
                from: subscriber)
        }
        bus.engine.serveAll()
        for _ in 0..<50 {
            bus.turn()
            bus.send(#"{"op":"dispatch","store":"counter/a","action":"increment"}"#, from: writer)
            bus.engine.serveAll()
            for id in [writer, subscriber, busy] { _ = try bus.lines(of: id) }
        }
        // Somebody is at work, so all who come wait; the subscriber came first.
        bus.turn()
        bus.engine.awaitTurn(busy)
        bus.engine.awaitTurn(subscriber)
        bus.engine.awaitTurn(writer)
        var order: [ConnectionID] = []
        while bus.engine.hasWork { if let id = bus.engine.serveNext() { order.append(id) } }
        #expect(order.filter { $0 != busy } == [writer, subscriber])
    }

    /// Timers that reach every store of a type, due at once: each commit is rare beside others, and setting them takes no more
    /// where the type has many stores.
    @Test func manyTimersOfALargeTypeHoldUpNobody() throws {
        func setting(_ stores: Int, milliseconds: Int) throws -> (arena: Arena, work: Int) {
            let arena = try Arena()
            try arena.makeStores(stores)
            let one = #"{"op":"dispatch","type":"item","action":"add","in":"\#(milliseconds)ms"}"#
            let before = arena.engine.totalWork
            try arena.attack("", preparing: Array(repeating: one, count: 200))
            return (arena, arena.engine.totalWork - before)
        }
        let (_, few) = try setting(1, milliseconds: 3_600_000)
        let (arena, many) = try setting(20_000, milliseconds: 10)
        #expect(many < 2 * few)
        try arena.run(turns: 200)
        #expect(arena.longestTurn <= FairnessTests.turn)
        #expect(arena.longestHearing <= FairnessTests.hearing)
        #expect(arena.longestWait <= 2 + FairnessTests.log)
        #expect(arena.refusals.isEmpty)
    }

    /// A will of as many actions as there may be is the work of who leaves it, and nobody waits for it.
    @Test func longWillsAreTheirUsersWork() throws {
        let arena = try Arena()
        let action = #"{"store":"counter/innocent","action":"increment"}"#
        let will =
            #"{"op":"will","actions":[\#(Array(repeating: action, count: 1024).joined(separator: ","))]}"#
        try arena.attack(will, uid: 2000)
        let before = try arena.work(of: 2000)
        try arena.run(turns: 60)
        // It is one commit, which is not divided.
        #expect(arena.longestTurn <= 2 * FairnessTests.turn)
        #expect(arena.longestHearing <= 2 * FairnessTests.hearing)
        #expect(arena.longestWait <= 2 + FairnessTests.log)
        #expect(try arena.work(of: 2000) - before >= 3_000_000)
    }

    /// Each takes as long as it may, and many are touched by one commit.
    @Test(arguments: [#""type":"counter""#, #""store":"counter/innocent""#])
    func expressionsOfSubscriptionsHoldUpNoCommit(subject: String) throws {
        let arena = try Arena()
        for number in 0..<200 {
            let slow = "count < 0 || lists.range(400).all(i, lists.range(400).all(j, i + j >= -\(number)))"
            try arena.attack(
                "", preparing: [#"{"op":"subscribe",\#(subject),"where":"\#(slow)","initial":false}"#])
        }
        try arena.run(turns: 100)
        #expect(arena.longestTurn <= 2 * FairnessTests.turn)
        #expect(arena.longestHearing <= 2 * FairnessTests.hearing)
        #expect(arena.longestWait <= 4 + FairnessTests.log)
        #expect(arena.refusals.isEmpty)
    }

    /// Also where all of them end at once.
    @Test func connectionsWithManyExpressionsEndSoon() throws {
        let arena = try Arena()
        for first in stride(from: 0, to: 4000, by: 1000) {
            let lines = (first..<first + 1000).map {
                #"{"op":"subscribe","match":"*/*","where":"count == \#($0)","initial":false}"#
            }
            try arena.attack("", preparing: lines, uid: 1000)
        }
        #expect(arena.engine.subscriberCount == 4000)
        let began = ThreadTime.now
        arena.vanish()
        try arena.run(turns: 10)
        #expect(arena.engine.subscriberCount == 0)
        #expect(ThreadTime.now - began < .seconds(5), "Once each end put all the others in order again.")
    }
}
