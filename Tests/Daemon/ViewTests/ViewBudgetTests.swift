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
}
