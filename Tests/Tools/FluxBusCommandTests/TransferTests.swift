import BusJSON
import FluxBusCommand
import TestFiles
import TestModes
import Testing

#if canImport(Glibc)
    import Glibc
#endif

@Suite("Export and import", .inBothModes)
struct TransferTests {
    private static let otherEpoch = "11111111-1111-4111-8111-111111111111"

    /// Stores made, counted, dropped, put back; an ephemeral one with a will; a reload.
    private func eventfulBus() throws -> RememberingBus {
        let bus = try RememberingBus(snapshots: [5])
        try bus.ask(#"{"op":"create","store":"counter/a"}"#)
        try bus.ask(#"{"op":"create","store":"counter/b","state":{"count":7}}"#)
        try bus.ask(#"{"op":"dispatch","type":"counter","action":"increment"}"#)
        try bus.ask(
            #"{"op":"dispatch","actions":[{"store":"counter/a","action":"increment"},{"type":"*","action":"reset"}]}"#
        )
        try bus.ask(#"{"op":"dispatch","store":"counter/b","action":"increment","payload":{"by":40}}"#)
        try bus.ask(#"{"op":"drop","store":"counter/a"}"#)
        try bus.ask(#"{"op":"create","store":"todo/mine","ephemeral":true}"#, uid: 1009)
        try bus.ask(
            #"{"op":"will","actions":[{"store":"counter/b","action":"increment","payload":{"by":100}}]}"#,
            uid: 1009)
        bus.end(uid: 1009)
        try bus.ask(#"{"op":"revert","store":"counter/b","revision":3}"#)
        try bus.ask(#"{"op":"reload"}"#, uid: 0)
        try bus.ask(#"{"op":"create","store":"counter/a","state":{"count":3}}"#)
        return bus
    }

    private func export(_ bus: RememberingBus, _ arguments: [String] = []) throws -> String {
        let address = try bus.listen()
        defer { bus.stop() }
        let run = try CommandRun(["export"] + arguments, bus: address)
        try #require(run.status == .success, "\(run.messages)")
        return run.output
    }

    // MARK: - export

    @Test func anExportHoldsDefinitionsStatesAndEveryCommit() throws {
        let bus = try eventfulBus()
        let lines = try export(bus, ["--since", "3"]).split(separator: "\n").map(String.init)
        #expect(
            lines.first
                == #"{"fluxbus":"export","form":1,"epoch":"7c1f6a52-9a43-4a7e-8c55-2f0d8e5b1a90","revision":3,"until":\#(bus.revision)}"#
        )
        let values = try lines.map { try JSON(parsing: $0) }
        let types = values.compactMap { $0["definition"]?["type"]?.string }
        #expect(types.contains("counter"))
        let states = values.filter { $0["state"] != nil }
        #expect(states.map { $0["store"] } == ["counter/a", "counter/b"])
        #expect(states.map { $0["state"]?["count"] } == [1, 8])
        let commits = try bus.commits()
        #expect(values.filter { $0["time"] != nil } == Array(commits[3...]))
    }

    @Test func anExportBeginsWhereTheLogDoes() throws {
        let bus = try eventfulBus()
        bus.forget(before: 5)
        let lines = try export(bus).split(separator: "\n").map { try JSON(parsing: String($0)) }
        #expect(lines[0]["revision"] == 5)
        #expect(lines.filter { $0["time"] != nil }.first?["revision"] == 6)
        let address = try bus.listen()
        let gone = try CommandRun(["export", "--since", "2"], bus: address)
        #expect(gone.status == .no)
        bus.stop()
    }

    @Test func aFileIsThereOnlyWhenItIsWhole() throws {
        let bus = try eventfulBus()
        let directory = TemporaryDirectory()
        let path = "\(directory.path)/bus.ndjson"
        let text = try export(bus, ["-o", path])
        #expect(text.isEmpty)
        var status = stat()
        #expect(stat(path, &status) == 0 && status.st_mode & 0o777 == 0o600)
        let whole = status.st_size
        bus.onLine = { _, line in if line.contains("history") { throw Cut() } }
        let address = try bus.listen()
        #expect(try CommandRun(["export", "--since", "1", "-o", path], bus: address).status == .unreachable)
        #expect(stat(path, &status) == 0 && status.st_size == whole)
        bus.stop()
    }

    // MARK: - import

    private func run(
        _ file: String, into bus: RememberingBus, _ arguments: [String] = []
    ) throws -> CommandRun {
        let address = try bus.listen()
        defer { bus.stop() }
        return try CommandRun(["import", "-", "--human"] + arguments, bus: address, input: file)
    }

    /// A log that can't be read for now may know how far an earlier import came.
    @Test func anImportEndsWhereTheLogCanNotBeRead() throws {
        let file = try export(try eventfulBus())
        let bus = try ScriptedBus { line in
            line.contains(#""history""#)
                ? [ScriptedBus.refusal(of: line, "unavailable", "The bus restarts; ask again.")]
                : [ScriptedBus.reply(to: line, ["epoch": .string(Self.otherEpoch), "types": []])]
        }
        defer { bus.stop() }
        let run = try CommandRun(["import", "-", "--human"], bus: bus.address, input: file)
        #expect(run.status == .temporary && run.messages.contains("ask again"), "\(run.messages)")
    }

    @Test(arguments: [0, 3, 5, 8], [true, false])
    func anImportGivesTheSameStates(_ base: Int, _ keepsLog: Bool) throws {
        let source = try eventfulBus()
        let file = try export(source, ["--since", "\(base)"])
        let target = try RememberingBus(epoch: Self.otherEpoch, keepsLog: keepsLog)
        let run = try run(file, into: target)
        #expect(run.status == .success, "\(run.output)\(run.messages)")
        #expect(try target.now() == source.now())
        #expect(run.messages.isEmpty)
        #expect(run.lines.last?.hasPrefix("imported ") ?? false)
    }

    /// What a type without a past did can't be repeated without its stores.
    @Test(.aloneOnly(because: "A shared bus keeps everything of each type."))
    func typesWithoutAPastAreLeftOut() throws {
        let beat =
            "type: beat\nlog: { keep: latest }\ninitial: { count: 0 }\nactions: { increment: { increment: { count: 1 } } }"
        let bus = try RememberingBus(definitions: [beat])
        for store in ["counter/a", "beat/a"] {
            try bus.ask(#"{"op":"create","store":"\#(store)"}"#)
            try bus.ask(#"{"op":"dispatch","store":"\#(store)","action":"increment"}"#)
        }
        try bus.ask(
            #"{"op":"dispatch","actions":[{"store":"beat/a","action":"increment"},{"store":"counter/a","action":"increment"}]}"#
        )
        let text = try export(bus)
        #expect(!text.contains("beat/"))
        let other = try RememberingBus(definitions: [beat], epoch: Self.otherEpoch)
        #expect(try run(text, into: other).status == .success)
        #expect(try other.now()["counter/a"]?["count"] == 2)
    }

    /// An import makes the stores of views by making those that they follow.
    @Test func theStoresOfViewsAreNotExported() throws {
        let views = ["view: all\nof: counter\nvalues: { sum: sum(count) }"]
        let source = try RememberingBus(definitions: views)
        try source.ask(#"{"op":"create","store":"counter/a","state":{"count":7}}"#)
        try source.ask(#"{"op":"dispatch","type":"counter","action":"increment"}"#)
        let file = try export(source, ["--since", "1"])
        #expect(!file.contains("all/all") && file.contains(#""view":"#))
        let target = try RememberingBus(definitions: views, epoch: Self.otherEpoch)
        let run = try run(file, into: target)
        #expect(run.status == .success, "\(run.output)\(run.messages)")
        #expect(try target.now() == source.now())
        #expect(try target.now()["all/all"] == ["sum": 8])
    }

    @Test(arguments: [true, false]) func anImportCutOffAnywhereIsRepeatedWithoutDoubling(_ keepsLog: Bool)
        throws
    {
        let source = try eventfulBus()
        let file = try export(source)
        let whole = try RememberingBus(epoch: Self.otherEpoch, keepsLog: keepsLog)
        _ = try run(file, into: whole)
        let requests = whole.received.filter { $0.contains(#""key""#) }.count
        #expect(requests > 10)
        for cut in 0..<requests {
            let target = try RememberingBus(epoch: Self.otherEpoch, keepsLog: keepsLog)
            var left = cut
            target.onLine = { _, line in
                guard line.contains(#""key""#) else { return }
                if left == 0 { throw Cut() }
                left -= 1
            }
            #expect(try run(file, into: target).status == .unreachable)
            target.onLine = { _, _ in }
            let second = try run(file, into: target)
            #expect(second.status == .success, "\(cut): \(second.output)")
            #expect(try target.now() == source.now(), "cut off after \(cut)")
            #expect(target.revision == whole.revision, "cut off after \(cut)")
            // And once more, when there is nothing left to do.
            #expect(try run(file, into: target).status == .success)
            #expect(target.revision == whole.revision)
        }
    }

    private struct Cut: Error {}

    @Test func theLogTellsHowFarAnImportCameWhenKeysAreForgotten() throws {
        let source = try eventfulBus()
        let file = try export(source)
        let target = try RememberingBus(epoch: Self.otherEpoch)
        _ = try run(file, into: target)
        let before = target.received.count
        // Another user has other keys, so that none of them is known.
        target.socketUID = 77
        let again = try run(file, into: target)
        #expect(again.messages.contains("up to revision \(source.revision) already"))
        #expect(target.received.count > 0 && before > 0)
        #expect(!target.received.contains { $0.contains(#""key""#) })
        #expect(try target.now() == source.now())
    }

    @Test func whatIsRefusedIsToldAndLeftOut() throws {
        let source = try eventfulBus()
        let file = try export(source, ["--since", "5"])
        let target = try RememberingBus(epoch: Self.otherEpoch)
        // This one is another user's, so that its drop is forbidden.
        try target.ask(#"{"op":"create","store":"counter/a","state":{"count":1000}}"#, uid: 4)
        let run = try run(file, into: target)
        #expect(run.status == .forbidden)
        #expect(run.lines.first?.hasPrefix("revision 6: drop refused: Only who created counter/a") ?? false)
        #expect(run.lines.contains { $0.contains("create refused: counter/a exists") })
        #expect(
            run.messages.contains("counter/a exists already, and its state differs from that in the file.\n"))
        #expect(run.lines.last?.hasSuffix("2 refused") ?? false)
        #expect(try target.now()["counter/b"] == source.now()["counter/b"])
        #expect(try target.now()["counter/a"]?["count"] == 1000)
    }

    /// A line that the bus does not read is refused without its id.
    @Test func aStoreThatTheBusCanNotReadIsLeftOutAndToldAgain() throws {
        let box =
            "type: box\ninitial: { value: null, count: 0 }\nactions: { add: { increment: { count: 1 } } }"
        let source = try RememberingBus(definitions: [box])
        for name in ["a", "b"] {
            try source.ask(#"{"op":"create","store":"box/\#(name)","state":{"value":"\#(name)"}}"#)
        }
        for name in ["a", "b"] {
            try source.ask(#"{"op":"dispatch","store":"box/\#(name)","action":"add"}"#)
        }
        let deep = String(repeating: "[", count: 80) + String(repeating: "]", count: 80)
        let file = try export(source, ["--since", "2"]).replacing(#""value":"a""#, with: #""value":\#(deep)"#)
        let target = try RememberingBus(definitions: [box], epoch: Self.otherEpoch)
        let first = try run(file, into: target)
        #expect(first.status == .refused, "\(first.output)\(first.messages)")
        #expect(first.lines.first?.hasPrefix("revision 2: create refused: ") ?? false, "\(first.output)")
        #expect(first.lines.contains { $0.hasPrefix("revision 3: dispatch refused: ") })
        #expect(try target.now() == ["box/b": ["count": 1, "value": "b"]])
        // One that was dropped since is not missing.
        try target.ask(#"{"op":"drop","store":"box/b"}"#)
        let second = try run(file, into: target)
        #expect(second.status == .refused && second.messages.contains("up to revision 4 already"))
        #expect(
            second.lines.dropLast() == [
                "revision 2: create refused: box/a is not there; an earlier import could not create it."
            ])
        #expect(target.revision == 3)
    }

    @Test func aDryRunChangesNothing() throws {
        let file = try export(try eventfulBus(), ["--since", "3"])
        let target = try RememberingBus(epoch: Self.otherEpoch)
        try target.ask(#"{"op":"create","store":"counter/a"}"#)
        let run = try run(file, into: target, ["--dry-run"])
        #expect(run.status == .success)
        #expect(target.revision == 1)
        #expect(
            run.lines.last
                == "would import 2 stores (1 there already), 8 commits, 4 actions, 2 created, 2 dropped, 1 reverted"
        )
    }

    @Test func aMissingTypeIsToldBeforeAnythingIsDone() throws {
        let source = try RememberingBus(definitions: ["type: rare\ninitial: { n: 0 }\n"])
        try source.ask(#"{"op":"create","store":"counter/a"}"#)
        let file = try export(source)
        let target = try RememberingBus(epoch: Self.otherEpoch)
        let run = try run(file, into: target)
        #expect(run.status == .refused && target.revision == 0)
        #expect(run.messages.contains("no state type rare"))
        // A bus is not imported into itself.
        let own = try self.run(file, into: source)
        #expect(own.status == .refused && source.revision == 1)
    }

    // MARK: - Damage

    @Test func aDamagedOrShortFileIsRefused() throws {
        let file = try export(try eventfulBus())
        let lines = file.split(separator: "\n").map(String.init)
        func status(_ lines: [String]) throws -> String {
            let target = try RememberingBus(epoch: Self.otherEpoch)
            let run = try run(lines.joined(separator: "\n"), into: target)
            #expect(run.status == .refused)
            return run.messages
        }
        #expect(try status([]).contains("is not an export"))
        #expect(try status(["{}"]).contains("is not an export"))
        #expect(try status([lines[0].replacing(#""form":1"#, with: #""form":4"#)]).contains("form"))
        #expect(try status(Array(lines.dropLast())).contains("get the whole file"))
        var without = lines
        without.remove(at: lines.count - 3)
        #expect(try status(without).contains("belongs"))
        var cut = lines
        cut[cut.count - 1].removeLast(4)
        #expect(try status(cut).contains("is not JSON"))
        #expect(try status(lines + [lines[2]]).contains("is not a commit"))
        #expect(try status(lines + [lines[lines.count - 1]]).contains("belongs"))
        #expect(try CommandRun(["import", "/nowhere"], bus: "unix:/nowhere").status == .usage)
    }

    /// Where the log leaves commits out, nothing but the end says that a file is whole.
    @Test func aFileWithoutItsEndIsRefusedThoughTheLogLeavesOut() throws {
        let source = try RememberingBus(definitions: ["type: beat\ninitial: { n: 0 }\nlog: { keep: none }\n"])
        for name in ["a", "b"] { try source.ask(#"{"op":"create","store":"counter/\#(name)"}"#) }
        let lines = try export(source).split(separator: "\n").map(String.init)
        func imported(_ lines: [String]) throws -> CommandStatus {
            let target = try RememberingBus(
                definitions: ["type: beat\ninitial: { n: 0 }\n"], epoch: Self.otherEpoch)
            return try run(lines.joined(separator: "\n"), into: target).status
        }
        #expect(try imported(lines) == .success)
        #expect(try imported(lines.dropLast()) == .refused)
        #expect(try imported(lines.dropLast(2)) == .refused)
        #expect(try imported(lines + [lines[lines.count - 2]]) == .refused)
        // Earlier versions wrote no end.
        let earlier = lines[0].replacing(#""form":3"#, with: #""form":1"#)
        #expect(try imported([earlier] + lines.dropFirst().dropLast()) == .success)
    }

    /// A rule may have come and gone between the beginning and the end of the file.
    @Test func aRuleThatIsGoneLeavesAnEnd() throws {
        let beat = "type: beat\ninitial: { n: 0 }\n"
        let source = try RememberingBus(definitions: [beat])
        for definition in [beat + "log: { keep: none }\n", beat] {
            try source.ask(#"{"op":"create","store":"counter/c\#(source.revision)"}"#)
            source.definitions = [definition]
            try source.ask(#"{"op":"reload"}"#, uid: 0)
        }
        let lines = try export(source).split(separator: "\n").map(String.init)
        #expect(lines[0].contains(#""form":3"#) && lines.last == #"{"end":\#(source.revision)}"#)
        let target = try RememberingBus(definitions: [beat], epoch: Self.otherEpoch)
        #expect(try run(lines.dropLast().joined(separator: "\n"), into: target).status == .refused)
        #expect(try export(source, ["--since", "\(source.revision)"]).contains(#""form":1"#))
    }

    /// A key that stands for a place behind the file says nothing of how far an import came.
    @Test func keysBehindTheFileAreNoProgress() throws {
        let source = try eventfulBus()
        let file = try export(source)
        let target = try RememberingBus(epoch: Self.otherEpoch)
        try target.ask(#"{"op":"create","store":"counter/x"}"#)
        let key = "import:7c1f6a52-9a43-4a7e-8c55-2f0d8e5b1a90:\(Int.max).0"
        try target.ask(
            #"{"op":"dispatch","store":"counter/x","action":"increment","key":"\#(key)"}"#, uid: 4711)
        let before = target.revision
        let run = try run(file, into: target)
        #expect(!run.messages.contains("already; continuing") && target.revision > before + 3, "\(run)")
    }
}
