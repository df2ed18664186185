import BusJSON
import TestModes
import TestSupport
import Testing

/// What a client wants its stores to be like: `ifRevision` and `if`, looked at where the request is committed.
@Suite(.inBothModes) struct ConditionTests {
    private func bus() throws -> (MemoryBus, MemoryClient) {
        let bus = try MemoryBus.logging("counter/a", "counter/b", "thermostat/t")
        let client = bus.connect(uid: 0)
        try client.increment("counter/a", by: 3)
        return (bus, client)
    }

    private static func line(_ condition: String, _ more: String = "") -> String {
        #"{"op":"dispatch","store":"counter/a","action":"increment","if":\#(condition)\#(more)}"#
    }

    @Test(
        arguments: [
            (#""count == 3""#, true), (#""= count == 3""#, true), (#""state.count < 3""#, false),
            (#""count % 2 == 1 && !isEven""#, true), (#""store == 'counter/a'""#, true),
            (#""store.startsWith('thermostat/')""#, false),
            (#""meta.time > 1.7e9 && meta.revision == 5""#, true),
            (#""true""#, true), (#""nothing == 3""#, false), (#""count""#, false),
            (#""count / 0 == 1""#, false),
            (#""has(state.count) && !has(state.other)""#, true), (#""[1,2,3].exists(x, x == count)""#, true),
            (#"{"==":[{"var":"count"},3]}"#, true), (#"{"<":[{"var":"state.count"},3]}"#, false),
            (#"{"var":"isEven"}"#, false), (#"{"in":["counter",{"var":"store"}]}"#, true),
            (#"{">":[{"var":"meta.time"},1700000000]}"#, true), (#"{"literal":true}"#, true),
        ])
    func dispatchIsCommittedWhereItsConditionHolds(_ condition: String, _ holds: Bool) throws {
        let (bus, client) = try bus()
        let reply = try client.reply(to: Self.line(condition))
        #expect(reply["ok"]?.bool == holds, "\(reply)")
        if !holds {
            #expect(reply["error"]?["code"] == "conflict")
            #expect(reply["error"]?["store"] == "counter/a")
            #expect(reply["error"]?["revision"] == 4)
        }
        #expect(try client.state(of: "counter/a")?["count"] == (holds ? 4 : 3))
        #expect(try bus.isWhatTheLogSays())
    }

    @Test(
        arguments: [
            ("3", "invalid_request"), ("null", "invalid_request"), ("[]", "invalid_request"),
            ("true", "invalid_request"),
            (#""count <""#, "invalid_request"), (#""""#, "invalid_request"),
            (#""1 + 'a' == 2""#, "invalid_request"),
            (#"{"no":1}"#, "invalid_request"), (#""count + 1""#, "invalid_request"),
        ])
    func conditionThatCantBeUnderstoodIsNamed(_ condition: String, _ code: String) throws {
        let (_, client) = try bus()
        for line in [
            Self.line(condition), Self.line(condition, #","in":60"#),
            Self.line(condition, #","dryRun":true"#),
            #"{"op":"drop","store":"counter/a","if":\#(condition)}"#,
            #"{"op":"revert","store":"counter/a","revision":1,"if":\#(condition)}"#,
        ] {
            let error = try client.reply(to: line)["error"]
            #expect(error?["code"]?.string == code, "\(line): \(error ?? .null)")
            #expect(error?["member"] == "if", "\(line): \(error ?? .null)")
        }
        let element =
            #"{"op":"dispatch","actions":[{"store":"counter/b","action":"increment"},{"store":"counter/a","action":"increment","if":\#(condition)}]}"#
        let error = try client.reply(to: element)["error"]
        #expect(error?["code"]?.string == code)
        #expect(error?["index"] == 1)
        #expect(error?["member"] == "actions[1].if")
        #expect(try client.state(of: "counter/b")?["count"] == 0)
    }

    @Test func conditionGoesWithOneStore() throws {
        let (_, client) = try bus()
        for line in [
            #"{"op":"dispatch","type":"counter","action":"increment","if":"true"}"#,
            #"{"op":"dispatch","actions":[{"type":"counter","action":"increment","if":"true"}]}"#,
            #"{"op":"dispatch","actions":[{"type":"counter","action":"increment","ifRevision":3}]}"#,
            #"{"op":"dispatch","if":"true","actions":[{"store":"counter/a","action":"increment"}]}"#,
            #"{"op":"will","actions":[{"store":"counter/a","action":"increment","if":"true"}]}"#,
            #"{"op":"create","store":"counter/x","if":"true"}"#,
        ] { #expect(try client.code(of: line) == "invalid_request", "\(line)") }
    }

    /// Each element sees what those before it have done; `ifRevision` is about the revision before the batch.
    @Test func elementsOfABatchAreHeldAgainstWhatIsBeforeThem() throws {
        let (bus, client) = try bus()
        let batch = { (first: String, second: String) in
            #"{"op":"dispatch","actions":[{"store":"counter/a","action":"increment",\#(first)},{"store":"counter/a","action":"increment",\#(second)}]}"#
        }
        #expect(try client.code(of: batch(#""if":"count == 3""#, #""if":"count == 3""#)) == "conflict")
        #expect(
            try client.reply(to: batch(#""if":"count == 3""#, #""if":"count == 3""#))["error"]?["index"] == 1)
        #expect(try client.state(of: "counter/a")?["count"] == 3)
        #expect(try client.code(of: batch(#""if":"count == 3""#, #""if":"count == 4""#)) == nil)
        #expect(try client.code(of: batch(#""ifRevision":4"#, #""ifRevision":4"#)) == "conflict")
        #expect(try client.code(of: batch(#""ifRevision":5"#, #""ifRevision":5"#)) == nil)
        #expect(try client.state(of: "counter/a")?["count"] == 7)
        let last = try client.reply(to: batch(#""ifRevision":6"#, #""ifRevision":99"#))["error"]
        #expect(last?["index"] == 1)
        #expect(last?["revision"] == 6)
        #expect(try bus.isWhatTheLogSays())
    }

    @Test func dropAndRevertTakeConditions() throws {
        let (bus, client) = try bus()
        #expect(try client.code(of: #"{"op":"drop","store":"counter/a","ifRevision":3}"#) == "conflict")
        #expect(try client.code(of: #"{"op":"drop","store":"counter/a","if":"count > 3"}"#) == "conflict")
        #expect(
            try client.code(of: #"{"op":"revert","store":"counter/a","revision":1,"if":"count > 3"}"#)
                == "conflict")
        #expect(try client.state(of: "counter/a")?["count"] == 3)
        try client.revision(
            after: #"{"op":"revert","store":"counter/a","revision":3,"if":"count == 3","ifRevision":4}"#)
        #expect(try client.state(of: "counter/a")?["count"] == 0)
        try client.revision(after: #"{"op":"drop","store":"counter/a","if":"count == 0","ifRevision":5}"#)
        #expect(try client.state(of: "counter/a") == nil)
        #expect(try client.code(of: #"{"op":"drop","store":"counter/a","if":"true"}"#) == "unknown_store")
        #expect(try bus.isWhatTheLogSays())
    }

    /// A timer is set where the condition holds; when it is due, nobody asks again.
    @Test func conditionOfADispatchThatComesLaterIsLookedAtNow() throws {
        let (bus, client) = try bus()
        #expect(try client.code(of: Self.line(#""count == 2""#, #","in":60"#)) == "conflict")
        #expect(try client.code(of: Self.line(#""count == 3""#, #","in":5"#)) == nil)
        try client.increment("counter/a", by: 10)
        bus.advance(milliseconds: 6000)
        #expect(try client.state(of: "counter/a")?["count"] == 14)
    }

    @Test func keyIsAnsweredAgainWhateverHoldsNow() throws {
        let (_, client) = try bus()
        let line = Self.line(#""count == 3""#, #","key":"k""#)
        let first = try client.reply(to: line)
        #expect(
            try client.reply(to: line) == [
                "ok": true, "revision": first["revision"]!, "matched": 1, "changed": 1, "duplicate": true,
            ])
        #expect(try client.code(of: Self.line(#""count == 4""#, #","key":"k""#)) == "conflict")
        #expect(try client.code(of: Line.increment(id: 1, #","key":"k""#)) == "conflict")
        // A conflict is no commit, so its key is free.
        #expect(try client.code(of: Self.line(#""count == 9""#, #","key":"l""#)) == "conflict")
        #expect(try client.code(of: Self.line(#""count == 4""#, #","key":"l""#)) == nil)
    }

    /// Only one of many who have read the same takes it.
    @Test func oneOfManyTakesWhatIsFree() throws {
        let (bus, client) = try bus()
        let clients = (0..<20).map { _ in bus.connect() }
        for (number, one) in clients.enumerated() {
            one.queue(
                #"{"op":"dispatch","id":\#(number),"store":"counter/b","action":"increment","payload":{"by":\#(number + 1)},"if":"count == 0"}"#
            )
        }
        bus.settle()
        let replies = try clients.map { try #require(try $0.next()) }
        #expect(replies.count { $0["ok"] == true } == 1)
        #expect(replies.count { $0["error"]?["code"] == "conflict" } == 19)
        let winner = try #require(replies.first { $0["ok"] == true }?["id"]?.int)
        #expect(try client.state(of: "counter/b")?["count"]?.int == winner + 1)
    }

    // MARK: - Bounds

    @Test func longAndDeepConditionsAreRefused() throws {
        let (_, client) = try bus()
        let sum = { (count: Int) in
            "count == 3 || " + Array(repeating: "1", count: count).joined(separator: "+") + " == 0"
        }
        let long = [
            "\"\(String(repeating: "x", count: 1_000_000))\"", "\"\(sum(4000))\"",
            #"{"==":[{"cat":["\#(String(repeating: "y", count: 5000))"]},1]}"#,
            String(repeating: #"{"!":"#, count: 50) + "true" + String(repeating: "}", count: 50)
                + ",\"x\":\"\(String(repeating: "y", count: 5000))\"",
        ]
        for condition in long {
            #expect(
                ["too_large", "invalid_request"].contains(try client.code(of: Self.line(condition))),
                "\(condition.prefix(40))")
            #expect(try client.isUsable())
        }
        let deep = [
            "\"" + String(repeating: "(", count: 2000) + "true" + String(repeating: ")", count: 2000) + "\"",
            "\"" + String(repeating: "!", count: 4000) + "true\"",
            "\"" + String(repeating: "[", count: 4000) + "\"",
        ]
        for condition in deep {
            #expect(try client.code(of: Self.line(condition)) == "invalid_request", "\(condition.prefix(40))")
        }
        let list = Array(repeating: "1", count: 1500).joined(separator: ",")
        #expect(try client.code(of: Self.line("\"size([\(list)]) > 0\"")) == nil)
    }

    /// A batch has so much of conditions that they are compiled in milliseconds; evaluating them is of the commit's budget.
    @Test func conditionsOfABatchAreBoundedTogether() throws {
        let (_, client) = try bus()
        func batch(_ count: Int, _ condition: (Int) -> String) -> String {
            let elements = (0..<count).map {
                #"{"store":"counter/a","action":"increment","payload":{"by":0},"if":"\#(condition($0))"}"#
            }
            return #"{"op":"dispatch","actions":[\#(elements.joined(separator: ","))]}"#
        }
        #expect(try client.code(of: batch(1000) { _ in "count == 3" }) == nil)
        #expect(
            try client.code(
                of: batch(100) { "count == 3 && '\(String(repeating: "x", count: 900))\($0)' != ''" })
                == "too_large")
        let endless =
            "[1,2,3,4,5,6,7,8,9].all(a, [1,2,3,4,5,6,7,8,9].all(b, [1,2,3,4,5,6,7,8,9].all(c, [1,2,3,4,5,6,7,8,9].all(d, a + b + c + d + count > 0))))"
        #expect(try client.code(of: batch(60) { _ in endless }) == "rejected")
        #expect(try client.isUsable())
    }
}
