import BusJSON
import CSQLite
import Foundation
import TestFiles
import TestServer
import Testing

/// A history that is carried to another bus by `--faithful` stays what it was, and one that can't be leaves nothing behind.
@Suite("Importing a history faithfully", .timeLimit(.minutes(10)))
struct FaithfulImportTests {
    private let origin: DaemonBus
    private let copy: DaemonBus
    private let folder = TemporaryDirectory()
    private var file: String { "\(folder.path)/history.ndjson" }

    init() throws {
        (origin, copy) = (try DaemonBus(hasLog: true), try DaemonBus(hasLog: true))
        for bus in [origin, copy] {
            try bus.directory.write(
                "types/beat.yaml",
                "type: beat\nlog: { keep: none }\ninitial: { n: 0 }\nactions: { beat: { increment: { n: 1 } } }\n"
            )
            try bus.directory.write(
                "types/door.yaml",
                "type: door\ninitial: { tries: 0 }\nactions: { open: { payload: { code: string }, redact: [/code], require: [{ if: = payload.code != \"\", else: no code }], increment: { tries: 1 } } }\n"
            )
            try bus.directory.write(
                "types/lamp.yaml",
                "type: lamp\nversion: 2\ninitial: { level: 0 }\nactions: { dim: { set: { level: 1 } } }\nmigrate: { 1: { unset: [on], set: { level: 9 } } }\n"
            )
            try bus.directory.write(
                "fluxbusd.yaml",
                "listen: [{ unix: s }]\nlog: { path: bus.sqlite }\naccess: { roles: { admin: [{ uid: \(geteuid()) }] }, rules: [{ role: admin, may: all }] }\n"
            )
        }
    }

    private func start(_ bus: DaemonBus) throws -> RunningProgram {
        try bus.start(["--config", "\(bus.directory.path)/fluxbusd.yaml"])
    }

    private func fluxbus(_ arguments: [String]) throws -> RunningProgram.Outcome {
        try RunningProgram.run("fluxbus", arguments, environment: ["TMPDIR": folder.path])
    }

    private func export(_ bus: DaemonBus, _ more: [String] = []) throws -> String {
        let outcome = try fluxbus(["--address", bus.address, "export"] + more)
        try #require(outcome.status == 0, "\(outcome.errors)")
        return outcome.output
    }

    private func importing(into log: String, _ more: [String] = []) throws -> RunningProgram.Outcome {
        try fluxbus(["import", file, "--faithful", "--log", log] + more)
    }

