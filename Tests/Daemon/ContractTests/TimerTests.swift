import BusJSON
import TestModes
import TestSupport
import Testing

/// A timer's action is committed at its time, once, and never before.
@Suite(.inBothModes) struct TimerTests {
    private let switchOn = #"{"op":"dispatch","store":"lamp/a","action":"switchOn"}"#
    private let later = #"{"op":"dispatch","store":"counter/a","action":"increment","in":"5m"}"#

    // MARK: Actions with timers

    @Test func timerFiresAtItsTimeAndNotBefore() throws {
        let bus = try TimedBus.make()
        let client = bus.connect()
        try client.revision(after: switchOn)
        #expect(try client.timers() == ["lamp/a off"])
        bus.advance(milliseconds: 299_999)
        #expect(try client.state(of: "lamp/a")?["on"] == true)
        bus.advance(milliseconds: 1)
        #expect(
            try client.state(of: "lamp/a") == ["on": false, "times": 1, "reason": "timer"])
        #expect(try client.timers() == [])
        bus.advance(milliseconds: 900_000)
        #expect(try client.state(of: "lamp/a")?["times"] == 1)
    }

    @Test func timerOfTheSameNameIsSetAnew() throws {
        let bus = try TimedBus.make()
        let client = bus.connect()
        try client.revision(after: switchOn)
        bus.advance(milliseconds: 200_000)
        try client.revision(after: switchOn)
        bus.advance(milliseconds: 299_999)
        #expect(try client.state(of: "lamp/a")?["on"] == true)
        bus.advance(milliseconds: 1)
        #expect(try client.state(of: "lamp/a")?["times"] == 1)
    }

    @Test func actionTakesATimerAway() throws {
        let bus = try TimedBus.make()
        let client = bus.connect()
        try client.revision(after: switchOn)
        try client.revision(after: #"{"op":"dispatch","store":"lamp/a","action":"switchOff"}"#)
        #expect(try client.timers() == [])
        bus.advance(milliseconds: 900_000)
        #expect(try client.state(of: "lamp/a")?["times"] == 1)
    }

    @Test func globalDispatchSetsATimerOfEachStore() throws {
        let bus = try TimedBus.make()
        let client = bus.connect()
        try client.revision(after: #"{"op":"dispatch","type":"lamp","action":"switchOn"}"#)
        #expect(try client.timers() == ["lamp/a off", "lamp/b off"])
        let before = bus.engine.revision
        bus.advance(milliseconds: 300_000)
        #expect(bus.engine.revision == before + 2)
    }

    /// An action that sets its own timer goes on for as long as nobody stops it, one commit at a time.
    @Test func actionMaySetItsOwnTimerAgain() throws {
        let bus = try TimedBus.make()
        let client = bus.connect()
        try client.revision(after: #"{"op":"dispatch","store":"lamp/a","action":"blink"}"#)
        for _ in 0..<5 { bus.advance(milliseconds: 1000) }
        #expect(try client.state(of: "lamp/a")?["times"] == 6)
        // On behalf of who set the first, and not of a timer.
        let by = try client.reply(to: #"{"op":"timers"}"#)["timers"]?[0]?["by"]
        #expect(by?["uid"] == 1000 && by?["timer"] == nil)
        try client.revision(after: #"{"op":"dispatch","store":"lamp/a","action":"stop"}"#)
        bus.advance(milliseconds: 10_000)
        #expect(try client.state(of: "lamp/a")?["times"] == 6)
    }

    @Test func expressionGivesATimeOfDay() throws {
        let bus = try TimedBus.make()
        let client = bus.connect()
        let at = Double(bus.now + 7000) / 1000
        try client.revision(
            after: #"{"op":"dispatch","store":"lamp/a","action":"dawn","payload":{"at":\#(at)}}"#)
        bus.advance(milliseconds: 6999)
        #expect(try client.state(of: "lamp/a")?["on"] == false)
        bus.advance(milliseconds: 1)
        #expect(try client.state(of: "lamp/a")?["on"] == true)
        #expect(try client.timers() == ["lamp/a off"])
    }

    /// What is rolled back leaves timers as they were: those it set, those it took away, those it set anew.
    @Test(arguments: [
        #"{"op":"dispatch","store":"lamp/a","action":"both"}"#,
        #"{"op":"dispatch","actions":[{"store":"lamp/a","action":"switchOff"},{"store":"lamp/a","action":"both"}]}"#,
        #"{"op":"dispatch","actions":[{"store":"lamp/b","action":"switchOn"},{"store":"lamp/b","action":"refuse"},{"store":"lamp/a","action":"switchOff"},{"store":"lamp/a","action":"refuse"}]}"#,
        #"{"op":"dispatch","actions":[{"store":"lamp/a","action":"switchOn"},{"store":"lamp/a","action":"switchOn"},{"store":"lamp/a","action":"switchOff"},{"store":"lamp/a","action":"both"}]}"#,
        #"{"op":"dispatch","store":"lamp/a","action":"switchOff","dryRun":true}"#,
        #"{"op":"dispatch","type":"lamp","action":"switchOn","payload":{"minutes":1},"dryRun":true}"#,
        #"{"op":"dispatch","type":"lamp","action":"switchOn","payload":{"minutes":-1}}"#,
        #"{"op":"dispatch","type":"lamp","action":"switchOn","payload":{"minutes":1e9}}"#,
    ])
    func whatIsRolledBackLeavesTimersAsTheyWere(_ request: String) throws {
        let bus = try TimedBus.make()
        let client = bus.connect()
        try client.revision(after: switchOn)
        let (digest, timers) = (bus.engine.stateDigest, try client.reply(to: #"{"op":"timers"}"#)["timers"])
        try client.reply(to: request)
        #expect(bus.engine.stateDigest == digest)
        #expect(try client.reply(to: #"{"op":"timers"}"#)["timers"] == timers)
    }

    @Test func digestTellsTimersApart() throws {
        let (one, other) = (try TimedBus.make(), try TimedBus.make())
        let clients = (one.connect(), other.connect())
        #expect(one.engine.stateDigest == other.engine.stateDigest)
        for client in [clients.0, clients.1] { try client.revision(after: switchOn) }
        #expect(one.engine.stateDigest == other.engine.stateDigest)
        try clients.0.revision(after: later)
        try clients.1.revision(after: later.replacing("5m", with: "6m"))
        #expect(one.engine.stateDigest != other.engine.stateDigest)
    }

    // MARK: Scheduled dispatches

    @Test func scheduledDispatchIsCommittedOnBehalfOfWhoAsked() throws {
        let bus = try TimedBus.make()
        let (client, observer) = (bus.connect(uid: 7), bus.connect())
        try observer.reply(to: #"{"op":"subscribe","store":"counter/a","actions":true}"#)
        let reply = try client.reply(to: later.replacing("}", with: #","timer":"tea","payload":{"by":3}}"#))
        let due = Double(bus.now + 300_000) / 1000
        #expect(reply["timer"] == "tea")
        #expect(reply["due"]?.double == due)
        #expect(reply["revision"]?.int == bus.engine.revision)
        client.close()
        bus.advance(milliseconds: 300_000)
        let event = try #require(try observer.all().last)
        #expect(event["action"] == "increment")
        #expect(event["payload"] == ["by": 3])
        #expect(event["by"]?["uid"] == 7)
        #expect(event["by"]?["timer"] == "tea")
        #expect(event["time"]?.double == due)
    }

    @Test func timerWithoutANameGetsOneOfItsOwn() throws {
        let client = try TimedBus.make().connect()
        let names = try (0..<3).map { _ in try client.reply(to: later)["timer"] }
        #expect(Set(names.compactMap { $0?.string }).count == 3)
        #expect(try client.timers().count == 3)
    }

    @Test func globalDispatchReachesTheStoresThereAreWhenItIsDue() throws {
        let bus = try TimedBus.make()
        let client = bus.connect()
        try client.revision(
            after: #"{"op":"dispatch","type":"counter","action":"increment","in":10,"timer":"t"}"#)
        try client.revision(after: #"{"op":"dispatch","type":"*","action":"increment","in":11}"#)
        try client.revision(after: #"{"op":"create","store":"counter/new"}"#)
        #expect(try client.timers().count == 2)
        bus.advance(milliseconds: 11_000)
        #expect(try client.state(of: "counter/new")?["count"] == 2)
    }

    /// In order of time, and of those due at one time in the order in which they were set.
    @Test func timersFireInOrder() throws {
        let bus = try TimedBus.make()
        let client = bus.connect()
        for (seconds, value) in [(30, 3), (10, 1), (30, 4), (20, 2), (30, 5)] {
            try client.revision(
                after:
                    #"{"op":"dispatch","store":"counter/a","action":"increment","payload":{"by":\#(value)},"in":\#(seconds)}"#
            )
        }
        let observer = bus.connect()
        try observer.reply(to: #"{"op":"subscribe","store":"counter/a","actions":true}"#)
        bus.advance(milliseconds: 60_000)
        #expect(try observer.all().compactMap { $0["payload"]?["by"]?.int } == [1, 2, 3, 4, 5])
    }

    @Test func rejectedTimerIsGoneAndTheOperatorLearnsWhy() throws {
        let bus = try TimedBus.make()
        let client = bus.connect()
        try client.revision(after: #"{"op":"dispatch","store":"lamp/a","action":"refuse","in":5}"#)
        let before = bus.engine.revision
        bus.advance(milliseconds: 5000)
        #expect(bus.engine.revision == before + 1)
        #expect(try client.timers() == [])
        #expect(bus.operatorNotes.contains { $0.contains("it is dark") && $0.contains("lamp/a") })
        bus.advance(milliseconds: 5000)
        #expect(bus.engine.revision == before + 1)
    }

    /// A reload takes the action away: its timer is as one that is rejected.
    @Test func timerOfAnActionThatIsGoneIsGoneWhenDue() throws {
        let bus = try TimedBus.make()
        let client = bus.connect(uid: 0)
        try client.revision(after: #"{"op":"dispatch","store":"lamp/a","action":"touch","in":5}"#)
        bus.definitions = [TimedBus.lamp.replacing("touch:", with: "other:"), TimedBus.lease]
        try client.revision(after: #"{"op":"reload"}"#)
        bus.advance(milliseconds: 5000)
        #expect(try client.timers() == [])
        #expect(bus.operatorNotes.contains { $0.contains("no action `touch`") })
    }

    // MARK: Going with the store

    @Test func timersGoWithTheirStore() throws {
        let bus = try TimedBus.make()
        let client = bus.connect(uid: 0)
        try client.revision(after: switchOn)
        try client.revision(after: #"{"op":"dispatch","store":"lamp/a","action":"blink","in":5}"#)
        try client.revision(after: #"{"op":"drop","store":"lamp/a"}"#)
        #expect(try client.timers() == [])
        try client.revision(after: #"{"op":"create","store":"lamp/a"}"#)
        let before = bus.engine.revision
        bus.advance(milliseconds: 900_000)
        #expect(bus.engine.revision == before)
    }

    @Test func timersGoWithTheirType() throws {
        let bus = try TimedBus.make { $0.stores = ["counter/a"] }
        let client = bus.connect(uid: 0)
        try client.revision(after: #"{"op":"dispatch","type":"lamp","action":"blink","in":5}"#)
        bus.definitions = []
        try client.revision(after: #"{"op":"reload"}"#)
        #expect(try client.timers() == [])
    }

    // MARK: Cancelling

    @Test func cancelledTimerDoesNotFire() throws {
        let bus = try TimedBus.make()
        let client = bus.connect()
        try client.revision(after: later.replacing("}", with: #","timer":"tea"}"#))
        try client.revision(after: #"{"op":"cancel","store":"counter/a","timer":"tea"}"#)
        #expect(try client.code(of: #"{"op":"cancel","store":"counter/a","timer":"tea"}"#) == "unknown_timer")
        bus.advance(milliseconds: 900_000)
        #expect(try client.state(of: "counter/a")?["count"] == 0)
        try client.revision(after: #"{"op":"dispatch","type":"*","action":"increment","in":5,"timer":"all"}"#)
        try client.revision(after: #"{"op":"cancel","type":"*","timer":"all"}"#)
        #expect(try client.timers() == [])
    }

    // MARK: Refusals

    @Test(arguments: [
        (#""in":"soon""#, "invalid_request"), (#""in":-1"#, "invalid_request"),
        (#""in":1,"at":2"#, "invalid_request"), (#""at":"5m""#, "invalid_request"),
        (#""timer":"x""#, "invalid_request"), (#""in":1,"timer":"@1""#, "invalid_request"),
        (#""in":1,"timer":"""#, "invalid_request"), (#""in":"3654d""#, "limit"), (#""at":1e11"#, "limit"),
        (#""in":1,"ifRevision":99"#, "conflict"), (#""in":1,"payload":{"by":"x"}"#, "invalid_payload"),
    ])
    func scheduleIsCheckedAtOnce(_ members: String, _ code: String) throws {
        let client = try TimedBus.make().connect()
        let request = #"{"op":"dispatch","store":"counter/a","action":"increment",\#(members)}"#
        #expect(try client.code(of: request) == code)
        #expect(try client.timers() == [])
    }

    @Test(arguments: [
        (#"{"op":"dispatch","store":"counter/x","action":"increment","in":1}"#, "unknown_store"),
        (#"{"op":"dispatch","store":"counter/a","action":"open","in":1}"#, "unknown_action"),
        (
            #"{"op":"dispatch","actions":[{"store":"counter/a","action":"increment"}],"in":1}"#,
            "invalid_request"
        ),
        (#"{"op":"will","actions":[{"store":"counter/a","action":"increment","in":1}]}"#, "invalid_request"),
        (#"{"op":"cancel","timer":"x"}"#, "invalid_request"),
        (#"{"op":"cancel","store":"counter/a"}"#, "invalid_request"),
        (#"{"op":"timers","after":"x"}"#, "invalid_request"),
        (#"{"op":"timers","limit":1001}"#, "invalid_request"),
    ])
    func wrongRequestsAreRefused(_ request: String, _ code: String) throws {
        #expect(try TimedBus.make().connect().code(of: request) == code)
    }

    @Test func timersOfAStoreATypeAndTheBusAreLimited() throws {
        let bus = try TimedBus.make {
            ($0.limits.bus.timersOfStore, $0.limits.bus.timersOfType, $0.limits.bus.timers) = (2, 1, 4)
        }
        let client = bus.connect(uid: MemoryBus.ownUID)
        for _ in 0..<2 { #expect(try client.code(of: later) == nil) }
        #expect(try client.code(of: later) == "limit")
        let all = #"{"op":"dispatch","type":"counter","action":"increment","in":5}"#
        #expect(try client.code(of: all) == nil)
        #expect(try client.code(of: all) == "limit")
        #expect(try client.code(of: switchOn) == nil)
        #expect(try client.code(of: #"{"op":"dispatch","store":"lamp/b","action":"switchOn"}"#) == "rejected")
        // One that takes another's place needs none of its own.
        #expect(try client.code(of: switchOn) == nil)
    }

    @Test func timersCountAsMemory() throws {
        let bus = try TimedBus.make { $0.limits.daemon.memory = 40_000 }
        let client = bus.connect()
        let text = String(repeating: "x", count: 2000)
        let request =
            #"{"op":"dispatch","store":"lamp/a","action":"switchOff","payload":{"reason":"\#(text)"},"in":5}"#
        let codes = try (0..<20).map { _ in try client.code(of: request) }
        #expect(codes.first == .some(nil))
        #expect(codes.last == "limit")
    }

    // MARK: Keys, and no answer

    @Test func keyedScheduleIsAnsweredAsTheFirstTime() throws {
        let bus = try TimedBus.make(logged: true)
        let client = bus.connect()
        let request = later.replacing("}", with: #","key":"k"}"#)
        let first = try client.reply(to: request)
        bus.advance(milliseconds: 1000)
        var again = try #require(try client.reply(to: request).object)
        #expect(again["duplicate"] == true)
        again["duplicate"] = nil
        #expect(.object(again) == first)
        #expect(try client.code(of: request.replacing("5m", with: "6m")) == "conflict")
        let next = try bus.crash()
        #expect(try next.connect().reply(to: request)["due"] == first["due"])
        #expect(try next.connect().timers().count == 1)
    }

    @Test func unacknowledgedScheduleHasNoReply() throws {
        let client = try TimedBus.make().connect()
        #expect(try client.ask(later.replacing("}", with: #","ack":false}"#)) == [])
        #expect(try client.timers().count == 1)
    }

    @Test func dryRunSchedulesNothing() throws {
        let bus = try TimedBus.make()
        let client = bus.connect()
        let reply = try client.reply(to: later.replacing("}", with: #","dryRun":true}"#))
        #expect(reply["due"]?.double == Double(bus.now + 300_000) / 1000)
        #expect(reply["revision"]?.int == bus.engine.revision)
        #expect(try client.timers() == [])
    }

    // MARK: Lists

    @Test func listIsPagedInOrderOfTime() throws {
        let client = try TimedBus.make().connect()
        for seconds in [50, 10, 40, 20, 30, 30] {
            try client.revision(
                after: #"{"op":"dispatch","store":"counter/a","action":"increment","in":\#(seconds)}"#)
        }
        try client.revision(after: switchOn)
        let all = try #require(try client.reply(to: #"{"op":"timers","match":"c*/*"}"#)["timers"]?.array)
        #expect(all.count == 6)
        #expect(zip(all, all.dropFirst()).allSatisfy { $0["due"]?.double ?? 0 <= $1["due"]?.double ?? 0 })
        var (pages, after): ([JSON], String?) = ([], nil)
        repeat {
            let suffix = after.map { #","after":"\#($0)""# } ?? ""
            let reply = try client.reply(to: #"{"op":"timers","match":"c*/*","limit":2\#(suffix)}"#)
            pages += reply["timers"]?.array ?? []
            after = reply["next"]?.string
        } while after != nil
        #expect(pages == all)
        #expect(try client.reply(to: #"{"op":"stats"}"#)["stats"]?["timers"] == 7)
    }
}
