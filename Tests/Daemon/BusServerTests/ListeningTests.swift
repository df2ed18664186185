import BusServer
import BusSystem
import CLinux
import Foundation
import Logging
import Synchronization
import TestFiles
import TestServer
import Testing

/// Sockets and their files.
struct ListeningTests {
    private let directory = TemporaryDirectory()
    private let quiet = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    private func start(_ path: String, mode: String? = nil, group: String? = nil) throws -> BusServer {
        let server = try prepare(path, mode: mode, group: group)
        try server.start()
        return server
    }

    private func prepare(_ path: String, mode: String? = nil, group: String? = nil) throws -> BusServer {
        var text = "listen:\n  - unix: \(path)\n"
        if let mode { text += "    mode: \"\(mode)\"\n" }
        if let group { text += "    group: \(group)\n" }
        let file = try directory.write("\(UUID().uuidString).yaml", text)
        let setup = try ServerSetup.load(
            flags: ConfigurationOverrides(config: file), environment: ConfigurationOverrides(environment: [:])
        )
        return BusServer(setup, logger: quiet)
    }

    private func startFailure(_ path: String, group: String? = nil) -> StartFailure? {
        do {
            let server = try start(path, group: group)
            stop(server)
            return nil
        } catch {
            return error as? StartFailure
        }
    }

    private func stop(_ server: BusServer) {
        server.stop()
        server.waitUntilStopped()
    }

    private func mode(_ path: String) -> mode_t {
        var status = stat()
        return lstat(path, &status) == 0 ? status.st_mode & 0o7777 : 0
    }

    @Test(arguments: ["0660", "0600", "0666", "777"])
    func theSocketHasTheConfiguredMode(text: String) throws {
        let path = "\(directory.path)/s"
        let server = try start(path, mode: text)
        #expect(mode(path) == mode_t(text, radix: 8))
        stop(server)
    }

    @Test func theSocketBelongsToTheConfiguredGroup() throws {
        let entry = try #require(getgrgid(getegid()))
        let server = try start("\(directory.path)/s", group: String(cString: entry.pointee.gr_name))
        var status = stat()
        #expect(lstat("\(directory.path)/s", &status) == 0)
        #expect(status.st_gid == getegid())
        stop(server)
    }

    /// Who may write into the directory puts a link in the socket's place between two steps of the start.
    @Test func modeAndGroupAreThoseOfTheSocketWhateverHasItsName() throws {
        let path = "\(directory.path)/s"
        let server = try start(path, mode: "0600")
        let victim = try directory.write("victim", "secret")
        chmod(victim, 0o600)
        let held = try HeldSocketFile(path)
        rename(path, path + "-moved")
        symlink(victim, path)
        try held.change(group: getegid())
        try held.change(mode: 0o666)
        #expect(mode(victim) == 0o600)
        #expect(mode(path + "-moved") == 0o666)
        // Nor is anything held that is no socket of its own.
        for other in [path, victim] {
            let error = #expect(throws: SystemError.self) { try HeldSocketFile(other) }
            #expect(error?.code == ENOTSOCK)
        }
        stop(server)
        #expect(mode(victim) == 0o600)
    }

    @Test func anUnknownGroupIsRefused() throws {
        let failure = try #require(startFailure("\(directory.path)/s", group: "no-such-group"))
        #expect(failure.code == .configuration)
        #expect(failure.messages[0].contains(".yaml:2:11: "))
        #expect(!FileManager.default.fileExists(atPath: "\(directory.path)/s"))
    }

    private func leaveStaleSocket(_ path: String) throws {
        close(try Sockets.bind(to: "unix:\(path)"))
    }

    @Test func aStaleSocketIsReplaced() throws {
        let path = "\(directory.path)/s"
        try leaveStaleSocket(path)
        let server = try start(path)
        #expect(try LineClient("unix:\(path)").ask(#"{"op":"ping"}"#) == #"{"ok":true}"#)
        stop(server)
    }

    @Test func aLiveSocketRefusesTheStart() throws {
        let path = "\(directory.path)/s"
        let server = try start(path)
        let failure = try #require(startFailure(path))
        #expect(failure.code == .inUse)
        #expect(failure.messages[0].contains("a daemon answers on it"))
        #expect(try LineClient("unix:\(path)").ask(#"{"op":"ping"}"#) == #"{"ok":true}"#)
        stop(server)
    }

