import Foundation
import TestServer
import Testing

/// Whether the system tells of the process at the other end of a socket.
private var tellsOfPeers: Bool {
    let version = ProcessInfo.processInfo.operatingSystemVersion
    return (version.majorVersion, version.minorVersion) >= (6, 5)
}

/// What a local client leaves waits for it only as long as its process lives.
@Suite(
    .timeLimit(.minutes(2)),
    .enabled(
        if: FileManager.default.isExecutableFile(atPath: "/usr/bin/python3") && tellsOfPeers,
        "It needs Python, in which the client is written, and Linux 6.5."))
struct DepartureTests {
    /// Leaves a will that lingers for an hour, and closes the connection when a line comes.
    private static let program = """
        import os, socket, sys
        bus = socket.socket(socket.AF_UNIX)
        bus.connect(sys.argv[1])
        lines = bus.makefile("rw")
        for line in [
            '{"op":"hello","session":"desk","linger":"1h"}',
            '{"op":"will","actions":[{"store":"counter/main","action":"increment"}]}',
        ]:
            lines.write(line + "\\n")
            lines.flush()
            assert '"ok":true' in lines.readline()
        print("left", flush=True)
        sys.stdin.readline()
        lines.close()
        bus.close()
        print("closed", flush=True)
        sys.stdin.readline()
        """

    private let bus: LiveBus
    private let watcher: LineClient
    private let client: RunningProgram

    init() throws {
        bus = try LiveBus()
        watcher = try bus.client()
        client = try RunningProgram(["/usr/bin/python3", "-c", Self.program, bus.path("s")])
        #expect(client.reads("left"))
    }

    /// Waits for the will, and for nothing else.
    private func expectWill(after action: () throws -> Void) throws {
        _ = try watcher.ask(#"{"op":"subscribe","store":"counter/main","initial":false}"#)
        try action()
        #expect(try watcher.line()?.contains(#""count":1"#) == true)
    }

    @Test func willOfAKilledProcessIsAppliedAtOnce() throws {
        try expectWill { client.kill() }
    }

    @Test func sessionOfAClosedConnectionEndsWithItsProcess() throws {
        try client.send("close")
        #expect(client.reads("closed"))
        #expect(try watcher.ask(#"{"op":"get","store":"counter/main"}"#).contains(#""count":0"#))
        try expectWill { try client.send("end") }
    }

    /// A client that comes back has its session, whatever becomes of the process that had it before.
    @Test func sessionThatWasTakenOverOutlivesTheProcess() throws {
        try client.send("close")
        #expect(client.reads("closed"))
        let heir = try bus.client()
        #expect(try heir.ask(#"{"op":"hello","session":"desk","linger":"1h"}"#).contains(#""resumed":true"#))
        try client.send("end")
        #expect(try client.wait().status == 0)
        for _ in 0..<10 {
            #expect(try watcher.ask(#"{"op":"get","store":"counter/main"}"#).contains(#""count":0"#))
        }
        try expectWill {
            // This process lives, so it says that it goes for good.
            _ = try heir.ask(#"{"op":"hello","session":"desk","linger":0}"#)
            heir.close()
        }
    }
}
