import BusServer
import BusSystem
import Dispatch
import FluxBus
import FluxBusDaemon
import Foundation
import Logging
import Synchronization

/// A bus in the test's own process, for tests of programs that use one: the daemon's real engine and sockets, without a daemon.
///
/// ```swift
/// let bus = try TestBus(serving: Counter.self, stores: ["counter/main"])
/// let app = App(bus: try await bus.connect())        // or: Bus.connect(bus.address)
/// await bus.cut()                                    // the connection is lost, and comes back
/// ```
///
/// It listens on a Unix socket in a private directory of its own, so any number of them run at once. Unless it has a log, all
/// of it is in memory. It ends, and its directory goes, when it is let go.
///
/// Time is real here: timers of stores take as long as they say.
public final class TestBus: Sendable {
    /// Where clients connect.
    public let address: BusAddress

    private let directory: PrivateDirectory
    private let setup: @Sendable () throws(StartFailure) -> ServerSetup
    /// Nil while it is stopped.
    private let server = Mutex<BusServer?>(nil)

    /// A bus that serves these Swift states, and the types of these definitions.
    ///
    /// `states` are Swift states, as a daemon of one's own serves them. `definitions` are state types in YAML, one to a text, as
    /// in the files of a daemon; `folder` is a directory of such files, for example the one that is deployed, and a relative
    /// path begins in the folder of the test's file. `stores` are those that exist from the start, `type/name`.
    /// `configuration` is what else `fluxbusd.yaml` would say, in YAML: `access:` or `limits:`. With `hasLog` it has an action
    /// log, and keeps its states and its epoch over a restart.
    ///
    /// Throws a ``TestBusError`` with all mistakes in them.
    public init(
        serving states: any SharedState.Type..., definitions: [String] = [], folder: String? = nil,
        stores: [String] = [], configuration: String = "", hasLog: Bool = false,
        file: StaticString = #filePath
    ) throws(TestBusError) {
        let directory = try Self.makeDirectory()
        self.directory = directory
        let path = directory.path
        address = .unix(path: "\(path)/bus.sock")
        do {
            try directory.write("fluxbusd.yaml", configuration.isEmpty ? "{}\n" : configuration)
            try Self.write(definitions, folder, into: directory, file)
        } catch {
            throw TestBusError("The files of the bus can't be written: \(error)")
        }
        setup = { () throws(StartFailure) in
            try ServerSetup.load(
                flags: ConfigurationOverrides(
                    config: "\(path)/fluxbusd.yaml", listen: ["unix:\(path)/bus.sock"],
                    types: "\(path)/types", stores: stores, log: hasLog ? "\(path)/bus.sqlite" : nil),
                environment: ConfigurationOverrides(), natives: try FluxBusDaemon.compile(states))
        }
        try start()
    }

    private static func makeDirectory() throws(TestBusError) -> PrivateDirectory {
        let parent = PrivateDirectory.shortParent
        do throws(SystemError) {
            return try PrivateDirectory(in: parent, prefix: "fluxbus")
        } catch {
            throw TestBusError("There is no room for a directory in \(parent): \(error.reason).")
        }
    }

    deinit {
        guard let server = server.withLock({ $0 }) else { return }
        server.stopNow()
        server.waitUntilStopped()
    }

    private static func write(
        _ definitions: [String], _ folder: String?, into directory: PrivateDirectory, _ file: StaticString
    ) throws {
        let types = URL(fileURLWithPath: "\(directory.path)/types")
        if let folder {
            let here = URL(fileURLWithPath: "\(file)").deletingLastPathComponent()
            let source = URL(fileURLWithPath: folder, relativeTo: here)
            try FileManager.default.copyItem(at: source.standardizedFileURL, to: types)
        } else {
            try FileManager.default.createDirectory(at: types, withIntermediateDirectories: true)
        }
        for (number, definition) in definitions.enumerated() {
            try directory.write("types/definition-\(number + 1).yaml", definition)
        }
    }

    // MARK: - Clients

    /// What suits a test: lost connections come back at once.
    public static var options: BusOptions {
        var options = BusOptions()
        options.backOff = BackOff(first: .milliseconds(1), longest: .milliseconds(20))
        return options
    }

    /// A client of this bus. Each call opens a connection of its own.
    public func connect(options: BusOptions = TestBus.options) async throws(BusError) -> Bus {
        try await Bus.connect(address, options: options)
    }

    // MARK: - What goes wrong

    /// Breaks all connections without a goodbye, as a network does. Clients come back by themselves, and repeat what was not
    /// answered. Returns when the connections are closed; clients notice it a moment later.
    public func cut() async {
        guard let server = server.withLock({ $0 }) else { return }
        await withCheckedContinuation { continuation in server.cut { continuation.resume() } }
    }

    /// Breaks all connections, and can't be reached until ``goOnline()``. The bus goes on meanwhile: its states stay, timers
    /// fire, wills and ends of sessions happen.
    public func goOffline() async {
        rename(socket, hiddenSocket)
        await cut()
    }

    /// Can be reached again, where it was.
    public func goOnline() { rename(hiddenSocket, socket) }

    /// Says goodbye to all clients and ends, as a daemon that is stopped. Without a log its states are gone.
    public func stop() async {
        goOnline()
        let stopped = server.withLock { server in
            defer { server = nil }
            return server
        }
        guard let stopped else { return }
        stopped.stop()
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                stopped.waitUntilStopped()
                continuation.resume()
            }
        }
    }

    /// Starts again at the same address. Without a log that is a new history (`BusNotice.epochChanged`), with the stores that
    /// exist from the start. Nothing happens if it runs.
    public func start() throws(TestBusError) {
        do throws(StartFailure) {
            try server.withLock { server throws(StartFailure) in
                guard server == nil else { return }
                let next = BusServer(
                    try setup(), logger: Logger(label: "fluxbus.test") { _ in SwiftLogNoOpLogHandler() })
                try next.start()
                server = next
            }
        } catch {
            throw TestBusError(error.description)
        }
    }

    /// Stops and starts again.
    public func restart() async throws(TestBusError) {
        await stop()
        try start()
    }

    private var socket: String { "\(directory.path)/bus.sock" }
    private var hiddenSocket: String { "\(directory.path)/bus.away" }
}
