import BusEngine
import BusJSON
import BusMachine
import TestModes
import TestSupport
import Testing

/// Which action of a batch one is does not depend on what the log has of the others.
@Suite(.aloneOnly(because: "The local copy of a shared bus keeps all of each type, as its log does."))
struct KeptIndexTests {
    private static let batch =
        #"{"op":"dispatch","actions":[\#(["beat", "counter", "gauge", "counter", "beat"].map { #"{"store":"\#($0)/a","action":"increment"}"# }.joined(separator: ","))]}"#

    private func bus(
        _ policy: String, change: (inout MemoryBus.Setup) -> Void = { _ in }
    ) throws -> MemoryBus {
        try LogPolicyTests.bus(["beat/a", "gauge/a", "counter/a"]) {
            $0.definitions = [
                LogPolicyTests.beat(keeping: policy),
                LogPolicyTests.beat(keeping: "all").replacing("beat", with: "gauge"),
            ]
            change(&$0)
        }
    }

    private func thin(_ bus: MemoryBus, _ type: String) throws {
        bus.written!.takeSnapshot(try bus.past(at: bus.engine.durableRevision))
        bus.written!.thin([type: bus.engine.durableRevision])
    }

    private func actions(_ bus: MemoryBus, _ match: String, since: Int, uid: Int = 0) throws -> [JSON] {
        try bus.connect(uid: uid).ask(
            #"{"op":"subscribe","match":"\#(match)","actions":true,"since":\#(since),"epoch":"\#(bus.epoch)"}"#
        ).filter { $0["event"] == "action" }
    }

    @Test(arguments: ["none", "latest", "all"]) func actionsAreToldAsTheyWereLive(policy: String) throws {
        let bus = try bus(policy)
        let start = bus.engine.revision
        let (counters, gauges) = (bus.connect(), bus.connect())
        _ = try counters.ask(#"{"op":"subscribe","type":"counter","actions":true}"#)
        _ = try gauges.ask(#"{"op":"subscribe","type":"gauge","actions":true}"#)
        try bus.connect(uid: 0).revision(after: Self.batch)
        let live = try counters.all()
        #expect(live.map { $0["index"] } == [1, 3])
        if policy != "none" { try thin(bus, "beat") }
        var next = try bus.crash()
        #expect(try actions(next, "counter/*", since: start) == live)
        #expect(try actions(next, "gauge/*", since: start) == gauges.all())
        // What was left once keeps its place when more goes.
        try thin(next, "gauge")
        next = try next.crash()
        #expect(try actions(next, "counter/*", since: start) == live)
        let history = try next.connect(uid: 0).reply(to: #"{"op":"history","type":"counter"}"#)
        let commit = try #require(history["commits"]?.array?.first { $0["actions"]?.array?.isEmpty == false })
        #expect(commit["actions"]?.array?.map { $0["index"] } == [1, 3], "\(commit)")
        #expect(next.engine.state(at: "counter/a")?["count"] == 2)
        #expect(try next.isWhatTheLogSays())
    }

    /// The last one that is left of a batch is still one of several.
    @Test func theOnlyOneLeftHasItsIndex() throws {
        let bus = try bus("all")
        let start = bus.engine.revision
        try bus.connect(uid: 0).revision(after: Self.batch)
        for type in ["beat", "counter"] { try thin(bus, type) }
        let next = try bus.crash()
        #expect(try actions(next, "gauge/*", since: start).map { $0["index"] } == [2])
        let alone = try next.connect(uid: 0).reply(
            to: #"{"op":"dispatch","store":"gauge/a","action":"increment"}"#)["revision"]?.int
        try thin(next, "beat")
        #expect(try actions(next.crash(), "gauge/*", since: alone! - 1).map { $0["index"] } == [nil])
    }

    /// Who does not see all of a batch is not told how much there was.
    @Test func anIndexTellsNothingOfWhatIsNotShown() throws {
        let bus = try bus("all") {
            $0.users = [0: ("root", []), 1: ("eve", [])]
            $0.access = """
                roles: { admin: [{ user: root }], guest: [{ user: eve }] }
                rules:
                  - { role: admin, may: all }
                  - { role: guest, may: [read, history], match: counter/* }
                """
        }
        let start = bus.engine.revision
        try bus.connect(uid: 0).revision(after: Self.batch)
        try thin(bus, "beat")
        let next = try bus.crash()
        #expect(try actions(next, "counter/*", since: start, uid: 1).map { $0["index"] } == [0, 1])
        let history = try next.connect(uid: 1).reply(to: #"{"op":"history","type":"counter"}"#)
        #expect(history["commits"]?.array?.last?["actions"]?.array?.count == 2)
        #expect(!history.encoded.contains("index"), "\(history)")
    }
}
