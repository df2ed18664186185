import BusEngine
import BusJSON
import BusMachine
import TestModes
import TestSupport
import Testing

/// A keyed batch of which the log keeps only a part is answered as before when it is sent again after a crash.
@Suite(.aloneOnly(because: "The local copy of a shared bus keeps all of each type, as its log does."))
struct KeptKeyTests {
    private static func tally(_ name: String, _ more: String = "") -> String {
        """
        type: \(name)
        \(more)
        initial: { n: 0 }
        actions:
          add: { increment: { n: 1 }, returns: = state.n }
        """
    }

    private func bus() throws -> MemoryBus {
        try LogPolicyTests.bus(["tally/a", "beat/a"]) {
            $0.definitions = [Self.tally("tally"), Self.tally("beat", "log: { keep: none }")]
        }
    }

    private func create(_ store: String) -> String { #"{"op":"create","store":"\#(store)"}"# }
    private func drop(_ store: String) -> String { #"{"op":"drop","store":"\#(store)"}"# }
    private func add(_ store: String) -> String { #"{"store":"\#(store)","action":"add"}"# }

    private func batch(_ key: String, _ elements: [String]) -> String {
        #"{"op":"dispatch","key":"\#(key)","actions":[\#(elements.joined(separator: ","))]}"#
    }

    @Test func whatItReachedIsRemembered() throws {
        let bus = try bus()
        let client = bus.connect(uid: 0)
        let lines = [
            batch("made", [create("tally/x"), create("beat/x")]),
            batch("gone", [drop("tally/x"), drop("beat/x")]),
            batch("one", [create("tally/y"), create("beat/y"), drop("beat/y")]),
        ]
        let replies = try lines.map { try client.reply(to: $0) }
        #expect(replies.map { $0["matched"] } == [2, 2, 2] && replies.map { $0["changed"] } == [2, 2, 1])
        let next = try bus.crash().connect(uid: 0)
        for (line, reply) in zip(lines, replies) {
            var reply = try #require(reply.object)
            reply["duplicate"] = true
            #expect(try next.reply(to: line) == .object(reply), "\(line)")
        }
    }

    /// A store that takes another's place counts once, though both are written.
    @Test func storesAreCountedByTheirAddresses() throws {
        let bus = try bus()
        let line = batch(
            "k", [add("tally/a"), drop("tally/a"), create("tally/a"), add("tally/a"), add("beat/a")])
        let reply = try bus.connect(uid: 0).reply(to: line)
        #expect(reply["matched"] == 2)
        let again = try bus.crash().connect(uid: 0).reply(to: line)
        #expect(again["duplicate"] == true)
        for name in ["revision", "matched", "changed"] { #expect(again[name] == reply[name], "\(name)") }
    }

    /// Also where the log keeps one action of several, and so what that one returned.
    @Test func whatItReturnedIsToldByAddress() throws {
        let bus = try bus()
        let client = bus.connect(uid: 0)
        let both = batch("both", [add("beat/a"), add("tally/a")])
        #expect(try client.reply(to: both)["results"] == ["beat/a": 1, "tally/a": 1])
        let one = batch("one", [add("tally/a")])
        #expect(try client.reply(to: one)["result"] == 2)
        let next = try bus.crash().connect(uid: 0)
        let again = try next.reply(to: both)
        #expect(again["duplicate"] == true && again["result"] == nil, "\(again)")
        #expect(again["results"] == ["tally/a": 1], "\(again)")
        #expect(try next.reply(to: one)["result"] == 2)
    }
}
