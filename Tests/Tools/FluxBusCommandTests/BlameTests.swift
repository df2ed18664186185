import BusJSON
import FluxBusCommand
import TestModes
import Testing

@Suite("Blame", .inBothModes)
struct BlameTests {
    private func lines(_ run: CommandRun) throws -> [JSON] { try run.lines.map { try JSON(parsing: $0) } }

    /// Counts somewhere else, to put distance between commits.
    private func passTime(_ bus: RememberingBus, commits: Int) throws {
        for _ in 0..<commits {
            try bus.ask(#"{"op":"dispatch","store":"counter/other","action":"increment"}"#, uid: 9)
        }
    }

    private func bus() throws -> RememberingBus {
        let bus = try RememberingBus(snapshots: [3])
        try bus.ask(#"{"op":"create","store":"counter/other"}"#)
        try bus.ask(#"{"op":"create","store":"counter/a","state":{"count":4}}"#, uid: 1)
        return bus
    }

    private func count(_ bus: RememberingBus, by: Int, uid: Int) throws {
        try bus.ask(
            #"{"op":"dispatch","store":"counter/a","action":"increment","payload":{"by":\#(by)}}"#, uid: uid)
    }

    @Test func aValueIsTheLastCommitThatChangedIt() throws {
        let bus = try bus()
        try count(bus, by: 1, uid: 2)
        try count(bus, by: 2, uid: 3)
        // It concerns the store, and changes nothing.
        try count(bus, by: 0, uid: 4)
        let address = try bus.listen()
        let run = try CommandRun(["blame", "counter/a", "/count"], bus: address)
        let finding = try #require(try lines(run).first)
        #expect(finding["revision"] == 4 && finding["by"]?["uid"] == 3)
        #expect(finding["old"] == 5 && finding["new"] == 7)
        #expect(finding["actions"]?[0]?["payload"] == ["by": 2])
        let earlier = try CommandRun(["blame", "counter/a", "/count", "--at", "3"], bus: address)
        #expect(try lines(earlier).first?["revision"] == 3)
        bus.stop()
    }

    @Test func aValueOfAViewIsTheCommitThatChangedASource() throws {
        let bus = try RememberingBus(
            definitions: ["view: all\nof: counter\nvalues: { sum: sum(count), most: argmax(count) }"])
        try bus.ask(#"{"op":"create","store":"counter/a"}"#, uid: 1)
        try bus.ask(#"{"op":"create","store":"counter/b"}"#, uid: 2)
        try count(bus, by: 5, uid: 3)
        try bus.ask(#"{"op":"dispatch","store":"counter/b","action":"increment"}"#, uid: 4)
        try bus.ask(#"{"op":"create","store":"door/d"}"#, uid: 5)
        let address = try bus.listen()
        let found = try lines(CommandRun(["blame", "all/all"], bus: address))
        #expect(found.map { $0["by"]?["uid"] } == [1, 4], "\(found)")
        #expect(found.last?["old"] == 5 && found.last?["new"] == 6)
        bus.stop()
    }

    @Test func aValueThatCameBackIsBlamedOnWhatBroughtItBack() throws {
        let bus = try bus()
        try passTime(bus, commits: 300)
        try count(bus, by: 1, uid: 2)
        try count(bus, by: -1, uid: 3)
        try passTime(bus, commits: 20)
        let address = try bus.listen()
        let finding = try lines(CommandRun(["blame", "counter/a", "/count"], bus: address)).first
        #expect(finding?["revision"] == 304 && finding?["old"] == 5 && finding?["new"] == 4)
        bus.stop()
    }

    @Test(arguments: [0, 200, 255, 256, 257, 900]) func everyDistanceIsFound(_ distance: Int) throws {
        let bus = try bus()
        try count(bus, by: 1, uid: 2)
        try passTime(bus, commits: distance)
        let address = try bus.listen()
        let run = try CommandRun(["blame", "counter/a", "/count"], bus: address)
        #expect(try lines(run).first?["revision"] == 3)
        bus.stop()
    }

    @Test func eachMemberHasItsOwnCommit() throws {
        let bus = try bus()
        try count(bus, by: 3, uid: 2)
        try count(bus, by: 2, uid: 3)
        let address = try bus.listen()
        let found = try lines(CommandRun(["blame", "counter/a"], bus: address))
        #expect(found.map { $0["path"] } == ["/count", "/isEven"])
        #expect(found.map { $0["revision"] } == [4, 3])
        #expect(found.map { $0["new"] } == [9, false])
        let text = try CommandRun(["blame", "counter/a", "--human"], bus: address)
        #expect(text.lines.count == 3)
        #expect(text.lines[1].hasPrefix("4 ") && text.lines[1].hasSuffix("count 9"))
        #expect(text.lines[2].contains(#"counter/a increment {"by":3}"#))
        bus.stop()
    }

    @Test func aCreationIsACommitToo() throws {
        let bus = try bus()
        try bus.ask(#"{"op":"drop","store":"counter/a"}"#, uid: 1)
        try bus.ask(#"{"op":"create","store":"counter/a","state":{"count":4}}"#, uid: 6)
        let address = try bus.listen()
        let finding = try lines(CommandRun(["blame", "counter/a", "/count"], bus: address)).first
        #expect(finding?["revision"] == 4 && finding?["by"]?["uid"] == 6)
        #expect(finding?["old"] == nil && finding?["new"] == 4)
        bus.stop()
    }

    @Test func beforeTheLogBeginsNobodyIsBlamed() throws {
        let bus = try bus()
        try count(bus, by: 2, uid: 2)
        try count(bus, by: 0, uid: 3)
        bus.forget(before: 3)
        let address = try bus.listen()
        let run = try CommandRun(["blame", "counter/a", "/count"], bus: address)
        #expect(run.status == .success)
        #expect(run.output == #"{"before":3,"new":6,"path":"/count","store":"counter/a"}"# + "\n")
        let text = try CommandRun(["blame", "counter/a", "/count", "--human"], bus: address)
        #expect(text.lines.first == "revision  ≤ 3")
        let nothing = try CommandRun(["blame", "counter/a", "/nothing"], bus: address)
        #expect(nothing.status == .no)
        #expect(
            nothing.messages
                == "fluxbus: There is nothing at /nothing of counter/a, and has not been since revision 3.\n"
        )
        #expect(try CommandRun(["blame", "counter/none"], bus: address).status == .no)
        bus.stop()
    }
}
