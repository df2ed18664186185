import BusEngine
import BusJSON
import TestModes
import TestSupport
import Testing

/// What views evaluate of a change is paid for before the change is made.
@Suite(.inBothModes) struct ViewBudgetTests: ClimateTests {
    private static let item = """
        type: item
        state:
          l: { type: array, items: integer, default: [\(numbers)] }
          n: { type: integer, default: 0 }
          on: { type: boolean, default: true }
        actions:
          bump: { set: { n: = state.n + 1 } }
          empty: { set: { l: [] } }
        """
    private static let numbers = Array(repeating: "1", count: 150).joined(separator: ", ")
    private static let bump = #"{"op":"dispatch","type":"item","action":"bump"}"#

    /// A view each of whose values takes some 50,000 operations of an item, or more.
    private static func heavy(_ name: String = "heavy", values: Int, where condition: String? = nil) -> String
    {
        let values = (0..<values).map { "v\($0): 'sum(n + size(l.filter(x, l.exists(y, y == -x))))'" }
        return """
            view: \(name)
            of: item\(condition.map { "\nwhere: \($0)" } ?? "")
            values: { \(values.joined(separator: ", ")) }
            """
    }

    private func expectRefusal(
        _ reply: JSON, _ advice: String, sourceLocation: SourceLocation = #_sourceLocation
    ) {
        let message = reply["error"]?["message"]?.string ?? ""
        #expect(
            reply["error"]?["code"] == "rejected" && message.contains("used up by the views")
                && message.contains(advice), "\(reply)", sourceLocation: sourceLocation)
    }

    /// Whatever the first expression leaves of the budget, the second one gets no more.
    @Test func viewsMayUseUpWhatACommitMayRead() throws {
        let doc = """
            type: doc
            state: { t: { type: string, default: "" }, n: { type: integer, default: 0 } }
            actions: { bump: { set: { n: = state.n + 1 } } }
            """
        let (bus, client) = try bus([
            doc, "view: sums\nof: doc\nvalues: { a: sum(n + int(t)), b: sum(n - int(t)), c: sum(n) }",
        ])
        let text = String(repeating: "x", count: 640_000)
        for number in 0..<40 { try create(client, "doc/d\(number)", #","state":{"t":"\#(text)"}"#) }
        let revision = bus.engine.revision
        expectRefusal(
            try reply(client, #"{"op":"dispatch","type":"doc","action":"bump"}"#), "change fewer stores")
        #expect(bus.engine.revision == revision)
        #expect(try reply(client, #"{"op":"dispatch","store":"doc/d1","action":"bump"}"#)["ok"] == true)
        #expect(try views(client, "sums/*")?["sums/all"]?["c"] == 1)
    }

    @Test func aStoreThatDoesNotCountInAViewPaysForNoneOfItsValues() throws {
        let (_, client) = try bus([Self.item, Self.heavy(values: 1, where: "on")])
        for number in 0..<100 { try create(client, "item/i\(number)", #","state":{"on":false}"#) }
        #expect(try reply(client, Self.bump)["ok"] == true)
    }

    @Test func aBatchPaysForWhatViewsEvaluateOfTheStoresThatItCreates() throws {
        let (bus, client) = try bus([Self.item, Self.heavy(values: 5)])
        func batch(_ stores: Range<Int>, _ rest: String = "") -> String {
            let creations = stores.map { #"{"op":"create","store":"item/i\#($0)"}"# }
            return #"{"op":"dispatch","actions":[\#(creations.joined(separator: ","))\#(rest)]}"#
        }
        try create(client, "item/a")
        let revision = bus.engine.revision
        expectRefusal(try reply(client, batch(0..<300)), "change fewer stores")
        #expect(bus.engine.revision == revision)
        #expect(try reply(client, batch(0..<12))["ok"] == true)
        // What is made and written in one batch is evaluated once.
        #expect(try reply(client, batch(12..<24, #",{"store":"item/i12","action":"bump"}"#))["ok"] == true)
    }

    /// On a shared bus one member may have been restored from a copy, and others not.
    @Test(arguments: [false, true]) func theFirstCommitPaysForNoViewsOnARestoredBusEither(isRestored: Bool)
        throws
    {
        var (bus, client) = try bus([Self.item, Self.heavy(values: 5)])
        if isRestored {
            bus = try bus.crash()
            client = bus.connect(uid: 0)
        }
        let creations = (0..<100).map { #"{"op":"create","store":"item/i\#($0)"}"# }
        let batch = #"{"op":"dispatch","actions":[\#(creations.joined(separator: ","))]}"#
        #expect(bus.engine.revision == 0)
        #expect(try reply(client, batch)["ok"] == true)
    }

    @Test func valuesOfViewsOfOtherTypesDoNotCount() throws {
        let values = (0..<60).map { "v\($0): min(measured)" }.joined(separator: ", ")
        let (_, client) = try bus([
            Self.item, Self.heavy(values: 60), Self.room, "view: all\nof: room\nvalues: { \(values) }",
        ])
        try create(client, "item/a")
        #expect(try reply(client, #"{"op":"dispatch","store":"item/a","action":"bump"}"#)["ok"] == true)
    }

    /// However few stores: what more than 64 expressions take of it is paid.
    @Test func oneStoreThatManyExpressionsReadPaysForThem() throws {
        let (bus, client) = try bus([Self.item])
        try create(client, "item/a")
        let revision = bus.engine.revision
        try reply(client, #"{"op":"dispatch","store":"item/a","action":"empty"}"#)
        bus.definitions = [Self.item, Self.heavy(values: 40), Self.heavy("more", values: 40)]
        #expect(try reply(client, #"{"op":"reload"}"#)["ok"] == true)
        #expect(try reply(client, Self.bump)["ok"] == true)
        let now = bus.engine.revision
        for line in [
            #"{"op":"create","store":"item/b"}"#,
            #"{"op":"revert","store":"item/a","revision":\#(revision)}"#,
        ] {
            expectRefusal(try reply(client, line), "keep less in this store")
            #expect(bus.engine.revision == now)
        }
        try create(client, "item/b", #","state":{"l":[]}"#)
        #expect(
            try reply(client, #"{"op":"revert","store":"item/a","revision":\#(now)}"#)["error"] == nil)
    }
}
