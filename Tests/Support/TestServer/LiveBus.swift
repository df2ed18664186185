import BusLogic
import BusServer
import Logging
import TestFiles

/// A bus in this process, on a Unix socket in a directory of its own, with a type `counter` and a store `counter/main`. It
/// is stopped when it is let go.
///
/// It can be stopped and started anew at the same address, which begins a new epoch where it has no log.
package final class LiveBus {
    /// What a bus is made of, where a test wants it otherwise.
    package struct Setup {
        /// Addresses beside the Unix socket.
        package var listen: [String] = []
        package var limits: [String] = []
        /// Elements of `listen` that need more than an address, as YAML; they come after `listen`.
        package var secured: [String] = []
        /// The text of a tokens file.
        package var tokens: String?
        /// YAML of types beside the counter, by name.
        package var types: [String: String] = [:]
        /// Types without a file.
        package var natives: [any StateType] = []
        package var stores = ["counter/main"]
        package var hasLog = false
        /// Whether it may use io_uring; nil: as by default.
        package var usesRing: Bool?
        /// The shortest time between two snapshots of a log to which little is written, in milliseconds; nil: as always.
        package var logLook: Int?
        /// When the log is synced; nil: as by default.
        package var sync: String?
        /// The log's file; others beside it begin with its name.
        package static let logName = "bus.sqlite"
        package var timeouts = Timeouts()
        package var service = Service.none
        package var logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

        package init() {}
    }

    package let directory = TemporaryDirectory()
    private let setup: Setup
    private var isRunning = false
    /// Another one after each start.
    package private(set) var server: BusServer
    /// The Unix socket's first, then those of `listen`, with the ports that the kernel chose.
    package private(set) var addresses: [String] = []

    package init(_ setup: Setup) throws {
        self.setup = setup
        try setup.write(into: directory)
        server = try setup.server(in: directory)
        try open()
    }

    package convenience init(
        listen: [String] = [], limits: [String] = [], tokens: String? = nil, types: [String: String] = [:],
        timeouts: Timeouts = Timeouts(), logger: Logger = Setup().logger
    ) throws {
        var setup = Setup()
        (setup.listen, setup.limits, setup.tokens, setup.types) = (listen, limits, tokens, types)
        (setup.timeouts, setup.logger) = (timeouts, logger)
        try self.init(setup)
    }

    deinit { stop() }

    /// The Unix socket, as clients are told of it.
    package var address: String { "unix:\(path("s"))" }

    /// A path in the bus's directory.
    package func path(_ name: String) -> String { "\(directory.path)/\(name)" }

    package func client() throws -> LineClient { try LineClient(address) }

    package func start() throws {
        server = try setup.server(in: directory)
        try open()
    }

    private func open() throws {
        addresses = try server.start()
        isRunning = true
    }

    package func stop() {
        guard isRunning else { return }
        isRunning = false
        server.stop()
        server.waitUntilStopped()
    }
}

extension LiveBus.Setup {
    /// Writes the files that a server reads.
    package func write(into directory: TemporaryDirectory) throws {
        try directory.writeCounter()
        for (name, definition) in types { try directory.write("types/\(name).yaml", definition) }
        if let tokens { try directory.write("tokens", tokens) }
        if !secured.isEmpty {
            let addresses = listen(in: directory).map { address in
                let colon = address.firstIndex(of: ":") ?? address.endIndex
                return "{ \(address[..<colon]): \"\(address[colon...].dropFirst())\" }"
            }
            let lines = (addresses + secured).map { "  - \($0)\n" }.joined()
            try directory.write("fluxbusd.yaml", "listen:\n" + lines)
        }
    }

    private func listen(in directory: TemporaryDirectory) -> [String] {
        ["unix:\(directory.path)/s"] + listen
    }

    /// A server that does not run yet, for tests of how it begins and ends.
    package func server(in directory: TemporaryDirectory) throws -> BusServer {
        let path = directory.path
        var loaded = try ServerSetup.load(
            flags: ConfigurationOverrides(
                config: secured.isEmpty ? nil : "\(path)/fluxbusd.yaml",
                listen: secured.isEmpty ? listen(in: directory) : [],
                tokens: tokens.map { _ in "\(path)/tokens" },
                types: "\(path)/types", stores: stores, limits: limits,
                log: hasLog ? "\(path)/\(Self.logName)" : nil, sync: sync),
            environment: ConfigurationOverrides(environment: [:]), defaultFile: "/nonexistent/fluxbusd.yaml",
            natives: natives)
        if let logLook { loaded.configuration.log?.look = logLook }
        let server = BusServer(loaded, service: service, timeouts: timeouts, logger: logger)
        if let usesRing { server.usesRing = usesRing }
        return server
    }
}
