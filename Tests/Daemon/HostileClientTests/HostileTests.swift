import BusEngine
import BusJSON
import Foundation
import TestModes
import TestSupport
import Testing

/// What hostile clients may try: it must neither crash nor hang nor bloat the bus, nor reach others.
@Suite(.inBothModes) struct HostileTests {
    static let bag = """
        type: bag
        initial: { items: [], map: {}, é: 1, "e\u{301}": 2 }
        actions:
          put: { payload: { items: array }, set: { items: { var: payload.items } } }
          shift: { unset: [items.0] }
          take: { payload: { item: any }, remove: { items: { var: payload.item } } }
          blend: { payload: { with: object }, merge: { map: { var: payload.with } } }
          boxK: { set: { items: [] } }
          composed: { increment: { é: 1 } }
          decomposed: { increment: { "e\u{301}": 1 } }
        """

    private func bus(_ change: (inout MemoryBus.Setup) -> Void = { _ in }) throws -> MemoryBus {
        var setup = MemoryBus.Setup()
        setup.definitions = [Self.bag]
        setup.stores = ["bag/a"]
        change(&setup)
        return try MemoryBus(setup)
    }

    private func code(_ reply: JSON?) -> String? { reply?["error"]?["code"]?.string }

    @Test func aWillOnItsOwnEphemeralStoreIsToldBeforeTheStoreGoes() throws {
        let bus = try bus()
        let watcher = bus.connect()
        try watcher.ask(#"{"op":"subscribe","type":"bag","actions":true}"#)
        try watcher.ask(#"{"op":"subscribe","store":"bag/mine","cause":true}"#)
        let client = bus.connect()
        try client.ask(#"{"op":"create","store":"bag/mine","ephemeral":true}"#)
        try client.ask(
            #"{"op":"will","actions":[{"store":"bag/mine","action":"put","payload":{"items":[1]}}]}"#)
        _ = try watcher.all()
        client.close()
        let events = try watcher.all()
        #expect(events.count == 2)
        #expect(events.first?["store"] == "bag/mine")
        #expect(events.last?["dropped"] == ["bag/mine"])
        #expect(events.last?["cause"]?["actions"]?[0]?["store"] == "bag/mine")
    }

    @Test func selectionsThatOnlyLookAlikeStayApart() throws {
        let bus = try bus()
        let (first, second) = (bus.connect(), bus.connect())
        try first.ask(#"{"op":"subscribe","store":"bag/a","select":["/é"]}"#)
        try second.ask("{\"op\":\"subscribe\",\"store\":\"bag/a\",\"select\":[\"/e\u{301}\"]}")
        try bus.connect().ask(#"{"op":"dispatch","store":"bag/a","action":"decomposed"}"#)
        #expect(try first.all().isEmpty)
        #expect(try second.all().first?["changes"]?["bag/a"]?["e\u{301}"] == 3)
    }

    @Test func namesThatOnlyLookAlikeNameNothing() throws {
        let bus = try bus()
        let client = bus.connect()
        let dispatch = try client.ask("{\"op\":\"dispatch\",\"type\":\"bag\",\"action\":\"box\u{212A}\"}")
        #expect(code(dispatch.last) == "unknown_action")
        let watcher = bus.connect()
        try watcher.ask("{\"op\":\"subscribe\",\"match\":\"bag/\u{212A}\",\"initial\":false}")
        try client.ask(#"{"op":"create","store":"bag/K"}"#)
        #expect(try watcher.all().isEmpty)
    }

    @Test func aBatchThatCopiesAnArrayOverAndOverIsRejectedWhole() throws {
        let bus = try bus()
        let client = bus.connect()
        let items = Array(repeating: "0", count: 100_000).joined(separator: ",")
        try client.ask(
            "{\"op\":\"dispatch\",\"store\":\"bag/a\",\"action\":\"put\",\"payload\":{\"items\":[\(items)]}}")
        let shift = Array(repeating: #"{"store":"bag/a","action":"shift"}"#, count: 1024)
        let reply = try client.ask("{\"op\":\"dispatch\",\"actions\":[\(shift.joined(separator: ","))]}")
        #expect(code(reply.last) == "rejected")
        let take = #"{"store":"bag/a","action":"take","payload":{"item":1}}"#
        let shorter = try client.ask("{\"op\":\"dispatch\",\"actions\":[\(take),\(shift[0])]}")
        #expect(shorter.last?["changed"] == 1)
        let state = try client.ask(#"{"op":"get","store":"bag/a"}"#)
        #expect(state.last?["states"]?["bag/a"]?["items"]?.array?.count == 99_999)
    }

    @Test func aBatchOverManyStoresIsRejectedWholeByTheBudget() throws {
        let bus = try bus()
        let client = bus.connect()
        for number in 0..<4200 { client.send(#"{"op":"create","store":"bag/s\#(number)"}"#) }
        _ = try client.all()
        let one = #"{"type":"bag","action":"boxK"}"#
        let simple = try client.ask("{\"op\":\"dispatch\",\"actions\":[\(one),\(one)]}")
        #expect(simple.last?["matched"] == 4201)
        let many = Array(repeating: one, count: 1024).joined(separator: ",")
        let reply = try client.ask("{\"op\":\"dispatch\",\"actions\":[\(many)]}")
        #expect(code(reply.last) == "rejected")
        #expect(reply.last?["error"]?["action"] == "boxK")
    }

    @Test func aLargeMergeComesOutExactly() throws {
        let bus = try bus()
        let (client, watcher) = (bus.connect(), bus.connect())
        try watcher.ask(#"{"op":"subscribe","store":"bag/a","format":"patch"}"#)
        func members(_ prefix: String, _ value: String) -> String {
            (0..<1000).map { "\"\(prefix)\($0)\":\(value)" }.joined(separator: ",")
        }
        func blend(_ members: String) -> String {
            #"{"op":"dispatch","store":"bag/a","action":"blend","payload":{"with":{\#(members)}}}"#
        }
        try client.ask(blend(members("z", "1")))
        let old = try client.ask(#"{"op":"get","store":"bag/a"}"#).last?["states"]?["bag/a"]
        _ = try watcher.all()
        try client.ask(blend(members("a", "2") + "," + members("z", "null") + #","x":{"y":null}"#))
        let state = try client.ask(#"{"op":"get","store":"bag/a"}"#).last?["states"]?["bag/a"]
        #expect(state?["map"]?.object?.count == 1001)
        #expect(state?["map"]?["x"] == [:])
        let patch = try #require(try watcher.all().first?["changes"]?["bag/a"])
        #expect(try JSONPatch.apply(patch, to: try #require(old)) == state)
    }

    @Test func whatClientsLeaveBehindCountsAsMemory() throws {
        let bus = try bus { $0.limits.daemon.memory = 1_000_000 }
        let text = String(repeating: "x", count: 30_000)
        let action = #"{"store":"bag/a","action":"put","payload":{"items":["\#(text)"]}}"#
        let codes = try (0..<10).map { _ in
            code(try bus.connect().ask("{\"op\":\"will\",\"actions\":[\(action)]}").last)
        }
        #expect(codes.first == .some(nil))
        #expect(codes.last == "limit")
    }

    @Test func subscriptionShapesCountAsMemory() throws {
        let bus = try bus { $0.limits.daemon.memory = 1_000_000 }
        let client = bus.connect()
        let text = String(repeating: "x", count: 1000)
        func pointers(_ number: Int) -> String {
            (0..<20).map { "\"/\(number)a\($0)\(text)\"" }.joined(separator: ",")
        }
        var codes: [String?] = []
        for number in 0..<40 {
            let reply = try client.ask(
                #"{"op":"subscribe","type":"bag","select":[\#(pointers(number))],"initial":false}"#)
            codes.append(code(reply.last))
        }
        #expect(codes.first == .some(nil))
        #expect(codes.last == "limit")
        for number in 1...40 { client.send(#"{"op":"unsubscribe","sub":\#(number)}"#) }
        _ = try client.all()
        let again = try client.ask(#"{"op":"subscribe","type":"bag","select":[\#(pointers(0))]}"#)
        #expect(again.first?["ok"] == true)
    }

    @Test func storesInPatternsCountAsMemory() throws {
        let bus = try bus { $0.limits.daemon.memory = 1_000_000 }
        let client = bus.connect()
        for number in 0..<500 { client.send(#"{"op":"create","store":"bag/s\#(number)"}"#) }
        _ = try client.all()
        let codes = try (0..<60).map { number in
            code(
                try client.ask(
                    #"{"op":"subscribe","match":"bag/?*","select":["/\#(number)"],"initial":false}"#
                ).last)
        }
        #expect(codes.first == .some(nil))
        #expect(codes.last == "limit")
    }

    @Test func unfinishedLinesCountAsMemory() throws {
        let bus = try bus { $0.limits.daemon.memory = 2_000_000 }
        let clients = (0..<4).map { _ in bus.connect() }
        for client in clients { client.send(bytes: Array(repeating: UInt8(ascii: " "), count: 900_000)) }
        // Unfinished lines and output that nobody reads have half of the memory.
        #expect(clients.filter { $0.isEnded }.count == 3)
        for client in clients { client.close() }
        #expect(try bus.connect().ask(#"{"op":"create","store":"bag/b"}"#).last?["ok"] == true)
    }

    @Test func subscribingOverAndOverLeavesNothingBehind() throws {
        let bus = try bus()
        let client = bus.connect()
        for number in 1...1500 {
            try client.ask(
                #"{"op":"subscribe","type":"bag","select":["/\#(number)"],"initial":false}"#)
            #expect(bus.engine.groupsAwaitingBookmark == 1)
            try client.ask(#"{"op":"unsubscribe","sub":\#(number)}"#)
        }
        #expect(bus.engine.groupsAwaitingBookmark == 0)
        let stats = try #require(try client.ask(#"{"op":"stats"}"#).last?["stats"])
        #expect(stats["shapes"] == 0)
        #expect(stats["subscriptions"] == 0)
    }

    @Test func errorsThatQuoteLongRequestsStayShort() throws {
        let bus = try bus { $0.limits.daemon.line = 20_000 }
        let client = bus.connect()
        let long = "a" + String(repeating: "\u{301}", count: 9000)
        let lines = [
            #"{"op":"\#(long)"}"#, #"{"op":"ping","\#(long)":1}"#,
            #"{"op":"dispatch","type":"\#(long)","action":"put"}"#,
            #"{"op":"dispatch","type":"bag","action":"put","payload":{"items":[],"\#(long)":1}}"#,
            #"{"op":"subscribe","match":"\#(long)"}"#,
            #"{"op":"subscribe","type":"bag","select":["\#(long)"]}"#,
            #"{"op":"dispatch","actions":[{"\#(long)":1}]}"#,
            #"{"op":"create","store":"bag/x","state":{"\#(long)":1}}"#,
            #"{"op":"kick","client":1,"reason":"\#(long)"}"#,
            #"{"id":"\#(String(repeating: "i", count: 19_900))","op":"ping"}"#,
        ]
        for line in lines {
            client.send(line)
            let reply = try #require(client.nextLine())
            #expect(reply.utf8.count <= 5000)
            #expect(try JSON(parsing: reply)["ok"] == false)
        }
        let id = String(repeating: "i", count: 18_900)
        client.send(#"{"id":"\#(id)","op":"\#(String(long.unicodeScalars.prefix(20)))"}"#)
        let reply = try #require(client.nextLine())
        #expect(reply.utf8.count <= 20_000)
        #expect(try JSON(parsing: reply)["id"]?.string == id)
    }

    @Test func aWillToEveryTypeIsCheckedWhenItIsMade() throws {
        let client = try bus().connect()
        let unknown = try client.ask(#"{"op":"will","actions":[{"type":"*","action":"nothing"}]}"#)
        #expect(code(unknown.last) == "unknown_action")
        let wrong = try client.ask(#"{"op":"will","actions":[{"type":"*","action":"put","payload":{}}]}"#)
        #expect(code(wrong.last) == "invalid_payload")
    }

    @Test func aPayloadThatLeavesNoRoomForItsEventIsTooLarge() throws {
        let bus = try bus { $0.limits.daemon.line = 8000 }
        let client = bus.connect()
        let text = String(repeating: "x", count: 7800)
        let reply = try client.ask(
            #"{"op":"dispatch","type":"bag","action":"take","payload":{"item":"\#(text)"}}"#)
        #expect(code(reply.last) == "too_large")
    }

    @Test func bracketsInATextAreNoArrays() throws {
        let client = try bus().connect()
        func put(_ items: String) throws -> JSON? {
            try client.ask(
                #"{"op":"dispatch","store":"bag/a","action":"put","payload":{"items":\#(items)}}"#
            ).last
        }
        #expect(try put("[\"\(String(repeating: "[{", count: 60_000))\"]")?["ok"] == true)
        let arrays = Array(repeating: "[]", count: 100_000).joined(separator: ",")
        #expect(code(try put("[\(arrays)]")) == "too_large")
    }

    @Test func manyLinesAtOnceAreAnsweredInOrderThoughEachSubscribes() throws {
        let client = try bus().connect()
        let pair = (1...1000).map {
            #"{"op":"subscribe","type":"bag"}"# + "\n" + #"{"op":"unsubscribe","sub":\#($0)}"# + "\n"
        }
        client.send(bytes: Array((pair.joined() + #"{"op":"ping"}"#).utf8))
        client.send("")
        let lines = try client.all()
        #expect(lines.count == 3001)
        #expect(lines.filter { $0["ok"] == true }.count == 2001)
    }
}
