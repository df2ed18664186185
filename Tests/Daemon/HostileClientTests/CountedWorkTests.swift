import BusEngine
import BusJSON
import TestModes
import TestSupport
import Testing

/// What takes time is counted, so that it takes the time of who asks for it and of nobody else.
@Suite(.inBothModes) struct CountedWorkTests {
    private func work(_ bus: SlowBus, _ body: () throws -> Void) rethrows -> Int {
        let before = bus.engine.totalWork
        try body()
        bus.engine.serveAll()
        return bus.engine.totalWork - before
    }

    /// Each read of a socket takes microseconds, whatever it brings.
    @Test func piecesOfLinesAreCounted() throws {
        let bus = try SlowBus()
        let client = bus.connect()
        let line = Array((#"{"op":"ping"}"# + "\n").utf8)
        let whole = work(bus) { line.withUnsafeBytes { bus.engine.receive(client, $0) } }
        let pieces = work(bus) {
            for byte in line { withUnsafeBytes(of: byte) { bus.engine.receive(client, $0) } }
        }
        #expect(pieces - whole >= (line.count - 1) * 2000)
        let empty = Array(repeating: UInt8(ascii: "\n"), count: 10_000)
        #expect(work(bus) { empty.withUnsafeBytes { bus.engine.receive(client, $0) } } >= 50_000)
        #expect(try bus.lines(of: client).count == 2)
    }

    @Test func countersAreCounted() throws {
        let bus = try SlowBus()
        let client = bus.connect()
        #expect(work(bus) { bus.send(#"{"op":"stats"}"#, from: client) } >= 50_000)
    }

    @Test func pointersAreCounted() throws {
        let bus = try SlowBus()
        let client = bus.connect()
        let pointers = (0..<64).map { "\"/\($0)\(String(repeating: "/a", count: 60))\"" }.joined(
            separator: ",")
        for op in ["get", "subscribe"] {
            let request = #"{"op":"\#(op)","type":"counter","select":[\#(pointers)]}"#
            #expect(work(bus) { bus.send(request, from: client) } >= 64 * 120 * 20, "\(op)")
        }
    }

    /// Where the changes begin that a subscription has missed is looked for among all stores of its types.
    @Test func theSearchForMissedChangesIsCounted() throws {
        let bus = try SlowBus()
        let client = bus.connect()
        func create(_ numbers: Range<Int>) {
            for number in numbers { bus.send(#"{"op":"create","store":"item/i\#(number)"}"#, from: client) }
        }
        create(0..<1000)
        let half = bus.engine.revision
        _ = try bus.lines(of: client)
        create(1000..<2000)
        _ = try bus.lines(of: client)
        func resume(_ match: String, since revision: Int) -> Int {
            let since = #""since":\#(revision),"epoch":"\#(bus.engine.epoch)""#
            return work(bus) { bus.send(#"{"op":"subscribe","match":"\#(match)",\#(since)}"#, from: client) }
        }
        // The first search puts the names in order.
        _ = resume("item/w*", since: bus.engine.revision)
        let nothing = resume("item/x*", since: bus.engine.revision)
        #expect(resume("item/y*", since: half) - nothing >= 1000 * 10)
    }

    private static func actions(_ count: Int, _ more: String = "") -> String {
        let action = #"{"store":"counter/a","action":"increment"\#(more)}"#
        return #""actions":[\#(Array(repeating: action, count: count).joined(separator: ","))]}"#
    }

    /// Nearly as long as a condition may be, of which a request may have four.
    private static let condition =
        #","if":"\#(Array(repeating: "count < 9", count: 300).joined(separator: " || "))""#

    /// A request that takes long waits until the others have had their time: one with a long will, or with long conditions, which
    /// have to be compiled.
    @Test(
        .aloneOnly(
            because:
                "On a shared bus what a request takes is known when its log has brought it."),
        arguments: [
            (#"{"op":"will","# + actions(1024), 3_000_000),
            (#"{"op":"dispatch","# + actions(4, condition), 1_000_000),
        ])
    func longRequestsWait(_ request: String, _ least: Int) throws {
        let bus = try SlowBus()
        let (greedy, other) = (bus.connect(), bus.connect())
        bus.send(#"{"op":"create","store":"counter/a"}"#, from: other)
        #expect(work(bus) { bus.send(request, from: greedy) } >= least)
        #expect(try bus.lines(of: greedy).last?["ok"] == true)
        #expect(try answer(to: request, from: greedy, beside: other, on: bus)["ok"] == true)
    }

    /// The answer to a request that waits, while another client is served.
    private func answer(
        to request: String, from greedy: ConnectionID, beside other: ConnectionID, on bus: SlowBus
    ) throws -> JSON {
        bus.send(request, from: greedy)
        for _ in 0..<5 {
            bus.turn(after: 100)
            bus.send(#"{"op":"ping"}"#, from: other)
            bus.engine.serveAll()
        }
        #expect(try bus.lines(of: greedy).isEmpty)
        bus.turn(after: 60_000)
        bus.engine.serveAll()
        return try #require(try bus.lines(of: greedy).last)
    }

    /// A session is found by its name, however many there are.
    @Test(.aloneOnly(because: "On a shared bus sessions are named where its log is applied."))
    func namingASessionTakesTheSameAmongMany() throws {
        func naming(among count: Int) throws -> Int {
            let bus = try SlowBus()
            for number in 0..<count {
                let client = bus.connect()
                bus.send(
                    #"{"op":"hello","session":"s\#(number)"}"#,
                    #"{"op":"create","store":"counter/s\#(number)","ephemeral":true}"#, from: client)
                bus.engine.serveAll()
                #expect(try bus.lines(of: client).last?["ok"] == true)
            }
            let client = bus.connect()
            return work(bus) { bus.send(#"{"op":"hello","session":"gate"}"#, from: client) }
        }
        let (few, many) = (try naming(among: 10), try naming(among: 500))
        #expect(many - few < 5000, "\(few), \(many)")
    }

    private static let sums: String = {
        let computed = (0..<60).map {
            #"  c\#($0): { reduce: [{ var: list }, { "+": [{ var: current }, { var: accumulator }] }, \#($0)] }"#
        }
        return """
            type: sums
            initial: { list: [], count: 0 }
            computed:
            \(computed.joined(separator: "\n"))
            actions:
              fill: { payload: { list: array }, set: { list: { var: payload.list } } }
              touch: { increment: { count: 1 } }
            """
    }()

    /// What a store's expressions took is known: the next dispatch to it waits at the gate, and one to another store does not.
    @Test(
        .aloneOnly(
            because:
                "On a shared bus what a request takes is known when its log has brought it."))
    func expensiveStoresWaitAndOthersDoNot() throws {
        let bus = try SlowBus(definitions: [Self.sums])
        let (greedy, other) = (bus.connect(), bus.connect())
        for store in ["sums/big", "sums/small"] {
            bus.send(#"{"op":"create","store":"\#(store)"}"#, from: other)
        }
        let list = Array(repeating: "1", count: 2000).joined(separator: ",")
        func fill(_ store: String, _ list: String) -> String {
            #"{"op":"dispatch","store":"\#(store)","action":"fill","payload":{"list":[\#(list)]}}"#
        }
        #expect(work(bus) { bus.send(fill("sums/big", list), from: greedy) } >= 60 * 2000 * 15)
        _ = try bus.lines(of: greedy)
        bus.send(fill("sums/big", list), from: greedy)
        bus.send(fill("sums/small", "1"), from: other)
        bus.engine.serveAll()
        #expect(try bus.lines(of: other).last?["ok"] == true)
        #expect(try bus.lines(of: greedy).isEmpty)
        bus.turn(after: 60_000)
        bus.engine.serveAll()
        #expect(try bus.lines(of: greedy).last?["ok"] == true)
        // A cheap one is forgotten.
        bus.turn(after: 60_000)
        bus.send(fill("sums/big", "1"), from: greedy)
        bus.turn(after: 60_000)
        bus.engine.serveAll()
        bus.send(fill("sums/big", "2"), from: greedy)
        bus.engine.serveAll()
        #expect(try bus.lines(of: greedy).filter { $0["ok"] == true }.count == 2)
    }

    /// And so is what a state takes that a client creates.
    @Test(
        .aloneOnly(
            because:
                "On a shared bus what a request takes is known when its log has brought it."))
    func computedValuesOfNewStoresAreCounted() throws {
        let bus = try SlowBus(definitions: [Self.sums])
        let client = bus.connect()
        let list = Array(repeating: "1", count: 2000).joined(separator: ",")
        let request = #"{"op":"create","store":"sums/a","state":{"list":[\#(list)]}}"#
        #expect(work(bus) { bus.send(request, from: client) } >= 60 * 2000 * 15)
    }

    /// A creation that is refused behind what views evaluate for it was no shorter: the next one waits at the gate.
    @Test(
        .aloneOnly(
            because:
                "On a shared bus what a request takes is known when its log has brought it."))
    func creationsThatViewsRefuseWait() throws {
        let values = (0..<40).map { "v\($0): 'count(list.exists(x, list.exists(y, y == x + 1000)))'" }
        let views = ["one", "other"].map {
            "view: \($0)\nof: item\nvalues: { \(values.joined(separator: ", ")) }"
        }
        let bus = try SlowBus(definitions: views)
        let (greedy, other) = (bus.connect(), bus.connect())
        bus.send(#"{"op":"create","store":"item/a"}"#, from: other)
        let list = (0..<150).map(String.init).joined(separator: ",")
        let request = #"{"op":"create","store":"item/b","state":{"list":[\#(list)]}}"#
        #expect(work(bus) { bus.send(request, from: greedy) } >= 2_000_000 * 15)
        #expect(try bus.lines(of: greedy).last?["error"]?["code"] == "rejected")
        let answer = try answer(to: request, from: greedy, beside: other, on: bus)
        #expect(answer["error"]?["code"] == "rejected")
    }

    /// A view that evaluates for an action to one store, `item/b`, as much as a long request takes.
    private static let heavy = {
        let values = (0..<40).map { "v\($0): 'count(list.exists(x, list.exists(y, y == x + 1000 + count)))'" }
        return "view: heavy\nof: item\nvalues: { \(values.joined(separator: ", ")) }"
    }()

    private func busWithHeavyStore() throws -> (SlowBus, greedy: ConnectionID, other: ConnectionID) {
        let bus = try SlowBus(definitions: [Self.heavy])
        let (greedy, other) = (bus.connect(), bus.connect())
        let list = (0..<60).map(String.init).joined(separator: ",")
        bus.send(#"{"op":"create","store":"item/a"}"#, from: other)
        bus.send(#"{"op":"create","store":"item/b","state":{"list":[\#(list)]}}"#, from: other)
        return (bus, greedy, other)
    }

    /// What views evaluate for an action is a part of what it takes: the next one waits at the gate.
    @Test(
        .aloneOnly(
            because:
                "On a shared bus what a request takes is known when its log has brought it."),
        arguments: ["", #","if":"count >= 0""#])
    func actionsThatViewsTakeLongForWait(_ more: String) throws {
        let (bus, greedy, other) = try busWithHeavyStore()
        let add = #"{"op":"dispatch","store":"item/b","action":"add"\#(more)}"#
        #expect(work(bus) { bus.send(add, from: greedy) } >= DaemonLimits.longRequest)
        #expect(try bus.lines(of: greedy).last?["ok"] == true)
        #expect(try answer(to: add, from: greedy, beside: other, on: bus)["ok"] == true)
    }

    /// What they evaluate for actions says nothing of the stores that are made beside these.
    @Test(
        .aloneOnly(
            because:
                "On a shared bus what a request takes is known when its log has brought it."))
    func creationsAreNotTakenForTheActionsBesideThem() throws {
        let (bus, greedy, _) = try busWithHeavyStore()
        let batch =
            #"{"op":"dispatch","actions":[{"op":"create","store":"item/x"},{"store":"item/b","action":"add"}]}"#
        #expect(work(bus) { bus.send(batch, from: greedy) } >= DaemonLimits.longRequest)
        bus.send(#"{"op":"create","store":"item/y"}"#, from: greedy)
        bus.engine.serveAll()
        let replies = try bus.lines(of: greedy)
        #expect(replies.filter { $0["ok"] == true }.count == 2, "\(replies)")
    }

    /// Text that an expression reads takes time by its length.
    @Test(arguments: [#"{"op":"get","type":"note""#, #"{"op":"subscribe","type":"note""#])
    func textThatFiltersReadIsCounted(_ request: String) throws {
        let bus = try SlowBus(definitions: ["type: note\ninitial: { t: \"\" }\nactions: {}"])
        let client = bus.connect()
        let text = "0." + String(repeating: "0", count: 900_000)
        bus.send(#"{"op":"create","store":"note/a","state":{"t":"\#(text)"}}"#, from: client)
        let filter = Array(repeating: "double(t) > 1.0", count: 16).joined(separator: " || ")
        let work = work(bus) { bus.send(request + #","where":"\#(filter)"}"#, from: client) }
        #expect(work >= 16 * 900_000 / 16 * 15, "\(work)")
        #expect(try bus.lines(of: client).filter { $0["ok"] == true }.count == 2)
    }

    /// What was committed before the bytes were counted comes back from the log as it was.
    @Test(.aloneOnly(because: "It writes into the log of one machine what an earlier bus would have."))
    func entriesFromBeforeReplayWhateverTheyRead() throws {
        let reader = """
            type: reader
            initial: { list: [], found: 0 }
            computed: { last: { "+": [{ var: found }, 0] } }
            actions:
              look:
                payload: { text: string }
                set: { found: { length: { filter: [{ var: state.list }, { "!=": [{ var: "" }, { val: [[2], payload, text] }] }] } } }
              put: { payload: { list: array }, set: { list: { var: payload.list } } }
            """
        var setup = MemoryBus.Setup()
        setup.definitions = [reader]
        setup.stores = ["reader/a"]
        setup.log = MemoryLog()
        setup.limits.bus.reading = .max
        let bus = try MemoryBus(setup)
        let client = bus.connect()
        let list = Array(repeating: "1", count: 40).joined(separator: ",")
        try client.ask(#"{"op":"dispatch","store":"reader/a","action":"put","payload":{"list":[\#(list)]}}"#)
        let look =
            #"{"op":"dispatch","store":"reader/a","action":"look","payload":{"text":"\#(String(repeating: "7", count: 500_000))"}}"#
        #expect(try client.ask(look).last?["changed"] == 1)
        let state = try client.ask(#"{"op":"get","store":"reader/a"}"#).last?["states"]
        #expect(state?["reader/a"]?["found"] == 40)
        let next = try bus.crash { $0.limits.bus = .init() }
        #expect(try next.connect().ask(#"{"op":"get","store":"reader/a"}"#).last?["states"] == state)
        // Today it is refused.
        let refused = try next.connect().ask(look).last
        #expect(refused?["error"]?["code"] == "rejected")
        #expect(refused?["error"]?["message"]?.string?.contains("read more of long texts") == true)
    }
}
