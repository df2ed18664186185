import BusJSON
import FluxBusCommand
import TestFiles
import TestSupport
import Testing

@Suite("Checking definitions against history")
struct ReplayTests {
    /// What is recorded: expressions that read everything a commit knows, stores that come and go, a revert, a reload.
    private static let meter = """
        type: meter
        initial: { sum: 0, last: null, seen: [] }
        computed:
          double: { "*": [{ var: sum }, 2] }
        actions:
          add:
            payload: { by: { type: integer, default: 1 } }
            require:
              - if: { "<=": [{ var: payload.by }, 100] }
                else: by must be at most 100
            set: { last: { time: { var: meta.time }, revision: { var: meta.revision }, uid: { var: meta.uid } } }
            increment: { sum: { var: payload.by } }
            append: { seen: { var: meta.revision } }
          noted: {}
        """

    private func recordedBus() throws -> RememberingBus {
        let bus = try RememberingBus(definitions: [Self.meter])
        try bus.ask(#"{"op":"create","store":"meter/a"}"#)
        try bus.ask(#"{"op":"create","store":"meter/b","state":{"sum":50}}"#)
        bus.advance(milliseconds: 1234)
        try bus.ask(#"{"op":"dispatch","type":"meter","action":"add"}"#, uid: 1001)
        bus.advance(milliseconds: 61)
        try bus.ask(
            #"{"op":"dispatch","actions":[{"store":"meter/a","action":"add","payload":{"by":7}},{"type":"meter","action":"noted"}]}"#,
            uid: 1002)
        try bus.ask(#"{"op":"create","store":"meter/c","ephemeral":true}"#, uid: 1003)
        try bus.ask(
            #"{"op":"will","actions":[{"type":"meter","action":"add","payload":{"by":90}}]}"#, uid: 1003)
        bus.end(uid: 1003)
        try bus.ask(#"{"op":"dispatch","store":"meter/b","action":"add","payload":{"by":20}}"#, uid: 1001)
        try bus.ask(#"{"op":"revert","store":"meter/b","revision":4}"#)
        try bus.ask(#"{"op":"dispatch","store":"meter/b","action":"add"}"#, uid: 1001)
        try bus.ask(#"{"op":"reload"}"#, uid: 0)
        try bus.ask(#"{"op":"drop","store":"meter/a"}"#)
        try bus.ask(#"{"op":"create","store":"meter/a","state":{"sum":3}}"#)
        try bus.ask(#"{"op":"dispatch","type":"meter","action":"add"}"#, uid: 1001)
        return bus
    }

    /// Exports `bus` and checks it with these definitions in place of its own, or compares these with others.
    private func check(
        _ bus: RememberingBus, since: Int = 0, with meter: String? = meter, against other: String? = nil,
        _ arguments: [String] = []
    ) throws -> CommandRun {
        let (folder, others) = (TemporaryDirectory(), TemporaryDirectory())
        let address = try bus.listen()
        let file = "\(folder.path)/export.ndjson"
        let export = try CommandRun(["export", "--since", "\(since)"], bus: address)
        bus.stop()
        try #require(export.status == .success)
        _ = try folder.write("export.ndjson", export.output)
        // The samples are among the recorded definitions.
        for sample in try SampleTypes.files() {
            for folder in [folder, others] {
                try folder.write(String(sample.name), String(decoding: sample.bytes, as: UTF8.self))
            }
        }
        var words: [String] = []
        for (name, folder, meter) in [("--types", folder, meter), ("--against", others, other)] {
            guard let meter else { continue }
            try folder.write("meter.yaml", meter)
            words += [name, folder.path]
        }
        return try CommandRun(["replay", "--check", file] + words + arguments, bus: "unix:/nowhere")
    }

    private func lines(_ run: CommandRun) throws -> [JSON] { try run.lines.map { try JSON(parsing: $0) } }

    @Test(arguments: [0, 1, 2, 4, 5, 7, 8, 9, 11, 13])
    func theSameDefinitionsGiveTheSame(_ base: Int) throws {
        let bus = try recordedBus()
        let run = try check(bus, since: base)
        #expect(run.status == .success, "\(run.output) \(run.messages)")
        #expect(
            run.output
                == #"{"commits":\#(bus.revision - base),"different":0,"refused":0,"stores":[]}"# + "\n")
    }

    @Test(arguments: [0, 12]) func aReplayGivesTheRecordedStatesByteForByte(_ base: Int) throws {
        let bus = try recordedBus()
        // A definition that keeps nothing tells every recorded state as the old side of a difference.
        let empty =
            "type: meter\ninitial: { sum: 0, last: null, seen: [] }\nactions: { add: { payload: { by: integer? } }, noted: {} }\n"
        let run = try check(bus, since: base, with: empty)
        #expect(run.status == .no)
        var states: [String: [String: JSON]] = [:]
        for line in try lines(run) {
            for difference in line["differences"]?.array ?? [] {
                let store = difference["store"]?.string ?? ""
                states[store, default: [:]][difference["path"]?.string ?? ""] = difference["old"]
            }
        }
        let now = try bus.now()
        for store in ["meter/a", "meter/b"] {
            // Only the parts that differ are told.
            let revision = states[store]?["/last/revision"] ?? states[store]?["/last"]?["revision"]
            #expect(revision == now[store]?["last"]?["revision"])
            if base == 0 { #expect(states[store]?["/last"] == now[store]?["last"]) }
            #expect(states[store]?["/double"] == now[store]?["double"])
        }
    }

    @Test func anotherMutationIsToldWhereItMakesADifference() throws {
        let bus = try recordedBus()
        let twice = Self.meter.replacing(
            "increment: { sum: { var: payload.by } }", with: "increment: { sum: 1 }")
        let run = try check(bus, with: twice)
        #expect(run.status == .no)
        let found = try lines(run)
        try #require(!found.isEmpty)
        // Revision 3 adds 1 to both, as before; revision 4 adds 7.
        #expect(found[0]["revision"] == 4)
        #expect(
            found[0]["differences"] == [
                ["store": "meter/a", "path": "/double", "old": 16, "new": 4],
                ["store": "meter/a", "path": "/sum", "old": 8, "new": 2],
            ])
        // The revert goes back to what the store would have been, where both agree: that is no news.
        #expect(!found.contains { $0["revision"] == 8 })
        let summary = try #require(found.last)
        #expect(summary["commits"] == .int(bus.revision) && summary["refused"] == 0)
    }

    @Test func aRevertGoesBackToTheStateThatWouldHaveBeen() throws {
        let bus = try RememberingBus(definitions: [Self.meter])
        try bus.ask(#"{"op":"create","store":"meter/a"}"#)
        try bus.ask(#"{"op":"dispatch","store":"meter/a","action":"add","payload":{"by":5}}"#)
        try bus.ask(#"{"op":"create","store":"meter/z"}"#)
        try bus.ask(#"{"op":"dispatch","store":"meter/a","action":"add","payload":{"by":2}}"#)
        try bus.ask(#"{"op":"revert","store":"meter/a","revision":3}"#)
        let twice = Self.meter.replacing(
            "sum: { var: payload.by }", with: #"sum: { "*": [{ var: payload.by }, 10] }"#)
        let run = try check(bus, with: twice)
        let last = try #require(try lines(run).dropLast().last)
        #expect(last["revision"] == .int(bus.revision))
        #expect(
            last["differences"]?.array?.contains([
                "store": "meter/a", "path": "/sum", "old": 5, "new": 50,
            ]) ?? false)
        // The same state as at revision 2: from there on, a check says nothing of it.
        let later = try lines(check(bus, since: 4, with: twice))
        #expect(later.last?["stores"] == [])
    }

    @Test func aNewRuleIsToldWhereItWouldHaveRefused() throws {
        let bus = try recordedBus()
        let strict = Self.meter.replacing("100] }", with: "80] }").replacing(
            "at most 100", with: "at most 80")
        let run = try check(bus, with: strict)
        #expect(run.status == .no)
        let found = try lines(run)
        #expect(found[0]["revision"] == 6)
        #expect(found[0]["refused"]?["code"] == "rejected")
        // What has been refused keeps its number all the same, so that what follows has the recorded one.
        let later = found.dropFirst().dropLast().flatMap { $0["differences"]?.array ?? [] }
        #expect(!later.contains { $0["path"] == "/last/revision" })
        #expect(found.last?["refused"] == 1)
    }

    /// Where only one directory is named, the other definitions are the recorded ones.
    @Test func otherDefinitionsAreComparedWithTheRecordedOnes() throws {
        let twice = Self.meter.replacing(
            "increment: { sum: { var: payload.by } }", with: "increment: { sum: 1 }")
        let (named, against) = (
            try check(recordedBus(), with: twice), try check(recordedBus(), with: nil, against: twice)
        )
        #expect(against.status == .no && against.output == named.output)
        #expect(try check(recordedBus(), with: nil, against: Self.meter).status == .success)
        #expect(throws: (any Error).self) { try CommandRun(["replay", "x.ndjson"], bus: "unix:/nowhere") }
    }

    /// Of two sets, neither of which is the recorded one: what both make alike, or refuse both, is no difference.
    @Test func twoSetsOfDefinitionsAreComparedWithEachOther() throws {
        let bus = try recordedBus()
        let once = Self.meter.replacing(
            "increment: { sum: { var: payload.by } }", with: "increment: { sum: 1 }")
        func limited(_ most: Int, _ meter: String) -> String {
            meter.replacing("{ var: payload.by }, 100]", with: "{ var: payload.by }, \(most)]")
        }
        let alike = try check(bus, with: limited(10, once), against: limited(19, once))
        #expect(alike.status == .success, "\(alike.output)")
        #expect(try lines(alike).last?["different"] == 0)
        // Revision 7 adds 20 to b: the first accepts it, which the second does not.
        let stricter = try check(bus, with: limited(20, once), against: limited(19, once))
        #expect(stricter.status == .no)
        let found = try #require(try lines(stricter).first)
        #expect(found["revision"] == 7 && found["refused"]?["code"] == "rejected")
        #expect(found["refusedBefore"] == nil)
        let looser = try check(bus, with: limited(19, once), against: limited(20, once))
        let other = try #require(try lines(looser).first)
        #expect(other["revision"] == 7 && other["refusedBefore"]?["code"] == "rejected")
        #expect(other["refused"] == nil)
        #expect(try lines(looser).last?["refused"] == 1)
        // Store, member and both values, the first set's as the old one.
        #expect(
            other["differences"]?[0]
                == ["store": "meter/b", "path": "/double", "old": 102, "new": 104])
        let human = try check(bus, with: limited(19, once), against: limited(20, once), ["--human"])
        #expect(human.output.contains("refused before, rejected: meter/b refused add"), "\(human.output)")
    }

    @Test func aRefusalThatChangesNoStateIsToldToo() throws {
        let bus = try RememberingBus(definitions: [Self.meter])
        try bus.ask(#"{"op":"create","store":"meter/a"}"#)
        try bus.ask(#"{"op":"dispatch","type":"meter","action":"noted"}"#)
        let run = try check(bus, with: Self.meter.replacing("noted: {}", with: "remarked: {}"))
        #expect(run.status == .no)
        let found = try lines(run)
        #expect(found.count == 2)
        #expect(found[0]["refused"]?["code"] == "unknown_action" && found[0]["differences"] == [])
    }

    @Test func aMissingTypeOrMemberIsToldAtTheBeginning() throws {
        let bus = try recordedBus()
        let narrow = Self.meter.replacing("last: ", with: "latest: ")
        let run = try check(bus, since: 4, with: narrow, ["--human"])
        #expect(run.status == .no)
        try #require(run.lines.count > 3)
        #expect(run.lines[0] == "revision 4  at the beginning")
        #expect(run.lines[1].hasPrefix("  refused, invalid_request: meter has no member last"))
        #expect(run.lines[2] == "  meter/a  dropped")
    }

    @Test func anotherInitialStateTakesEffectWhereNoneWasAskedFor() throws {
        let bus = try RememberingBus(definitions: [Self.meter])
        try bus.ask(#"{"op":"create","store":"meter/a"}"#)
        try bus.ask(#"{"op":"create","store":"meter/b","state":{"sum":5}}"#)
        let run = try check(bus, with: Self.meter.replacing("sum: 0", with: "sum: 10"))
        #expect(
            try lines(run).map { $0["differences"] ?? .null } == [
                [
                    ["store": "meter/a", "path": "/double", "old": 0, "new": 20],
                    ["store": "meter/a", "path": "/sum", "old": 0, "new": 10],
                ], .null,
            ])
    }

    @Test(arguments: [0, 3]) func definitionsThatChangedInTheRecordingAreInForceFromThereOn(_ base: Int)
        throws
    {
        let bus = try RememberingBus(definitions: [Self.meter])
        try bus.ask(#"{"op":"create","store":"meter/a"}"#)
        try bus.ask(#"{"op":"dispatch","store":"meter/a","action":"add","payload":{"by":5}}"#)
        try bus.ask(#"{"op":"dispatch","store":"meter/a","action":"noted"}"#)
        let tenfold = Self.meter.replacing(
            "sum: { var: payload.by }", with: #"sum: { "*": [{ var: payload.by }, 10] }"#
        ).replacing("double: { \"*\": [{ var: sum }, 2] }", with: "double: { \"*\": [{ var: sum }, 3] }")
        try bus.restart(definitions: [tenfold])
        try bus.ask(#"{"op":"dispatch","store":"meter/a","action":"add","payload":{"by":1}}"#)
        let reload = try #require(try bus.commits().first { $0["definitions"] != nil })
        #expect(reload["states"]?["meter/a"]?["double"] == 15)
        #expect(try bus.now()["meter/a"]?["sum"] == 15)
        // The old ones all the way: what the new ones computed, and the dispatch after them, come out differently.
        let old = try lines(check(bus, since: base, with: Self.meter))
        #expect(old.compactMap { $0["revision"] } == [4, 5])
        #expect(
            old.first?["differences"] == [["store": "meter/a", "path": "/double", "old": 15, "new": 10]])
        // The new ones all the way: the dispatch before them would have added 50.
        let new = try lines(check(bus, since: base, with: tenfold))
        #expect(new.first?["revision"] == (base == 0 ? 2 : 3))
    }

    @Test func peopleSeeTheFirstOnesAndASummary() throws {
        let bus = try recordedBus()
        let tenfold = Self.meter.replacing(
            "sum: { var: payload.by }", with: #"sum: { "*": [{ var: payload.by }, 10] }"#)
        let run = try check(bus, with: tenfold, ["--human", "--limit", "1"])
        #expect(run.status == .no)
        try #require(run.lines.count == 7, "\(run.output)")
        #expect(run.lines[0].hasPrefix("revision 3  "))
        #expect(run.lines[0].hasSuffix(#"  meter add {"by":1}"#))
        #expect(
            run.lines[1...4] == [
                "  meter/a  double 2 → 20", "           sum 1 → 10", "  meter/b  double 102 → 120",
                "           sum 51 → 60",
            ])
        #expect(run.lines[5].hasPrefix("… and ") && run.lines[5].hasSuffix(" more; --limit shows them"))
        #expect(run.lines[6].hasPrefix("\(bus.revision) commits replayed: "))
        #expect(run.lines[6].hasSuffix("0 of them refused; 2 stores differ at the end: meter/a, meter/b"))
    }

    @Test func whoCameOverTCPHasNoUserID() throws {
        let folder = TemporaryDirectory()
        let file = try folder.write(
            "export.ndjson",
            """
            {"fluxbus":"export","form":1,"epoch":"e","revision":7,"until":9}
            {"definition":{"type":"guest","initial":{"who":0},"actions":{"come":{"set":{"who":{"var":"meta.uid"}}}}}}
            {"store":"guest/a","state":{"who":0}}
            {"revision":8,"time":1.5,"by":{"token":"panel","address":"x:1"},"actions":[{"type":"guest","action":"come","payload":{}}]}
            {"revision":9,"time":1.5,"by":{"uid":1005,"pid":1},"actions":[{"type":"guest","action":"come","payload":{}}]}
            """)
        _ = try folder.write("guest.yaml", "type: guest\ninitial: { who: 0 }\nactions: { come: {} }\n")
        let run = try CommandRun(["replay", "--check", file, "--types", folder.path])
        let differences = try lines(run).compactMap { $0["differences"]?[0] }
        #expect(differences.map { $0["old"] } == [.null, 1005])
        #expect(differences.map { $0["new"] } == [0, 0])
    }

    @Test func definitionsThatAreWrongAreRefusedWithTheirLine() throws {
        let bus = try recordedBus()
        let run = try check(bus, with: "type: meter\ninitial: 7\n")
        #expect(run.status == .refused)
        #expect(run.messages.contains("meter.yaml:2:"))
    }
}
