import CLinux
import Foundation
import Testing

/// `fluxbusd --verify`, right and wrong.
struct LogVerifyTests {
    private let bus: LoggedDaemon
    init() throws { bus = try LoggedDaemon() }

    private func write(_ count: Int, to client: Client) throws {
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
            #expect(outcome.output.contains("the log \(bus.log) is right"))
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
        #expect(!outcome.output.contains("is right"))
    }

    @Test func aCommitThatWasTakenOutIsFound() throws {
        let daemon = try bus.start()
        try write(20, to: try bus.client())
        #expect(try bus.stop(daemon) == 0)
        try bus.change("DELETE FROM groups WHERE number = 7")
        #expect(try bus.verify().status == 65)
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
        let unnamed = try DaemonProcess.run(["--listen", "unix:/tmp/nobody", "--verify"])
        #expect(unnamed.status == 78)
        #expect(unnamed.errors.contains("There is no log to verify"))
        try bus.directory.write("bus.sqlite", String(repeating: "no log ", count: 2000))
        #expect(try bus.verify().status == 65)
    }
}
