#if canImport(Glibc)
    internal import BusSystem
    import Glibc
    import Synchronization

    /// Resolves a host name. The system's resolver blocks and can't be cancelled, so each lookup runs on its own thread;
    /// if the caller gives up, that thread finishes alone and its result is ignored.
    final class NameLookup: Sendable {
        private let done: WakeUp
        private let found = Mutex<Result<[SocketEndpoint], BusError>?>(nil)

        private init() throws(BusError) { done = try SocketTransport.makeWakeUp() }

        static func endpoints(
            of host: String, port: UInt16, _ wait: ConnectWait
        ) throws(BusError) -> [SocketEndpoint] {
            let lookup = try NameLookup()
            try SocketTransport.detach(named: "fluxbus lookup") {
                let result = Result { () throws(BusError) in
                    try SocketEndpoint.resolve(host: host, port: port, flags: 0)
                }
                lookup.found.withLock { $0 = result }
                lookup.done.signal()
            }
            while true {
                if let found = lookup.found.withLock({ $0 }) { return try found.get() }
                if case .over = wait.pause(for: lookup.done.descriptor, Int16(POLLIN)) {
                    throw BusError(
                        .unreachable, "The host `\(host)` was not found in the time allowed; check its name.")
                }
            }
        }
    }
#endif
