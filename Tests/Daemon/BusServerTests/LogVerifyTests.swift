import CLinux
import Foundation
import TestServer
import Testing

/// `fluxbusd --verify`, right and wrong.
struct LogVerifyTests {
    private let bus: DaemonBus
    init() throws { bus = try DaemonBus.logged() }

    private func write(_ count: Int, to client: LineClient) throws {
        for number in 0..<count {
            let request =
                #"{"op":"dispatch","store":"counter/main","action":"write","payload":{"text":"note-\#(number)."}}"#
            #expect(try client.ask(request).contains(#""ok":true"#))
        }
    }

    @Test func aRightLogIsRightAlsoWhileItIsWritten() throws {
        let daemon = try bus.start()
        let client = try bus.client()
        try write(50, to: client)
        for _ in 0..<3 {
            let outcome = try bus.verify()
            #expect(outcome.status == 0, "\(outcome.errors)")
            #expect(outcome.output.contains("revision 0: 0 stores"))
            #expect(outcome.output.contains("log OK: \(bus.log)"))
            try write(1, to: client)
        }
        #expect(try bus.verify().output.contains("revision 54: 1 stores"))
        #expect(try bus.stop(daemon) == 0)
        #expect(try bus.verify().status == 0)
    }

    @Test func aFlippedBitIsFoundAndTold() throws {
        let daemon = try bus.start()
        try write(20, to: try bus.client())
        #expect(try bus.stop(daemon) == 0)
        try bus.flip("note-11.")
        let outcome = try bus.verify()
        #expect(outcome.status == 65)
        #expect(outcome.errors.contains("is damaged") || outcome.errors.contains("not what was written"))
        #expect(!outcome.output.contains("log OK"))
    }

