import BusJSON
import FluxBusCommand
import TestFiles
import TestSupport
import Testing

@Suite("Versions of types: rehearsed, replayed, imported")
struct MigrationTests {
    private static let first = """
        type: meter
        initial: { sum: 0 }
        computed: { double: { "*": [{ var: sum }, 2] } }
        actions: { add: { payload: { by: integer }, increment: { sum: { var: payload.by } } } }
        """
    /// The same, under another name, and in tenths.
    private static let second = """
        type: meter
        version: 2
        initial: { tenths: 0 }
        actions:
          add: { payload: { by: integer }, increment: { tenths: { "*": [{ var: payload.by }, 10] } } }
        migrate: { 1: { set: { tenths: { "*": [{ var: state.sum }, 10] } }, unset: [sum] } }
        """
    private static let otherEpoch = "11111111-1111-4111-8111-111111111111"

    private func eventfulBus() throws -> RememberingBus {
        let bus = try RememberingBus(definitions: [Self.first])
        for line in [
            #"{"op":"create","store":"meter/a"}"#, #"{"op":"create","store":"meter/b","state":{"sum":50}}"#,
            #"{"op":"dispatch","type":"meter","action":"add","payload":{"by":3}}"#,
            #"{"op":"dispatch","store":"meter/b","action":"add","payload":{"by":4}}"#,
            #"{"op":"revert","store":"meter/b","revision":2}"#,
            #"{"op":"dispatch","store":"meter/a","action":"add","payload":{"by":1}}"#,
        ] { try bus.ask(line) }
        return bus
    }

