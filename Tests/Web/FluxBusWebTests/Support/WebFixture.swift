import BusSystem
import Dispatch
import FluxBus
import FluxBusWeb
import Foundation
import Synchronization
import Systemd
import TestFiles
import TestServer

/// A web server in this process, before a bus in this process. What a test does with them blocks, so it is done on a thread of
/// its own: the server's work needs those on which tests run.
final class WebFixture {
    let bus: LiveBus
    let directory = TemporaryDirectory()
    let clock = ManualClock()
    private var setup: WebServer.Setup
    private(set) var server: WebServer
    private let passed: [PassedDescriptor]
    /// How often the server said that it is idle.
    let idle = IdleCount()

    final class IdleCount: Sendable {
        private let count = Mutex(0)
        let isThere = DispatchSemaphore(value: 0)
        var value: Int { count.withLock { $0 } }

        func add() {
            count.withLock { $0 += 1 }
            isThere.signal()
        }
    }

    private init(
        _ busSetup: LiveBus.Setup, passed: [PassedDescriptor],
        _ change: (inout WebServer.Setup, LiveBus) -> Void
    ) throws {
        bus = try LiveBus(busSetup)
        setup = WebServer.Setup(
            bus: try BusAddress(parsing: bus.address), stateDirectory: "\(directory.path)/state",
            runtimeDirectory: directory.path)
        setup.listen = [try WebAddress(parsing: "127.0.0.1:0")]
        setup.now = { [clock] in clock.seconds }
        change(&setup, bus)
        self.passed = passed
        server = try Self.start(setup, passed, idle)
    }

    /// Runs a test's body with a server, ends the server, and checks that nothing is left of it.
    static func run(
        _ busSetup: LiveBus.Setup = LiveBus.Setup(), passed: [PassedDescriptor] = [],
        change: @escaping @Sendable (inout WebServer.Setup, LiveBus) -> Void = { _, _ in },
        _ body: @escaping @Sendable (WebFixture) throws -> Void
    ) async throws {
        try await onThread {
            let fixture = try WebFixture(busSetup, passed: passed, change)
            defer { fixture.stop() }
            try body(fixture)
        }
    }

    private static func start(
        _ setup: WebServer.Setup, _ passed: [PassedDescriptor], _ idle: IdleCount
    ) throws -> WebServer {
        var descriptors = ListenDescriptors(passed)
        let listeners = try WebServer.listen(setup, &descriptors)
        return try Waiting.result { () async throws(WebFailure) in
            try await WebServer(setup, on: listeners) { idle.add() }
        }
    }

    func stop() {
        let server = server
        Waiting.done { await server.stop() }
    }

    /// Ends the server and starts another one like it.
    func restart() throws {
        stop()
        server = try Self.start(setup, passed, idle)
    }

    func clockMoved(by time: Duration) {
        clock.advance(by: time)
        server.clockMoved()
    }

    /// `tcp:127.0.0.1:port`, as the kit's sockets take it.
    var address: String {
        server.addresses[0].hasPrefix("unix:") ? server.addresses[0] : "tcp:\(server.addresses[0])"
    }
    var host: String { server.addresses[0].hasPrefix("unix:") ? "localhost" : server.addresses[0] }
    var token: String { server.link.components(separatedBy: "#token=").last ?? "" }

    func client() throws -> WebClient { try WebClient(address, host: host) }

    /// One request on a connection of its own.
    func ask(
        _ method: String, _ path: String, _ fields: [String: String] = [:], body: String = ""
    ) throws -> WebClient.Answer {
        try client().ask(method, path, fields, body: body)
    }

    /// The cookie of a new session.
    func signIn() throws -> String {
        let answer = try ask("POST", "/session", ["Origin": "http://\(host)"], body: token)
        guard answer.status == 204, let field = answer.fields["set-cookie"],
            let cookie = field.split(separator: ";").first
        else { throw Sockets.Failure("Signing in was answered \(answer.status): \(answer.text)") }
        return String(cookie)
    }

    func webSocket(_ cookie: String) throws -> WebSocketClient {
        let client = try client()
        let answer = try client.upgrade(["Cookie": cookie])
        guard answer.status == 101 else {
            throw Sockets.Failure("The handshake was answered \(answer.status): \(answer.text)")
        }
        return WebSocketClient(client)
    }
}

/// Does blocking work on a thread of its own.
func onThread<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
        Thread.detachNewThread { continuation.resume(with: Result { try body() }) }
    }
}

/// A clock that a test sets.
final class ManualClock: Sendable {
    private let time = Mutex(0)
    private static let start = 1_800_000_000

    var nanoseconds: Int { time.withLock { $0 } }
    /// Since 1970.
    var seconds: Int { Self.start + nanoseconds / 1_000_000_000 }

    func advance(by duration: Duration) { time.withLock { $0 += duration.nanoseconds } }
}
