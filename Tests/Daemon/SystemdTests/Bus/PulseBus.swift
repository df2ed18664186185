import BusServer
import Glibc
import TestFiles
import TestServer

/// A bus in this process, under a manager that the environment names.
struct PulseBus {
    let manager: StandInManager
    let service: Service
    private let directory = TemporaryDirectory()

    init(
        _ manager: StandInManager, watchdog: String? = nil, patience: Duration = .seconds(60)
    ) throws {
        self.manager = manager
        if let watchdog { setenv("WATCHDOG_USEC", watchdog, 1) }
        service = try Service.take(patience: patience)
        try LiveBus.Setup().write(into: directory)
    }

    func start(_ type: WedgingType, hasLog: Bool = false) throws -> BusServer {
        let server = try make(type, hasLog: hasLog)
        try server.start()
        return server
    }

    func make(_ type: WedgingType, hasLog: Bool = false) throws -> BusServer {
        var setup = LiveBus.Setup()
        setup.natives = [type]
        setup.stores = ["wedge/a"]
        setup.service = service
        setup.hasLog = hasLog
        return try setup.server(in: directory)
    }

    func client() throws -> LineClient { try LineClient("unix:\(directory.path)/s") }

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