    @Test func aReloadIsRehearsedAndThenDone() throws {
        let bus = try eventfulBus()
        bus.socketUID = 0
        bus.definitions = [Self.second]
        bus.restart = ["listen", "log.sync"]
        let address = try bus.listen()
        defer { bus.stop() }
        let before = bus.revision
        let rehearsal = try CommandRun(["reload", "--dry-run"], bus: address, terminal: true)
        #expect(rehearsal.status == .success, "\(rehearsal.messages)")
        #expect(
            rehearsal.output == """
                meter: version 1 to 2, 2 stores
                takes a restart of the daemon: listen, log.sync
                meter/a {"tenths":40}
                meter/b {"tenths":500}
                dry run: meter and 2 stores would change

                """)
        #expect(bus.revision == before)
        // Long requests leave room for others.
        bus.restart = []
        bus.advance(milliseconds: 60_000)
        let lines = try CommandRun(["reload", "--dry-run", "--json"], bus: address)
        bus.advance(milliseconds: 60_000)
        let shown = try JSON(parsing: lines.output)
        let done = try CommandRun(["reload"], bus: address, terminal: true)
        #expect(done.output == "meter: version 1 to 2, 2 stores\nreloaded, revision \(before + 1)\n")
        #expect(shown["states"] == .object(try bus.now()))
        bus.definitions = [Self.first]
        bus.advance(milliseconds: 60_000)
        let refused = try CommandRun(["reload"], bus: address)
        #expect(refused.status == .refused)
        #expect(refused.messages.contains("meter has version 2 on the bus"))
    }

    /// Before a migration another definition was in force, which did other things: a pipeline asks what the present one does.
    @Test func aCheckBeginsWithTheNewestMigration() throws {
        let bus = try eventfulBus()
        bus.definitions = [Self.second]
        try bus.ask(#"{"op":"reload"}"#, uid: 0)
        let migrated = bus.revision
        try bus.ask(#"{"op":"dispatch","type":"meter","action":"add","payload":{"by":2}}"#)
        try bus.ask(#"{"op":"revert","store":"meter/b","revision":2}"#)
        try bus.ask(#"{"op":"dispatch","type":"meter","action":"add","payload":{"by":2}}"#)
        let folder = TemporaryDirectory()
        let address = try bus.listen()
        let export = try CommandRun(["export", "--since", "0"], bus: address)
        bus.stop()
        _ = try folder.write("export.ndjson", export.output)
        for sample in try SampleTypes.files() {
            _ = try folder.write(String(sample.name), String(decoding: sample.bytes, as: UTF8.self))
        }
        func check(_ definition: String, _ arguments: [String] = []) throws -> CommandRun {
            _ = try folder.write("meter.yaml", definition)
            return try CommandRun(
                ["replay", "\(folder.path)/export.ndjson", "--types", folder.path] + arguments,
                bus: "unix:/nowhere")
        }
        let run = try check(Self.second)
        #expect(run.status == .success, "\(run.output) \(run.messages)")
        #expect(run.output == #"{"commits":3,"different":0,"refused":0,"stores":[]}"# + "\n")
        #expect(run.messages.contains("from revision \(migrated) on, the newest migration; --since 0"))
        // From the beginning, the first definition had other members.
        #expect(try check(Self.second, ["--since", "0"]).status == .no)
        #expect(try check(Self.second, ["--since", "\(migrated + 1)"]).output.hasPrefix(#"{"commits":2,"#))
        #expect(try check(Self.second, ["--since", "999"]).status == .usage)
        // What the present definition does is compared.
        let other = try check(Self.second.replacing("10] } } }", with: "11] } } }"))
        #expect(other.status == .no)
        #expect(try JSON(parsing: try #require(other.lines.first))["revision"] == .int(migrated + 1))
    }

    /// Every recorded state is migrated for the definitions that are checked, also the one a revert goes back to.
    @Test(arguments: [0, 2, 4]) func aHistoryIsCheckedAgainstALaterVersion(since base: Int) throws {
        let bus = try eventfulBus()
        let folder = TemporaryDirectory()
        let address = try bus.listen()
        let export = try CommandRun(["export", "--since", "\(base)"], bus: address)
        bus.stop()
        _ = try folder.write("export.ndjson", export.output)
        for sample in try SampleTypes.files() {
            _ = try folder.write(String(sample.name), String(decoding: sample.bytes, as: UTF8.self))
        }
        _ = try folder.write("meter.yaml", Self.second)
        let run = try CommandRun(
            ["replay", "--check", "\(folder.path)/export.ndjson", "--types", folder.path, "--json"],
            bus: "unix:/nowhere")
        #expect(run.status == .no)
        var new: [String: JSON] = [:]
        for line in try run.lines.map({ try JSON(parsing: $0) }) {
            #expect(line["refused"] == nil || line["refused"] == 0, "\(line)")
            for difference in line["differences"]?.array ?? [] where difference["path"] == "/tenths" {
                new[difference["store"]?.string ?? ""] = difference["new"]
            }
        }
        #expect(new == ["meter/a": 40, "meter/b": 500])
    }

    /// A history in which the type goes from version to version replays to what was recorded.
    @Test func aHistoryWithAMigrationReplaysAsItWas() throws {
        let bus = try eventfulBus()
        bus.definitions = [Self.second]
        try bus.ask(#"{"op":"reload"}"#, uid: 0)
        try bus.ask(#"{"op":"dispatch","type":"meter","action":"add","payload":{"by":1}}"#)
        let folder = TemporaryDirectory()
        let address = try bus.listen()
        let export = try CommandRun(["export", "--since", "\(bus.revision - 2)"], bus: address)
        bus.stop()
        _ = try folder.write("export.ndjson", export.output)
        for sample in try SampleTypes.files() {
            _ = try folder.write(String(sample.name), String(decoding: sample.bytes, as: UTF8.self))
        }
        _ = try folder.write("meter.yaml", Self.second)
        let run = try CommandRun(
            ["replay", "--check", "\(folder.path)/export.ndjson", "--types", folder.path, "--json"],
            bus: "unix:/nowhere")
        // Until the reload the recorded bus has the earlier version.
        let lines = try run.lines.map { try JSON(parsing: $0) }
        #expect(lines.last?["stores"] == [], "\(run.output)")
    }

    @Test func anOlderHistoryIsMigratedAsItIsImported() throws {
        for base in [0, 2] {
            let source = try eventfulBus()
            let address = try source.listen()
            let export = try CommandRun(["export", "--since", "\(base)"], bus: address)
            source.stop()
            let target = try RememberingBus(definitions: [Self.second], epoch: Self.otherEpoch)
            let there = try target.listen()
            let run = try CommandRun(["import", "-"], bus: there, input: export.output)
            target.stop()
            #expect(run.status == .success, "\(run.output) \(run.messages)")
            #expect(try target.now() == ["meter/a": ["tenths": 40], "meter/b": ["tenths": 500]])
        }
    }

    @Test func aLaterHistoryIsNotImportedOntoAnEarlierVersion() throws {
        let source = try RememberingBus(definitions: [Self.second])
        try source.ask(#"{"op":"create","store":"meter/a"}"#)
        let address = try source.listen()
        let export = try CommandRun(["export", "--since", "0"], bus: address)
        source.stop()
        let target = try RememberingBus(definitions: [Self.first], epoch: Self.otherEpoch)
        let there = try target.listen()
        let run = try CommandRun(["import", "-"], bus: there, input: export.output)
        target.stop()
        #expect(run.status == .refused)
        #expect(run.messages.contains("a later version of meter than the bus"))
        #expect(try target.now() == [:])
    }
}
