import BusJSON
import BusLog
import CLinux
import Foundation
import TestServer
import Testing

/// The action log of the real daemon: what is there after the next start, and what no daemon starts with.
struct LogLifeTests {
    private let bus: DaemonBus
    init() throws { bus = try DaemonBus.logged() }

    @Test(arguments: ["always", "interval", "never"])
    func everythingIsThereAfterTheNextStart(sync: String) throws {
        let first = try bus.start(["--sync", sync])
        let client = try bus.client()
        let epoch = try client.epoch()
        for request in [
            #"{"op":"create","store":"counter/kitchen","state":{"count":5}}"#,
            #"{"op":"dispatch","type":"counter","action":"increment"}"#,
            #"{"op":"dispatch","store":"counter/kitchen","action":"increment","key":"once","after":0,"epoch":"\#(epoch)"}"#,
            #"{"op":"create","store":"counter/passing","ephemeral":true}"#,
            #"{"op":"will","actions":[{"store":"counter/main","action":"write","payload":{"text":"gone"}}]}"#,
        ] { #expect(try client.ask(request).contains(#""ok":true"#)) }
        // Nobody comes back to this daemon's connections: what they left behind is seen to before anybody is served.
        first.signal(SIGKILL)
        _ = try first.wait()

        let second = try bus.start(["--sync", sync])
        let other = try bus.client()
        #expect(try other.epoch() == epoch)
        #expect(
            try other.ask(#"{"op":"get","type":"counter","select":["/count","/note"]}"#)
                == #"{"ok":true,"revision":6,"states":{"counter/kitchen":{"count":7,"note":""},"counter/main":{"count":1,"note":"gone"}}}"#
        )
        let again = try other.ask(
            #"{"op":"dispatch","store":"counter/kitchen","action":"increment","key":"once","after":0,"epoch":"\#(epoch)"}"#
        )
        #expect(again == #"{"ok":true,"revision":4,"matched":1,"changed":1,"duplicate":true}"#)
        let history = try other.ask(#"{"op":"history","since":5}"#)
        #expect(history.contains(#""dropped":["counter/passing"]"#) && history.contains(#""oldest":0"#))
        #expect(try other.ask(#"{"op":"get","store":"counter/main","revision":1}"#).contains(#""count":0"#))
        #expect(try bus.stop(second) == 0)

        // After an end in order everything is in the one file.
        let ahead = FileManager.default.contents(atPath: "\(bus.log)-wal")
        #expect(ahead?.isEmpty ?? true)
        #expect(try bus.verify().status == 0)
        let third = try bus.start(["--sync", sync])
        #expect(try bus.client().ask(#"{"op":"sync"}"#) == #"{"ok":true,"revision":6}"#)
        #expect(try bus.stop(third) == 0)
    }

    /// What the daemon had not synced may be lost with the machine's power: then the bus begins a new history, which clients
    /// notice. While the machine runs, nothing is lost.
    @Test(arguments: [nil, "another", ""])
    func anotherBootMayHaveLostWhatWasNotSynced(boot: String?) throws {
        let first = try bus.start(["--sync", "never"])
        let epoch = try bus.client().epoch()
        first.signal(SIGKILL)
        _ = try first.wait()
        if let boot { try bus.change("UPDATE meta SET value = '\(boot)' WHERE name = 'boot'") }
        let second = try bus.start(["--sync", "never"])
        #expect(try (bus.client().epoch() == epoch) == (boot == nil))
        #expect(try bus.stop(second) == 0)
    }

    /// The index follows the commits, and a start catches up with what was not indexed, while the bus answers.
    @Test func theLogIsIndexed() throws {
        // What fills a block is indexed some time after it came, or at the next start.
        for (count, blocks) in [(4000, 0...0), (200, 0...1), (0, 1...1), (4100, 2...2)] {
            let daemon = try bus.start(["--sync", "never"])
            let client = try bus.client()
            let line = #"{"op":"dispatch","store":"counter/main","action":"increment","payload":{"by":"#
            for number in 0..<count { #expect(try client.ask("\(line)\(number)}}").contains("ok\":true")) }
            let reader = try LogReader(path: bus.log)
            while try reader.indexedGroups().count < blocks.lowerBound {
                _ = try client.ask(#"{"op":"ping"}"#)
            }
            #expect(blocks.contains(try reader.indexedGroups().count))
            for groups in try reader.indexedGroups() { #expect(try reader.indexBlock(of: groups) != nil) }
            let created = try client.ask(#"{"op":"history","order":"newest","action":"create","limit":2}"#)
            #expect(created.contains(#""revision":1,"#) && !created.contains(#""next""#))
            let nobody = try client.ask(#"{"op":"history","by":"nobody"}"#)
            #expect(nobody == #"{"ok":true,"commits":[],"oldest":0}"#)
            let blame = try JSON(
                parsing: try client.ask(#"{"op":"blame","store":"counter/main","path":"/count"}"#))
            let revision = try JSON(parsing: try client.ask(#"{"op":"sync"}"#))["revision"]
            #expect(blame["values"]?[0]?["commit"]?["revision"] == revision)
            #expect(try bus.stop(daemon) == 0)
        }
        #expect(try bus.verify().status == 0)
    }

    /// What a lone client commits is synced although no other thread writes it, and counted although it commits nothing more.
    @Test func intervalSyncsWhatALoneClientCommits() throws {
        let daemon = try bus.start(["--sync", "interval"])
        let client = try bus.client()
        func syncs() throws -> Int? {
            let reply = try JSON(parsing: try client.ask(#"{"op":"stats"}"#))
            return reply["stats"]?["histograms"]?["fsync"]?["count"]?.int
        }
        for expected in 1...2 {
            _ = try client.ask(#"{"op":"dispatch","store":"counter/main","action":"increment"}"#)
            let end = Date(timeIntervalSinceNow: 60)
            while try syncs() ?? 0 < expected, Date() < end {}
            #expect(try syncs() ?? 0 >= expected)
        }
        #expect(try bus.stop(daemon) == 0)
    }

    @Test func aSecondDaemonOnTheLogIsRefused() throws {
        let first = try bus.start()
        let second = try RunningProgram.run(
            "fluxbusd",
            ["--listen", "unix:\(bus.directory.path)/other", "--log", bus.log])
        #expect(second.status == 75)
        let sentence =
            "The log \(bus.log) belongs to process \(first.process); end that one, or name another file in log.path."
        #expect(second.errors.contains(sentence), "\(second.errors)")
        #expect(!FileManager.default.fileExists(atPath: "\(bus.directory.path)/other"))
        // By another way to the same file, too.
        symlink(bus.log, "\(bus.directory.path)/link")
        let third = try RunningProgram.run(
            "fluxbusd",
            ["--listen", "unix:\(bus.directory.path)/other", "--log", "\(bus.directory.path)/link"])
        #expect(third.status == 75)
        #expect(
            try bus.client().ask(#"{"op":"dispatch","type":"counter","action":"increment"}"#)
                .contains(#""ok":true"#))
        #expect(try bus.stop(first) == 0)
    }

    @Test func aKilledDaemonLeavesTheLogFree() throws {
        let first = try bus.start()
        first.signal(SIGKILL)
        _ = try first.wait()
        #expect(try bus.stop(bus.start()) == 0)
    }

    /// Root may write everywhere, unless that right was taken away.
    private static let withoutRights =
        geteuid() == 0 ? ["/usr/bin/setpriv", "--bounding-set", "-dac_override"] : []

    @Test func aDirectoryThatIsNotWritableIsTold() throws {
        let folder = "\(bus.directory.path)/closed"
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o500])
        let refused = try bus.run(["--log", "\(folder)/bus.sqlite"], through: Self.withoutRights)
        #expect(refused.status == 78)
        #expect(refused.errors.contains("can't be written (Permission denied); give the directory to user"))
        let absent = try bus.run(["--log", "\(folder)/further/bus.sqlite"])
        #expect(absent.status == 78)
        #expect(absent.errors.contains("make the directory"), "\(absent.errors)")
        // Nothing was opened for clients.
        #expect(!FileManager.default.fileExists(atPath: "\(bus.directory.path)/s"))
    }

    @Test func aFileThatIsNoLogIsLeftAlone() throws {
        let garbage = (0..<20_000).map { "\($0)" }.joined()
        try bus.directory.write("bus.sqlite", garbage)
        let refused = try bus.run()
        #expect(refused.status == 78)
        #expect(
            refused.errors.contains(
                "is not an action log; name another file in log.path or move this one away"))
        #expect(try String(contentsOfFile: bus.log, encoding: .utf8) == garbage)

        try FileManager.default.removeItem(atPath: bus.log)
        try bus.change("CREATE TABLE recipes(title)")
        let others = try bus.run()
        #expect(others.status == 78)
        #expect(others.errors.contains("is a file of another program"))

        try bus.change("PRAGMA application_id = \(0x464c_5558); PRAGMA user_version = 99")
        let newer = try bus.run()
        #expect(newer.status == 78)
        #expect(newer.errors.contains("written by a later version"))
    }

    @Test func aLogWhoseFirstStartWasCutShortIsBegunAgain() throws {
        // What a start leaves that was killed after it named the history and before the first snapshot.
        let epoch = "5bd1a5a6-3c1f-4d0e-9d3c-0123456789ab"
        try LogFile(path: bus.log, sync: .always, bootID: "another").begin(epoch: epoch)
        let daemon = try bus.start()
        #expect(try bus.client().ask(#"{"op":"sync"}"#) == #"{"ok":true,"revision":1}"#)
        #expect(try bus.stop(daemon) == 0)
        #expect(try bus.verify().status == 0)
    }

    @Test func aLogThatHasLostItsNameGoesOnUnderAnother() throws {
        let first = try bus.start()
        let epoch = try bus.client().epoch()
        let increment = #"{"op":"dispatch","store":"counter/main","action":"increment"}"#
        #expect(try bus.client().ask(increment).contains(#""ok":true"#))
        #expect(try bus.stop(first) == 0)
        try bus.change("DELETE FROM meta")
        let second = try bus.start()
        #expect(second.waitFor("a new epoch begins"))
        #expect(try bus.client().epoch() != epoch)
        #expect(try bus.client().ask(increment).contains(#""ok":true"#))
        #expect(try bus.client().ask(#"{"op":"get","store":"counter/main"}"#).contains(#""count":2"#))
        #expect(try bus.stop(second) == 0)
    }

    @Test(arguments: ["interval", "never"])
    func aCrashOfTheMachineBeginsANewEpoch(sync: String) throws {
        let first = try bus.start(["--sync", sync])
        let epoch = try bus.client().epoch()
        first.signal(SIGKILL)
        _ = try first.wait()
        // The machine has been started since.
        try bus.change("UPDATE meta SET value = 'an earlier one' WHERE name = 'boot'")
        let second = try bus.start(["--sync", sync])
        #expect(second.waitFor("a new epoch begins"))
        let next = try bus.client().epoch()
        #expect(next != epoch)
        #expect(try bus.client().ask(#"{"op":"get","store":"counter/main"}"#).contains(#""count":0"#))
        #expect(try bus.stop(second) == 0)

        // After an end in order nothing is missing, whatever the machine does then.
        try bus.change("UPDATE meta SET value = 'an earlier one' WHERE name = 'boot'")
        let third = try bus.start(["--sync", sync])
        #expect(try bus.client().epoch() == next)
        #expect(try bus.stop(third) == 0)
    }

    @Test func aCrashOfTheMachineCostsNothingWithAlways() throws {
        let first = try bus.start(["--sync", "always"])
        let epoch = try bus.client().epoch()
        first.signal(SIGKILL)
        _ = try first.wait()
        try bus.change("UPDATE meta SET value = 'an earlier one' WHERE name = 'boot'")
        let second = try bus.start()
        #expect(try bus.client().epoch() == epoch)
        #expect(try bus.stop(second) == 0)
    }
}
