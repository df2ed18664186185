import BusSystem
import BusTLS
import Dispatch
import FluxBus
import FlyingFox
import FlyingSocks
import Glibc
import Synchronization
import Systemd

/// The bus in a browser: the inspector's page, the wire over WebSocket, metrics and health, over HTTP.
///
/// It is only a client of the bus. `start` opens everything and returns; `stop` ends everything and leaves nothing behind.
package final class WebServer: Sendable {
    /// What it is made of.
    package struct Setup: Sendable {
        package var listen: [WebAddress] = []
        package var certificate: CertificateFiles?
        /// Names by which it is known beside loopback's and those it listens on.
        package var hosts: [String] = []
        /// Origins of pages of other servers that may use `/v1`, as `Origins.parse` gives them.
        package var origins: [String] = []
        package var bus: BusAddress
        package var tls = TLSOptions()
        /// By which the bus knows this server, where it asks for a token.
        package var busToken: String?
        package var metricsToken: [UInt8]?
        /// By which programs use `/v1` as this server's user, where the bus knows it without a token.
        package var apiToken: [UInt8]?
        /// The directory of the files of hooks; nil: there are none.
        package var hooks: String?
        /// The directory of the unit's credentials, which files of hooks may name.
        package var credentials: String?
        /// Where the key that signs sessions is kept; needed where the bus knows this server without a token.
        package var stateDirectory: String?
        /// Where the private socket's directory is made.
        package var runtimeDirectory: String
        package var idleExit: Duration?
        /// How long the bus may take for an answer to this server itself.
        package var patience: Duration = .seconds(2)
        /// How long it may take for an answer under `/v1`; less than the front gives a client that is gone.
        package var apiPatience: Duration = .seconds(25)
        /// How often the counters are looked at that the inspector's plots begin with.
        package var healthRhythm: Duration = HealthMemory.rhythm
        package var limits = FrontLimits()
        /// Nanoseconds, on a clock that only goes forward.
        package var clock: @Sendable () -> Int = WebServer.monotonic
        /// Takes a line for whoever looks after the server.
        package var say: @Sendable (String) -> Void = { StandardStream.errors.write("fluxbus-web: \($0)") }
        /// Seconds since 1970.
        package var now: @Sendable () -> Int = { SystemClock.milliseconds / 1000 }

        package init(bus: BusAddress, stateDirectory: String?, runtimeDirectory: String) {
            (self.bus, self.stateDirectory, self.runtimeDirectory) = (
                bus, stateDirectory, runtimeDirectory
            )
        }
    }

    private let setup: Setup
    private let http: HTTPServer
    private let task: Task<Void, any Error>
    private let remembering: Task<Void, Never>?
    private let front: Front
    private let conversations: Conversations
    private let hooks: HookHandler
    private let socket: InnerSocket
    /// Where it can be reached: the address printed for people, with the token where there is one.
    package let link: String
    /// Where it listens: `127.0.0.1:7480`, `unix:/path`.
    package let addresses: [String]

    /// How much longer the library waits for an answer than a request may wait for others, and then for the
    /// bus: what the library gives up is answered with an empty 500.
    private static let margin: Duration = .seconds(5)
    /// How long connections have to end.
    private static let ending: Duration = .milliseconds(1500)

    /// Opens the sockets that a setup names, some of which systemd may have passed.
    package static func listen(
        _ setup: Setup, _ passed: inout ListenDescriptors
    ) throws(WebFailure) -> [WebListener] {
        var listeners: [WebListener] = []
        for address in setup.listen {
            listeners += try WebListener.open(address, isSecure: setup.certificate != nil, &passed)
        }
        return listeners
    }

    /// Opens the rest; from here on it answers.
    ///
    /// - Parameter whenIdle: Called once, after `idleExit` without a connection.
    package init(
        _ setup: Setup, on listeners: [WebListener], whenIdle: @escaping @Sendable () -> Void = {}
    ) async throws(WebFailure) {
        // The library writes to sockets whose other end may be gone.
        signal(SIGPIPE, SIG_IGN)
        self.setup = setup
        let context = try setup.certificate.map { files throws(WebFailure) in try files.context() }
        let bus = BusAccess(setup.bus, setup.tls, token: setup.busToken, patience: setup.patience)
        let sessions =
            bus.isKnownWithoutToken ? try Sessions(in: setup.stateDirectory, now: setup.now) : nil
        let files = try setup.readHooks()
        socket = try InnerSocket(in: setup.runtimeDirectory)
        let pool = HTTPServer.defaultPool()
        let (guesses, memory) = (Guesses(now: setup.now), HealthMemory())
        conversations = Conversations(pool, guesses)
        let api = APIHandler(
            bus: bus, sessions: sessions, token: setup.apiToken, guesses: guesses,
            conversations: conversations, mostConversations: setup.limits.conversations,
            patience: setup.apiPatience)
        hooks = HookHandler(api, setup)
        let handler = WebHandler(
            hosts: HostPolicy(
                listening: listeners.compactMap(\.internet), names: setup.hosts, isSecure: context != nil),
            sessions: sessions, bus: bus, conversations: conversations, metricsToken: setup.metricsToken,
            guesses: guesses, memory: memory, now: setup.now, isSecure: context != nil,
            api: api, origins: Origins(setup.origins), hooks: hooks)
        http = HTTPServer(
            config: .init(
                address: ServerAddress(path: socket.path),
                timeout: (setup.apiPatience * 2 + Self.margin) / .seconds(1), pool: pool, logger: .disabled),
            handler: handler)
        addresses = listeners.map { $0.internet?.text ?? "unix:\($0.path ?? "")" }
        link = Self.link(listeners, setup.hosts, isSecure: context != nil, token: sessions?.token)
        task = Task { [http] in try await http.run() }
        do {
            try await http.waitUntilListening(timeout: 5)
        } catch {
            task.cancel()
            throw WebFailure(
                .system, "The server's own socket \(socket.path) can't be opened: \(error).")
        }
        var limits = setup.limits
        limits.hookFields = { [hooks] in hooks.fields }
        front = try Front(
            listeners, to: socket.hide(), limits,
            FrontAnswers(fields: SecurityFields.data, origins: Origins(setup.origins)), context: context,
            idleExit: setup.idleExit, now: setup.clock, whenIdle: whenIdle)
        hooks.use(files)
        front.start()
        remembering =
            bus.isKnown
            ? Task {
                await memory.follow(every: setup.healthRhythm, now: setup.now) { () async throws(BusError) in
                    try await bus.ownStats()
                }
            } : nil
    }

    /// Reads certificate and key again, for new connections.
    package func reloadCertificate() throws(WebFailure) {
        if let files = setup.certificate { front.use(try files.context()) }
    }

    /// Reads the files of hooks again. If something is wrong with one, all stay as they were.
    package func reloadHooks() throws(WebFailure) { hooks.use(try setup.readHooks()) }

    /// Looks at the clock again, where it is not the machine's.
    package func clockMoved() { front.wake() }

    /// Tells every browser that it ends, and returns when all have gone, or after 2 s.
    package func stop() async {
        remembering?.cancel()
        conversations.end()
        await withCheckedContinuation { (done: CheckedContinuation<Void, Never>) in
            DispatchQueue.global().async { [front] in
                front.stop(within: Self.ending)
                done.resume()
            }
        }
        await http.stop(timeout: 0)
        _ = await task.result
    }

    package static let monotonic: @Sendable () -> Int = { MonotonicClock.nanoseconds }

    private static func link(
        _ listeners: [WebListener], _ names: [String], isSecure: Bool, token: String?
    ) -> String {
        let internet = listeners.lazy.compactMap(\.internet).first
        var scheme = isSecure ? "https" : "http"
        let place: String
        if let internet {
            let host = internet.isWildcard ? "localhost:\(internet.port)" : internet.text
            place = names.first.map { "\($0):\(internet.port)" } ?? host
        } else {
            // Behind a proxy, which has a name and usually TLS.
            if !names.isEmpty { scheme = "https" }
            place = names.first ?? "localhost"
        }
        return "\(scheme)://\(place)/" + (token.map { "#token=\($0)" } ?? "")
    }
}
