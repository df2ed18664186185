import BusEngine
import BusJSON
import TestModes
import TestSupport
import Testing

/// What views evaluate takes the time of whoever has them do it, whether or not anything comes of it.
@Suite(.inBothModes) struct ViewWorkTests: ClimateTests {
    private static let item = """
        type: item
        state:
          l: { type: array, items: integer, default: [] }
          n: { type: integer, default: 0 }
        actions:
          bump: { increment: { n: 1 } }
          empty: { set: { l: [] } }
        """

    /// Views with so many values each.
    private static func views(_ count: Int = 2, values: Int = 40) -> [String] {
        let values = (0..<values).map { "v\($0): 'count(l.exists(x, l.exists(y, y == x + 1000 + n)))'" }
        return (0..<count).map { "view: heavy\($0)\nof: item\nvalues: { \(values.joined(separator: ", ")) }" }
    }

    /// What one value of the view takes at least for a list of so many numbers: each of them is compared with each.
    private static func work(ofValueFor count: Int) -> Int { 3 * count * count * operation }
    private static let operation = 15
    private static let refused = 2_000_000 * operation

    private static func list(_ count: Int) -> String {
        "[\((0..<count).map(String.init).joined(separator: ","))]"
    }

    private static func creation(_ name: String, _ count: Int, _ rest: String = "") -> String {
        #"{"op":"create","store":"item/\#(name)","state":{"l":\#(list(count))}\#(rest)}"#
    }

    /// The work that a request takes, and the code of its refusal.
    private func work(_ bus: MemoryBus, _ client: MemoryClient, _ line: String) throws -> (Int, JSON?) {
        let before = bus.engine.totalWork
        let reply = try reply(client, line)
        return (bus.engine.totalWork - before, reply["error"]?["code"])
    }

    @Test func refusedCreationsTakeWhatWasEvaluatedForThem() throws {
        let (bus, client) = try bus([Self.item] + Self.views())
        try create(client, "item/a")
        for line in [
            Self.creation("b", 150), #"{"op":"dispatch","actions":[\#(Self.creation("b", 150))]}"#,
        ] {
            let (work, code) = try work(bus, client, line)
            #expect(work >= Self.refused && code == "rejected", "\(line.prefix(20)): \(work)")
        }
    }

    /// Few expressions need not be paid for, and take time all the same.
    @Test func whatIsFreeOfChargeTakesTimeToo() throws {
        let (bus, client) = try bus([Self.item] + Self.views(1))
        try create(client, "item/a")
        let least = 40 * Self.work(ofValueFor: 100)
        #expect(try work(bus, client, Self.creation("b", 100)).0 >= least)
        let bump = #"{"op":"dispatch","store":"item/b","action":"bump""#
        #expect(try work(bus, client, bump + "}").0 >= least)
        #expect(try work(bus, client, bump + #","key":"k"}"#).0 >= least)
        #expect(try work(bus, client, bump + #","if":"n > 0"}"#).0 >= least)
        #expect(try work(bus, client, bump + #","if":"n > 0","dryRun":true}"#).0 < least)
    }

    @Test func computedValuesOfViewsTakeTimeToo() throws {
        let slow = "lists.range(400).all(i, lists.range(400).all(j, i + j >= -n))"
        let view = "view: heavy\nof: item\nvalues: { n: sum(n) }\ncomputed: { c: '\(slow)' }"
        let (bus, client) = try bus([Self.item, view])
        #expect(try work(bus, client, #"{"op":"create","store":"item/a"}"#).0 >= 100_000 * Self.operation)
        let bump = #"{"op":"dispatch","store":"item/a","action":"bump"}"#
        #expect(try work(bus, client, bump).0 >= 100_000 * Self.operation)
    }

