import BusServer
import Glibc
import Logging
import TestFiles

/// A bus in this process, under a manager that the environment names.
struct PulseBus {
    let manager: StandInManager
    let service: Service
    private let place = TemporaryDirectory()
    var directory: String { place.path }

    init(
        _ manager: StandInManager, watchdog: String? = nil, patience: Duration = .seconds(60)
    ) throws {
        self.manager = manager
        if let watchdog { setenv("WATCHDOG_USEC", watchdog, 1) }
        service = try Service.take(patience: patience)
    }

    func start(_ type: WedgingType, log: String? = nil) throws -> BusServer {
        let server = try make(type, log: log)
        try server.start()
        return server
    }

    func make(_ type: WedgingType, log: String? = nil) throws -> BusServer {
        let setup = try ServerSetup.load(
            flags: ConfigurationOverrides(listen: ["unix:\(directory)/s"], stores: ["wedge/a"], log: log),
            environment: ConfigurationOverrides(environment: [:]), defaultFile: "/nonexistent/fluxbusd.yaml",
            natives: [type])
        return BusServer(
            setup, service: service,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    }

    func stop(_ server: BusServer) throws {
        server.stop()
        server.waitUntilStopped()
    }

    /// The next notification of this kind.
    func next(_ text: String) -> String? {
        while let datagram = manager.next(waiting: true) {
            if datagram.text.hasPrefix(text) { return datagram.text }
        }
        return nil
    }
}
