import BusJSON
import TestModes
import TestSupport
import Testing

/// A request with a key is committed once, however often it is sent.
@Suite(.inBothModes) struct KeyTests {
    private let increment = #"{"op":"dispatch","store":"counter/a","action":"increment","key":"k""#

    @Test func secondRequestGetsTheFirstOnesReply() throws {
        let bus = try MemoryBus.with("counter/a")
        let client = bus.connect()
        let first = try client.reply(to: increment + "}")
        try client.increment()
        let second = try client.reply(to: increment + "}")
        #expect(first == ["ok": true, "revision": 2, "matched": 1, "changed": 1])
        #expect(second == ["ok": true, "revision": 2, "matched": 1, "changed": 1, "duplicate": true])
        #expect(try client.state(of: "counter/a")?["count"] == 2)
        #expect(try client.revision(after: #"{"op":"sync"}"#) == 3)
    }

    @Test func keysBelongToAnIdentity() throws {
        let bus = try MemoryBus.with("counter/a")
        let (one, sameUser, another) = (bus.connect(uid: 1), bus.connect(uid: 1), bus.connect(uid: 2))
        #expect(try one.reply(to: increment + "}")["duplicate"] == nil)
        #expect(try sameUser.reply(to: increment + "}")["duplicate"] == true)
        #expect(try another.reply(to: increment + "}")["duplicate"] == nil)
        #expect(try one.state(of: "counter/a")?["count"] == 2)
    }

    /// The same request, however it is written: members in another order, defaults left out or not.
    @Test(arguments: [
        #"{"key":"k","action":"increment","store":"counter/a","op":"dispatch"}"#,
        #"{"op":"dispatch","store":"counter/a","action":"increment","payload":{},"key":"k"}"#,
        #"{"op":"dispatch","store":"counter/a","action":"increment","key":"k","ack":true,"id":17}"#,
    ])
    func sameRequestWrittenOtherwiseIsADuplicate(_ request: String) throws {
        let client = try MemoryBus.with("counter/a").connect()
        try client.revision(after: increment + "}")
        #expect(try client.reply(to: request)["duplicate"] == true)
    }

