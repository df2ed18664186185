import BusEngine
import BusServer
import FluxBus
import Foundation
import Logging
import TestFiles

/// A daemon in this process, on a socket in a directory of its own, with a type `counter`; stopped when it is let go.
/// It can be stopped and started anew at the same address, which begins a new epoch.
final class LiveBus {
    private let place = TemporaryDirectory()
    private var directory: String { place.path }
    private let listen: [String]
    private let limits: [String]
    private let tokens: String?
    private(set) var server: BusServer?
    private(set) var addresses: [String] = []

    init(
        listen: [String] = [], limits: [String] = [], tokens: String? = nil, types: [String: String] = [:]
    ) throws {
        self.listen = listen
        self.limits = limits
        self.tokens = tokens
        try place.write("types/counter.yaml", Self.counter)
        for (name, definition) in types { try place.write("types/\(name).yaml", definition) }
        if let tokens { try place.write("tokens", tokens) }
        try start()
    }

    deinit { stop() }

    var address: BusAddress { .unix(path: "\(directory)/s") }

    /// A path in the bus's directory.
    func path(_ name: String) -> String { "\(directory)/\(name)" }

    func start() throws {
        let setup = try ServerSetup.load(
            flags: ConfigurationOverrides(
                listen: ["unix:\(directory)/s"] + listen, tokens: tokens.map { _ in "\(directory)/tokens" },
                types: "\(directory)/types", stores: ["counter/main"], limits: limits),
            environment: ConfigurationOverrides(environment: [:]), defaultFile: "/nonexistent/fluxbusd.yaml")
        let server = BusServer(
            setup, timeouts: Timeouts(), logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        addresses = try server.start()
        self.server = server
    }

    func stop() {
        server?.stop()
        server?.waitUntilStopped()
        server = nil
    }

    func connect(_ change: (inout BusOptions) -> Void = { _ in }) async throws -> Bus {
        var options = BusOptions()
        options.timeout = .seconds(240)
        options.backOff = BackOff(first: .milliseconds(1), longest: .milliseconds(20))
        change(&options)
        return try await Bus.connect(address, options: options)
    }

    private static let counter = """
        type: counter
        initial: { count: 0, note: "" }
        actions:
          increment:
            payload: { by: { type: integer, default: 1 } }
            increment: { count: { var: payload.by } }
          write:
            payload: { text: string }
            set: { note: { var: payload.text } }
          limit:
            payload: { by: integer }
            require:
              - if: { "<=": [{ var: payload.by }, 5] }
                else: by must be at most 5
            increment: { count: { var: payload.by } }
          ring: {}
        """
}
