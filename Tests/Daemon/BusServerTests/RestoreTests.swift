import Foundation
import TestServer
import Testing

/// A copy takes the log's place: looked through, under a name of its own, and without harm to what was there.
@Suite(.timeLimit(.minutes(10))) struct RestoreTests {
    private let bus: DaemonBus
    init() throws { bus = try DaemonBus.logged() }

    private var copy: String { "\(bus.directory.path)/copy's.sqlite" }
    private let increment = #"{"op":"dispatch","store":"counter/main","action":"increment"}"#

    private func restore(_ more: [String] = []) throws -> RunningProgram.Outcome {
        try RunningProgram.run("fluxbusd", ["--log", bus.log, "--restore", copy] + more)
    }

    /// Makes a log, copies it at revision 4 and goes on to revision 7. Gives its epoch.
    private func prepare() throws -> String {
        let daemon = try bus.start()
        let client = try bus.client()
        let epoch = try client.epoch()
        for _ in 0..<3 { _ = try client.ask(increment) }
        // A question about the past brings what is in the tail into the file.
        _ = try client.ask(#"{"op":"history","limit":1}"#)
        try bus.change("VACUUM INTO '\(copy.replacingOccurrences(of: "'", with: "''"))'")
        for _ in 0..<3 { _ = try client.ask(increment) }
        #expect(try bus.stop(daemon) == 0)
        return epoch
    }

    private func names() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: bus.directory.path).sorted()
    }

    @Test func aCopyTakesTheLogsPlaceWithAHistoryOfItsOwn() throws {
        let epoch = try prepare()
        let before = FileManager.default.contents(atPath: bus.log)
        let whole = FileManager.default.contents(atPath: copy)
        chmod(bus.log, 0o640)
        // What belongs to the log before must not meet the copy.
        try bus.directory.write("bus.sqlite-journal", "of before")
        let outcome = try restore()
        #expect(outcome.status == 0, "\(outcome.errors)")
        #expect(outcome.output.contains("is restored from \(copy): revision 4, epoch "), "\(outcome.output)")
        #expect(outcome.output.contains("the log before it is kept as \(bus.log)-replaced-1"))
        #expect(FileManager.default.contents(atPath: "\(bus.log)-replaced-1") == before)
        #expect(FileManager.default.contents(atPath: copy) == whole)
        var status = stat()
        #expect(stat(bus.log, &status) == 0 && status.st_mode & 0o777 == 0o640)
        let names = try names()
        #expect(
            names == [
                "bus.sqlite", "bus.sqlite-lock", "bus.sqlite-replaced-1", "bus.sqlite-replaced-1-journal",
                "copy's.sqlite", "types",
            ])

        let next = try bus.start()
        let client = try bus.client()
        let now = try client.epoch()
        #expect(now != epoch && outcome.output.contains("epoch \(now)"))
        #expect(
            try client.ask(#"{"op":"get","store":"counter/main","select":["/count"]}"#)
                == #"{"ok":true,"revision":4,"states":{"counter/main":{"count":3}}}"#)
        // Who goes on from where the daemon before was is told to start over.
        try client.send(#"{"op":"subscribe","type":"counter","since":7,"epoch":"\#(epoch)"}"#)
        _ = try client.line()
        #expect(try client.line()?.contains(#""reset":true"#) == true)
        #expect(try bus.stop(next) == 0)
        #expect(try bus.verify().status == 0)
    }

    @Test func aCopyIsRestoredWhereThereIsNoLog() throws {
        _ = try prepare()
        for suffix in ["", "-lock"] { try FileManager.default.removeItem(atPath: bus.log + suffix) }
        let outcome = try restore()
        #expect(outcome.status == 0, "\(outcome.errors)")
        #expect(!outcome.output.contains("the log before it"))
        var status = stat()
        #expect(stat(bus.log, &status) == 0 && status.st_mode & 0o777 == 0o600)
        let next = try bus.start()
        #expect(try bus.client().ask(#"{"op":"sync"}"#) == #"{"ok":true,"revision":4}"#)
        #expect(try bus.stop(next) == 0)
    }

    /// As root restores into the directory of the daemon's user.
    @Test(.enabled(if: geteuid() == 0, "Only root gives files away."))
    func theLogBelongsToWhomItBelongedTo() throws {
        _ = try prepare()
        #expect(chown(bus.log, 4711, 4712) == 0)
        #expect(try restore().status == 0)
        for suffix in ["", "-lock"] {
            var status = stat()
            #expect(stat(bus.log + suffix, &status) == 0)
            #expect(status.st_uid == 4711 && status.st_gid == 4712, "\(suffix)")
        }
        for suffix in ["", "-lock", "-replaced-1"] {
            try FileManager.default.removeItem(atPath: bus.log + suffix)
        }
        #expect(chown(bus.directory.path, 4713, 4714) == 0)
        #expect(try restore().status == 0)
        var status = stat()
        #expect(stat(bus.log, &status) == 0 && status.st_uid == 4713 && status.st_gid == 4714)
    }

    @Test func aDaemonKeepsItsLog() throws {
        _ = try prepare()
        let daemon = try bus.start()
        let refused = try restore()
        #expect(refused.status == 75)
        #expect(refused.errors.contains("belongs to process \(daemon.process)"))
        #expect(try bus.client().ask(#"{"op":"sync"}"#) == #"{"ok":true,"revision":7}"#)
        #expect(try bus.stop(daemon) == 0)
        #expect(!(try names()).contains { $0.contains("restore") || $0.contains("replaced") })
    }

    /// Damage that only carrying everything out again shows, damage of the file, no log at all, none there.
    @Test func aCopyThatIsNotWholeIsRefused() throws {
        _ = try prepare()
        let before = try names()
        let log = FileManager.default.contents(atPath: bus.log)
        let whole = try #require(FileManager.default.contents(atPath: copy))
        var flipped = whole
        let place = try #require(whole.range(of: Data(#""revision":3"#.utf8)))
        flipped[place.upperBound - 1] ^= 1
        let bad: [(Data, String)] = [
            (flipped, "is not whole"), (whole.prefix(whole.count / 2), "is not whole"),
            (
                Data("no log at all".utf8),
                "is not a copy of an action log; name one that fluxbus backup has made"
            ),
            (Data(), "is not a copy of an action log"),
        ]
        for (index, (bytes, words)) in bad.enumerated() {
            try bytes.write(to: URL(fileURLWithPath: copy))
            let refused = try restore()
            #expect(refused.status == 65, "\(index): \(refused.errors)")
            #expect(
                refused.errors.contains(words) && refused.errors.contains(copy), "\(index): \(refused.errors)"
            )
            #expect(try names() == before, "\(index)")
        }
        try FileManager.default.removeItem(atPath: copy)
        let absent = try restore()
        #expect(absent.status == 78)
        #expect(absent.errors.contains("There is no copy at \(copy)"))
        let itself = try RunningProgram.run("fluxbusd", ["--log", bus.log, "--restore", bus.log])
        #expect(itself.status == 78 || itself.status == 65)
        #expect(itself.errors.contains("is the log itself"))
        #expect(FileManager.default.contents(atPath: bus.log) == log)
    }

    @Test func oneThingIsDoneAtATime() throws {
        #expect(try restore(["--verify"]).status == 64)
        #expect(try restore(["--check"]).status == 64)
        let unnamed = try RunningProgram.run("fluxbusd", ["--listen", "unix:/run/nobody", "--restore", copy])
        #expect(unnamed.status == 78)
        #expect(unnamed.errors.contains("There is no log to restore"))
    }

    @Test(arguments: ["", "e", "5bd1a5a6-3c1f-4d0e-9d3c-0123456789a", "5bd1a5a6-3c1f-4d0e-9d3c-0123456789ag"])
    func aHistoryWithoutAProperNameIsRefused(_ name: String) throws {
        _ = try prepare()
        try bus.change("UPDATE meta SET value = '\(name)' WHERE name = 'epoch'")
        let refused = try bus.run()
        #expect(refused.status == 74)
        #expect(
            refused.errors.contains(
                "is named \"\(name)\", which is not a UUID; put a copy in its place with --restore"))
    }
}
