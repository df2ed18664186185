import BusEngine
import BusJSON
import TestModes
import TestSupport
import Testing

/// Every limit: what is within it works, what is past it is refused by name, and the connection goes on.
@Suite(.inBothModes) struct LimitTests {
    private func bus(_ stores: String..., change: (inout Limits) -> Void) throws -> MemoryBus {
        var setup = MemoryBus.Setup()
        setup.stores = stores
        change(&setup.limits)
        return try MemoryBus(setup)
    }

    @Test func lineOverTheLimit() throws {
        let client = try bus { $0.daemon.line = 4096 }.connect()
        let frame = #"{"op":"hello","client":""}"#.utf8.count
        let fits = #"{"op":"hello","client":"\#(String(repeating: "x", count: 4096 - frame))"}"#
        #expect(try client.ask(fits).first?["ok"] == true)
        #expect(try client.code(of: fits + " ") == "too_large")
        #expect(try client.isUsable())
    }

    /// The answer does not wait for the end of the line, and the rest is passed over however long it is.
    @Test func lineOverTheLimitIsRefusedBeforeItEnds() throws {
        let client = try bus { $0.daemon.line = 4096 }.connect()
        client.send(bytes: Array(repeating: UInt8(ascii: "x"), count: 4098))
        #expect(try client.all().map { $0["error"]?["code"] } == ["too_large"])
        for _ in 0..<100 { client.send(bytes: Array(repeating: UInt8(ascii: "y"), count: 4096)) }
        #expect(try client.all().isEmpty)
        client.send(bytes: [10])
        #expect(try client.all().isEmpty)
        #expect(try client.isUsable())
    }

    @Test func depthOverTheLimit() throws {
        let client = try bus { $0.daemon.depth = 8 }.connect()
        func line(_ depth: Int) -> String {
            #"{"op":"ping","colour":"# + String(repeating: "[", count: depth - 1)
                + String(repeating: "]", count: depth - 1) + "}"
        }
        #expect(try client.code(of: line(8)) == "invalid_request")
        #expect(try client.code(of: line(9)) == "too_large")
        client.send(bytes: Array(String(repeating: "[", count: 9).utf8))
        #expect(try client.all().map { $0["error"]?["code"] } == ["too_large"])
        client.send(bytes: [10])
        #expect(try client.isUsable())
    }

    @Test func stateOverTheLimit() throws {
        let client = try bus("thermostat/t") { $0.bus.state = 400 }.connect()
        let note = String(repeating: "n", count: 300)
        let tooMuch =
            #"{"op":"dispatch","store":"thermostat/t","action":"note","payload":{"text":"\#(note)"}}"#
        let before = try client.state(of: "thermostat/t")
        #expect(try client.code(of: tooMuch) == "too_large")
        #expect(try client.state(of: "thermostat/t") == before)
        #expect(
            try client.code(
                of: #"{"op":"create","store":"thermostat/u","state":{"mode":"\#(note)\#(note)"}}"#)
                == "too_large")
        #expect(try client.isUsable())
    }

    /// A whole dispatch is taken back when one of its stores would grow too large.
    @Test func stateOverTheLimitRefusesTheBatch() throws {
        let client = try bus("counter/a", "thermostat/t") { $0.bus.state = 400 }.connect()
        let note = String(repeating: "n", count: 400)
        let code = try client.code(
            of: """
                {"op":"dispatch","actions":[{"store":"counter/a","action":"increment"},\
                {"store":"thermostat/t","action":"note","payload":{"text":"\(note)"}}]}
                """)
        #expect(code == "too_large")
        #expect(try client.state(of: "counter/a")?["count"] == 0)
    }

