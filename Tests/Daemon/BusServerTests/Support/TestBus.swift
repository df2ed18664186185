import BusEngine
import BusServer
import Logging
import TestFiles

/// A bus in this process, on a socket in a directory of its own. It is stopped when it is let go.
final class TestBus {
    private let directory: TemporaryDirectory
    let server: BusServer
    let addresses: [String]
    private var isStopped = false

    init(
        listen: [String] = [], limits: [String] = [], tokens: String? = nil, timeouts: Timeouts = Timeouts(),
        logger: Logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    ) throws {
        let directory = TemporaryDirectory()
        self.directory = directory
        try directory.writeCounter()
        let tokenFile = try tokens.map { try directory.write("tokens", $0) }
        let setup = try ServerSetup.load(
            flags: ConfigurationOverrides(
                listen: ["unix:\(directory.path)/s"] + listen, tokens: tokenFile,
                types: "\(directory.path)/types", stores: ["counter/main"], limits: limits),
            environment: ConfigurationOverrides(environment: [:]), defaultFile: "/nonexistent/fluxbusd.yaml")
        server = BusServer(setup, timeouts: timeouts, logger: logger)
        addresses = try server.start()
    }

    deinit { stop() }

    var address: String { addresses[0] }

    func stop() {
        if isStopped { return }
        isStopped = true
        server.stop()
        server.waitUntilStopped()
    }

    func client() throws -> Client { try Client(address) }
}
