import BusEngine
import BusJSON
import TestModes
import TestSupport
import Testing

/// Answers about a past that is not kept do not depend on how much of it is still in the log.
@Suite(
    .aloneOnly(because: "The local copy of a shared bus keeps all of each type, as its log does."))
struct KeptPastTests {
    private static let kept = "counter/a"

    private func bus(_ policy: String) throws -> MemoryBus {
        try LogPolicyTests.bus { $0.definitions = [LogPolicyTests.beat(keeping: policy)] }
    }

    private func snapshot(_ bus: MemoryBus) throws {
        bus.written!.takeSnapshot(try bus.past(at: bus.engine.durableRevision))
    }

    /// Commits of `beat` alone, of both, and of `counter` alone.
    private func work(_ bus: MemoryBus) throws {
        let client = bus.connect(uid: 0)
        let both =
            #"{"op":"dispatch","actions":[{"store":"beat/a","action":"increment"},{"store":"counter/a","action":"increment"}]}"#
        for number in 0..<3 {
            try client.increment("beat/a")
            try client.increment("counter/a")
            try client.reply(to: both)
            try client.reply(to: #"{"op":"create","store":"beat/b\#(number)"}"#)
            try client.reply(to: #"{"op":"dispatch","type":"beat","action":"increment"}"#)
            try client.reply(to: #"{"op":"dispatch","store":"beat/a","action":"later"}"#)
            try client.reply(to: #"{"op":"dispatch","type":"*","action":"increment"}"#)
            bus.advance(milliseconds: 6000)
            try client.reply(to: #"{"op":"drop","store":"beat/b\#(number)"}"#)
        }
    }

    private func answers(_ bus: MemoryBus) throws -> [JSON] {
        let client = bus.connect(uid: 0)
        return try [
            #"{"op":"history"}"#, #"{"op":"history","order":"newest"}"#, #"{"op":"history","limit":2}"#,
            #"{"op":"history","action":"increment"}"#, #"{"op":"history","by":"0"}"#,
            #"{"op":"history","type":"counter"}"#, #"{"op":"blame","store":"counter/a"}"#,
            #"{"op":"samples","store":"counter/a","path":"/count","cause":true}"#,
        ].map { try client.reply(to: $0) }
    }

    @Test func commitsOfTypesWithoutAPastAreNotTold() throws {
        let bus = try bus("latest")
        try work(bus)
        try snapshot(bus)
        try work(bus)
        try snapshot(bus)
        let answers = try answers(bus)
        #expect(bus.written!.lines.contains { $0.contains("beat/") })
        for answer in answers {
            #expect(answer["ok"] == true)
            #expect(!answer.encoded.contains("beat/"), "\(answer)")
        }
        let commits = try #require(answers[0]["commits"]?.array)
        #expect(commits.count { $0.encoded.contains(Self.kept) } == 13, "A create, and two of each three.")
        for groups in [0, 10, Int.max] {
            bus.written!.thin(["beat": bus.engine.durableRevision], groups: groups)
            #expect(try self.answers(bus) == answers, "\(groups) groups are thinned")
        }
    }

    /// What is before the horizon of a type is not told, whether it is gone or not.
    @Test func commitsBeforeAHorizonAreNotTold() throws {
        let bus = try bus("all")
        try work(bus)
        try snapshot(bus)
        let horizon = bus.engine.durableRevision
        try work(bus)
        let whole = try answers(bus)
        bus.written!.thin(["beat": horizon], groups: 0)
        let answers = try answers(bus)
        #expect(answers != whole)
        let told = answers[0]["commits"]?.array?.filter { $0.encoded.contains("beat/") }
        #expect(told?.isEmpty == false && told?.allSatisfy { $0["revision"]!.int! > horizon } == true)
        bus.written!.thin(["beat": horizon])
        #expect(try self.answers(bus) == answers)
    }

    /// A past that begins with a reload does so for a history of everything, too.
    @Test func commitsBeforeAPolicyAreNotTold() throws {
        let bus = try bus("latest")
        try work(bus)
        bus.definitions = [LogPolicyTests.beat(keeping: "all")]
        let since = try bus.connect(uid: 0).revision(after: #"{"op":"reload"}"#)
        try snapshot(bus)
        try work(bus)
        let answers = try answers(bus)
        let told = answers[0]["commits"]?.array?.filter { $0.encoded.contains("beat/") }
        #expect(told?.isEmpty == false && told?.allSatisfy { $0["revision"]!.int! > since } == true)
        bus.written!.thin(["beat": since])
        #expect(try self.answers(bus) == answers)
    }
}
