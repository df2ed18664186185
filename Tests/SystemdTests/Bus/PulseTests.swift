import BusServer
import Foundation
import Logging
import Systemd
import Testing

/// What the manager hears of a bus in this process.
@Suite(.timeLimit(.minutes(1))) struct PulseTests {
    private let manager = StandInManager()
    private let directory: String

    init() throws {
        var template = Array("/tmp/flux-XXXXXX".utf8CString)
        try #require(mkdtemp(&template) != nil)
        directory = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    private func start(_ type: WedgingType, watchdog: String? = nil) throws -> BusServer {
        let setup = try ServerSetup.load(
            flags: ConfigurationOverrides(listen: ["unix:\(directory)/s"], stores: ["wedge/a"]),
            environment: ConfigurationOverrides(environment: [:]), defaultFile: "/nonexistent/fluxbusd.yaml",
            natives: [type])
        var variables = ["NOTIFY_SOCKET": manager.name]
        variables["WATCHDOG_USEC"] = watchdog
        let server = BusServer(
            setup, service: try Service(ServiceEnvironment(variables: variables)),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        try server.start()
        return server
    }

    private func stop(_ server: BusServer) throws {
        server.stop()
        server.waitUntilStopped()
        try FileManager.default.removeItem(atPath: directory)
    }

    /// The next notification of this kind.
    private func next(_ text: String) -> String? {
        while let datagram = manager.next(waiting: true) {
            if datagram.text.hasPrefix(text) { return datagram.text }
        }
        return nil
    }

    @Test func aStuckCommitQueueFeedsNoWatchdog() throws {
        let type = WedgingType()
        let server = try start(type, watchdog: "100000")
        // Beats come although nothing happens.
        for _ in 0..<3 { #expect(next("WATCHDOG=1") != nil) }
        let client = try ProbeConnection("\(directory)/s")
        try client.send(#"{"op":"dispatch","store":"wedge/a","action":"hang"}"#)
        type.entered.wait()
        while manager.next() != nil {}
        // Eight beats would have come: whatever else this process could do, it is broken.
        #expect(manager.isSilent(for: 400))
        type.released.signal()
        #expect(try client.line()?.contains(#""ok":true"#) == true)
        #expect(next("WATCHDOG=1") != nil)
        try stop(server)
    }

    @Test func readyComesOnceClientsAreServedAndTheStatusFollowsThem() throws {
        let type = WedgingType()
        let server = try start(type)
        #expect(manager.next()?.text == "READY=1")
        #expect(manager.next()?.text == "STATUS=1 stores, 0 clients, revision 1")
        let client = try ProbeConnection("\(directory)/s")
        #expect(try client.order(#"{"op":"ping"}"#) == #"{"ok":true}"#)
        #expect(next("STATUS=") == "STATUS=1 stores, 1 clients, revision 1")
        // Also what happened within a second after the status was told is told, though nothing happens any more.
        client.finish()
        #expect(next("STATUS=") == "STATUS=1 stores, 0 clients, revision 1")
        try stop(server)
        #expect(next("STOPPING=1") != nil)
    }
}
