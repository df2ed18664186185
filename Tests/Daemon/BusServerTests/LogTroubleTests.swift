import CLinux
import Foundation
import TestServer
import Testing

/// A log that can't grow: nothing is promised that is not on disk, what is there is still served, and the bus goes on by
/// itself when there is room again.
@Suite(.timeLimit(.minutes(10))) struct LogTroubleTests {
    private let bus: DaemonBus
    init() throws { bus = try DaemonBus.logged() }

    private static func succeeds(_ words: String...) -> Bool {
        (try? RunningProgram(words).wait().status) == 0
    }

    private static let canMount = succeeds(
        "/usr/bin/unshare", "--mount", "--propagation", "private", "mount", "-t", "tmpfs", "tmpfs", "/mnt")

    /// What became of a burst of dispatches.
    private struct Burst {
        var acknowledged = 0
        var unavailable = 0
        var others: [String] = []
        /// A refusal came before an acknowledgement.
        var isMixed = false
    }

    /// Many at once, so that groups are under way and being gathered when the disk fails.
    private func increment(_ count: Int, _ client: LineClient, padding: Int = 0) throws -> Burst {
        let text = String(repeating: "x", count: padding)
        let note =
            padding == 0
            ? "" : #",{"store":"counter/pad","action":"write","payload":{"text":"\#(text)"}}"#
        let request =
            #"{"op":"dispatch","actions":[{"store":"counter/main","action":"increment"}\#(note)]}"# + "\n"
        try client.send(bytes: String(repeating: request, count: count))
        var burst = Burst()
        for _ in 0..<count {
            let line = try client.line() ?? "the end"
            if line.contains(#""ok":true"#) {
                burst.acknowledged += 1
                if burst.unavailable > 0 { burst.isMixed = true }
            } else if line.contains(#""code":"unavailable""#) {
                burst.unavailable += 1
            } else {
                burst.others.append(line)
            }
        }
        return burst
    }

    /// Dispatches until nothing is taken any more; gives how much was acknowledged.
    private func useUpRoom(_ client: LineClient) throws -> Int {
        var acknowledged = 0
        for _ in 0..<1000 {
            let burst = try increment(20, client, padding: 2000)
            #expect(burst.others == [])
            #expect(!burst.isMixed)
            acknowledged += burst.acknowledged
            if burst.unavailable > 0 { return acknowledged }
        }
        throw LineClient.Failure("The room was not used up.")
    }

    private func count(_ client: LineClient) throws -> Int? {
        LineClient.integer("count", in: try client.ask(#"{"op":"get","store":"counter/main"}"#))
    }

    /// What holds while the log can't be written, then after `makeRoom`. Gives how much was acknowledged in all.
    private func suffer(_ daemon: RunningProgram, makeRoom: () throws -> Void) throws -> Int {
        let client = try bus.client()
        let watcher = try bus.client()
        _ = try watcher.ask(#"{"op":"subscribe","store":"counter/main","select":["/count"],"initial":false}"#)
        var acknowledged = try useUpRoom(client)
        #expect(daemon.waitFor("are rolled back"))

        // What is on disk is served, the past as well; nothing else is.
        #expect(try count(client) == acknowledged)
        #expect(try client.ask(#"{"op":"history","limit":1}"#).contains(#""ok":true"#))
        let refusal = try client.ask(#"{"op":"create","store":"counter/refused"}"#)
        #expect(refusal.contains(#""code":"unavailable""#) && refusal.contains("bus.sqlite"), "\(refusal)")
        let dry = #"{"op":"dispatch","store":"counter/main","action":"increment","dryRun":true}"#
        #expect(try client.ask(dry).contains(#""ok":true"#))

        try makeRoom()
        #expect(daemon.waitFor("can be written again"))
        let burst = try increment(10, client)
        #expect(burst.acknowledged == 10)
        acknowledged += 10
        #expect(try count(client) == acknowledged)
        #expect(try client.ask(#"{"op":"get","match":"counter/refused"}"#).contains(#""states":{}"#))

        // Whoever watched has the truth, and never more than that.
        var seen = 0
        while seen < acknowledged {
            let event = try #require(try watcher.line())
            let count = try #require(LineClient.integer("count", in: event), "\(event)")
            #expect(count >= seen && count <= acknowledged, "\(event)")
            seen = count
        }
        return acknowledged
    }

    @Test(.enabled(if: canMount, "A small disk can be mounted by root in a mount namespace of its own only."))
    func aFullDiskIsSurvived() throws {
        let folder = "\(bus.directory.path)/disk"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        let daemon = try bus.start(
            ["--log", "\(folder)/bus.sqlite", "--store", "counter/pad"],
            through: [
                "/usr/bin/unshare", "--mount", "--propagation", "private", "/bin/sh", "-c",
                #"mount -t tmpfs -o size=8m tmpfs "$0" && exec "$@""#, folder,
            ])
        let filler = "/proc/\(daemon.process)/root\(folder)/filler"
        try Data(count: 6 << 20).write(to: URL(fileURLWithPath: filler))
        _ = try suffer(daemon) { try FileManager.default.removeItem(atPath: filler) }
        let verified = try RunningProgram.run(
            "fluxbusd",
            bus.arguments(["--log", "\(folder)/bus.sqlite", "--verify"]),
            through: ["/usr/bin/nsenter", "-t", "\(daemon.process)", "-m"])
        #expect(verified.status == 0, "\(verified.errors)")
        #expect(try bus.stop(daemon) == 0)
    }

    @Test func aLimitOnFilesIsLikeAFullDisk() throws {
        // The system's signal for it would end a process that does not know of it.
        let daemon = try bus.start(["--store", "counter/pad"])
        let process = "\(daemon.process)"
        try #require(Self.succeeds("/usr/bin/prlimit", "--pid", process, "--fsize=300000:"))
        let acknowledged = try suffer(daemon) {
            try #require(Self.succeeds("/usr/bin/prlimit", "--pid", process, "--fsize=unlimited:"))
        }
        daemon.signal(SIGKILL)
        _ = try daemon.wait()
        let next = try bus.start(["--store", "counter/pad"])
        #expect(try count(try bus.client()) == acknowledged)
        #expect(try bus.verify().status == 0)
        #expect(try bus.stop(next) == 0)
    }

    @Test func aLogThatIsTakenAwayEndsTheDaemon() throws {
        let daemon = try bus.start()
        let client = try bus.client()
        _ = try client.ask(#"{"op":"dispatch","store":"counter/main","action":"increment"}"#)
        try FileManager.default.moveItem(atPath: bus.log, toPath: "\(bus.log).away")
        try client.send(#"{"op":"dispatch","store":"counter/main","action":"increment"}"#)
        // Nobody hears of a commit that went into a file without a name.
        #expect(try client.rest().allSatisfy { !$0.contains(#""ok":true"#) })
        let outcome = try daemon.wait()
        #expect(outcome.status == 74)
        #expect(outcome.errors.contains("was moved or deleted while in use; put it back"))
        // What was acknowledged is in the file and in its write-ahead log, which stayed.
        try FileManager.default.moveItem(atPath: "\(bus.log).away", toPath: bus.log)
        let next = try bus.start()
        #expect(try count(try bus.client()) == 1)
        #expect(try bus.stop(next) == 0)
    }

    /// Far enough behind the last snapshot that an end in order would leave another one.
    @Test func aLogThatVanishesLongAfterASnapshotEndsTheDaemon() throws {
        let daemon = try bus.start()
        let client = try bus.client()
        #expect(try increment(1500, client).acknowledged == 1500)
        try FileManager.default.removeItem(atPath: bus.log)
        try client.send(#"{"op":"dispatch","store":"counter/main","action":"increment"}"#)
        #expect(try client.rest().allSatisfy { !$0.contains(#""ok":true"#) })
        let outcome = try daemon.wait()
        #expect(outcome.status == 74)
        #expect(outcome.errors.contains("was moved or deleted while in use"), "\(outcome.errors)")
    }

    @Test func aWriteAheadLogThatIsTakenAwayEndsTheDaemonAndNothingIsLost() throws {
        let daemon = try bus.start()
        let client = try bus.client()
        let epoch = try client.epoch()
        #expect(try increment(100, client).acknowledged == 100)
        try FileManager.default.removeItem(atPath: "\(bus.log)-wal")
        try client.send(#"{"op":"dispatch","store":"counter/main","action":"increment"}"#)
        // Nobody hears of a commit that went into a file without a name.
        #expect(try client.rest().allSatisfy { !$0.contains(#""ok":true"#) })
        let outcome = try daemon.wait()
        #expect(outcome.status == 74)
        #expect(outcome.errors.contains("all that was acknowledged"), "\(outcome.errors)")
        let next = try bus.start()
        #expect(try bus.client().epoch() == epoch)
        #expect(try #require(try count(try bus.client())) >= 100)
        #expect(try bus.verify().status == 0)
        #expect(try bus.stop(next) == 0)
    }

    /// Cut while the daemon runs: it acknowledges nothing more that no start would find.
    @Test(arguments: [0, 10_000])
    func aWriteAheadLogThatIsCutEndsTheDaemon(_ size: Int) throws {
        // With `always` the tail has these commits, too.
        let daemon = try bus.start(["--sync", "interval"])
        let client = try bus.client()
        let epoch = try client.epoch()
        for _ in 0..<20 { #expect(try increment(5, client).acknowledged == 5) }
        #expect(truncate("\(bus.log)-wal", size) == 0)
        try client.send(#"{"op":"dispatch","store":"counter/main","action":"increment"}"#)
        #expect(try client.rest().allSatisfy { !$0.contains(#""ok":true"#) })
        let outcome = try daemon.wait()
        #expect(outcome.status == 74)
        #expect(outcome.errors.contains("was cut while in use"), "\(outcome.errors)")
        let next = try bus.start()
        #expect(next.waitFor("a new epoch begins"))
        #expect(try bus.client().epoch() != epoch)
        #expect(try bus.verify().status == 0)
        #expect(try bus.stop(next) == 0)
    }

    /// After a kill, with all that could bear witness to it or with nothing.
    @Test(arguments: [["-wal"], ["-wal", "-shm"], ["-wal", "-shm", "-lock"]])
    func aWriteAheadLogThatIsMissingAfterAKillBeginsANewEpoch(_ missing: [String]) throws {
        let daemon = try bus.start(["--sync", "interval"])
        let client = try bus.client()
        let epoch = try client.epoch()
        #expect(try increment(100, client).acknowledged == 100)
        daemon.signal(SIGKILL)
        _ = try daemon.wait()
        for suffix in missing { try FileManager.default.removeItem(atPath: bus.log + suffix) }
        let next = try bus.start()
        #expect(next.waitFor("a new epoch begins"))
        #expect(try bus.client().epoch() != epoch)
        #expect(try bus.stop(next) == 0)
    }

    /// What was only in the tail is not lost with the write-ahead log; and is, and told, with the tail. On a machine that stands still
    /// for a minute the daemon has moved some of it, or all, into the database before it is killed.
    @Test(arguments: [["-wal"], ["-wal", "-shm"], ["-tail"], ["-tail", "-lock"]])
    func whatIsInTheTailIsThereAfterAKill(_ missing: [String]) throws {
        let daemon = try bus.start()
        let client = try bus.client()
        let epoch = try client.epoch()
        #expect(try increment(100, client).acknowledged == 100)
        daemon.signal(SIGKILL)
        _ = try daemon.wait()
        let isLost = missing.contains("-tail")
        let kept = isLost ? try bus.settled("increment") : 100
        for suffix in missing { try FileManager.default.removeItem(atPath: bus.log + suffix) }
        let next = try bus.start()
        let other = try bus.client()
        #expect(try (other.epoch() != epoch) == isLost)
        #expect(try count(other) == kept)
        #expect(try bus.verify().status == 0)
        #expect(try bus.stop(next) == 0)
    }

    @Test func aWriteAheadLogThatIsCutAfterAKillBeginsANewEpoch() throws {
        let daemon = try bus.start(["--sync", "interval"])
        let client = try bus.client()
        let epoch = try client.epoch()
        for _ in 0..<20 { #expect(try increment(5, client).acknowledged == 5) }
        daemon.signal(SIGKILL)
        _ = try daemon.wait()
        let ahead = try #require(FileManager.default.contents(atPath: "\(bus.log)-wal"))
        // Behind what was written are zeros.
        let size = try #require(ahead.lastIndex { $0 != 0 })
        #expect(truncate("\(bus.log)-wal", size * 3 / 4) == 0)
        let next = try bus.start()
        #expect(next.waitFor("a new epoch begins"))
        #expect(try bus.client().epoch() != epoch)
        #expect(try bus.stop(next) == 0)
    }
}
