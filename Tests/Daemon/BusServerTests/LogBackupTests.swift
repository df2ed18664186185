import BusJSON
import BusLog
import Foundation
import TestServer
import Testing

/// What clients are given of the log's file, and that nothing is left of it where the daemon keeps its own.
@Suite(.timeLimit(.minutes(10))) struct LogBackupTests {
    private let bus: DaemonBus
    init() throws { bus = try DaemonBus.logged() }

    private func fill(_ client: LineClient) throws {
        let text = String(repeating: "x", count: 8 << 10)
        for _ in 0..<100 {
            #expect(
                try client.ask(
                    #"{"op":"dispatch","store":"counter/main","action":"write","payload":{"text":"\#(text)"}}"#
                ).contains(#""ok":true"#))
        }
    }

    private var names: [String] {
        get throws { try FileManager.default.contentsOfDirectory(atPath: bus.directory.path).sorted() }
    }

    private func backup(_ offset: Int, _ client: LineClient) throws -> JSON {
        try JSON(parsing: client.ask(#"{"op":"backup","offset":\#(offset)}"#))
    }

    private func data(of reply: JSON) throws -> [UInt8] {
        let text = try #require(reply["data"]?.string)
        return try #require(Base64.decode(text))
    }

    @Test func oneClientIsGivenACopyAtATime() throws {
        let daemon = try bus.start()
        let client = try bus.client()
        try fill(client)
        var parts: [UInt8] = []
        let first = try backup(0, client)
        let size = try #require(first["bytes"]?.int)
        parts += try data(of: first)
        #expect(size > 800_000 && parts.count == 192 << 10)
        // Complete, it has no name any more.
        #expect(try !names.contains { $0.contains("backup") })
        let other = try bus.client()
        #expect(try backup(0, other)["error"]?["code"] == "limit")
        #expect(try backup(1, other)["error"]?["code"] == "conflict")
        // What is committed meanwhile is not in it.
        #expect(
            try other.ask(#"{"op":"dispatch","type":"counter","action":"increment"}"#).contains("ok\":true"))
        while parts.count < size {
            let next = try backup(parts.count, client)
            #expect(next["bytes"] == first["bytes"] && next["revision"] == 101)
            parts += try data(of: next)
        }
        #expect(parts.count == size)
        let copy = "\(bus.directory.path)/copy.sqlite"
        try Data(parts).write(to: URL(fileURLWithPath: copy))
        #expect(try LogCopy(verifying: copy).revision == 101)
        // It has been given, so the next client may have one.
        #expect(try backup(0, client)["revision"] == 102)
        #expect(try bus.stop(daemon) == 0)
    }

    @Test func aClientThatGoesTakesItsCopyWithIt() throws {
        let daemon = try bus.start()
        try fill(try bus.client())
        do {
            let client = try bus.client()
            #expect(try backup(0, client)["ok"] == true)
        }
        let other = try bus.client()
        // The daemon sees the end of the other one at some time.
        let end = ContinuousClock.now + .seconds(240)
        var reply = try backup(0, other)
        while reply["ok"] != true, .now < end { reply = try backup(0, other) }
        #expect(reply["ok"] == true)
        daemon.signal(SIGKILL)
        _ = try daemon.wait()
        #expect(try !names.contains { $0.contains("backup") })
    }

    /// A daemon that was killed while it made a copy leaves the half of it until the next one starts.
    @Test func halfACopyIsTakenAwayByTheNextStart() throws {
        try bus.directory.write("bus.sqlite-backup", "half")
        let daemon = try bus.start()
        #expect(try !names.contains { $0.contains("backup") })
        #expect(try bus.stop(daemon) == 0)
    }

    /// A short line carries a short part.
    @Test func partsFitIntoALine() throws {
        let daemon = try bus.start(["--limit", "line=4KiB"])
        let client = try bus.client()
        let reply = try client.ask(#"{"op":"backup"}"#)
        #expect(reply.utf8.count <= 4096 && reply.contains(#""data":""#))
        #expect(try bus.stop(daemon) == 0)
    }

    /// What `sqlite3` copied says that a write-ahead log belongs to it.
    @Test func verifyingLeavesNothingBesideACopy() throws {
        let daemon = try bus.start()
        try fill(try bus.client())
        let copy = "\(bus.directory.path)/copies"
        try FileManager.default.createDirectory(atPath: copy, withIntermediateDirectories: false)
        try bus.change(
            "VACUUM INTO '\(copy)/copy.sqlite'; ATTACH '\(copy)/copy.sqlite' AS c; PRAGMA c.journal_mode = WAL; DETACH c"
        )
        #expect(try bus.stop(daemon) == 0)
        let outcome = try RunningProgram.run("fluxbusd", ["--log", "\(copy)/copy.sqlite", "--verify"])
        #expect(outcome.status == 0, "\(outcome.errors)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: copy) == ["copy.sqlite"])
    }
}
