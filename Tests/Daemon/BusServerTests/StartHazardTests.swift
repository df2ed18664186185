import Foundation
import TestFiles
import TestServer
import Testing

/// What may surround a daemon that it has not made: files that are none, few descriptors, promises of a manager that are
/// not kept, a standard error that nobody reads. It says what is wrong, or goes on; it never hangs and never crashes.
@Suite(.timeLimit(.minutes(10))) struct StartHazardTests {
    private let bus: DaemonBus
    private var directory: TemporaryDirectory { bus.directory }

    init() throws { bus = try DaemonBus() }

    @Test(arguments: ["--check", ""])
    func aPipeAmongTheTypesIsNoType(_ flag: String) throws {
        mkfifo("\(directory.path)/types/pipe.yaml", 0o600)
        let refused = try bus.run(flag.isEmpty ? [] : [flag])
        #expect(refused.status == 78)
        #expect(
            refused.errors.contains(
                "\(directory.path)/types/pipe.yaml: This is not a regular file; put one there, or move it out"
            ),
            "\(refused.errors)")
    }

    @Test func aSocketAmongTheTypesIsNoType() throws {
        let daemon = try RunningProgram("fluxbusd", ["--listen", "unix:\(directory.path)/types/s.yaml"])
        #expect(daemon.waitFor("listening on"))
        let refused = try bus.run(["--check"])
        #expect(refused.status == 78)
        #expect(refused.errors.contains("types/s.yaml: This is not a regular file"), "\(refused.errors)")
    }

    @Test func aReloadThatMeetsAPipeIsRefused() throws {
        let daemon = try bus.start()
        mkfifo("\(directory.path)/types/pipe.yaml", 0o600)
        daemon.signal(SIGHUP)
        #expect(daemon.waitFor("This is not a regular file"))
        let client = try bus.client()
        #expect(try client.ask(#"{"op":"ping"}"#) == #"{"ok":true}"#)
        daemon.signal(SIGTERM)
        #expect(try daemon.wait().status == 0)
    }

    /// Root may raise the limit of descriptors again, unless that right was taken away. With stacks larger than all memory that
    /// it may have, nobody gets a thread, whoever runs this.
    @Test(arguments: [
        (["--nofile=5:5"], "The limit of open descriptors is 5, and the daemon needs 64"),
        (["--nofile=16:16"], "The limit of open descriptors is 16, and the daemon needs 64"),
        (
            ["--stack=\(1 << 36):", "--as=\(1 << 35):"],
            "The system has room for 0 more threads, and the daemon needs 24;"
        ),
    ])
    func tooLittleOfTheSystemIsTold(_ limits: [String], _ message: String) throws {
        let through =
            ["/usr/bin/prlimit"] + limits
            + (geteuid() == 0 ? ["/usr/bin/setpriv", "--bounding-set", "-sys_resource"] : [])
        let refused = try bus.run(through: through)
        #expect(refused.status == 71)
        #expect(refused.errors.contains(message), "\(refused.errors)")
        #expect(try bus.run(["--check"], through: through).status == 0)
    }

    @Test func aPromiseOfManyDescriptorsIsNotWaitedFor() throws {
        // The shell becomes the daemon, so its number is the daemon's.
        let promise = ["/bin/sh", "-c", "LISTEN_PID=$$ LISTEN_FDS=999999999 exec \"$0\" \"$@\""]
        let refused = try bus.run(through: promise)
        #expect(refused.status == 71)
        #expect(refused.errors.contains("LISTEN_FDS promises it; start the service by its unit."))
    }

    @Test(arguments: ["relative", "/nonexistent/notify"])
    func aManagerThatCanNotBeToldIsLoggedAndNoReasonToEnd(_ socket: String) throws {
        let daemon = try RunningProgram("fluxbusd", bus.arguments(), environment: ["NOTIFY_SOCKET": socket])
        #expect(daemon.waitFor("the service manager can't be notified: "))
        let client = try bus.client()
        #expect(try client.ask(#"{"op":"ping"}"#) == #"{"ok":true}"#)
        daemon.signal(SIGTERM)
        #expect(try daemon.wait().status == 0)
    }

    /// Far more than a pipe holds.
    @Test func aStandardErrorThatNobodyReadsStopsNothing() throws {
        let daemon = try bus.start(["--log-level", "debug"])
        let client = try bus.client()
        let request = #"{"op":"dispatch","store":"counter/main","action":"increment"}"# + "\n"
        for _ in 0..<20 {
            try client.send(bytes: String(repeating: request, count: 200))
            for _ in 0..<200 { #expect(try client.line()?.contains(#""ok":true"#) == true) }
        }
        // Once somebody reads again, they hear how much they have missed.
        #expect(daemon.waitFor("revision=100"))
        var isTold = false
        for _ in 0..<20 where !isTold {
            _ = try client.ask(String(request.dropLast()))
            isTold = daemon.waitFor("messages were dropped, because nobody read standard error.")
        }
        #expect(isTold)
        daemon.signal(SIGTERM)
        #expect(try daemon.wait().status == 0)
    }
}
