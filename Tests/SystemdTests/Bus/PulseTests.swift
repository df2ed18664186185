import BusServer
import Foundation
import Logging
import Systemd
import TestFiles
import Testing

/// What the manager hears of a bus in this process.
@Suite(.timeLimit(.minutes(1))) struct PulseTests {
    private let manager = StandInManager()
    private let place = TemporaryDirectory()
    private var directory: String { place.path }

    private func start(_ type: WedgingType, watchdog: String? = nil, log: String? = nil) throws -> BusServer {
        let server = try make(type, watchdog: watchdog, log: log)
        try server.start()
        return server
    }

    private func make(_ type: WedgingType, watchdog: String? = nil, log: String? = nil) throws -> BusServer {
        let setup = try ServerSetup.load(
            flags: ConfigurationOverrides(listen: ["unix:\(directory)/s"], stores: ["wedge/a"], log: log),
            environment: ConfigurationOverrides(environment: [:]), defaultFile: "/nonexistent/fluxbusd.yaml",
            natives: [type])
        var variables = ["NOTIFY_SOCKET": manager.name]
        variables["WATCHDOG_USEC"] = watchdog
        return BusServer(
            setup, service: try Service(ServiceEnvironment(variables: variables)),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    }

    private func stop(_ server: BusServer) throws {
        server.stop()
        server.waitUntilStopped()
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

    @Test func aLongReplayIsToldAndAsksForTime() throws {
        let type = WedgingType()
        let log = "\(directory)/bus.sqlite"
        let first = try start(type, log: log)
        let client = try ProbeConnection("\(directory)/s")
        for revision in 2...4 {
            try client.send(#"{"op":"dispatch","store":"wedge/a","action":"hang"}"#)
            type.entered.wait()
            type.released.signal()
            #expect(try client.line()?.contains("\"revision\":\(revision)") == true)
        }
        client.finish()
        first.stop()
        first.waitUntilStopped()
        while manager.next() != nil {}

        // Each of the three commits is carried out again, and the first takes longer than anybody waits without a word.
        let second = try make(type, log: log)
        let isOpen = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
            _ = try? second.start()
            isOpen.signal()
        }
        type.entered.wait()
        #expect(manager.isSilent(for: 600))
        type.released.signal()
        let text = manager.next(waiting: true)?.text.split(separator: "\n")
        #expect(text == ["STATUS=reading the log: revision 2 of 4", "EXTEND_TIMEOUT_USEC=30000000"])
        for _ in 0..<2 {
            type.entered.wait()
            type.released.signal()
        }
        isOpen.wait()
        #expect(manager.next()?.text == "READY=1")
        #expect(manager.next()?.text == "STATUS=1 stores, 0 clients, revision 4")
        try stop(second)
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
