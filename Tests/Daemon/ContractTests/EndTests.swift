import BusJSON
import TestModes
import TestSupport
import Testing

/// What happens when a connection ends, however it ends.
@Suite(.inBothModes) struct EndTests {
    enum Ending: CaseIterable, Sendable { case close, finishSending, goodbye, slowConsumer }

    private let will = #"{"op":"will","actions":[{"store":"counter/left","action":"increment"}]}"#

    @Test(
        arguments: Ending.allCases) func willRunsOnAnyEnd(_ ending: Ending) throws
    {
        var setup = MemoryBus.Setup()
        setup.limits.daemon.outbox = 4096
        setup.stores = ["counter/left", "door/front"]
        let bus = try MemoryBus(setup)
        let (client, observer) = (bus.connect(), bus.connect())
        #expect(try client.code(of: will) == nil)
        switch ending {
        case .close: client.close()
        case .finishSending: client.finishSending()
        case .goodbye:
            bus.engine.goodbye(client.connection, .restart, "Again soon.")
            bus.settle()
        // A bus with a log, as a shared one has, tells it later.
        case .slowConsumer where BusMode.current == .shared: client.close()
        case .slowConsumer:
            try client.ask(#"{"op":"subscribe","type":"door","actions":true}"#)
            client.isReading = false
            for _ in 0..<100 { try observer.ask(#"{"op":"dispatch","type":"door","action":"rang"}"#) }
            bus.advance(milliseconds: 1000)
            client.isReading = true
        }
        #expect(client.isEnded)
        #expect(try observer.state(of: "counter/left")?["count"] == 1)
    }

    @Test func ephemeralStoresGoWithTheirConnection() throws {
        let bus = try MemoryBus.with("counter/left")
        let (client, observer) = (bus.connect(uid: 5), bus.connect())
        let listed = #"{"op":"stores","match":"*/mine*"}"#
        try client.revision(after: #"{"op":"create","store":"counter/mine","ephemeral":true}"#)
        try client.revision(after: #"{"op":"create","store":"todo/mine2","ephemeral":true}"#)
        #expect(
            try observer.reply(to: listed)["stores"]?.array?.allSatisfy { $0["ephemeral"] == true } == true)
        try client.ask(will)
        try observer.ask(#"{"op":"subscribe","match":"*/*","initial":false,"cause":true}"#)
        client.close()
        let events = try observer.all()
        // One commit: the will and the drops, by the client that went.
        #expect(events.count == 1)
        #expect(events.first?["revision"] == 4)
        #expect(events.first?["changes"] == ["counter/left": ["count": 1, "isEven": false]])
        #expect(
            Set(events.first?["dropped"]?.array?.compactMap(\.string) ?? []) == [
                "counter/mine", "todo/mine2",
            ])
        #expect(events.first?["cause"]?["by"]?["uid"] == 5)
        #expect(try observer.reply(to: listed)["stores"] == [])
    }

    @Test func rejectedWillIsLoggedAndTheDropsStillHappen() throws {
        let bus = try MemoryBus.with("door/front")
        let (client, observer) = (bus.connect(), bus.connect())
        try client.ask(#"{"op":"will","actions":[{"store":"door/front","action":"open"}]}"#)
        try client.ask(#"{"op":"create","store":"counter/mine","ephemeral":true}"#)
        try observer.ask(#"{"op":"dispatch","store":"door/front","action":"lock"}"#)
        client.close()
        #expect(try observer.code(of: #"{"op":"get","store":"counter/mine"}"#) == "unknown_store")
        #expect(try observer.state(of: "door/front")?["isOpen"] == false)
        #expect(bus.operatorNotes.count == 1)
    }

    @Test func willOfAStoreThatIsGoneIsLoggedOnly() throws {
        let bus = try MemoryBus()
        let (client, observer) = (bus.connect(), bus.connect())
        try client.ask(#"{"op":"create","store":"counter/left"}"#)
        #expect(try client.code(of: will) == nil)
        try client.ask(#"{"op":"drop","store":"counter/left"}"#)
        client.close()
        #expect(try observer.isUsable())
        #expect(bus.operatorNotes.count == 1)
    }

    @Test func clearedWillDoesNothing() throws {
        let bus = try MemoryBus.with("counter/left")
        let (client, observer) = (bus.connect(), bus.connect())
        try client.ask(will)
        #expect(try client.code(of: #"{"op":"will","actions":[]}"#) == nil)
        client.close()
        #expect(try observer.revision(after: #"{"op":"sync"}"#) == 1)
    }

    @Test(arguments: [
        (#"{"op":"will"}"#, "invalid_request"), (#"{"op":"will","actions":{}}"#, "invalid_request"),
        (#"{"op":"will","actions":[5]}"#, "invalid_request"),
        (#"{"op":"will","actions":[{"type":"nothing","action":"x"}]}"#, "unknown_type"),
        (#"{"op":"will","actions":[{"type":"counter","action":"x"}]}"#, "unknown_action"),
        (
            #"{"op":"will","actions":[{"type":"counter","action":"increment","payload":{"by":"x"}}]}"#,
            "invalid_payload"
        ),
    ])
    func badWillIsRefusedWhenItIsMade(_ request: String, _ code: String) throws {
        #expect(try MemoryBus.with("counter/left").connect().code(of: request) == code)
    }

    /// As of a dispatch, the error names the action; and its index among the others.
    @Test func badPayloadOfAWillIsNamed() throws {
        let client = try MemoryBus.with("counter/left").connect()
        let reply = try client.reply(
            to: #"{"op":"will","actions":[{"type":"counter","action":"increment","payload":{"by":"x"}}]}"#)
        #expect(reply["error"]?["action"] == "increment")
        #expect(reply["error"]?["index"] == 0)
    }

    @Test(arguments: [#""where":"true""#, #""if":"true""#, #""ifRevision":1"#])
    func willHearsThatConditionsAreForDispatches(_ condition: String) throws {
        let client = try MemoryBus.with("counter/left").connect()
        let target = condition.hasPrefix(#""where"#) ? #""type":"counter""# : #""store":"counter/left""#
        let action = "{\(target),\"action\":\"increment\",\(condition)}"
        let error = try client.reply(to: "{\"op\":\"will\",\"actions\":[\(action)]}")["error"]
        #expect(error?["code"] == "invalid_request")
        let message = "is for the actions of a dispatch only; leave it out."
        #expect(error?["message"]?.string?.hasSuffix(message) == true)
    }

    @Test func unfinishedLineIsDiscardedAtTheEndOfInput() throws {
        let bus = try MemoryBus.with("counter/left")
        let (client, observer) = (bus.connect(), bus.connect())
        let line = #"{"op":"dispatch","type":"counter","action":"increment"}"#
        client.send(bytes: Array((line + "\n" + line).utf8))
        client.finishSending()
        #expect(try client.all().count == 1)
        #expect(client.isEnded)
        #expect(try observer.state(of: "counter/left")?["count"] == 1)
    }

    @Test func goodbyePrecedesTheEnd() throws {
        let bus = try MemoryBus()
        let client = bus.connect()
        bus.shutDown()
        let lines = try client.all()
        #expect(lines.count == 1)
        #expect(lines.first?["event"] == "goodbye")
        #expect(lines.first?["code"] == "shutdown")
        #expect(client.isEnded)
    }

    @Test func nothingComesAfterTheGoodbye() throws {
        let bus = try MemoryBus.logging("counter/a")
        let client = bus.connect()
        bus.answersPast = false
        client.send(#"{"op":"history"}"#)
        bus.engine.goodbye(client.connection, .restart, "Again soon.")
        bus.answersPast = true
        #expect(try client.all().map { $0["event"] } == ["goodbye"])
    }

    /// A will may spend less than a dispatch, as nobody is there who could wait for it; the rest of the end goes on.
    @Test func willThatTakesTooLongIsNotCarriedOut() throws {
        let bus = try MemoryBus()
        let (client, observer) = (bus.connect(), bus.connect())
        for number in 0..<12 { try observer.ask(#"{"op":"create","store":"counter/s\#(number)"}"#) }
        let actions = Array(repeating: #"{"type":"counter","action":"increment"}"#, count: 300)
            .joined(separator: ",")
        try client.ask(#"{"op":"create","store":"counter/gone","ephemeral":true}"#)
        #expect(try client.code(of: #"{"op":"will","actions":[\#(actions)]}"#) == nil)
        client.close()
        #expect(bus.engine.state(at: "counter/s0")?["count"]?.int == 0)
        #expect(bus.engine.state(at: "counter/gone") == nil)
        #expect(bus.operatorNotes.contains { $0.hasPrefix("A will was not committed: ") })
        // As a dispatch it may.
        #expect(try observer.code(of: #"{"op":"dispatch","actions":[\#(actions)]}"#) == nil)
        #expect(bus.engine.state(at: "counter/s0")?["count"]?.int == 300)
    }
}