    /// Text that is read takes time by its length.
    @Test func textThatViewsReadTakesTimeToo() throws {
        let note = """
            type: note
            initial: { t: "", n: 0 }
            actions:
              bump: { increment: { n: 1 } }
            """
        let values = (0..<40).map { "v\($0): 'count(n > 0 && double(t) > 0.0)'" }
        let view = "view: heavy\nof: note\nvalues: { \(values.joined(separator: ", ")) }"
        let (bus, client) = try bus([note, view])
        let text = String(repeating: "a", count: 100_000)
        try reply(client, #"{"op":"create","store":"note/a","state":{"t":"\#(text)"}}"#)
        let (work, code) = try work(bus, client, #"{"op":"dispatch","store":"note/a","action":"bump"}"#)
        #expect(work >= 40 * text.utf8.count / 16 * Self.operation && code == nil, "\(work)")
    }

    @Test(.aloneOnly(because: "On a shared bus nobody waits for a timer: what it takes is all members'."))
    func timersTakeWhatViewsEvaluateOfTheirActions() throws {
        let (bus, client) = try bus([Self.item] + Self.views(1))
        try create(client, "item/a")
        try reply(client, Self.creation("b", 100))
        try reply(client, #"{"op":"dispatch","store":"item/b","action":"bump","in":1}"#)
        let before = bus.engine.totalWork
        bus.advance(milliseconds: 2000)
        #expect(try reply(client, #"{"op":"get","store":"item/b"}"#)["states"]?["item/b"]?["n"] == 1)
        #expect(bus.engine.totalWork - before >= 40 * Self.work(ofValueFor: 100))
    }

    @Test func revertsTakeWhatViewsEvaluateOfThem() throws {
        let (bus, client) = try bus([Self.item])
        try create(client, "item/a")
        func emptied(_ name: String, _ count: Int) throws -> String {
            let created = try #require(try reply(client, Self.creation(name, count))["revision"]?.int)
            try reply(client, #"{"op":"dispatch","store":"item/\#(name)","action":"empty"}"#)
            return #"{"op":"revert","store":"item/\#(name)","revision":\#(created)}"#
        }
        let (long, short) = (try emptied("long", 150), try emptied("short", 50))
        bus.definitions = [Self.item] + Self.views()
        #expect(try reply(client, #"{"op":"reload"}"#)["ok"] == true)
        let (refused, code) = try work(bus, client, long)
        #expect(refused >= Self.refused && code == "rejected", "\(refused)")
        // It is paid for, and done.
        let (done, none) = try work(bus, client, short)
        #expect(done >= 2 * 80 * Self.work(ofValueFor: 50) && none == nil, "\(done)")
    }

    /// The states of the past are found at once, and then each revert has its turn.
    @Test(.aloneOnly(because: "On a shared bus a revert is an entry of the log, as every other request."))
    func revertsAreTheirUsersWorkAndLeaveRoomForOthers() throws {
        let (bus, client) = try bus([Self.item])
        try create(client, "item/a")
        let greedy = (0..<10).map { _ in bus.connect(uid: 1000) }
        let created = try #require(try reply(greedy[0], Self.creation("long", 150))["revision"]?.int)
        try reply(greedy[0], #"{"op":"dispatch","store":"item/long","action":"empty"}"#)
        bus.definitions = [Self.item] + Self.views()
        #expect(try reply(client, #"{"op":"reload"}"#)["ok"] == true)
        func work() throws -> Int {
            let users = try client.all().last { $0["stats"] != nil }?["stats"]?["users"]?.array
            return try #require(users?.first { $0["uid"] == 1000 }?["work"]?.int)
        }
        bus.answersPast = false
        for client in greedy { client.send(#"{"op":"revert","store":"item/long","revision":\#(created)}"#) }
        client.queue(#"{"op":"stats"}"#)
        bus.answersPast = true
        let early = try work()
        for client in greedy { #expect(try client.next()?["error"]?["code"] == "rejected") }
        client.send(#"{"op":"stats"}"#)
        let whole = try work()
        #expect(early <= 2 * Self.refused && whole >= 10 * Self.refused, "\(early), \(whole)")
        // The next one is believed to take as long, and waits at the gate as every long request.
        try reply(client, #"{"op":"ping"}"#)
        greedy[0].send(#"{"op":"revert","store":"item/long","revision":\#(created)}"#)
        #expect(try greedy[0].next() == nil)
        bus.advance(milliseconds: 60_000)
        #expect(try greedy[0].next()?["error"]?["code"] == "rejected")
    }

    @Test func revertsTakeWhatTheirStatesAreLong() throws {
        let note = "type: note\ninitial: { t: '' }\nactions: { empty: { set: { t: '' } } }"
        let (bus, client) = try bus([note])
        let text = String(repeating: "a", count: 300_000)
        let creation = #"{"op":"create","store":"note/a","state":{"t":"\#(text)"}}"#
        let long = try #require(try reply(client, creation)["revision"]?.int)
        let empty = #"{"op":"dispatch","store":"note/a","action":"empty"}"#
        let short = try #require(try reply(client, empty)["revision"]?.int)
        for revision in [long, short] {
            bus.advance(milliseconds: 60_000)
            let revert = #"{"op":"revert","store":"note/a","revision":\#(revision)}"#
            let (work, code) = try work(bus, client, revert)
            #expect(work >= 2 * text.utf8.count && code == nil, "\(work)")
        }
    }

    /// What a user has had added to the open batch bounds its reverts, too.
    @Test(.aloneOnly(because: "On a shared bus a revert is an entry of the log, as every other request."))
    func revertsWaitForTheDiskAsDispatchesDo() throws {
        let note =
            "type: note\ninitial: { t: '' }\nactions: { write: { payload: { t: string }, set: { t: { var: payload.t } } } }"
        let bus = try bus([note]).0
        let (writer, other) = (bus.connect(), bus.connect())
        try create(other, "note/a")
        let revision = bus.engine.revision
        bus.answersPast = false
        other.send(#"{"op":"revert","store":"note/a","revision":\#(revision)}"#)
        bus.disk = .isBusy
        let text = String(repeating: "a", count: 600_000)
        // The first one is on its way to the disk, the second one fills what comes next.
        for _ in 0..<2 {
            writer.send(#"{"op":"dispatch","store":"note/a","action":"write","payload":{"t":"\#(text)"}}"#)
        }
        #expect(bus.engine.revision == revision + 2)
        bus.answersPast = true
        #expect(try other.next() == nil && bus.engine.revision == revision + 2)
        bus.disk = .works
        #expect(try other.next()?["revision"]?.int == revision + 3)
    }

    @Test func revertsTakeWhatComputedValuesTakeOfThem() throws {
        let sums = """
            type: sums
            state: { l: { type: array, items: integer, default: [] } }
            computed: { c: 'l.exists(x, l.exists(y, y == x + 1000))' }
            actions: { empty: { set: { l: [] } } }
            """
        let (bus, client) = try bus([sums])
        let creation = #"{"op":"create","store":"sums/a","state":{"l":\#(Self.list(100))}}"#
        let created = try #require(try reply(client, creation)["revision"]?.int)
        try reply(client, #"{"op":"dispatch","store":"sums/a","action":"empty"}"#)
        let (work, code) = try work(
            bus, client, #"{"op":"revert","store":"sums/a","revision":\#(created)}"#)
        #expect(work >= Self.work(ofValueFor: 100) && code == nil, "\(work)")
    }

    /// A daemon without memory for a store has nothing evaluated of it.
    @Test(.aloneOnly(because: "All members of a shared bus make its stores alike, whatever memory each has."))
    func storesThatThereIsNoMemoryForAreNotEvaluated() throws {
        let (bus, client) = try bus([Self.item] + Self.views())
        try create(client, "item/a")
        bus.engine.noteMemory(Limits().daemon.memory - 300)
        let (work, code) = try work(bus, client, Self.creation("b", 150))
        #expect(work < Self.refused / 10 && code == "limit", "\(work)")
    }
}
