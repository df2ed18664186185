import BusJSON
import TestModes
import TestSupport
import Testing

/// `where`: the stores that are meant are those for which an expression holds.
@Suite(.inBothModes) struct FilterTests {
    private func bus() throws -> (MemoryBus, MemoryClient) {
        let bus = try MemoryBus.logging("counter/a", "counter/b", "counter/c", "counter/d", "thermostat/t")
        let client = bus.connect(uid: 0)
        for (store, count) in [("b", 1), ("c", 2), ("d", 3)] {
            try client.increment("counter/\(store)", by: count)
        }
        return (bus, client)
    }

    private func names(_ reply: JSON) -> [String] {
        (reply["states"]?.object?.keys ?? reply["stores"]?.array?.compactMap { $0["store"]?.string } ?? [])
            .map { String($0.split(separator: "/")[1]) }
    }

    @Test(
        arguments: [
            (#""count > 1""#, ["c", "d"]), (#""state.count > 1""#, ["c", "d"]), (#""isEven""#, ["a", "c"]),
            (#""store == 'counter/b'""#, ["b"]), (#""store.endsWith('d') || count == 0""#, ["a", "d"]),
            (#""true""#, ["a", "b", "c", "d"]), (#""false""#, []), (#""nothing == 1""#, []),
            (#""has(state.count) && !has(state.other)""#, ["a", "b", "c", "d"]),
            (#""6 / count == 3""#, ["c"]), (#""[1, 3].exists(x, x == count)""#, ["b", "d"]),
            (#"{">":[{"var":"count"},1]}"#, ["c", "d"]), (#"{"var":"state.isEven"}"#, ["a", "c"]),
            (#"{"some":[[1,3],{"==":[{"var":""},{"val":[[2],"count"]}]}]}"#, ["b", "d"]),
        ])
    func readsGiveTheStoresForWhichItHolds(_ condition: String, _ expected: [String]) throws {
        let (_, client) = try bus()
        for line in [
            #"{"op":"get","type":"counter","where":\#(condition)}"#,
            #"{"op":"get","match":"*/?","where":\#(condition),"select":["/none"]}"#,
            #"{"op":"stores","match":"counter/*","where":\#(condition)}"#,
        ] {
            let reply = try client.reply(to: line)
            let found = names(reply).filter { $0 != "t" }
            #expect(found == expected, "\(line): \(reply)")
        }
    }

    @Test func timeAndRevisionAreThoseOfTheAnswer() throws {
        let (_, client) = try bus()
        let time = #"{"op":"get","store":"counter/a","where":"meta.time > 1.7e9 && meta.revision == 8"}"#
        #expect(names(try client.reply(to: time)) == ["a"])
        try client.increment()
        #expect(names(try client.reply(to: time)) == [])
    }

    /// A page holds so many stores that are meant, and `next` stands there where more of them follow.
    @Test(arguments: ["get", "stores"]) func pagesCountWhatIsMeant(_ operation: String) throws {
        let (_, client) = try bus()
        let line = { (limit: Int, condition: String, more: String) in
            #"{"op":"\#(operation)","match":"counter/*","where":"\#(condition)","limit":\#(limit)\#(more)}"#
        }
        let first = try client.reply(to: line(1, "count > 1", ""))
        #expect(names(first) == ["c"])
        #expect(first["next"] == "counter/c")
        let second = try client.reply(to: line(1, "count > 1", #","after":"counter/c""#))
        #expect(names(second) == ["d"])
        #expect(second["next"] == nil)
        let low = try client.reply(to: line(2, "count < 2", ""))
        #expect(names(low) == ["a", "b"])
        #expect(low["next"] == nil)
    }

    @Test func aStoreThatIsAskedForByNameIsThereOrNot() throws {
        let (_, client) = try bus()
        #expect(names(try client.reply(to: #"{"op":"get","store":"counter/c","where":"isEven"}"#)) == ["c"])
        #expect(names(try client.reply(to: #"{"op":"get","store":"counter/b","where":"isEven"}"#)) == [])
        #expect(
            try client.code(of: #"{"op":"get","store":"counter/x","where":"isEven"}"#) == "unknown_store")
    }

    @Test func thePastIsAskedLikeThePresent() throws {
        let (_, client) = try bus()
        let line = #"{"op":"get","type":"counter","where":"count > 0 && meta.revision == 7","revision":7}"#
        #expect(names(try client.reply(to: line)) == ["b", "c"])
    }

    @Test(
        arguments: [
            ("3", "invalid_request"), ("null", "invalid_request"), ("[]", "invalid_request"),
            (#""count <""#, "invalid_request"), (#""""#, "invalid_request"),
            (#"{"no":1}"#, "invalid_request"),
            (#""count + 1""#, "invalid_request"),
            ("\"" + String(repeating: "!", count: 5000) + "true\"", "too_large"),
        ])
    func expressionThatCantBeUnderstoodIsNamed(_ condition: String, _ code: String) throws {
        let (_, client) = try bus()
        for line in [
            #"{"op":"get","type":"counter","where":\#(condition)}"#,
            #"{"op":"stores","where":\#(condition)}"#,
            #"{"op":"dispatch","type":"counter","action":"increment","where":\#(condition)}"#,
        ] {
            let error = try client.reply(to: line)["error"]
            #expect(error?["code"]?.string == code, "\(line): \(error ?? .null)")
            #expect(error?["member"] == "where", "\(line): \(error ?? .null)")
        }
    }

    @Test func aMistakeNamesItsPlace() throws {
        let (_, client) = try bus()
        for line in [
            #"{"op":"get","type":"counter","where":"count <"}"#, Self.dispatch("count <"),
            #"{"op":"subscribe","type":"counter","where":"count <"}"#,
        ] {
            let message = try client.reply(to: line)["error"]?["message"]?.string ?? ""
            #expect(message.contains("`where` can't be understood: line 1, column 8"), "\(message)")
        }
    }

    // MARK: Dispatches

    private static func dispatch(_ condition: String, _ more: String = "") -> String {
        #"{"op":"dispatch","type":"counter","action":"increment","where":"\#(condition)"\#(more)}"#
    }

    private func counts(_ client: MemoryClient) throws -> [Int?] {
        let states = try client.reply(to: #"{"op":"get","type":"counter"}"#)["states"]
        return ["a", "b", "c", "d"].map { states?["counter/\($0)"]?["count"]?.int }
    }

    @Test func aDispatchReachesTheStoresForWhichItHolds() throws {
        let (bus, client) = try bus()
        let watcher = bus.connect()
        try watcher.ask(#"{"op":"subscribe","type":"counter","actions":true}"#)
        let rehearsed = try client.reply(to: Self.dispatch("count > 1", #","dryRun":true"#))
        #expect(rehearsed["matched"] == 2)
        #expect(try counts(client) == [0, 1, 2, 3])
        let reply = try client.reply(to: Self.dispatch("count > 1"))
        #expect(reply["matched"] == 2)
        #expect(reply["changed"] == 2)
        #expect(try counts(client) == [0, 1, 3, 4])
        let nothing = try client.reply(to: Self.dispatch("count > 10"))
        #expect(nothing["matched"] == 0)
        #expect(nothing["revision"] == 10)
        let events = try watcher.all().filter { $0["event"] == "action" }
        #expect(events.map { $0["where"] } == ["count > 1", "count > 10"])
        let past = try client.reply(to: #"{"op":"history","since":8}"#)["commits"]?.array
        #expect(past?.map { $0["actions"]?[0]?["where"] } == ["count > 1", "count > 10"])
        #expect(past?.first?["actions"]?[0]?["type"] == "counter")
        #expect(try bus.isWhatTheLogSays())
    }

    /// What the commits before have done decides, and the actions of one batch see each other.
    @Test func itIsDecidedInTheCommit() throws {
        let (bus, client) = try bus()
        let element = { (condition: String) in
            #"{"type":"counter","action":"increment","where":"\#(condition)"}"#
        }
        let batch = [element("count == 3"), element("count >= 3"), element("count == 5")]
        let reply = try client.reply(
            to: #"{"op":"dispatch","actions":[\#(batch.joined(separator: ","))]}"#)
        #expect(reply["matched"] == 1, "\(reply)")
        #expect(try counts(client) == [0, 1, 2, 6])
        let mixed =
            #"{"op":"dispatch","actions":[{"op":"create","store":"counter/e","state":{"count":9}},{"type":"counter","action":"increment","where":"count > 5"},{"op":"drop","store":"counter/a"}]}"#
        #expect(try client.reply(to: mixed)["matched"] == 3)
        #expect(try counts(client) == [nil, 1, 2, 7])
        #expect(try client.state(of: "counter/e")?["count"] == 10)
        #expect(try bus.isWhatTheLogSays())
    }

    @Test func whatTheTypeAsksOfAStoreComesAfterIt() throws {
        let bus = try MemoryBus.logging("lamp/a", "lamp/b", "lamp/c") {
            $0.definitions = [
                """
                type: lamp
                initial: { level: 0, locked: false }
                actions:
                  set: { payload: { to: integer }, set: { level: = payload.to } }
                  lock: { set: { locked: true } }
                  dim: { when: state.level > 4, require: [{ if: "!state.locked", else: locked }], set: { level: 1 } }
                """
            ]
        }
        let client = bus.connect(uid: 0)
        for (name, level) in [("a", 9), ("b", 3), ("c", 9)] {
            try client.revision(
                after:
                    #"{"op":"dispatch","store":"lamp/\#(name)","action":"set","payload":{"to":\#(level)}}"#)
        }
        try client.revision(after: #"{"op":"dispatch","store":"lamp/c","action":"lock"}"#)
        let dim = { (condition: String) in
            #"{"op":"dispatch","type":"lamp","action":"dim","where":"\#(condition)"}"#
        }
        #expect(try client.code(of: dim("level > 0")) == "rejected")
        let reply = try client.reply(to: dim("!locked"))
        #expect(reply["matched"] == 2)
        #expect(reply["changed"] == 1)
        #expect(try bus.isWhatTheLogSays())
    }

    @Test func anActionOfEveryTypeIsChosenIn() throws {
        let (bus, client) = try bus()
        try client.revision(after: #"{"op":"create","store":"todo/x"}"#)
        let reply = try client.reply(
            to: #"{"op":"dispatch","type":"*","action":"increment","where":"count == 2 || target == 20"}"#)
        #expect(reply["matched"] == 1, "\(reply)")
        #expect(try counts(client) == [0, 1, 3, 3])
        #expect(try bus.isWhatTheLogSays())
    }

    @Test func itGoesWithATypeNow() throws {
        let (_, client) = try bus()
        for line in [
            #"{"op":"dispatch","store":"counter/a","action":"increment","where":"true"}"#,
            #"{"op":"dispatch","where":"true","actions":[{"type":"counter","action":"increment"}]}"#,
            #"{"op":"dispatch","actions":[{"store":"counter/a","action":"increment","where":"true"}]}"#,
            #"{"op":"dispatch","actions":[{"op":"drop","store":"counter/a","where":"true"}]}"#,
            #"{"op":"will","actions":[{"type":"counter","action":"increment","where":"true"}]}"#,
            Self.dispatch("true", #","in":60"#),
            Self.dispatch("true", #","if":"true""#),
        ] { #expect(try client.code(of: line) == "invalid_request", "\(line)") }
        #expect(try counts(client) == [0, 1, 2, 3])
    }

    @Test func aRetryIsNotCommittedAgain() throws {
        let (bus, client) = try bus()
        let line = Self.dispatch("count == 3", #","key":"k""#)
        #expect(try client.reply(to: line)["matched"] == 1)
        let again = try client.reply(to: line)
        #expect(again["duplicate"] == true)
        #expect(again["matched"] == 1)
        #expect(try client.code(of: Self.dispatch("count == 4", #","key":"k""#)) == "conflict")
        #expect(try counts(client) == [0, 1, 2, 4])
        #expect(try bus.isWhatTheLogSays())
    }

    /// Alike lines of the log are counted; the revision is another one each time.
    @Test func whatDependsOnTheRevisionIsReplayedAsItWas() throws {
        let (bus, client) = try bus()
        let line = Self.dispatch("meta.revision % 2 == 0 && count < 3")
        for _ in 0..<6 { client.queue(line) }
        client.send(line)
        _ = try client.all()
        #expect(try counts(client) == [3, 3, 3, 3])
        #expect(try bus.isWhatTheLogSays())
    }

    @Test func whatTakesTooMuchIsRefused() throws {
        let (bus, client) = try bus()
        let long =
            "[1,2,3,4,5,6,7,8,9].all(a, [1,2,3,4,5,6,7,8,9].all(b, [1,2,3,4,5,6,7,8,9].all(c, [1,2,3,4,5,6,7,8,9].all(d, [1,2,3,4,5,6,7,8,9].all(e, count >= 0)))))"
        #expect(try client.code(of: Self.dispatch(long)) == "rejected")
        // Nothing depends on what a read takes of one store: it has no value there.
        #expect(names(try client.reply(to: #"{"op":"get","type":"counter","where":"\#(long)"}"#)) == [])
        #expect(try counts(client) == [0, 1, 2, 3])
        #expect(try bus.isWhatTheLogSays())
    }

    @Test func whatAllOfThemTakeTogetherIsBounded() throws {
        let bus = try MemoryBus.logging("counter/a", "counter/b", "counter/c", "counter/d") {
            $0.limits.bus.commit = 100_000
        }
        let client = bus.connect(uid: 0)
        let digits = "[1,2,3,4,5,6,7,8,9]"
        let long =
            "\(digits).all(a, \(digits).all(b, \(digits).all(c, \(digits).all(d, a + b + c + d >= count))))"
        let error = try client.reply(to: Self.dispatch(long))["error"]
        #expect(error?["code"] == "rejected")
        #expect(error?["message"]?.string?.contains("used up by `where`") == true, "\(error ?? .null)")
        let wide = "count > 5 || " + String(repeating: " ", count: 4000) + "false"
        let element = #"{"type":"counter","action":"increment","where":"\#(wide)"}"#
        let actions = Array(repeating: element, count: 40).joined(separator: ",")
        let refusal = try client.reply(to: #"{"op":"dispatch","actions":[\#(actions)]}"#)["error"]
        #expect(refusal?["code"] == "too_large" && refusal?["index"] == 4, "\(refusal ?? .null)")
        #expect(try bus.isWhatTheLogSays())
    }

    /// What a client sends again and again is read by what it was the last time.
    @Test func eachDispatchHasItsOwn() throws {
        let (bus, client) = try bus()
        for count in [3, 2, 1, 0, 9] {
            let reply = try client.reply(to: Self.dispatch("count == \(count)"))
            #expect(reply["matched"]?.int == (count == 9 ? 0 : 1), "\(count): \(reply)")
        }
        let all = #"{"op":"dispatch","type":"counter","action":"increment"}"#
        #expect(try client.reply(to: all)["matched"] == 4)
        #expect(try client.reply(to: Self.dispatch("count == 2"))["matched"] == 1)
        #expect(try counts(client) == [3, 3, 4, 5])
        #expect(try bus.isWhatTheLogSays())
    }

    @Test func aDispatchSeesTheRevisionThatItMakes() throws {
        let (_, client) = try bus()
        #expect(try client.reply(to: Self.dispatch("meta.revision == 8"))["matched"] == 0)
        #expect(try client.reply(to: Self.dispatch("meta.revision == 10"))["matched"] == 4)
    }

    /// An action of every type has a step for each type.
    @Test func everyTypeIsChosenIn() throws {
        let bus = try MemoryBus.logging("counter/a", "tally/a", "tally/b") {
            $0.definitions = [
                "type: tally\ninitial: { count: 0 }\nactions: { increment: { increment: { count: 1 } } }"
            ]
        }
        let client = bus.connect(uid: 0)
        try client.revision(after: #"{"op":"dispatch","store":"tally/b","action":"increment"}"#)
        for (condition, matched) in [("count == 0", 2), ("count == 0", 0), ("count == 1", 3)] {
            let reply = try client.reply(
                to: #"{"op":"dispatch","type":"*","action":"increment","where":"\#(condition)"}"#)
            #expect(reply["matched"]?.int == matched, "\(condition): \(reply)")
        }
        #expect(try bus.isWhatTheLogSays())
    }
}