    @Test func ofManyThatStartAtOnceOneWins() throws {
        let path = "\(directory.path)/s"
        // Every round begins with the stale file of a daemon that was killed.
        for _ in 0..<20 {
            try leaveStaleSocket(path)
            let servers = try (0..<8).map { _ in try prepare(path) }
            let results = Mutex<[BusServer]>([])
            DispatchQueue.concurrentPerform(iterations: servers.count) { index in
                if (try? servers[index].start()) != nil { results.withLock { $0.append(servers[index]) } }
            }
            let started = results.withLock { $0 }
            #expect(started.count == 1)
            #expect(try LineClient("unix:\(path)").ask(#"{"op":"ping"}"#) == #"{"ok":true}"#)
            for server in started { stop(server) }
        }
    }

    @Test func oneDaemonStartsInADirectoryAtATime() throws {
        let lock = open("\(directory.path)/s.lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        defer { close(lock) }
        try #require(linux_try_lock(lock) == 0)
        let failure = try #require(startFailure("\(directory.path)/s"))
        #expect(failure.code == .inUse)
        #expect(failure.messages[0].contains("another daemon is starting in \(directory.path)"))
    }

    /// Everybody who may read a directory can lock it.
    @Test func aLockOnTheDirectoryStopsNobody() throws {
        let lock = open(directory.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        defer { close(lock) }
        try #require(linux_try_lock(lock) == 0)
        let server = try start("\(directory.path)/s")
        #expect(try LineClient("unix:\(directory.path)/s").ask(#"{"op":"ping"}"#) == #"{"ok":true}"#)
        // Nothing stays beside the socket.
        #expect(!FileManager.default.fileExists(atPath: "\(directory.path)/s.lock"))
        stop(server)
    }

    @Test func aFileThatIsNoSocketIsLeftAlone() throws {
        let path = try directory.write("s", "precious")
        let failure = try #require(startFailure(path))
        #expect(failure.code == .configuration)
        #expect(try String(contentsOfFile: path, encoding: .utf8) == "precious")
    }

    @Test func aLongPathAndAMissingDirectoryAreExplained() throws {
        let long = try #require(startFailure(directory.path + "/" + String(repeating: "x", count: 100)))
        #expect(long.code == .configuration)
        #expect(long.messages[0].contains("the kernel allows 107"))
        let missing = try #require(startFailure("\(directory.path)/nope/s"))
        #expect(missing.code == .configuration)
        #expect(
            missing.messages[0].contains("\(directory.path)/nope: No such file or directory; create it first")
        )
    }

    @Test func theSocketFileGoesWithTheDaemon() throws {
        let path = "\(directory.path)/s"
        stop(try start(path))
        #expect(!FileManager.default.fileExists(atPath: path))
    }

    @Test func anotherDaemonsSocketFileStays() throws {
        let path = "\(directory.path)/s"
        let first = try start(path)
        try FileManager.default.moveItem(atPath: path, toPath: path + ".old")
        let second = try start(path)
        stop(first)
        #expect(try LineClient("unix:\(path)").ask(#"{"op":"ping"}"#) == #"{"ok":true}"#)
        stop(second)
    }

    @Test func aTCPPortInUseRefusesTheStart() throws {
        let bus = try LiveBus(listen: ["tcp:127.0.0.1:0"], tokens: "a 0123456789abcdef")
        do {
            _ = try LiveBus(listen: [bus.addresses[1]], tokens: "a 0123456789abcdef")
            Issue.record("Two listen on one port.")
        } catch let failure as StartFailure {
            #expect(failure.code == .inUse)
        }
    }

    /// The service manager keeps its sockets open, so whoever connects while the daemon ends waits for the next one. It holds up
    /// nothing, and ends nothing.
    @Test func whoConnectsAtTheEndToAPassedSocketWaits() throws {
        let address = "unix:\(directory.path)/passed"
        let store = DescriptorStore()
        store.keep(try Sockets.listen(at: address), named: "bus")
        let daemon = SupervisedProgram(
            [RunningProgram.path(of: "fluxbusd"), "--listen", "systemd:bus"],
            messages: "\(directory.path)/messages", again: [], store: store)
        try daemon.start()
        let client = try LineClient(address)
        // It asks until the daemon reads no more of it, and does not read: its goodbye takes seconds.
        let slow = try Sockets.connect(to: address, isBlocking: false)
        defer { close(slow) }
        let request = Array(#"{"op":"stats"}"#.utf8) + [10]
        var refused = 0
        while refused < 100 {
            if write(slow, request, request.count) == request.count {
                refused = 0
            } else {
                refused += 1
                #expect(errno == EAGAIN)
                #expect(try client.ask(#"{"op":"ping"}"#).contains("true"))
            }
        }
        daemon.signal(SIGTERM)
        #expect(try client.rest().first?.contains("goodbye") == true)
        let late = try LineClient(address)
        #expect(daemon.stop() == 0)
        for one in [client, late] { one.close() }
    }
}
