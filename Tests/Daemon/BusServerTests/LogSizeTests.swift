import BusJSON
import Foundation
import TestServer
import Testing

/// How large the log's file is, while the daemon uses it.
@Suite(.timeLimit(.minutes(10))) struct LogSizeTests {
    private let bus: DaemonBus
    init() throws { bus = try DaemonBus.logged() }

    private func start(bytes: String) throws -> RunningProgram {
        try bus.directory.write(
            "fluxbusd.yaml", "log: { path: bus.sqlite, sync: never, retain: { bytes: \(bytes) } }\n")
        return try bus.start(["--config", "\(bus.directory.path)/fluxbusd.yaml"])
    }

    private var size: Int {
        (try? FileManager.default.attributesOfItem(atPath: bus.log)[.size] as? Int) ?? 0
    }

    private let write =
        #"{"op":"dispatch","store":"counter/main","action":"write","payload":{"text":""#
        + String(repeating: "x", count: 8 << 10) + #""}}"#

    /// The file comes to have at most a tenth more than its limit, while a client commits.
    private func shrinks(to limit: Int, beside client: LineClient) throws {
        let end = ContinuousClock.now + .seconds(240)
        while size > 11 * limit / 10, .now < end {
            #expect(
                try client.ask(#"{"op":"dispatch","type":"counter","action":"increment"}"#).contains(
                    "ok\":true"))
        }
        #expect(size <= 11 * limit / 10)
    }

    @Test func fileShrinksWhileClientsCommit() throws {
        let first = try start(bytes: "1GiB")
        let client = try bus.client()
        for _ in 0..<1000 { #expect(try client.ask(write).contains(#""ok":true"#)) }
        #expect(try bus.stop(first) == 0)
        #expect(size > 8 << 20)

        let second = try start(bytes: "1MiB")
        let other = try bus.client()
        try shrinks(to: 1 << 20, beside: other)
        let oldest = try JSON(parsing: other.ask(#"{"op":"history","limit":1}"#))["oldest"]?.int
        #expect(oldest ?? 0 > 1000)
        #expect(try bus.stop(second) == 0)
        #expect(try bus.verify().status == 0)
    }

    /// Who writes faster than the log is trimmed makes the file larger for a moment.
    @Test func fileReturnsToItsLimit() throws {
        let daemon = try start(bytes: "4MiB")
        let client = try bus.client()
        for _ in 0..<3000 { #expect(try client.ask(write).contains(#""ok":true"#)) }
        try shrinks(to: 4 << 20, beside: client)
        #expect(try bus.stop(daemon) == 0)
    }
}
