import FluxBus
import FlyingSocks

/// One browser's connection to the bus: bytes both ways, and no more of them than somebody takes.
///
/// It waits in the same pool as the HTTP server's sockets. The descriptor is closed when nobody holds this any more, so
/// nobody waits for it then.
actor BusLink {
    private let connection: BusConnection
    private let socket: Socket
    private let pool: any AsyncSocketPool

    private init(_ connection: sending BusConnection, _ pool: any AsyncSocketPool) {
        socket = Socket(file: .init(rawValue: connection.descriptor))
        self.connection = connection
        self.pool = pool
    }

    /// Connects, on a thread that may wait.
    static func open(
        _ bus: BusAccess, for caller: Caller, _ pool: any AsyncSocketPool, within time: Duration
    ) async throws(BusError) -> BusLink {
        try await BusAccess.ask { () throws(BusError) in
            BusLink(try bus.connect(for: caller, until: Deadline(after: time)), pool)
        }.get()
    }

    /// What has come, at least a byte; nil at the end.
    func read() async throws -> [UInt8]? {
        while true {
            var bytes: [UInt8] = []
            guard try connection.read(plain: { bytes += $0 }) else { return nil }
            if !bytes.isEmpty { return bytes }
            try await pool.suspendSocket(
                socket, untilReadyFor: connection.awaitsRoom ? [.read, .write] : [.read])
        }
    }

    /// Returns once all of it has been taken.
    func write(_ bytes: [UInt8]) async throws {
        var rest = bytes[...]
        while true {
            let count = try rest.withUnsafeBytes { try connection.write(plain: $0) }
            rest = rest.dropFirst(count)
            if rest.isEmpty, !connection.awaitsRoom { return }
            if count > 0, !rest.isEmpty { continue }
            try await pool.suspendSocket(socket, untilReadyFor: [.write])
        }
    }
}
