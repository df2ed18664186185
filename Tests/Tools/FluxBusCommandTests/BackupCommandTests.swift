import BusJSON
import BusLog
import FluxBusCommand
import Foundation
import Synchronization
import TestFiles
import TestServer
import Testing

/// A copy of a log has its name only when it is whole, and belongs to its owner.
@Suite("Copying a bus's log", .timeLimit(.minutes(10)))
struct BackupCommandTests {
    private let directory = TemporaryDirectory()
    private var file: String { "\(directory.path)/copy.sqlite" }
    private var names: [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: directory.path)) ?? []).sorted()
    }

    private func bus() throws -> LiveBus {
        var setup = LiveBus.Setup()
        setup.hasLog = true
        return try LiveBus(setup)
    }

    @Test func aCopyIsWholeAndItsOwnersAlone() throws {
        let bus = try bus()
        let client = try bus.client()
        // Larger than some parts.
        let text = String(repeating: "x", count: 4000)
        for number in 0..<200 {
            try client.send(
                #"{"op":"dispatch","store":"counter/main","action":"write","payload":{"text":"\#(text)\#(number)"}}"#
            )
        }
        for _ in 0..<200 { #expect(try client.line()?.contains(#""ok":true"#) == true) }
        try directory.write("copy.sqlite", "what was there")
        let run = try CommandRun(["backup", file, "--human"], bus: bus.address)
        #expect(run.status == .success, "\(run.messages)")
        #expect(run.output.hasPrefix("copied ") && run.output.hasSuffix(", up to revision 201, to \(file)\n"))
        #expect(names == ["copy.sqlite"])
        var status = stat()
        #expect(stat(file, &status) == 0 && status.st_mode & 0o777 == 0o600 && status.st_size > 800_000)
        #expect(try LogCopy(verifying: file).revision == 201)
        let verification = try RunningProgram.run("fluxbusd", ["--log", file, "--verify"])
        #expect(verification.status == 0, "\(verification.errors)")
        #expect(verification.output.contains("revision 201"))
        #expect(names == ["copy.sqlite"])

        let other = try CommandRun(["backup", file], bus: bus.address)
        #expect(try JSON(parsing: other.output)["revision"] == 201)
        let beside = try FileManager.default.contentsOfDirectory(atPath: bus.directory.path)
        #expect(!beside.contains { $0.contains("backup") })
    }

    /// As many copies as there are moments: each holds a beginning of the history.
    @Test func aCopyIsOfOneMoment() throws {
        let bus = try bus()
        let isOver = Mutex(false)
        let done = DispatchSemaphore(value: 0)
        let address = bus.address
        Thread.detachNewThread {
            let client = try? LineClient(address)
            while !isOver.withLock({ $0 }) {
                _ = try? client?.ask(#"{"op":"dispatch","type":"counter","action":"increment"}"#)
            }
            done.signal()
        }
        var before = 0
        for _ in 0..<5 {
            let run = try CommandRun(["backup", file], bus: bus.address)
            let revision = try #require(try JSON(parsing: run.output)["revision"]?.int)
            #expect(revision >= before)
            #expect(try LogCopy(verifying: file).revision == revision)
            before = revision
        }
        isOver.withLock { $0 = true }
        done.wait()
        #expect(before > 0)
    }

    @Test func withoutACopyNothingIsLeft() throws {
        let (forgetful, bus) = (try LiveBus(), try bus())
        let run = try CommandRun(["backup", file], bus: forgetful.address)
        #expect(run.status == .temporary && run.messages.contains("keeps no action log"), "\(run.messages)")
        #expect(names.isEmpty)
        let pipe = try CommandRun(["backup", "/dev/null"], bus: bus.address)
        #expect(pipe.status == .usage)
    }

    /// One that ends too early, and one whose bytes are not a log's.
    @Test(arguments: [true, false]) func halfACopyNeverHasTheName(isCut: Bool) throws {
        let bus = try ScriptedBus { line in
            guard ScriptedBus.op(of: line) == "backup" else { return [ScriptedBus.reply(to: line)] }
            let offset = (try? JSON(parsing: line))?["offset"]?.int ?? 0
            if isCut, offset > 0 { return nil }
            return [ScriptedBus.reply(to: line, ["revision": 7, "bytes": 8, "data": "U1FMaQ=="])]
        }
        defer { bus.stop() }
        try directory.write("copy.sqlite", "what was there")
        let run = try CommandRun(["backup", file], bus: bus.address)
        #expect(run.status != .success)
        #expect(names == ["copy.sqlite"])
        #expect(FileManager.default.contents(atPath: file) == Data("what was there".utf8))
    }

    @Test(arguments: [SIGINT, SIGTERM, SIGHUP], [["backup"], ["export", "--faithful", "-o"]])
    func aSignalLeavesNothing(_ signal: Int32, _ words: [String]) throws {
        let isUnderWay = DispatchSemaphore(value: 0)
        let bus = try ScriptedBus { line in
            guard (try? JSON(parsing: line))?["offset"]?.int != 0 else {
                return [ScriptedBus.reply(to: line, ["revision": 7, "bytes": 8, "data": "U1FMaQ=="])]
            }
            isUnderWay.signal()
            return []
        }
        defer { bus.stop() }
        let program = try RunningProgram(
            "fluxbus", words + [file, "--address", bus.address], environment: ["TMPDIR": directory.path])
        #expect(isUnderWay.wait(timeout: .now() + 60) == .success)
        #expect(!names.isEmpty)
        program.signal(signal)
        let outcome = try program.wait()
        // By the signal itself, so that a shell sees it.
        #expect(outcome.status == -1, "\(outcome.errors)")
        #expect(names.isEmpty)
    }

    /// The time that somebody gives holds for all of it, whether the bus is silent or never done.
    @Test(arguments: [["backup", "copy.sqlite"], ["compact"], ["export", "--faithful"]], [true, false])
    func theTimeGivenIsThatOfTheWholeCommand(_ arguments: [String], isSilent: Bool) throws {
        let bus = try ScriptedBus { line in
            guard ["backup", "compact"].contains(ScriptedBus.op(of: line)) else {
                return [ScriptedBus.reply(to: line)]
            }
            if isSilent || ScriptedBus.op(of: line) == "compact" { return [] }
            return [ScriptedBus.reply(to: line, ["bytes": 1_000_000_000, "data": "U1FMaQ=="])]
        }
        defer { bus.stop() }
        let arguments = arguments.map { $0 == "copy.sqlite" ? file : $0 } + ["--timeout", "200ms"]
        let run = try CommandRun(arguments, bus: bus.address)
        #expect(run.status == .temporary, "\(run.messages)")
        #expect(names.isEmpty)
    }

    @Test func aCompactFileHasNoRoomToSpare() throws {
        let bus = try bus()
        let run = try CommandRun(["compact", "--human"], bus: bus.address)
        #expect(run.status == .success, "\(run.messages)")
        #expect(run.output.hasSuffix(" before\n"), "\(run.output)")
        let other = try CommandRun(["compact"], bus: bus.address)
        let sizes = try JSON(parsing: other.output)
        #expect(sizes["bytes"] == sizes["before"] && sizes["bytes"]?.int ?? 0 > 4096)
        let forgetful = try LiveBus()
        #expect(try CommandRun(["compact"], bus: forgetful.address).status == .temporary)
    }
}
