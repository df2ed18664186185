import BusJSON
import FluxBusCommand
import Foundation
import TestFiles
import Testing

/// `fluxbus effects`: where effects stand, what becomes of events, and what a file would have done.
@Suite("Effects on the command line") struct EffectsCommandTests {
    private let bus: RememberingBus
    private let address: String

    init() throws {
        bus = try RememberingBus(definitions: [
            Repository.text("config/types/effect.yaml"), Repository.text("config/types/door.yaml"),
        ])
        address = try bus.listen()
    }

    private func aside(_ events: String...) throws {
        for event in events {
            let payload =
                #"{"event":"\#(event)","store":"door/a","action":"rang","reason":"it ended with status 1","tries":6}"#
            _ = try CommandRun(["dispatch", "effect/bell", "setAside", payload], bus: address)
        }
    }

    @Test func eventsThatWereSetAsideAreListedRetriedAndSkipped() throws {
        let run = { (words: [String]) in try CommandRun(["effects"] + words + ["--human"], bus: address) }
        #expect(try run([]).messages.contains("There is no effect."))
        _ = try CommandRun(["create", "effect/bell"], bus: address)
        try aside("10:0", "9:0", "9:1.2")
        #expect(
            try run([]).lines[1].split(separator: " ").map(String.init) == [
                "bell", "no", "service", "0", "0", "0", "3",
            ])
        let list = try run(["list", "bell"])
        #expect(list.lines.dropFirst().map { $0.prefix { $0 != " " } } == ["9:0", "9:1.2", "10:0"])
        #expect(list.lines[1].hasSuffix("6      it ended with status 1"), "\(list.output)")
        #expect(try run(["retry", "bell", "9"]).output == "bell tries again 2 events\n")
        #expect(try run(["skip", "bell", "9:0"]).status == .no)
        #expect(try run(["skip", "bell"]).output == "bell forgets 1 event\n")
        #expect(try run(["retry", "bell"]).output == "bell has set nothing aside\n")
        #expect(try run(["pause", "bell", "--reason", "why not"]).status == .success)
        #expect(try run([]).lines[1].hasSuffix("why not"))
        #expect(try run(["resume", "bell"]).output == "bell continues\n")
        let line = try JSON(parsing: CommandRun(["effects", "--json"], bus: address).lines[0])
        #expect(line["effect"] == "bell" && line["paused"] == .null && line["again"]?.object?.count == 2)
        for words in [
            ["list", "other"], ["retry", "other"], ["skip", "other"], ["pause", "other"],
            ["resume", "other"],
        ] {
            let told = try run(words)
            #expect(told.status == .no, "\(words)")
            #expect(
                told.messages
                    == "fluxbus: There is no effect other; `fluxbus effects` lists those there are.\n")
        }
        bus.stop()
    }

    /// Anybody may have created the store.
    @Test func aTimeThatIsNoneIsShownAsItIs() throws {
        let state = #"{"failed":{"1:0":{"at":1e300,"store":"a/b","action":"x"}}}"#
        _ = try CommandRun(["create", "effect/bell", state], bus: address)
        let list = try CommandRun(["effects", "list", "bell", "--human"], bus: address)
        #expect(list.status == .success && list.output.contains("1e+300"), "\(list)")
        bus.stop()
    }

    @Test func aFileIsHeldAgainstThePast() throws {
        let directory = TemporaryDirectory()
        let file = try directory.write(
            "bell.yaml",
            "effect: bell\non: { action: [open, rang], of: door/* }\nif: state.openings < 2\ndo: { start: 'bell@{name}.service' }\n"
        )
        for name in ["a", "b"] { _ = try CommandRun(["create", "door/\(name)"], bus: address) }
        for words in [
            ["door/a", "open"], ["door", "rang"], ["door/a", "close"], ["door/a", "open"],
            ["door/a", "rang"],
        ] {
            _ = try CommandRun(["dispatch"] + words, bus: address)
        }
        let all = try CommandRun(["effects", "try", file, "--since", "0"], bus: address)
        let lines = try all.lines.map { try JSON(parsing: $0) }
        #expect(
            lines.compactMap { $0["do"]?.string } == [
                "start bell@a.service", "start bell@a.service", "start bell@b.service",
            ])
        #expect(
            lines.compactMap { $0["event"]?.string?.split(separator: ":").last } == ["0", "0.1", "0.2"],
            "\(all.output)")
        let first = try #require(lines.first?["event"]?.string?.split(separator: ":").first)
        let some = try CommandRun(
            ["effects", "try", file, "--since", "0", "--at", String(first)], bus: address)
        #expect(some.lines.count == 1)
        let later = try CommandRun(["effects", "try", file, "--at", "1000"], bus: address)
        #expect(later.status == .refused && later.messages.contains("Revision 1000 has not happened"))
        try directory.write("bell.yaml", "effect: bell\non: { action: rang, of: door/* }\ndoo: {}\n")
        let wrong = try CommandRun(["effects", "try", file], bus: address)
        #expect(wrong.status == .refused && wrong.messages.contains("bell.yaml:3:1: unknown key `doo`"))
        bus.stop()
    }

    @Test func aConditionIsHeldAgainstThePast() throws {
        let directory = TemporaryDirectory()
        let file = try directory.write(
            "draught.yaml",
            "effect: draught\nwhen: { of: door/*, becomes: isOpen }\ndo: { start: 'draught@{name}.service' }\n"
        )
        for name in ["a", "b"] { _ = try CommandRun(["create", "door/\(name)"], bus: address) }
        var revisions: [String] = []
        for words in [
            ["door/a", "open"], ["door/a", "close"], ["door/b", "open"], ["door/b", "open"],
            ["door/a", "open"],
        ] {
            let told = try CommandRun(["dispatch"] + words, bus: address)
            revisions.append(try #require(JSON(parsing: told.lines[0])["revision"]?.encoded))
        }
        func events(_ words: String...) throws -> [String?] {
            try CommandRun(["effects", "try", file] + words, bus: address).lines.map {
                let line = try JSON(parsing: $0)
                return line["event"]?.string.map { "\($0) \(line["do"]?.string ?? "")" }
            }
        }
        let wanted = zip([0, 2, 4], ["a", "b", "a"]).map {
            "\(revisions[$0]):0.1 start draught@\($1).service"
        }
        #expect(try events() == wanted)
        // A door that is open already does not open.
        #expect(try events("--since", revisions[2]) == [wanted[2]])
        #expect(try events("--at", revisions[1]) == [wanted[0]])
        // None of them had been open for an hour by then, whatever the clock of this program says.
        try directory.write(
            "draught.yaml",
            "effect: draught\nwhen: { of: door/*, becomes: isOpen, for: 1h }\ndo: { run: [/bin/true] }\n")
        #expect(try events("--at", revisions[3]) == [])
        bus.stop()
    }
}