    /// All that a log may have to repeat: a key, a timer, a digest of a payload, a migration, a store that belongs to a session,
    /// revisions of which nothing is kept.
    private func live(through later: (String) throws -> Void) throws {
        let (client, watcher) = (try origin.client(), try origin.client())
        for line in [
            #"{"op":"dispatch","store":"counter/main","action":"increment","key":"once"}"#,
            #"{"op":"create","store":"lamp/a"}"#, #"{"op":"create","store":"beat/a"}"#,
            #"{"op":"create","store":"door/a","ttl":"90d"}"#,
            #"{"op":"dispatch","store":"door/a","action":"open","payload":{"code":"1234"}}"#,
            #"{"op":"dispatch","store":"beat/a","action":"beat"}"#,
            #"{"op":"dispatch","store":"beat/a","action":"beat"}"#,
            #"{"op":"dispatch","store":"counter/main","action":"increment","in":"9d"}"#,
        ] { #expect(try client.ask(line).contains(#""ok":true"#), "\(line)") }
        let lamp = "type: lamp\nversion: 3\ninitial: { level: 0 }\nactions: { dim: { set: { level: 1 } } }\n"
        try later(lamp + "migrate: { 1: { unset: [on] }, 2: { set: { level: 7 } } }\n")
        for line in [
            #"{"op":"reload"}"#, #"{"op":"create","store":"counter/mine","ephemeral":true}"#,
            #"{"op":"dispatch","type":"counter","action":"increment","payload":{"by":2}}"#,
            #"{"op":"dispatch","store":"beat/a","action":"beat"}"#,
            #"{"op":"dispatch","store":"counter/main","action":"write","payload":{"text":"é\n"}}"#,
        ] { #expect(try client.ask(line).contains(#""ok":true"#), "\(line)") }
        _ = try watcher.ask(#"{"op":"subscribe","type":"counter","initial":false}"#)
        client.close()
        // The end of the session is a commit, too.
        #expect(try watcher.line()?.contains(#""dropped":["counter/mine"]"#) == true)
    }

    private func findings(_ log: String) throws -> [Substring] {
        let outcome = try RunningProgram.run("fluxbusd", ["--log", log, "--verify"])
        #expect(outcome.status == 0, "\(outcome.errors)")
        return outcome.output.split(separator: "\n").filter { $0.hasPrefix("revision ") }
    }

    /// The beginning of the log is gone, as after a long time.
    private func cutBeginning(_ log: String) throws {
        var handle: OpaquePointer?
        defer { sqlite3_close_v2(handle) }
        try #require(sqlite3_open_v2(log, &handle, SQLITE_OPEN_READWRITE, nil) == SQLITE_OK)
        let cut = """
            DELETE FROM groups WHERE last <= (SELECT max(revision) FROM snapshots);
            DELETE FROM snapshots WHERE revision = 0; DELETE FROM snapshot_parts WHERE revision = 0;
            """
        try #require(sqlite3_exec(handle, cut, nil, nil, nil) == SQLITE_OK)
    }

    @Test(arguments: [false, true]) func itIsTheSameHistory(isCut: Bool) throws {
        var daemon = try start(origin)
        try live {
            for bus in [origin, copy] { try bus.directory.write("types/lamp.yaml", $0) }
        }
        var client = try origin.client()
        if isCut {
            // So many that a stop leaves a snapshot.
            for _ in 0..<1100 {
                try client.send(
                    #"{"op":"dispatch","store":"counter/main","action":"increment","ack":false}"#)
            }
            _ = try client.ask(#"{"op":"ping"}"#)
            client.close()
            #expect(try origin.stop(daemon) == 0)
            try cutBeginning(origin.log)
            daemon = try start(origin)
            client = try origin.client()
            _ = try client.ask(#"{"op":"dispatch","store":"counter/main","action":"increment"}"#)
        } else {
            // The last revision is one of which nothing is kept, which only a stop writes.
            _ = try client.ask(#"{"op":"dispatch","store":"beat/a","action":"beat"}"#)
            client.close()
            #expect(try origin.stop(daemon) == 0)
            daemon = try start(origin)
            client = try origin.client()
        }
        let epoch = try client.epoch()
        let timers = try client.ask(#"{"op":"timers","match":"*/*"}"#)
        let plain = try export(origin)
        let whole = try export(origin, ["--faithful"])
        #expect(
            whole.hasPrefix(
                #"{"fluxbus":"export","form":2,"epoch":"\#(epoch)","revision":\#(isCut ? "" : "0,")"#))
        #expect(try origin.stop(daemon) == 0)
        try folder.write("history.ndjson", whole)

        let outcome = try importing(into: copy.log)
        #expect(outcome.status == 0, "\(outcome.errors)")
        #expect(outcome.output.contains("has the history of \(file): revision "))
        #expect(outcome.output.contains("epoch \(epoch)"))
        let (before, after) = (try findings(origin.log), try findings(copy.log))
        #expect(after.first == before.first && after.last == before.last && after.count == 2)
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["history.ndjson"])
        let next = try start(copy)
        let other = try copy.client()
        #expect(try other.epoch() == epoch)
        #expect(try other.ask(#"{"op":"timers","match":"*/*"}"#) == timers)
        other.close()
        #expect(try export(copy) == plain)
        #expect(try export(copy, ["--faithful"]) == whole)
        // It goes on, and knows what was asked before.
        let last = try copy.client()
        let again = #"{"op":"dispatch","store":"counter/main","action":"increment","key":"once"}"#
        #expect(try last.ask(again).contains(#""duplicate":true"#))
        #expect(
            try last.ask(#"{"op":"dispatch","store":"counter/main","action":"ring"}"#).contains(#""ok":true"#)
        )
        #expect(try copy.stop(next) == 0)
    }

    /// What it holds can be replayed and imported otherwise, too.
    @Test func itIsReadLikeAnyOtherExport() throws {
        let daemon = try start(origin)
        let client = try origin.client()
        for _ in 0..<3 {
            _ = try client.ask(#"{"op":"dispatch","store":"counter/main","action":"increment"}"#)
        }
        // Equal ones stand in one entry.
        try client.send(
            String(
                repeating: #"{"op":"dispatch","store":"counter/main","action":"increment"}"# + "\n", count: 5)
                + #"{"op":"ping"}"#)
        for _ in 0..<6 { _ = try client.line() }
        let (plain, whole) = (try export(origin), try export(origin, ["--faithful"]))
        #expect(try origin.stop(daemon) == 0)
        var results: [[String]] = []
        for text in [plain, whole] {
            try folder.write("history.ndjson", text)
            let replay = try fluxbus(["replay", file, "--against", "\(origin.directory.path)/types"])
            #expect(replay.status == 0 && replay.output.contains(#""commits":9,"different":0"#), "\(replay)")
            let bus = try DaemonBus(hasLog: true)
            for name in ["beat", "door", "lamp"] {
                try bus.directory.write(
                    "types/\(name).yaml",
                    String(contentsOfFile: "\(origin.directory.path)/types/\(name).yaml", encoding: .utf8))
            }
            let other = try bus.start()
            let outcome = try fluxbus(["--address", bus.address, "import", file])
            #expect(outcome.status == 0, "\(outcome.errors)")
            results.append([outcome.output, try bus.client().ask(#"{"op":"get","store":"counter/main"}"#)])
            #expect(try bus.stop(other) == 0)
        }
        #expect(results[0] == results[1] && results[0][1].contains(#""count":8"#), "\(results)")
    }

    @Test func whatCantBeImportedChangesNothing() throws {
        let daemon = try start(origin)
        let client = try origin.client()
        for _ in 0..<3 {
            _ = try client.ask(#"{"op":"dispatch","store":"counter/main","action":"increment"}"#)
        }
        let whole = try export(origin, ["--faithful"])
        let plain = try export(origin)
        let lines = whole.split(separator: "\n", omittingEmptySubsequences: true)
        let wrong: [(String, String)] = [
            ("", "is not an export"), ("no export", "is not an export"), (plain, "fluxbus export --faithful"),
            (String(whole.dropLast(30)), "is cut short"),
            (lines.dropLast().joined(separator: "\n"), "cut short"),
            (lines.prefix(3).joined(separator: "\n"), "ends within the states"),
            (whole.replacing(#""revision":3,"#, with: #""revision":9,"#), "has revision"),
            (whole.replacing(#""action":"increment""#, with: #""action":"incremenT""#), "is not whole"),
            (
                whole.replacing(#""form":2,"epoch":""#, with: #""form":2,"epoch":"x"#), "first line"
            ),
            (lines.filter { !$0.contains(#""revision":3"#) }.joined(separator: "\n"), "is cut short"),
        ]
        for (text, message) in wrong {
            try folder.write("history.ndjson", text)
            let outcome = try importing(into: copy.log)
            #expect(outcome.status == 65 && outcome.errors.contains(message), "\(message): \(outcome)")
            #expect(!FileManager.default.fileExists(atPath: copy.log))
        }
        try folder.write("history.ndjson", whole)
        // A log that is in use, one that has commits, one that is shared.
        let used = try importing(into: origin.log)
        #expect(used.status == 75 && used.errors.contains("belongs to process"), "\(used)")
        #expect(try origin.stop(daemon) == 0)
        let full = try importing(into: origin.log)
        #expect(full.status == 78 && full.errors.contains("only where nothing was ever committed"), "\(full)")
        try copy.directory.write(
            "fluxbusd.yaml",
            "listen: [{ unix: s }]\nlog: { path: bus.sqlite }\ncluster: { bus: home, etcd: ['http://127.0.0.1:1'], member: m }\n"
        )
        let shared = try fluxbus([
            "import", file, "--faithful", "--config", "\(copy.directory.path)/fluxbusd.yaml",
        ])
        #expect(shared.status == 78 && shared.errors.contains("--cluster-init"), "\(shared)")
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: copy.directory.path).sorted()
                == ["fluxbusd.yaml", "types"])
        for words in [["--dry-run"], ["--since", "0"]] {
            #expect(try importing(into: copy.log, words).status == 64)
        }
        #expect(try fluxbus(["import", file, "--log", copy.log]).status == 64)
        #expect(try fluxbus(["export", "--faithful", "--since", "1"]).status == 64)
    }

    /// Who was connected when it was exported is not there: what it left comes true, as after a crash.
    @Test func sessionsThatWereThereEndWithTheirWills() throws {
        var daemon = try start(origin)
        let client = try origin.client()
        for line in [
            #"{"op":"will","actions":[{"store":"counter/main","action":"increment","payload":{"by":40}}]}"#,
            #"{"op":"create","store":"counter/mine","ephemeral":true}"#,
        ] { #expect(try client.ask(line).contains(#""ok":true"#), "\(line)") }
        try folder.write("history.ndjson", export(origin, ["--faithful"]))
        client.close()
        #expect(try origin.stop(daemon) == 0)
        #expect(try importing(into: copy.log).status == 0)
        daemon = try start(copy)
        let reply = try copy.client().ask(#"{"op":"get","match":"counter/*","select":["/count"]}"#)
        #expect(reply.contains(#""states":{"counter/main":{"count":40}}"#), "\(reply)")
        #expect(try copy.stop(daemon) == 0)
    }

    /// A start that made a log in which nothing was committed is no obstacle.
    @Test func anUnusedLogGivesWay() throws {
        var daemon = try start(origin)
        let whole = try export(origin, ["--faithful"])
        #expect(try origin.stop(daemon) == 0)
        try folder.write("history.ndjson", whole)
        let words = ["--listen", copy.address, "--log", copy.log]
        daemon = try RunningProgram("fluxbusd", words)
        #expect(daemon.waitFor("listening on"))
        daemon.signal(SIGTERM)
        #expect(try daemon.wait().status == 0)
        let outcome = try importing(into: copy.log)
        #expect(outcome.status == 0, "\(outcome.errors)")
        #expect(outcome.output.contains("with no commits, is kept as \(copy.log)-replaced-1"))
        #expect(try findings(copy.log).last == findings(origin.log).last)
    }
}