    @Test func flagsWrittenOutOrLeftOutAreTheSameRequest() throws {
        let client = try MemoryBus.with("counter/a").connect()
        try client.revision(after: #"{"op":"create","store":"counter/b","key":"k"}"#)
        let again = #"{"op":"create","store":"counter/b","key":"k","ephemeral":false,"ifMissing":false}"#
        #expect(try client.reply(to: again)["duplicate"] == true)
    }

    /// A dry run commits nothing, so there is nothing to recognise.
    @Test func dryRunIsTriedAnewWhateverItsKey() throws {
        let client = try MemoryBus.with("counter/a").connect()
        try client.revision(after: increment + "}")
        let reply = try client.reply(to: increment + #","dryRun":true}"#)
        #expect(reply["duplicate"] == nil)
        #expect(reply["changes"] != nil)
    }

    @Test(
        arguments: [
            #"{"op":"dispatch","store":"counter/a","action":"increment","payload":{"by":2},"key":"k"}"#,
            #"{"op":"dispatch","store":"counter/a","action":"decrement","key":"k"}"#,
            #"{"op":"dispatch","store":"counter/b","action":"increment","key":"k"}"#,
            #"{"op":"dispatch","type":"counter","action":"increment","key":"k"}"#,
            #"{"op":"create","store":"counter/c","key":"k"}"#,
            #"{"op":"drop","store":"counter/a","key":"k"}"#,
        ])
    func anotherRequestWithTheKeyIsAConflict(_ request: String) throws {
        let client = try MemoryBus.with("counter/a", "counter/b").connect(uid: 0)
        try client.revision(after: increment + "}")
        #expect(try client.code(of: request) == "conflict")
        #expect(try client.revision(after: #"{"op":"sync"}"#) == 3)
    }

    /// What is remembered of a client's lines changes nothing about its keys: a client without a past that sends the same
    /// request in other words gets its reply, and another request is a conflict.
    @Test(arguments: 0..<4) func keysOfRequestsLikeThoseBeforeAreThoseOfAnyRequest(seed: UInt64) throws {
        var random = SeededGenerator(seed: 0x6b65 + seed)
        let long = String(repeating: "s", count: 128)
        let bus = try MemoryBus.with("counter/a", "counter/b", "counter/\(long)")
        let client = bus.connect()
        let stores = ["counter/a", "counter/b", "counter/\(long)"]
        func request(_ kind: Int) -> String {
            let store = stores.randomElement(using: &random)!
            let action = random.oneIn(4) ? "decrement" : "increment"
            let payload = [#","payload":{"by":\#(Int.random(in: 1...3, using: &random))}"#, ""]
                .randomElement(using: &random)!
            switch kind {
            case 0: return #""store":"\#(store)","action":"\#(action)"\#(payload)"#
            case 1: return #""type":"counter","action":"\#(action)"\#(payload)"#
            default:
                return #""actions":[{"store":"\#(store)","action":"\#(action)"\#(payload)},"#
                    + #"{"store":"counter/a","action":"increment"}]"#
            }
        }
        var before = ""
        for number in 0..<300 {
            let body = request(random.oneIn(4) ? Int.random(in: 0..<3, using: &random) : 0)
            let first = try client.reply(to: #"{"op":"dispatch",\#(body),"key":"\#(number)"}"#)
            #expect(first["ok"] == true && first["duplicate"] == nil, "\(body)")
            let again = try bus.connect().reply(to: #"{ "key":"\#(number)", \#(body), "op":"dispatch"}"#)
            #expect(again["duplicate"] == true && again["revision"] == first["revision"], "\(body)")
            if body != before, number > 0 {
                let other = #"{"op":"dispatch",\#(body),"key":"\#(number - 1)"}"#
                #expect(try client.code(of: other) == "conflict", "\(body) after \(before)")
            }
            before = body
        }
    }

    @Test func refusedRequestLeavesItsKeyFree() throws {
        let client = try MemoryBus().connect()
        #expect(try client.code(of: increment + "}") == "unknown_store")
        try client.revision(after: #"{"op":"create","store":"counter/a"}"#)
        #expect(try client.reply(to: increment + "}")["duplicate"] == nil)
    }

    @Test func anotherEpochIsAConflict() throws {
        let client = try MemoryBus.with("counter/a").connect()
        #expect(try client.code(of: increment + #","after":0,"epoch":"another"}"#) == "conflict")
        #expect(try client.state(of: "counter/a")?["count"] == 0)
    }

    @Test func afterAndEpochOfNowAreAccepted() throws {
        let bus = try MemoryBus.with("counter/a")
        let client = bus.connect()
        let request = increment + #","after":1,"epoch":"\#(bus.epoch)"}"#
        #expect(try client.reply(to: request)["duplicate"] == nil)
        #expect(try client.reply(to: request)["duplicate"] == true)
    }

    @Test func forgottenKeysAreAConflictAndNeverASecondCommit() throws {
        let bus = try MemoryBus.with("counter/a")
        let client = bus.connect()
        let request = increment + #","after":1,"epoch":"\#(bus.epoch)"}"#
        try client.revision(after: request)
        for index in 0..<100_000 {
            client.send(#"{"op":"dispatch","type":"door","action":"rang","key":"x\#(index)","ack":false}"#)
        }
        let again = try client.reply(to: request)
        #expect(again["error"]?["code"] == "conflict" || again["duplicate"] == true)
        #expect(try client.state(of: "counter/a")?["count"] == 1)
    }

    @Test func hundredThousandKeysAreRemembered() throws {
        let bus = try MemoryBus.with("counter/a")
        let client = bus.connect()
        try client.revision(after: increment + "}")
        for index in 0..<99_999 {
            client.send(#"{"op":"dispatch","type":"door","action":"rang","key":"x\#(index)","ack":false}"#)
        }
        #expect(try client.reply(to: increment + "}")["duplicate"] == true)
    }

    /// Old keys make room for new ones, and nothing of the others is lost by that, nor on the way to the next daemon.
    @Test(.aloneOnly(because: "A member of a shared bus hands nothing over."))
    func rememberedKeysStayFoundWhileOldOnesGo() throws {
        let bus = try MemoryBus.with("counter/a")
        let client = bus.connect()
        func ring(_ index: Int) -> String {
            #"{"op":"dispatch","type":"door","action":"rang","key":"x\#(index)""#
        }
        for index in 0..<106_000 { client.send(ring(index) + #","ack":false}"#) }
        for index in stride(from: 6_000, to: 106_000, by: 7) {
            #expect(try client.reply(to: ring(index) + "}")["duplicate"] == true, "x\(index)")
        }
        try bus.restart()
        for index in stride(from: 6_000, to: 106_000, by: 61) {
            #expect(try client.reply(to: ring(index) + "}")["duplicate"] == true, "x\(index) after a restart")
        }
        for index in stride(from: 0, to: 6_000, by: 17) {
            let again = ring(index) + #","after":1,"epoch":"\#(bus.epoch)"}"#
            #expect(try client.reply(to: again)["error"]?["code"] == "conflict", "x\(index)")
        }
    }

    @Test(arguments: [#","key":"""#, #","key":5"#, #","after":1,"epoch":"e""#, #","key":"k","after":1"#])
    func malformedKeyIsRefused(_ members: String) throws {
        let client = try MemoryBus.with("counter/a").connect()
        let request = #"{"op":"dispatch","store":"counter/a","action":"increment"\#(members)}"#
        #expect(try client.code(of: request) == "invalid_request")
    }

    @Test func keyTooLongIsRefused() throws {
        let client = try MemoryBus.with("counter/a").connect()
        for (length, expected) in [(128, nil), (129, "invalid_request")] {
            let key = String(repeating: "k", count: length)
            let request = #"{"op":"dispatch","store":"counter/a","action":"increment","key":"\#(key)"}"#
            #expect(try client.code(of: request) == expected)
        }
    }
}
