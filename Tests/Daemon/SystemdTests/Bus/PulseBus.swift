import BusServer
import Foundation
import Glibc
import TestFiles
import TestServer

/// A bus in this process, under a manager that the environment names.
struct PulseBus {
    let manager: StandInManager
    let service: Service
    let directory = TemporaryDirectory()

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

    /// Stops a daemon, and leaves its log as it would be if it had been killed: with code a daemon that stops leaves a
    /// snapshot, and the next one has nothing to carry out again.
    func endAsIfKilled(_ server: BusServer) throws {
        let files = FileManager.default
        let kept = directory.path + "/kept"
        try files.createDirectory(atPath: kept, withIntermediateDirectories: false)
        func logFiles(_ folder: String) throws -> [String] {
            try files.contentsOfDirectory(atPath: folder).filter { $0.hasPrefix(LiveBus.Setup.logName) }
        }
        for name in try logFiles(directory.path) {
            try files.copyItem(atPath: "\(directory.path)/\(name)", toPath: "\(kept)/\(name)")
        }
        try stop(server)
        for name in try logFiles(directory.path) { try files.removeItem(atPath: "\(directory.path)/\(name)") }
        for name in try logFiles(kept) {
            try files.moveItem(atPath: "\(kept)/\(name)", toPath: "\(directory.path)/\(name)")
        }
    }

    /// The next notification of this kind.
    func next(_ text: String) -> String? {
        while let datagram = manager.next(waiting: true) {
            if datagram.text.hasPrefix(text) { return datagram.text }
        }
        return nil
    }
}
