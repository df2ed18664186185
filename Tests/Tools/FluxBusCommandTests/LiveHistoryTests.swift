import BusJSON
import FluxBusCommand
import Foundation
import TestServer
import Testing

extension LiveBus {
    /// One with a log on disk.
    fileprivate static func logged(counter: String) throws -> LiveBus {
        var setup = Setup()
        setup.types = ["counter": counter]
        setup.hasLog = true
        return try LiveBus(setup)
    }

    @discardableResult
    fileprivate func run(_ arguments: String..., input: String = "") throws -> CommandRun {
        try CommandRun(arguments, bus: address, input: input)
    }
}

@Suite("Time travel with a daemon")
struct LiveHistoryTests {
    private static let counter = """
        type: counter
        initial: { count: 0 }
        actions:
          add:
            payload: { by: { type: integer, default: 1 } }
            require:
              - if: { "<=": [{ var: payload.by }, 50] }
                else: by must be at most 50
            increment: { count: { var: payload.by } }
        """

    private func revisions(_ run: CommandRun) -> [Int] {
        run.lines.compactMap { (try? JSON(parsing: $0))?["revision"]?.int }
    }

    @Test(.timeLimit(.minutes(10))) func thePastOfADaemonIsReadComparedBlamedAndBroughtBack() throws {
        let bus = try LiveBus.logged(counter: Self.counter)
        for number in [3, 40, 7] {
            #expect(try bus.run("dispatch", "counter/main", "add", "by:=\(number)").status == .success)
        }
        let all = revisions(try bus.run("log", "--since", "0"))
        let last = try #require(all.last)
        #expect(all == Array(1...last))
        #expect(try bus.run("at", "now-1", "--human", "counter/main").lines.contains("  \"count\": 43"))
        let diff = try bus.run("diff", "now-2", "now")
        #expect(diff.output == #"{"new":50,"old":3,"path":"/count","store":"counter/main"}"# + "\n")
        let blame = try JSON(parsing: try bus.run("blame", "counter/main", "/count", "--at", "now-1").output)
        #expect(blame["revision"] == .int(last - 1) && blame["old"] == 3 && blame["new"] == 43)
        #expect(try bus.run("revert", "counter/main", "--to", "now-2").status == .success)
        #expect(
            try bus.run("get", "counter").output == #"{"store":"counter/main","state":{"count":3}}"# + "\n")
        #expect(try bus.run("log", "-n", "1", "--action", "revert").lines.count == 1)
        #expect(try bus.run("at", "\(last + 9)").status == .no)
    }

    @Test(.timeLimit(.minutes(10))) func anExportIsCheckedAndImportedElsewhere() throws {
        let bus = try LiveBus.logged(counter: Self.counter)
        try bus.run("create", "counter/a", "count:=5")
        let lines = (1...600).map { #"{"type":"counter","action":"add","payload":{"by":\#($0 % 50)}}"# }
        try bus.run("dispatch", "-", input: lines.joined(separator: "\n"))
        try bus.run("drop", "counter/a")
        let file = bus.path("export.ndjson")
        #expect(try bus.run("export", "-o", file).status == .success)

        let same = try bus.run("replay", "--check", file, "--types", bus.path("types"))
        #expect(same.status == .success, "\(same.output)\(same.messages)")
        let strict = try LiveBus.logged(counter: Self.counter.replacing("50", with: "48"))
        let check = try bus.run(
            "replay", "--check", file, "--types", strict.path("types"), "--json", "--limit", "0")
        #expect(check.status == .no)
        // Every fiftieth dispatch added 49.
        #expect(try JSON(parsing: check.output)["refused"] == 12)

        let other = try LiveBus.logged(counter: Self.counter)
        let imported = try other.run("import", file)
        #expect(imported.status == .success, "\(imported.output)\(imported.messages)")
        #expect(try other.run("get").output == bus.run("get").output)
        let before = try other.run("log", "-n", "1").output
        #expect(try other.run("import", file).status == .success)
        #expect(try other.run("log", "-n", "1").output == before)
    }

    /// Revisions of which the log keeps nothing are no commits in an export.
    @Test(.timeLimit(.minutes(10))) func anExportCountsTheCommitsInIt() throws {
        var setup = LiveBus.Setup()
        setup.types = [
            "counter": Self.counter,
            "beat":
                "type: beat\nlog: { keep: none }\ninitial: { n: 0 }\nactions: { beat: { increment: { n: 1 } } }",
        ]
        setup.stores = ["counter/main", "beat/a"]
        setup.hasLog = true
        let bus = try LiveBus(setup)
        for _ in 0..<3 {
            try bus.run("dispatch", "counter/main", "add")
            for _ in 0..<5 { try bus.run("dispatch", "beat/a", "beat") }
        }
        let kept = revisions(try bus.run("log", "--since", "0")).count
        for arguments in [["export"], ["export", "--faithful"]] {
            let run = try CommandRun(arguments, bus: bus.address)
            #expect(run.messages == "Exported revision 0 and \(kept) commits after it.\n", "\(arguments)")
        }
    }

    @Test(.timeLimit(.minutes(10))) func aFollowerSeesWhatOthersCommitMeanwhile() throws {
        let bus = try LiveBus.logged(counter: Self.counter)
        let first = try #require(revisions(try bus.run("log", "-n", "1")).last)
        let address = bus.address
        let writers = (0..<3).map { _ in
            Thread {
                for _ in 0..<50 { _ = try? CommandRun(["dispatch", "counter", "add"], bus: address) }
            }
        }
        writers.forEach { $0.start() }
        let run = try bus.run("log", "--follow", "--since", "\(first)", "--limit", "150")
        #expect(revisions(run) == Array(first + 1...first + 150))
    }
}
