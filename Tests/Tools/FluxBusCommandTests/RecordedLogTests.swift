import CSQLite
import Foundation
import TestFiles
import TestServer
import Testing

/// A log that the bus wrote before types had `let`, `each`, `patch`, `returns`, `invariant` and the other words of rules 4, with the
/// files of its types: every write and operator, timers, leases, batches, keys, migrations and reloads. It comes out as it did.
///
/// `Recorded/` holds the log in SQL, the files of types as they were at its end, what the bus then said of its stores, timers and
/// states, and digests (FNV-1a) of its export and of the reply to `get` at every revision.
struct RecordedLogTests {
    private static let folder = "Tests/Tools/FluxBusCommandTests/Recorded"

    private static func lines(_ name: String) throws -> [String] {
        try Repository.text("\(folder)/\(name)").split(separator: "\n").map(String.init)
    }

    private static func digest(_ text: String) -> String {
        let value = text.utf8.reduce(0xcbf2_9ce4_8422_2325 as UInt64) {
            ($0 ^ UInt64($1)) &* 0x100_0000_01b3
        }
        let digits = String(value, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }

    /// Puts the log in place, as it was written.
    private func writeLog(to path: String) throws {
        var handle: OpaquePointer?
        defer { sqlite3_close_v2(handle) }
        let sql = try Repository.text("\(Self.folder)/log.sql")
        try #require(
            sqlite3_open(path, &handle) == SQLITE_OK && sqlite3_exec(handle, sql, nil, nil, nil) == SQLITE_OK)
    }

    private func setup() throws -> LiveBus.Setup {
        var setup = LiveBus.Setup()
        setup.hasLog = true
        let folder = Repository.root.appendingPathComponent("\(Self.folder)/types")
        for file in try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil) {
            setup.types[file.deletingPathExtension().lastPathComponent] = try String(
                contentsOf: file, encoding: .utf8)
        }
        return setup
    }

    @Test func everyStateAndByteIsAsItWas() throws {
        let directory = TemporaryDirectory()
        let setup = try setup()
        try setup.write(into: directory)
        try writeLog(to: "\(directory.path)/\(LiveBus.Setup.logName)")
        let server = try setup.server(in: directory)
        let address = try server.start()[0]
        defer {
            server.stop()
            server.waitUntilStopped()
        }
        let client = try LineClient(address)
        var end: [String] = []
        for request in [#"{"op":"stores"}"#, #"{"op":"timers"}"#, #"{"op":"get","match":"*/*"}"#] {
            end.append(try client.ask(request))
        }
        #expect(try end == Self.lines("end.ndjson"))

        let export = try CommandRun(["export"], bus: address)
        #expect(export.status == .success)
        var digests = [Self.digest(export.output) + " export"]
        for revision in 0...83 {
            let reply = try client.ask(#"{"op":"get","match":"*/*","revision":\#(revision)}"#)
            digests.append(Self.digest(reply) + " \(revision)")
        }
        #expect(try digests == Self.lines("digests.txt"))
        #expect(export.lines.count > 90)
    }
}