    /// Damage before the newest snapshot, where no start looks.
    @Test func whatIsAdvisedMendsTheLog() throws {
        let daemon = try bus.start()
        let client = try bus.client()
        let epoch = try client.epoch()
        try write(1200, to: client)
        #expect(try bus.stop(daemon) == 0)
        try bus.flip("note-11.")
        let outcome = try bus.verify()
        #expect(outcome.status == 65)
        #expect(outcome.errors.contains("stop the daemon and run fluxbusd --compact"), "\(outcome.errors)")
        let compacted = try bus.run(["--compact"])
        #expect(compacted.status == 0, "\(compacted.errors)")
        #expect(
            compacted.output.contains("the history through revision 1201 is lost, but no later commit"),
            "\(compacted.output)")
        #expect(try bus.verify().status == 0)
        let next = try bus.start()
        #expect(try bus.client().epoch() == epoch)
        #expect(try bus.client().ask(#"{"op":"sync"}"#) == #"{"ok":true,"revision":1201}"#)
        #expect(try bus.stop(next) == 0)
    }

    @Test func aLogWithoutAWholeSnapshotIsLeftAlone() throws {
        let daemon = try bus.start()
        try write(20, to: try bus.client())
        #expect(try bus.stop(daemon) == 0)
        try bus.change("UPDATE snapshot_parts SET records = 'x'")
        let log = FileManager.default.contents(atPath: bus.log)
        for _ in 0..<2 {
            let refused = try bus.run()
            #expect(refused.status == 74)
            #expect(
                refused.errors.contains("it has no whole snapshot to begin with; restore a backup"),
                "\(refused.errors)")
            #expect(FileManager.default.contents(atPath: bus.log) == log)
        }
        #expect(!FileManager.default.fileExists(atPath: "\(bus.log)-damaged-1"))
    }

    @Test func aCommitThatWasTakenOutIsFound() throws {
        let daemon = try bus.start()
        try write(20, to: try bus.client())
        #expect(try bus.stop(daemon) == 0)
        try bus.change("DELETE FROM groups WHERE number = 7")
        #expect(try bus.verify().status == 65)
    }

    /// What is there is whole, and what the daemon had noted beside it is not.
    @Test func anEndThatIsMissingIsFound() throws {
        let daemon = try bus.start()
        try write(20, to: try bus.client())
        daemon.signal(SIGKILL)
        _ = try daemon.wait()
        #expect(try bus.verify().status == 0)
        for suffix in ["-tail", "-wal"] { unlink(bus.log + suffix) }
        let outcome = try bus.verify()
        #expect(outcome.status == 65)
        #expect(outcome.errors.contains("but revision 21 had been reached"), "\(outcome)")
        #expect(!outcome.output.contains("log OK"))
    }

    @Test func aChangedSnapshotIsFound() throws {
        let daemon = try bus.start()
        try write(1200, to: try bus.client())
        // More than a thousand commits: it leaves a snapshot at its end.
        #expect(try bus.stop(daemon) == 0)
        #expect(try bus.verify().output.split(separator: "\n").count == 3)
        try bus.change(
            "UPDATE snapshot_parts SET records = replace(records, 'note-1199.', 'note-1198.') WHERE revision > 0"
        )
        let outcome = try bus.verify()
        #expect(outcome.status == 65)
        #expect(outcome.output.contains("revision 1201: 1 stores"), "\(outcome.output)")
    }

    @Test func whatCanNotBeVerifiedIsToldApart() throws {
        let absent = try bus.verify()
        #expect(absent.status == 78)
        #expect(absent.errors.contains("There is no log at \(bus.log)"))
        #expect(!FileManager.default.fileExists(atPath: bus.log))
        let unnamed = try RunningProgram.run("fluxbusd", ["--listen", "unix:/run/nobody", "--verify"])
        #expect(unnamed.status == 78)
        #expect(unnamed.errors.contains("There is no log to verify"))
        try bus.directory.write("bus.sqlite", String(repeating: "no log ", count: 2000))
        #expect(try bus.verify().status == 65)
    }

    /// A copy is looked through where there is no bus, and so no configuration: its log is all that is named.
    @Test func aLogIsVerifiedWithoutAConfiguration() throws {
        let daemon = try bus.start()
        try write(3, to: try bus.client())
        #expect(try bus.stop(daemon) == 0)
        for (arguments, environment) in [
            (["--log", bus.log, "--verify"], [:]), (["--verify"], ["FLUXBUS_LOG": bus.log]),
        ] {
            let outcome = try RunningProgram.run("fluxbusd", arguments, environment: environment)
            #expect(outcome.status == 0, "\(outcome.errors)")
            #expect(outcome.output.contains("log OK: \(bus.log)"))
        }
        let nothing = try RunningProgram.run("fluxbusd", ["--verify"])
        #expect(nothing.status == 78)
        #expect(nothing.errors.contains("There is no log to verify"))
    }

    /// As the README tells it: a copy is made beside the daemon, gets a new epoch, and takes the log's place.
    @Test func aBackupTakenUnderLoadCanBeRestored() throws {
        let daemon = try bus.start()
        let client = try bus.client()
        let epoch = try client.epoch()
        let request = #"{"op":"dispatch","store":"counter/main","action":"increment"}"# + "\n"
        try client.send(bytes: String(repeating: request, count: 300))
        for _ in 0..<100 { _ = try client.line() }
        let copy = "\(bus.directory.path)/copy.sqlite"
        // A question about the past brings what is in the tail into the file.
        _ = try bus.client().ask(#"{"op":"history","limit":1}"#)
        // Two hundred commits are still under way.
        try bus.change("VACUUM INTO '\(copy)'")
        for _ in 0..<200 { _ = try client.line() }
        #expect(try client.ask(#"{"op":"sync"}"#) == #"{"ok":true,"revision":301}"#)
        #expect(try bus.stop(daemon) == 0)
        let verified = try bus.run(["--log", copy, "--verify"])
        #expect(verified.status == 0, "\(verified.errors)")

        try FileManager.default.removeItem(atPath: bus.log)
        try? FileManager.default.removeItem(atPath: "\(bus.log)-wal")
        try FileManager.default.moveItem(atPath: copy, toPath: bus.log)
        let name = "5bd1a5a6-3c1f-4d0e-9d3c-0123456789ab"
        try bus.change("UPDATE meta SET value = '\(name)' WHERE name = 'epoch'")
        let restored = try bus.start()
        let other = try bus.client()
        #expect(try other.epoch() == name && name != epoch)
        let reply = try other.ask(#"{"op":"get","store":"counter/main"}"#)
        let (revision, count) = (
            LineClient.integer("revision", in: reply), LineClient.integer("count", in: reply)
        )
        #expect(try (101...301).contains(#require(revision)))
        #expect(try #require(count) + 1 == #require(revision))
        // Who goes on from where the lost daemon was is told to start over.
        try other.send(
            bytes:
                #"{"op":"subscribe","type":"counter","since":301,"epoch":"\#(epoch)"}"# + "\n")
        _ = try other.line()
        #expect(try other.line()?.contains(#""reset":true"#) == true)
        #expect(try bus.stop(restored) == 0)
    }
}