    @Test func storesOverTheLimit() throws {
        let client = try bus { $0.bus.stores = 2 }.connect(uid: MemoryBus.ownUID)
        for name in ["a", "b"] { try client.revision(after: #"{"op":"create","store":"counter/\#(name)"}"#) }
        #expect(try client.code(of: #"{"op":"create","store":"counter/c"}"#) == "limit")
        try client.revision(after: #"{"op":"drop","store":"counter/a"}"#)
        #expect(try client.code(of: #"{"op":"create","store":"counter/c"}"#) == nil)
    }

    @Test func subscriptionsOverTheLimit() throws {
        let bus = try bus { $0.daemon.subscriptions = 2 }
        let client = bus.connect()
        let subscribe = #"{"op":"subscribe","type":"counter","initial":false}"#
        for _ in 0..<2 { #expect(try client.code(of: subscribe) == nil) }
        #expect(try client.code(of: subscribe) == "limit")
        #expect(try bus.connect().code(of: subscribe) == nil)
        #expect(try client.code(of: #"{"op":"unsubscribe","sub":1}"#) == nil)
        #expect(try client.reply(to: subscribe)["sub"] == 3)
    }

    @Test func batchOverTheLimit() throws {
        let client = try bus("counter/a") { $0.bus.batch = 3 }.connect()
        func actions(_ count: Int) -> String {
            "["
                + Array(repeating: #"{"type":"counter","action":"increment"}"#, count: count).joined(
                    separator: ",") + "]"
        }
        for operation in ["dispatch", "will"] {
            #expect(try client.code(of: #"{"op":"\#(operation)","actions":\#(actions(3))}"#) == nil)
            #expect(try client.code(of: #"{"op":"\#(operation)","actions":\#(actions(4))}"#) == "limit")
        }
        #expect(try client.isUsable())
    }

    @Test func memoryOverTheLimit() throws {
        let client = try bus { $0.daemon.memory = 200_000 }.connect()
        let mode = String(repeating: "m", count: 10_000)
        var made = 0
        var code: String?
        while code == nil, made < 100 {
            code = try client.code(
                of: #"{"op":"create","store":"thermostat/t\#(made)","state":{"mode":"\#(mode)"}}"#)
            if code == nil { made += 1 }
        }
        #expect(code == "limit")
        #expect(made > 5)
        let grow = #"{"op":"dispatch","type":"thermostat","action":"note","payload":{"text":"\#(mode)"}}"#
        #expect(try client.code(of: grow) == "limit")
        // What makes room is still carried out.
        for index in 0..<3 { try client.revision(after: #"{"op":"drop","store":"thermostat/t\#(index)"}"#) }
        #expect(
            try client.code(of: #"{"op":"create","store":"thermostat/new","state":{"mode":"\#(mode)"}}"#)
                == nil)
    }

    @Test func replyOverALine() throws {
        let client = try bus { $0.daemon.line = 4096 }.connect()
        for index in 0..<200 { try client.revision(after: #"{"op":"create","store":"counter/c\#(index)"}"#) }
        #expect(try client.code(of: #"{"op":"get","type":"counter"}"#) == "too_large")
        #expect(try client.code(of: #"{"op":"stores"}"#) == "too_large")
        #expect(try client.code(of: #"{"op":"get","type":"counter","limit":50}"#) == nil)
        #expect(
            try client.code(of: #"{"op":"dispatch","type":"counter","action":"increment","dryRun":true}"#)
                == "too_large")
        #expect(try client.state(of: "counter/c0")?["count"] == 0)
    }

    @Test func namesOverTheLimit() throws {
        let client = try MemoryBus().connect()
        for (length, expected) in [(128, nil), (129, "invalid_request")] {
            let name = String(repeating: "n", count: length)
            #expect(try client.code(of: #"{"op":"create","store":"counter/\#(name)"}"#) == expected)
        }
    }

    @Test func pointersOverTheLimit() throws {
        let client = try MemoryBus.with("counter/a").connect()
        let pointers = (0..<65).map { #""/p\#($0)""# }
        for (count, expected) in [(64, nil), (65, "limit")] {
            let list = pointers.prefix(count).joined(separator: ",")
            #expect(try client.code(of: #"{"op":"get","type":"counter","select":[\#(list)]}"#) == expected)
        }
    }

    /// An action that multiplies its work is refused, not carried out for minutes.
    @Test func budgetOfExpressions() throws {
        var setup = MemoryBus.Setup()
        setup.definitions = [
            """
            type: bomb
            initial: { text: x, list: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10] }
            actions:
              double: { set: { text: { cat: [{ var: state.text }, { var: state.text }] } } }
              nest:
                set:
                  text:
                    map: [{ var: state.list }, { map: [{ literal: [1,2,3,4,5,6,7,8,9,10] },
                      { map: [{ literal: [1,2,3,4,5,6,7,8,9,10] }, { map: [{ literal: [1,2,3,4,5,6,7,8,9,10] },
                      { map: [{ literal: [1,2,3,4,5,6,7,8,9,10] }, { map: [{ literal: [1,2,3,4,5,6,7,8,9,10] },
                      { "+": [1, 1] }] }] }] }] }] }]
            """
        ]
        setup.stores = ["bomb/b"]
        let client = try MemoryBus(setup).connect()
        #expect(try client.code(of: #"{"op":"dispatch","type":"bomb","action":"nest"}"#) == "rejected")
        var code: String?
        for _ in 0..<40 where code == nil {
            code = try client.code(of: #"{"op":"dispatch","type":"bomb","action":"double"}"#)
        }
        #expect(code == "rejected" || code == "too_large")
        #expect(try client.isUsable())
    }
}
